"""`dev.py` makes the environment once, mends it when it must, and runs every stage of a check."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dev
from tests.conventions.source import ROOT

# A stand-in for uv that takes no time: it makes what uv would make, and keeps a log of what it was asked.
UV = """#!/bin/sh
echo "$1 $2" >> "$UV_LOG"
case "$1" in
venv) for last; do :; done; mkdir -p "$last/bin"; ln -s "$PYTHON" "$last/bin/python" ;;
pip) for tool in pflow pytest ruff mypy lint-imports; do : > "$(dirname "$4")/$tool"; done ;;
esac
"""


class Checkout:
    """A copy of what set-up needs, with uv on the path."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "checkout"
        self.venv = self.root / ".venv"
        self.root.mkdir()
        for path in (*ROOT.glob("dev*.py"), ROOT / "pyproject.toml"):
            shutil.copy(path, self.root)
        self.log = folder / "uv.log"
        uv = folder / "bin" / "uv"
        uv.parent.mkdir()
        uv.write_text(UV)
        uv.chmod(0o755)
        self.environment = {
            "PATH": f"{uv.parent}:/usr/bin:/bin",
            "UV_LOG": str(self.log),
            "PYTHON": os.path.realpath(sys.executable),
        }

    def setup(self, *options: str) -> list[str]:
        """Run `dev.py setup`; what uv was asked meanwhile."""
        self.log.write_text("")
        subprocess.run(
            [sys.executable, "dev.py", *options, "setup"],
            cwd=self.root,
            env=self.environment,
            check=True,
            capture_output=True,
        )
        return self.log.read_text().splitlines()


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


MADE_ANEW = ["venv --quiet", "pip install"]


def test_the_environment_is_made_once(checkout: Checkout) -> None:
    assert checkout.setup() == MADE_ANEW
    assert checkout.setup() == []


def test_changed_dependencies_update_it_in_place(checkout: Checkout) -> None:
    checkout.setup()
    with (checkout.root / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    assert checkout.setup() == ["pip install"]
    assert checkout.setup() == []


def test_one_that_lost_a_program_is_made_anew(checkout: Checkout) -> None:
    checkout.setup()
    (checkout.venv / "bin" / "ruff").unlink()
    assert checkout.setup() == MADE_ANEW


def test_one_whose_python_is_gone_is_made_anew(checkout: Checkout) -> None:
    checkout.setup()
    (checkout.venv / "bin" / "python").unlink()
    (checkout.venv / "bin" / "python").symlink_to("/nowhere/python")
    assert checkout.setup() == MADE_ANEW


def test_one_that_was_never_finished_is_made_anew(checkout: Checkout) -> None:
    (checkout.venv / "bin").mkdir(parents=True)
    assert checkout.setup() == MADE_ANEW


def test_one_that_moved_is_made_anew(checkout: Checkout) -> None:
    checkout.setup()
    elsewhere = checkout.root.with_name("elsewhere")
    checkout.root.rename(elsewhere)
    checkout.root = elsewhere
    assert checkout.setup() == MADE_ANEW


def test_a_check_runs_every_stage_and_sums_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for tool, code in {"ruff": 0, "mypy": 3, "lint-imports": 0, "python": 0, "pytest": 0}.items():
        script = tmp_path / tool
        script.write_text(f"#!/bin/sh\necho ran {tool} $@\nexit {code}\n")
        script.chmod(0o755)
    monkeypatch.setattr(dev, "BIN", tmp_path)
    assert dev.check([]) == 1
    out, err = capfd.readouterr()
    assert out.splitlines() == [
        "ran ruff check",
        "ran ruff format --check",
        "ran mypy",
        "ran lint-imports --no-cache --no-logo",
        "ran python dev_wheel.py",
        "ran python dev_needs.py",
        f"ran pytest {' '.join(dev.PARALLEL)}",
    ]
    summary = [line.split()[:2] for line in err.split("──\n")[1].splitlines()]
    assert summary == [
        ["lint", "ok"],
        ["format", "ok"],
        ["types", "FAILED"],
        ["layers", "ok"],
        ["wheel", "ok"],
        ["needs", "ok"],
        ["tests", "ok"],
    ]
    assert dev.check(["lint", "tests"]) == 0


@pytest.mark.parametrize(("args", "code"), [([], 2), (["nonsense"], 2), (["--help"], 0)])
def test_usage_lists_every_command(args: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert dev.main(args) == code
    shown = [line.split()[0] for line in capsys.readouterr().err.splitlines() if line.startswith("  ")]
    assert shown == list(dev.COMMANDS)


def test_an_old_python_is_told_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    assert dev.main(["test"]) == 2
    assert "pflow needs Python 3.11 or newer; this is 3.9.2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "passed"),
    [
        ([], [*dev.PARALLEL, "-m", "not slow"]),
        (["--slow", "tests/core"], [*dev.PARALLEL, "tests/core"]),
        (["--lf", "-m", ""], [*dev.PARALLEL, "-m", "not slow", "--lf", "-m", ""]),
        (["tests/core/test_a.py::test_b"], ["tests/core/test_a.py::test_b"]),
    ],
)
def test_tests_run_on_all_cores_and_the_slow_ones_when_asked_for(args: list[str], passed: list[str]) -> None:
    assert dev.pytest_arguments(args) == passed


def test_another_python_has_an_environment_of_its_own(checkout: Checkout) -> None:
    checkout.setup("--python", sys.executable)
    assert not checkout.venv.exists()
    assert [path.name for path in (checkout.root / ".cache").glob("python*/bin/python")] == ["python"]


def test_a_python_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert dev.main(["--python", "3.0", "test"]) == 2
    assert "there is no `python3.0` on the path" in capsys.readouterr().err


def test_nothing_names_a_package_index() -> None:
    for path in (*ROOT.glob("dev*.py"), ROOT / "pyproject.toml", ROOT / ".ci" / "run"):
        text = path.read_text()
        assert not any(
            word in text
            for word in ("pypi.org", "npmjs", "registry=", "--registry", "index-url", "index_url", "[[tool.uv.index")
        )


def test_a_python_that_only_pyenv_knows_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path, kept = tmp_path / "shims" / "python3.0", tmp_path / "versions" / "3.0.1" / "bin" / "python3.0"
    for place, text in ((on_path, "#!/bin/sh\nexit 127\n"), (kept, "#!/bin/sh\nexit 0\n")):
        place.parent.mkdir(parents=True)
        place.write_text(text)
        place.chmod(0o700)
    monkeypatch.setenv("PATH", f"{on_path.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert dev.find_python("python3.0") == str(kept)
