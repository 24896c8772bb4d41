"""`pflow runs resume --failed-items`, `runs fork`, `runs settle` and `run --only`."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Pflow, spawn

ROWS = """
name: rows
nodes:
  - id: each
    type: shell
    params: {command: "echo ${item} >> done.txt; test ${item} != b || test -e mended"}
    batch: {items: [a, b, c], on_error: continue}
  - {id: count, type: let, params: {lost: size(each.errors)}}
"""

CUT = """
name: cut
nodes:
  - {id: make, type: echo, params: {version: v7}}
  - id: push
    type: shell
    params: {command: "echo pushed >> done.txt; test -e once || { touch once; kill -9 $PPID; }; echo ${make.version}"}
  - {id: tell, type: echo, params: {text: "pushed ${push.stdout}"}}
"""


def effects() -> Counter[str]:
    path = Path("done.txt")
    return Counter(path.read_text().split() if path.exists() else ())


@pytest.fixture
def rows(pflow: Pflow, tmp_path: Path) -> str:
    (tmp_path / "rows.yaml").write_text(ROWS)
    said = pflow("run", "rows.yaml", "--json")
    assert said.json["data"]["failed_items"] == [{"step": "each", "failed": 1, "items": 3}]
    run_id: str = said.json["data"]["run_id"]
    return run_id


@pytest.fixture
def cut(pflow: Pflow, tmp_path: Path) -> None:
    (tmp_path / "cut.yaml").write_text(CUT)
    process = spawn("run", "cut.yaml", cwd=tmp_path)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL


def test_a_run_that_lost_items_says_how_to_run_them_again(pflow: Pflow, rows: str) -> None:
    said = pflow("run", "rows.yaml")
    assert said.code == 0
    assert said.steady == (
        "warning: 1 of 3 items of `each` failed; `pflow trace RUN` tells why\n"
        "hint: pflow runs resume RUN --failed-items   to run them again\n"
    )


def test_a_run_whose_items_were_all_declined_or_done_leaves_nothing_to_run_again(pflow: Pflow, tmp_path: Path) -> None:
    batch = {"batch": {"items": ["a", "b"]}, "approve": True}
    document = {"nodes": [{"id": "send", "type": "echo", "params": {"text": "${item}"}, **batch}]}
    (tmp_path / "send.json").write_text(json.dumps(document))
    assert pflow("run", "send.json").code == 4
    assert pflow("answer", "latest", "send[0]", "no", "--no-resume").code == 0
    said = pflow("answer", "latest", "send[1]", "yes")
    assert said.steady.splitlines()[-1] == "warning: 1 of 2 items of `send` was declined; `pflow trace RUN` tells why"
    assert "1 of 2 items was declined; 1 of 2 items done" in pflow("runs", "show", "latest").out
    [step] = json.loads(pflow("trace", "latest").out)["steps"]
    assert (step["items_failed"], step["items_declined"]) == (1, 1)


def test_failed_items_run_again(pflow: Pflow, rows: str, tmp_path: Path) -> None:
    (tmp_path / "mended").touch()
    said = pflow("runs", "resume", rows, "--failed-items")
    assert said.code == 0, said
    assert said.err == "ran: each (1 failed item)\nran: count (its inputs changed)\n"
    assert effects() == {"a": 1, "b": 2, "c": 1}
    assert "each   completed" in pflow("runs", "show", rows).out
    assert "3 items done" in pflow("runs", "show", rows).out
    said = pflow("runs", "resume", rows, "--failed-items", "--json")
    assert (said.code, said.json["error"]["type"]) == (2, "usage")


def test_one_item_is_named_with_or_without_its_batch(pflow: Pflow, rows: str, tmp_path: Path) -> None:
    said = pflow("runs", "resume", rows, "--item", "0")
    assert said.code == 2
    assert said.err.startswith("error: item 0 of `each` did not fail\n")
    (tmp_path / "mended").touch()
    data = pflow("runs", "resume", rows, "--item", "each[1]", "--json").json["data"]
    assert data["outputs"] == {"lost": 0}
    assert data["reran"][0] == {"step": "each", "reason": "1 failed item"}
    assert "failed_items" not in data


def test_a_fork_is_a_run_of_its_own(pflow: Pflow, rows: str, tmp_path: Path) -> None:
    said = pflow("runs", "fork", rows, "--from", "count", "--json")
    assert said.code == 0
    data = said.json["data"]
    assert data["run_id"] != rows and data["reused"] == ["each"]
    assert data["failed_items"] == [{"step": "each", "failed": 1, "items": 3}]
    assert effects() == {"a": 1, "b": 1, "c": 1}
    shown = pflow("runs", "show", "latest").out.splitlines()
    assert shown[2] == f"forked from {rows} at count"
    assert pflow("runs", "show", "latest", "--json").json["data"]["forked_from"] == rows
    assert pflow("runs", "fork", rows).code == 2
    said = pflow("runs", "fork", rows, "--from", "cuont")
    assert (said.code, said.err.splitlines()[2]) == (2, "hint: did you mean `count`?")


def test_a_fork_with_an_edited_document_shows_its_issues_in_the_text(
    pflow: Pflow, rows: str, write: Callable[..., str]
) -> None:
    said = pflow("runs", "fork", rows, "--from", "count", "--with", write("b.json", {"id": "a", "type": "ech"}))
    assert said.code == 2
    assert "b.json:1:" in said.err


def test_one_step_is_tried_with_the_values_of_a_run(pflow: Pflow, rows: str, tmp_path: Path) -> None:
    text = ROWS.replace("size(each.errors)", '"each.errors.map(e, e.item)"')
    (tmp_path / "rows.yaml").write_text(text)
    said = pflow("run", "rows.yaml", "--only", "count", "--from-run", rows, "--json")
    assert (said.code, said.json["data"]["outputs"]) == (0, {"lost": ["b"]})
    assert effects() == {"a": 1, "b": 1, "c": 1}
    assert f"only step count, with the values of {rows}" in pflow("runs", "show", "latest").out
    said = pflow("run", "rows.yaml", "--only", "count")
    assert said.code == 2
    assert said.err.startswith("error: `--only` and `--from-run` go together")
    said = pflow("run", "rows.yaml", "--only", "conut", "--from-run", rows)
    assert (said.code, said.err.splitlines()[0]) == (2, "error: the workflow has no node `conut`")


def test_a_step_whose_condition_is_false_is_said_to_be_skipped(pflow: Pflow, rows: str, tmp_path: Path) -> None:
    (tmp_path / "rows.yaml").write_text(ROWS.replace("id: count,", 'id: count, when: "false",'))
    said = pflow("run", "rows.yaml", "--only", "count", "--from-run", rows)
    assert (said.code, said.out, said.err) == (0, "", "`count` was skipped: its condition is false\n")


def test_a_missing_value_is_named(pflow: Pflow, rows: str, tmp_path: Path) -> None:
    (tmp_path / "rows.yaml").write_text(
        ROWS
        + '  - {id: say, type: echo, params: {x: "${count.lost}"}}\n'
        + '  - {id: end, type: echo, params: {x: "${say.x}"}}\n'
    )
    assert pflow("run", "rows.yaml", "--only", "say", "--from-run", rows).out == "1\n"
    said = pflow("run", "rows.yaml", "--only", "end", "--from-run", rows)
    assert said.code == 2
    assert said.steady.startswith(
        "error: `end` reads `${say.x}`, and run `RUN` has no outputs of `say`: it did not complete there\n"
    )


@pytest.mark.usefixtures("cut")
def test_a_step_in_doubt_is_settled_as_done(pflow: Pflow, tmp_path: Path) -> None:
    said = pflow("runs", "resume", "latest")
    assert said.code == 4
    assert said.steady.splitlines()[2:] == [
        "hint: pflow runs settle RUN 'push' --done   if it took effect",
        "hint: pflow runs settle RUN 'push' --rerun   to run only that one again",
        "hint: pflow runs resume RUN --rerun-in-doubt   to run them again",
    ]
    said = pflow("runs", "settle", "latest", "push", "--done")
    assert said.code == 2
    assert said.err.startswith("error: `push` needs its output `stdout`, which `tell` reads\n")
    said = pflow("runs", "settle", "latest", "push", "--done", "stdout=v7", "exit_code=0")
    assert (said.code, said.out) == (0, "settled as done: push\n")
    assert said.steady == "hint: pflow runs resume RUN\n"
    said = pflow("runs", "resume", "latest")
    assert (said.code, said.out) == (0, "pushed v7\n")
    assert effects() == {"pushed": 1}
    shown = pflow("runs", "show", "latest").out
    assert "push  completed  0 ms  settled" in shown
    assert "settled: push, it took effect" in shown


@pytest.mark.usefixtures("cut")
def test_outputs_come_from_a_file_or_an_object(pflow: Pflow, tmp_path: Path) -> None:
    (tmp_path / "outputs.json").write_text(json.dumps({"stdout": 7}))
    said = pflow("runs", "settle", "latest", "push", "--done", "--outputs", "outputs.json")
    assert (said.code, said.err) == (2, "error: output `stdout` of `push` is a string, not an integer\n")
    said = pflow("runs", "settle", "latest", "push", "--done", "--outputs", "{nothing}")
    assert said.code == 2 and said.err.startswith("error: the outputs are not JSON")
    said = pflow("runs", "settle", "latest", "push", "--done", "--outputs", '{"stdout": "v8"}', "--json")
    data = said.json["data"]
    assert (data["outcome"], data["steps"], data["left"]) == ("done", ["push"], [])
    assert pflow("runs", "resume", "latest").out == "pushed v8\n"


@pytest.mark.usefixtures("cut")
def test_a_step_in_doubt_is_settled_to_run_again(pflow: Pflow) -> None:
    for words in ((), ("--done", "--rerun")):
        said = pflow("runs", "settle", "latest", "push", *words)
        assert said.code == 2 and said.err.startswith("error: say what became of it: `--done` or `--rerun`\n")
    assert pflow("runs", "settle", "latest", "x=1", "--done").code == 2
    assert pflow("runs", "settle", "latest", "push", "--rerun").out == "to run again: push\n"
    said = pflow("runs", "resume", "latest")
    assert (said.code, said.out) == (0, "pushed v7\n")
    assert effects() == {"pushed": 2}
    assert pflow("runs", "settle", "latest", "push", "--rerun").code == 1
