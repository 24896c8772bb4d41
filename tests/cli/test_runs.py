"""`pflow runs …` and `pflow trace`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Pflow

START = {"id": "start", "type": "echo", "params": {"x": "one"}}
READ = {"id": "read", "type": "read-file", "params": {"path": "later.txt"}}


@pytest.fixture
def failed(pflow: Pflow, write: Callable[..., str]) -> str:
    assert pflow("run", write("a.json", START, READ)).code == 1
    [run] = pflow("runs", "list", "--json").json["data"]["runs"]
    run_id: str = run["run_id"]
    return run_id


def test_no_run_yet_says_how_to_begin(pflow: Pflow) -> None:
    assert pflow("runs", "list").err == "no run yet\n\nhint: pflow run WORKFLOW\n"
    assert pflow("trace").code == 2
    assert pflow("runs", "list", "--json").json["data"] == {"runs": []}


def test_runs_are_listed_newest_first(pflow: Pflow, failed: str) -> None:
    pflow("echo", "--x=1")
    lines = pflow("runs", "list").out.splitlines()
    assert lines[0].split()[1:3] == ["completed", "echo"]
    assert lines[1].split()[:3] == [failed, "failed", "a"]
    assert len(pflow("runs", "list", "--limit", "1").out.splitlines()) == 1
    assert pflow("runs", "list", "--limit", "0").code == 2


def test_a_run_is_shown_with_its_steps_and_how_to_go_on(pflow: Pflow, failed: str) -> None:
    said = pflow("runs", "show", failed[:-3])
    lines = said.out.splitlines()
    assert lines[0].startswith(f"{failed}  failed, ")
    assert lines[1:3] == ["workflow a", ""]
    assert [line.split()[:2] for line in lines[3:5]] == [["start", "completed"], ["read", "failed"]]
    assert lines[5:] == [
        "",
        "error: cannot read `later.txt`: it does not exist",
        "",
        f"resume: pflow runs resume {failed}",
    ]
    assert pflow("runs", "show", failed, "--json").json["data"]["status"] == "failed"


def test_a_resumed_run_does_only_what_is_missing(pflow: Pflow, failed: str, tmp_path: Path) -> None:
    (tmp_path / "later.txt").write_text("here now\n")
    said = pflow("runs", "resume", failed, "--json")
    assert (said.code, said.json["data"]["steps"]) == (0, 1)
    said = pflow("runs", "resume", failed)
    assert said.code == 1
    assert said.steady.startswith("error: run `RUN` is complete; there is nothing to resume\n")
    assert pflow("runs", "list").out.split()[1] == "completed"


def test_an_edited_workflow_says_what_it_kept_and_ran(pflow: Pflow, failed: str, write: Callable[..., str]) -> None:
    edited = write("b.json", START, READ | {"params": {"path": "b.json"}})
    said = pflow("runs", "resume", "latest", "--with", edited)
    assert said.code == 0
    assert said.err == "kept: start\nran: read (it had not completed)\n"


def test_an_edited_workflow_with_issues_shows_them_in_its_text(
    pflow: Pflow, failed: str, write: Callable[..., str]
) -> None:
    said = pflow("runs", "resume", failed, "--with", write("b.json", START | {"type": "ech"}))
    assert said.code == 2
    assert "b.json:1:" in said.err


def test_a_cancelled_run_is_over(pflow: Pflow, failed: str) -> None:
    assert pflow("runs", "cancel", failed).out == f"cancelled {failed}\n"
    said = pflow("runs", "cancel", failed)
    assert (said.code, said.steady) == (2, "error: run `RUN` is cancelled already\n")


def test_a_run_that_does_not_exist_is_reported(pflow: Pflow, failed: str) -> None:
    for words in (("show",), ("resume",), ("cancel",)):
        said = pflow("runs", *words, "nope")
        assert said.code == 2
        assert said.err.startswith("error: there is no run `nope`\n")


def test_the_trace_is_json_and_can_be_narrowed(pflow: Pflow, failed: str) -> None:
    trace = json.loads(pflow("trace").out)
    assert (trace["run_id"], trace["status"]) == (failed, "failed")
    assert json.loads(pflow("trace", failed, "--step", "start").out)["outputs"] == {"x": "one"}
    assert pflow("trace", failed, "--step", "start", "--field", "outputs.x").out == "one\n"
    assert pflow("trace", "--step", "start", "--json").json["data"]["status"] == "completed"
    said = pflow("trace", "--step", "strat")
    assert said.code == 2
    assert "did you mean `start`?" in said.err
    assert pflow("trace", "../../etc/passwd").code == 3


def test_a_long_value_can_be_paged_through(pflow: Pflow) -> None:
    pflow("echo", "--x=" + "0123456789" * 5000)
    page = json.loads(pflow("trace", "--step", "echo", "--field", "outputs.x", "--offset", "5", "--limit", "3").out)
    assert page == {"text": "567", "offset": 5, "next": 8, "size": 50000}


def test_a_failure_in_a_section_is_told_beside_the_error_of_the_run(pflow: Pflow, write: Callable[..., str]) -> None:
    tell = {"id": "tell", "type": "fail", "params": {"message": "nobody \x1b[31mlistens"}}
    tidy = {"id": "tidy", "type": "echo", "params": {"status": "${run.status}"}}
    path = write("a.json", START, READ, tell, tidy, on_failure="tell", **{"finally": "tidy"})
    said = pflow("run", path)
    warning = "warning: step `tell` of `on_failure` failed: nobody \\x1b[31mlistens; `pflow trace "
    assert said.code == 1 and said.err.startswith(warning) and "error: step `read` failed" in said.err
    rows = {line.split()[0]: line for line in pflow("runs", "show", "latest").out.splitlines() if line[:2] == "  "}
    assert rows["tell"].endswith("in on_failure: nobody \\x1b[31mlistens") and rows["tidy"].endswith("in finally")
    envelope = pflow("run", path, "--json").json
    assert envelope["error"]["node"] == "read"
    assert [(one["section"], one["step"]) for one in envelope["failed_in_sections"]] == [("on_failure", "tell")]
