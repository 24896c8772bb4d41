"""The plugin of pytest: test files of workflows beside tests in Python, in a process of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DOCUMENT = "nodes: [{id: a, type: echo, params: {text: x}}]\noutputs: {said: '${a.text}'}\n"


def run_pytest(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *words]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True)


def test_tests_of_workflows_run_beside_those_in_python(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "a.yaml").write_text(DOCUMENT)
    (tmp_path / "a.test.yaml").write_text(
        "tests:\n  good: {expect: {outputs: {said: x}}}\n  good too: {}\n  bad: {expect: {outputs: {said: y}}}\n"
    )
    (tmp_path / "test_own.py").write_text("def test_own(): pass\n")
    done = run_pytest(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 3 passed" in done.stdout
    assert 'outputs.said\n      expected "y"\n      got      "x"' in done.stdout
    assert "Traceback" not in done.stdout
    assert run_pytest(tmp_path, "a.test.yaml::good").returncode == 0


def test_a_wrong_test_file_is_an_error_of_collecting_it(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "a.yaml").write_text(DOCUMENT)
    (tmp_path / "a.test.yaml").write_text("tests:\n  good: {expct: {}}\n")
    done = run_pytest(tmp_path)
    assert done.returncode == 2
    assert "did you mean `expect`?" in done.stdout


def test_nothing_of_pflow_is_imported_where_there_are_no_such_files(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_own.py").write_text(
        "import sys\ndef test_own():\n"
        "    own = {name for name in sys.modules if name.startswith('pflow')}\n"
        "    assert own == {'pflow', 'pflow.pytest_plugin'}\n"
    )
    done = run_pytest(tmp_path)
    assert done.returncode == 0, done.stdout
