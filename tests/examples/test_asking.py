"""The examples that ask and wait run for real: answered by other processes, a day later, and over real files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pflow.workspace import Workspace
from tests.examples.service import Answer, serving

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "asking"
DOCUMENTS = sorted(FOLDER.glob("*.yaml"))


def pflow(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "pflow", *words],
        cwd=cwd,
        env={**os.environ, "LOGNAME": "ada"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_an_example_is_valid_without_a_warning_and_needs_no_python(workspace: Workspace, path: Path) -> None:
    checked = workspace.check(str(path))
    assert [issue for issue in checked.issues if issue.severity != "notice"] == []
    assert checked.plan is not None
    assert "code" not in {node.type for node in checked.plan.nodes}


def test_the_examples_are_in_canonical_form() -> None:
    done = pflow("fmt", "--check", *map(str, DOCUMENTS), cwd=FOLDER)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout


def test_the_readme_lists_every_example() -> None:
    text = (FOLDER / "README.md").read_text()
    assert [path.name for path in DOCUMENTS if f"[{path.name}]({path.name})" not in text] == []


# ---- release: approval tomorrow from another terminal


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    git = ["git", "-C", str(folder), "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for title in ("Add a door", "Paint it green"):
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", title], check=True)
    return folder


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that says what time it is, in all processes."""
    file = tmp_path / "now"
    file.write_text("2026-11-18T17:00:00Z")
    monkeypatch.setenv("PFLOW_NOW", str(file))
    return file


def test_a_release_is_approved_a_day_later_by_another_process(repository: Path, clock: Path, tmp_path: Path) -> None:
    begun = pflow("run", str(FOLDER / "release.yaml"), f"repository={repository}", cwd=tmp_path)
    assert (begun.returncode, begun.stdout) == (4, "")
    assert "pflow answer " in begun.stderr.splitlines()[-1]
    assert not (tmp_path / "notes.md").exists()
    clock.write_text("2026-11-19T08:30:00Z")
    [listed] = json.loads(pflow("runs", "list", "--waiting", "--json", cwd=tmp_path).stdout)["data"]["waiting"]
    assert (listed["since"], listed["deadline"]) == ("2026-11-18T17:00:00Z", "2026-11-21T17:00:00Z")
    words = [*listed["command"].split()[1:], "headline=Doors"]
    answered = pflow(*words, cwd=tmp_path)
    assert answered.returncode == 0, answered.stderr
    assert (tmp_path / "notes.md").read_text() == (
        "# Doors\n\n- Paint it green\n- Add a door\n\nApproved by ada on 2026-11-19T08:30:00Z.\n"
    )


def test_a_release_that_nobody_approves_is_skipped(repository: Path, clock: Path, tmp_path: Path) -> None:
    pflow("run", str(FOLDER / "release.yaml"), f"repository={repository}", cwd=tmp_path)
    clock.write_text("2026-11-25T08:30:00Z")
    done = pflow("runs", "resume", "latest", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["data"]["outputs"] == {"choice": "skip", "path": None}
    assert not (tmp_path / "notes.md").exists()


# ---- job: poll with delay until done


def test_a_job_is_looked_at_until_it_is_done(workspace: Workspace) -> None:
    def answer(path: str, times: int) -> Answer:
        if path == "/job/result":
            return Answer(200, {"rows": 3})
        if times == 2:
            return Answer(503, {"error": "not now"})
        return Answer(200, {"state": "done" if times == 4 else "busy"})

    with serving(answer) as service:
        outcome = workspace.run(str(FOLDER / "job.yaml"), {"job": f"{service.url}/job", "interval": 0.02})
    assert outcome.outputs["result"] == {"rows": 3}
    assert service.asked == {"/job": 4, "/job/result": 1}


def test_a_job_that_fails_fails_the_run(workspace: Workspace) -> None:
    with serving(lambda path, times: Answer(200, {"state": "failed"})) as service:
        outcome = workspace.run(str(FOLDER / "job.yaml"), {"job": f"{service.url}/job"})
    assert (outcome.status, outcome.failed_node) == ("failed", "sorry")


def test_a_job_that_is_never_done_is_given_up(workspace: Workspace) -> None:
    with serving(lambda path, times: Answer(200, {"state": "busy"})) as service:
        params = {"job": f"{service.url}/job", "interval": 0.02, "patience": "0.2s"}
        outcome = workspace.run(str(FOLDER / "job.yaml"), params)
    assert (outcome.status, outcome.failed_node) == ("failed", "late")


# ---- migrate: 500 files with a dry run, a report and an approval


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(500):
        text = f"colour {number}, colour\n" if number % 5 else "nothing to change\n"
        (folder / f"{number:03}.txt").write_text(text)
    return folder


def changed(folder: Path) -> int:
    return sum("color " in path.read_text() for path in folder.iterdir())


def test_five_hundred_files_are_changed_after_somebody_has_seen_the_report(
    workspace: Workspace, files: Path, tmp_path: Path
) -> None:
    params = {"folder": str(files), "old": "colour", "new": "color", "report": str(tmp_path / "report.md")}
    outcome = workspace.run(str(FOLDER / "migrate.yaml"), params)
    assert outcome.status == "waiting"
    [asked] = workspace.waiting(outcome.run_id)
    assert asked.prompt == "Change 400 of 500 files?"
    first: Any = asked.show["first"]
    assert (first["file"], first["changes"]) == (str(files / "001.txt"), 2)
    report = (tmp_path / "report.md").read_text()
    assert report.startswith("# `colour` becomes `color` in 400 of 500 files\n")
    assert report.count("| 2 |") == 400
    assert changed(files) == 0, "a dry run changes nothing"
    workspace.answer(outcome.run_id, choice="change", by="ada")
    outcome = workspace.resume(outcome.run_id)
    assert outcome.outputs == {"found": 400, "changed": 400, "by": "ada"}
    assert changed(files) == 400
    again = workspace.run(str(FOLDER / "migrate.yaml"), params)
    assert (again.status, again.outputs["found"]) == ("completed", 0), "nobody is asked about nothing"


def test_a_migration_that_is_not_wanted_leaves_everything_as_it_is(
    workspace: Workspace, files: Path, tmp_path: Path
) -> None:
    params = {"folder": str(files), "old": "colour", "new": "color", "report": str(tmp_path / "report.md")}
    run_id = workspace.run(str(FOLDER / "migrate.yaml"), params).run_id
    workspace.answer(run_id, choice="leave")
    assert workspace.resume(run_id).outputs["changed"] is None
    assert changed(files) == 0
