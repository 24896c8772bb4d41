"""Rows that failed are sent again, and no row twice that was booked."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from pflow.workspace import Workspace
from tests.examples.service import Answer, Service, serving

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "examples" / "again" / "orders.yaml"
TABLE = DOCUMENT.parent / "data" / "orders.csv"


def answer(path: str, asked: int) -> Answer:
    """Books an order; of two it knows nothing when it is first asked, of one not before it was asked three times."""
    number = int(path.rpartition("/")[2])
    if asked <= {1002: 1, 1004: 1, 1005: 2}.get(number, 0):
        return Answer(500, {"error": "try later"})
    return Answer(200, {"booking": number + 8000})


def booked(service: Service) -> Counter[str]:
    return Counter({path.rpartition("/")[2]: count for path, count in service.asked.items()})


def test_only_failed_rows_are_sent_again(workspace: Workspace) -> None:
    with serving(answer) as service:
        run = workspace.run(str(DOCUMENT), {"service": service.url, "table": str(TABLE)})
        assert run.status == "completed", run.error
        assert (run.outputs["booked"], run.outputs["lost"]) == (2, ["1002", "1004", "1005"])
        again = workspace.resume(run.run_id, failed_items=["3"])
        assert (again.outputs["booked"], again.outputs["lost"]) == (3, ["1002", "1005"])
        again = workspace.resume(run.run_id, failed_items=[])
        assert (again.outputs["booked"], again.outputs["lost"]) == (4, ["1005"])
        done = workspace.resume(run.run_id, failed_items=[])
        assert (done.outputs["booked"], done.outputs["lost"]) == (5, [])
        numbers: Any = done.outputs["numbers"]
        assert [one["response"]["booking"] for one in numbers] == [9001, 9002, 9003, 9004, 9005]
        assert booked(service) == {"1001": 1, "1002": 2, "1003": 1, "1004": 2, "1005": 3}
        assert done.reused == ("read", "rows")


def test_another_report_sends_nothing(workspace: Workspace) -> None:
    with serving(answer) as service:
        run = workspace.run(str(DOCUMENT), {"service": service.url, "table": str(TABLE)})
        before = booked(service)
        edited = DOCUMENT.read_text().replace("book.errors.map(e, e.item.id)", "book.errors.map(e, e.item.customer)")
        fork = workspace.again.fork(run.run_id, "count", edited=edited)
        assert fork.outputs["lost"] == ["Grace", "Mary", "Emmy"]
        assert workspace.again.run_only(edited, "count", run.run_id).outputs == {
            "booked": 2,
            "lost": ["Grace", "Mary", "Emmy"],
        }
        assert booked(service) == before


def test_the_example_is_valid_without_a_warning_and_in_canonical_form(workspace: Workspace) -> None:
    checked = workspace.check(str(DOCUMENT))
    assert [issue for issue in checked.issues if issue.severity != "notice"] == []
    words = [sys.executable, "-m", "pflow", "fmt", "--check", "--diff", str(DOCUMENT)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout


def test_the_readme_lists_the_example() -> None:
    assert "[orders.yaml](orders.yaml)" in (DOCUMENT.parent / "README.md").read_text()
    assert "](again/README.md)" in (ROOT / "examples" / "README.md").read_text()
