"""Places that no step may change, whatever the document says."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path

import pytest

from pflow.core.errors import SecurityError
from pflow.engine.context import StepContext, enter_step
from pflow.engine.ports import Services
from pflow.nodes.file.change import CopyFile, DeleteFile, MoveFile, WriteFile


def run(kind: type, **params: object) -> None:
    node = kind()
    node.set_params({name.removesuffix("_"): value for name, value in params.items()})
    node.run({})


@contextmanager
def refused(place: str) -> Iterator[None]:
    with pytest.raises(SecurityError) as caught:
        yield
    assert caught.value.message.endswith(f": the path leads to {place}")
    assert caught.value.exit_code == 3


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder; `~` is its parent."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


PROTECTED = [
    ("~/.pflow/settings.json", "pflow's own directory"),
    ("~/.pflow/nodes/evil.py", "pflow's own directory"),
    ("~/.pflow", "pflow's own directory"),
    ("~/.ssh/authorized_keys", "SSH keys and settings"),
    ("~/.bashrc", "shell start-up files"),
    ("~/.zshenv", "shell start-up files"),
    ("~/.config/fish/config.fish", "shell start-up files"),
    ("~/.config/autostart/x.desktop", "programs that start by themselves"),
    ("~/.gitconfig", "git hooks or git settings"),
    ("~/.netrc", "keys and credentials"),
    (".git/hooks/pre-commit", "git hooks or git settings"),
    ("sub/.git/hooks/post-checkout", "git hooks or git settings"),
    (".git/modules/x/hooks/pre-push", "git hooks or git settings"),
    (".git/config", "git hooks or git settings"),
    (".git", "git hooks or git settings"),
    ("bare.git/hooks/pre-receive", "git hooks or git settings"),
    ("/proc/self/mem", "devices and the kernel's files"),
    ("/sys/power/state", "devices and the kernel's files"),
    ("/dev/sda", "devices and the kernel's files"),
    ("../place/../.ssh/config", "SSH keys and settings"),
    ("/proc/self/cwd/.git/hooks/x", "git hooks or git settings"),
]


@pytest.mark.parametrize(("path", "place"), PROTECTED)
def test_protected_places_are_not_written(work: Path, path: str, place: str) -> None:
    (work / "ours").write_text("x")
    with refused(place):
        run(WriteFile, path=path, content="x")
    with refused(place):
        run(WriteFile, path=path, content="x", append=True)
    with refused(place):
        run(CopyFile, from_="ours", to=path)
    with refused(place):
        run(MoveFile, from_="ours", to=path)
    assert (work / "ours").exists()


@pytest.mark.parametrize("target", [".ssh", ".pflow", ".bashrc"])
def test_protected_files_are_not_deleted_or_moved_away(tmp_path: Path, target: str) -> None:
    place = tmp_path / target
    if not target.endswith("rc"):
        place.mkdir()
        place = place / "file"
    place.write_text("precious")
    for path in (str(place), f"~/{place.relative_to(tmp_path)}"):
        with pytest.raises(SecurityError):
            run(DeleteFile, path=path)
        with pytest.raises(SecurityError):
            run(MoveFile, from_=path, to="mine")
    assert place.read_text() == "precious"


def test_a_link_into_a_protected_place_does_not_help(work: Path, tmp_path: Path) -> None:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/config").write_text("precious")
    (work / "folder").symlink_to(tmp_path / ".ssh")
    (work / "file").symlink_to(tmp_path / ".ssh/config")
    (work / "new").symlink_to(tmp_path / ".ssh/not-yet")
    (work / "hooks").symlink_to(work / ".git/hooks")
    for path in ("folder/config", "folder/new", "file", "new"):
        with refused("SSH keys and settings"):
            run(WriteFile, path=path, content="x")
        with refused("SSH keys and settings"):
            run(WriteFile, path=path, content="x", append=True)
    with refused("SSH keys and settings"):
        run(DeleteFile, path="folder/config")
    with refused("git hooks or git settings"):
        run(WriteFile, path="hooks/pre-commit", content="x")
    assert [path.name for path in (tmp_path / ".ssh").iterdir()] == ["config"]
    assert (tmp_path / ".ssh/config").read_text() == "precious"


def test_a_link_of_ours_to_a_protected_file_can_be_deleted(work: Path, tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("x")
    (work / "link").symlink_to(tmp_path / ".bashrc")
    run(DeleteFile, path="link")
    assert (tmp_path / ".bashrc").exists()


def test_the_file_behind_a_protected_link_is_protected(tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "bashrc").write_text("x")
    (tmp_path / ".bashrc").symlink_to(dotfiles / "bashrc")
    with refused("shell start-up files"):
        run(WriteFile, path=str(dotfiles / "bashrc"), content="y")
    run(WriteFile, path=str(dotfiles / "notes"), content="y")


def test_a_home_of_pflow_elsewhere_is_protected_as_well(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PFLOW_HOME", str(tmp_path / "elsewhere"))
    with refused("pflow's own directory"):
        run(WriteFile, path=str(tmp_path / "elsewhere/runs.db"), content="x")
    with refused("pflow's own directory"):
        run(WriteFile, path="~/.pflow/x", content="x")


@pytest.mark.parametrize(
    "path", ["~/.pflowers", "~/.sshx/a", "~/bashrc", "config", "git/hooks/x", "x.github/hooks", "dev/x"]
)
def test_names_that_only_look_protected_are_free(work: Path, tmp_path: Path, path: str) -> None:
    run(WriteFile, path=path, content="x")
    assert Path(os.path.expanduser(path)).read_text() == "x"


def in_step(home: Path, kind: type, **params: object) -> None:
    """Run a node as a step of the run `r1`."""

    def step() -> None:
        enter_step(StepContext("r1", "node", "node", Services(home=home, settings={}), lambda step, message: None))
        run(kind, **params)

    copy_context().run(step)


def test_the_home_of_the_running_step_is_protected(tmp_path: Path) -> None:
    home = tmp_path / "of-the-step"
    with refused("pflow's own directory"):
        in_step(home, WriteFile, path=str(home / "runs.db"), content="x")
    run(WriteFile, path=str(home / "runs.db"), content="x")


def test_a_step_may_move_files_out_of_its_own_run(work: Path, tmp_path: Path) -> None:
    home = tmp_path / "of-the-step"
    for name in ("r1", "r2"):
        (home / "runs" / name).mkdir(parents=True)
        (home / "runs" / name / "download").write_text(name)
    in_step(home, MoveFile, from_=str(home / "runs/r1/download"), to="mine")
    assert (work / "mine").read_text() == "r1"
    with refused("pflow's own directory"):
        in_step(home, MoveFile, from_=str(home / "runs/r2/download"), to="mine")


def test_a_refusal_does_not_repeat_the_path(tmp_path: Path) -> None:
    with pytest.raises(SecurityError) as caught:
        run(WriteFile, path="~/.ssh/hidden-name", content="x")
    assert "hidden-name" not in str(caught.value.message) + str(caught.value.details) + str(caught.value.suggestions)
