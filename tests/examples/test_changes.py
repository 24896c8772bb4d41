"""The example that acts only on what changed since the last run does so, whatever comes in between."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pflow.workspace import Workspace
from tests.examples.service import Answer, serving

DOCUMENT = Path(__file__).resolve().parents[2] / "examples" / "changes.yaml"


def record(number: int, day: int) -> dict[str, object]:
    return {"id": number, "title": f"record {number}", "updated_at": f"2026-11-{day:02}T08:00:00Z"}


def test_each_change_is_acted_on_once(workspace: Workspace, tmp_path: Path) -> None:
    log = tmp_path / "changes.log"
    records = {1: record(1, 1), 2: record(2, 1)}
    params = {"log": str(log)}
    with serving(lambda path, times: Answer(200, list(records.values()))) as service:
        params["url"] = service.url
        found = [workspace.run(str(DOCUMENT), params).outputs for _ in range(2)]
        assert found == [{"changed": 2, "before": 0}, {"changed": 0, "before": 2}]
        records |= {2: record(2, 5), 3: record(3, 5)}
        assert workspace.run(str(DOCUMENT), params).outputs == {"changed": 2, "before": 2}
        del records[1]
        records[1] = record(1, 1)  # it comes back as it was
        assert workspace.run(str(DOCUMENT), params).outputs == {"changed": 0, "before": 4}
    assert [line.split(" ", 2)[::2] for line in log.read_text().splitlines()] == [
        ["1", "record 1"],
        ["2", "record 2"],
        ["2", "record 2"],
        ["3", "record 3"],
    ]


def test_what_could_not_be_noted_is_not_counted_as_seen(workspace: Workspace, tmp_path: Path) -> None:
    with serving(lambda path, times: Answer(200, [record(1, 1)])) as service:
        params = {"url": service.url, "log": str(tmp_path)}
        failed = workspace.run(str(DOCUMENT), params)
        assert (failed.status, failed.failed_node) == ("failed", "note")
        params["log"] = str(tmp_path / "changes.log")
        assert workspace.run(str(DOCUMENT), params).outputs == {"changed": 1, "before": 0}


def test_a_trial_notes_everything_and_remembers_nothing(workspace: Workspace, tmp_path: Path) -> None:
    with serving(lambda path, times: Answer(200, [record(1, 1)])) as service:
        params = {"url": service.url, "log": str(tmp_path / "changes.log")}
        workspace.run(str(DOCUMENT), params)
        assert workspace.run(str(DOCUMENT), params, state={}).outputs == {"changed": 1, "before": 0}
        assert workspace.run(str(DOCUMENT), params).outputs == {"changed": 0, "before": 1}


def test_it_is_valid_without_a_warning_and_in_canonical_form(workspace: Workspace) -> None:
    assert [issue for issue in workspace.check(str(DOCUMENT)).issues if issue.severity != "notice"] == []
    done = subprocess.run(
        [sys.executable, "-m", "pflow", "fmt", "--check", str(DOCUMENT)], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout
