"""`pflow schedule`: workflows that run at times, as a person and a timer use it, with a clock of the test's own."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from pflow.adapters.sqlite_journal import SqliteJournal
from pflow.adapters.sqlite_schedules import SqliteSchedules
from pflow.core.schedule.policy import Outcome
from pflow.engine.ports import Tick
from tests.cli.conftest import Pflow, Said

Write = Callable[..., str]
Clock = Callable[[str], None]


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Sets the time that schedules go by, in UTC; at first it is noon of a Monday."""
    file = tmp_path / "now"
    monkeypatch.setenv("PFLOW_NOW", str(file))
    monkeypatch.setenv("TZ", "UTC")

    def set_clock(moment: str) -> None:
        file.write_text(f"{moment}:00Z" if len(moment) == 16 else moment)

    set_clock("2026-11-16T12:00")
    return set_clock


@pytest.fixture
def note(pflow: Pflow, write: Write, clock: Clock) -> str:
    """A saved workflow that notes where it runs."""
    command = 'printf "%s %s\\n" "$PWD" "${word}" >> "${file}"'
    node = {"id": "write", "type": "shell", "params": {"command": command}}
    inputs = {"word": {"type": "string", "default": "ran"}, "file": {"type": "string", "default": "noted"}}
    write("note.json", node, inputs=inputs)
    assert pflow("workflow", "save", "note.json", "note").code == 0
    return "note"


def noted(folder: Path, file: str = "noted") -> list[str]:
    path = folder / file
    return [line.split()[1] for line in path.read_text().splitlines()] if path.exists() else []


def shown(pflow: Pflow, name: str) -> dict[str, Any]:
    """A schedule as `list --json` has it."""
    [found] = [one for one in pflow("schedule", "list", "--json").json["data"]["schedules"] if one["name"] == name]
    return dict(found)


def items(said: Said) -> list[tuple[str, str]]:
    """What a tick dealt with: schedules and what became of their due times."""
    return [(item.get("schedule", ""), item["state"]) for item in said.json["data"]["items"]]


# Adding, listing, pausing


def test_a_schedule_is_added_listed_and_removed(pflow: Pflow, note: str, clock: Clock) -> None:
    said = pflow("schedule", "add", note, "0 7 * * 1-5", "--tz", "Europe/Berlin", "word=hello")
    assert said.code == 0
    assert said.out == "added `note`: 0 7 * * 1-5 in Europe/Berlin, next 2026-11-17 07:00 (in 18 h)\n"
    assert said.err == "note: nothing looks for what is due yet; `pflow schedule install` sees to that\n"
    assert pflow("schedule", "list").out == (
        "note  0 7 * * 1-5 Europe/Berlin  note  2026-11-17 07:00 (in 18 h)  not run yet\n"
    )
    assert shown(pflow, "note") == {
        "name": "note",
        "workflow": "note",
        "when": "0 7 * * 1-5",
        "zone": "Europe/Berlin",
        "status": "active",
        "next": "2026-11-17T07:00:00+01:00",
        "last": None,
        "inputs": {"word": "hello"},
        "overlap": "skip",
        "catch_up": "one",
        "window_seconds": 86400.0,
        "cwd": str(Path.cwd()),
    }
    assert pflow("schedule", "next", "note", "2").out == "2026-11-17 07:00  in 18 h\n2026-11-18 07:00  in 1 d\n"
    assert pflow("schedule", "remove", "note").out == "removed `note`\n"
    assert pflow("schedule", "list").err == 'no schedule yet\n\nhint: pflow schedule add WORKFLOW "0 7 * * 1-5"\n'


def test_every_term_is_kept(pflow: Pflow, note: str) -> None:
    terms = ["--overlap=queue", "--catch-up=all", "--window=3d", "--jitter=60s", "--timeout=2h", "--on-failure=note"]
    assert pflow("schedule", "add", note, "every", "15m", "--name", "mine", *terms).code == 0
    found = shown(pflow, "mine")
    wanted = {"overlap": "queue", "catch_up": "all", "window_seconds": 259200.0, "jitter_seconds": 60.0}
    assert {**found, **wanted, "timeout_seconds": 7200.0, "on_failure": "note", "when": "every 15m"} == found


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            ["note", "0 0 7 * * 1-5"],
            snapshot(
                """\
error: `0 0 7 * * 1-5` has 6 fields, not five (minute, hour, day of the month, month, day of the week)

hint: schedules have no field for seconds: write "0 7 * * 1-5"
"""
            ),
        ),
        (
            ["note", "@reboot"],
            snapshot(
                """\
error: `@reboot` is not a time: pflow does not see the machine start

hint: let the machine itself start it: a systemd unit or a line of crontab with `pflow run WORKFLOW`
"""
            ),
        ),
        (
            ["note", "0", "7", "*", "*", "1-5"],
            snapshot("""\
error: the time is more than one word: `0`, `7` …

hint: put it in quotes: `pflow schedule add WORKFLOW "0 7 * * 1-5"`
"""),
        ),
        (
            ["note", "0 7 * * *", "--tz", "Europe/Berln"],
            snapshot("""\
error: `Europe/Berln` is not a time zone

hint: did you mean `Europe/Berlin`?
"""),
        ),
        (
            ["note", "0 7 * * *", "--overlap", "cancle"],
            snapshot("""\
error: `cancle` is not a policy for runs that overlap; there are: skip, queue, cancel, allow

hint: did you mean `cancel`?
"""),
        ),
        (
            ["note", "0 7 * * *", "--window", "soon"],
            snapshot("""\
error: `soon` is not a duration, in `window`

hint: write seconds, or a string such as `90s`, `15m`, `2h` or `3d`
"""),
        ),
        (
            ["note", "0 25 * * *"],
            snapshot("""\
error: `25` is not an hour, in `0 25 * * *`

hint: it is 0-23; also `*`, lists `1,3`, ranges `1-5` and steps `*/2`
"""),
        ),
        (["note", "0 7 * * *", "--jitter", "172800"], snapshot("error: `jitter` is 2 d; it can be from 0 s to 1 d\n")),
        (["note", "0 7 * * *", "--jitter", "3d"], snapshot("error: `jitter` is 3 d; it can be from 0 s to 1 d\n")),
        (
            ["note", "0 7 * * *", "wort=x"],
            snapshot("""\
error: unknown input `wort`, it has: word, file
  word  string = "ran"
  file  string = "noted"

hint: did you mean `word`?
"""),
        ),
        (
            ["note", "0 7 * * *", "--name", "../x"],
            snapshot("""\
error: schedule name `..\\x2fx` is not allowed: it holds a path separator

hint: use lowercase letters, digits and hyphens, at most 64: `my-schedule`
"""),
        ),
        (
            ["notes", "0 7 * * *"],
            snapshot("""\
error: there is no workflow `notes`
  available: needy, note, secret, draft

hint: did you mean `note`?
"""),
        ),
        (
            ["note.json", "0 7 * * *"],
            snapshot("""\
error: `note.json` is not saved, and schedules run saved workflows only

hint: save it first with `pflow workflow save`
"""),
        ),
        (
            ["draft", "0 7 * * *"],
            snapshot("""\
error: `draft` is a draft, and schedules run saved workflows only

hint: save it first with `pflow workflow save`
"""),
        ),
        (
            ["needy", "0 7 * * *"],
            snapshot("""\
error: 1 input missing: `what`
  what  string, required

hint: pflow schedule add needy '0 7 * * *' what=…
"""),
        ),
        (
            ["note", "0 7 * * *", "--on-failure", "needy"],
            snapshot("""\
error: `needy` cannot be run on a failure: it needs `what`

hint: a failure gives run_id, workflow, error; give other inputs a default
"""),
        ),
        (
            ["secret", "0 7 * * *", "token=abcdef"],
            snapshot("""\
error: `token` is secret, and the inputs of a schedule are stored in clear

hint: store the secret with `pflow settings set TOKEN`: each run looks it up there
"""),
        ),
        (
            ["note", "0 7 * * *", "word=hunter-22-values"],
            snapshot("""\
error: `word` holds the value of `MY_TOKEN`, and the inputs of a schedule are stored in clear

hint: declare it with `secret: true` in the workflow, and store its value with `pflow settings set WORD`
"""),
        ),
        (
            ["note", "0 7 * * *", "word=ghp_0123456789abcdefghij"],
            snapshot("""\
error: `word` holds what looks like a credential, and the inputs of a schedule are stored in clear

hint: declare it with `secret: true` in the workflow, and store its value with `pflow settings set WORD`
"""),
        ),
    ],
)
def test_what_could_not_run_unattended_is_refused(
    pflow: Pflow, write: Write, note: str, words: list[str], error: str
) -> None:
    write("needy.json", {"id": "echo", "params": {"text": "${what}"}}, inputs={"what": {"type": "string"}})
    write("secret.json", {"id": "echo", "params": {"text": "${token}"}}, inputs={"token": {"secret": True}})
    for name in ("needy", "secret"):
        assert pflow("workflow", "save", f"{name}.json", name).code == 0
    assert pflow("workflow", "save", "note.json", "draft", "--draft").code == 0
    assert pflow("settings", "set", "MY_TOKEN", "hunter-22-values").code == 0
    said = pflow("schedule", "add", *words)
    assert said.err == error
    assert said.code in (2, 3)
    assert pflow("schedule", "list", "--json").json["data"]["schedules"] == []


def test_a_name_is_taken_once_and_a_workflow_may_have_many_schedules(pflow: Pflow, note: str) -> None:
    assert pflow("schedule", "add", note, "0 7 * * *").code == 0
    said = pflow("schedule", "add", note, "0 8 * * *")
    assert (said.code, said.err.splitlines()[0]) == (2, "error: there is already a schedule `note`")
    assert pflow("schedule", "add", note, "0 8 * * *", "--name", "eight").code == 0


@pytest.mark.parametrize("command", ["run", "pause", "resume", "remove", "next", "doctor"])
def test_a_schedule_that_is_not_there_is_told_with_the_nearest(pflow: Pflow, note: str, command: str) -> None:
    pflow("schedule", "add", note, "0 7 * * *")
    said = pflow("schedule", command, "nota")
    assert (said.code, said.err) == (2, "error: there is no schedule `nota`\n\nhint: did you mean `note`?\n")


def test_a_paused_schedule_starts_nothing_and_makes_up_for_nothing(
    pflow: Pflow, note: str, clock: Clock, tmp_path: Path
) -> None:
    pflow("schedule", "add", note, "0 * * * *", "--catch-up", "all")
    assert pflow("schedule", "pause", "note").out == ("paused `note`; `pflow schedule resume note` lets it go on\n")
    clock("2026-11-16T15:10")
    assert items(pflow("schedule", "tick", "--json")) == []
    assert "paused" in pflow("schedule", "list").out
    assert pflow("schedule", "resume", "note").out == "resumed `note`, next 2026-11-16 16:00 (in 50 min)\n"
    assert items(pflow("schedule", "tick", "--json")) == []
    clock("2026-11-16T16:00")
    assert items(pflow("schedule", "tick", "--json")) == [("note", "completed")]
    assert noted(tmp_path) == ["ran"]


# Ticks


def test_what_is_due_runs_once_in_the_directory_and_with_the_path_of_its_schedule(
    pflow: Pflow, write: Write, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "bin"
    own.mkdir()
    (own / "my-program").write_text('#!/bin/sh\necho "$PWD $1"\n')
    (own / "my-program").chmod(0o755)
    command = "my-program ${word}; if test -t 0; then echo tty; fi; cat"
    write("doc.json", {"id": "a", "type": "shell", "params": {"command": command}}, inputs={"word": {"type": "string"}})
    assert pflow("workflow", "save", "doc.json", "mine").code == 0
    with monkeypatch.context() as there:
        there.setenv("PATH", f"{own}:{os.environ['PATH']}")
        assert pflow("schedule", "add", "mine", "0 13 * * *", "word=hello").code == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert pflow("schedule", "tick").out == ""
    clock("2026-11-16T13:01")
    said = pflow("schedule", "tick")
    assert (said.code, said.err) == (0, "")
    assert re.fullmatch(r"mine 2026-11-16 13:00 completed, run [-0-9a-f]+\n", said.out)
    assert pflow("schedule", "tick").out == ""
    [run] = pflow("runs", "list", "--json").json["data"]["runs"]
    assert (run["schedule"], run["status"]) == ("mine", "completed")
    assert f"{run['run_id']}" in said.out
    trace = pflow("trace", run["run_id"], "--field", "outputs.stdout").out
    assert trace == f"{tmp_path} hello\n"
    assert "by mine" in pflow("runs", "list").out
    found = shown(pflow, "mine")
    assert found["last"] == {"state": "completed", "due": "2026-11-16T13:00:00+00:00", "run_id": run["run_id"]}
    assert found["next"] == "2026-11-17T13:00:00+00:00"


def test_a_person_can_run_a_schedule_now(pflow: Pflow, note: str, clock: Clock, tmp_path: Path) -> None:
    pflow("schedule", "add", note, "0 13 * * *", "word=now")
    (tmp_path / "elsewhere").mkdir()
    os.chdir(tmp_path / "elsewhere")
    clock("2026-11-16T13:00")
    for _ in range(2):
        assert pflow("schedule", "run", "note").code == 0
    assert Path.cwd() == tmp_path / "elsewhere"
    assert noted(tmp_path) == ["now", "now"]
    assert shown(pflow, "note")["last"]["asked"] is True
    assert items(pflow("schedule", "tick", "--json")) == [("note", "completed")], "the due time itself is still due"


@pytest.mark.parametrize(
    ("catch_up", "states", "words"),
    [
        ("none", ["missed"] * 3, []),
        ("one", ["missed", "missed", "completed"], ["ran"]),
        ("all", ["completed"] * 3, ["ran"] * 3),
    ],
)
def test_after_three_days_off_the_schedule_catches_up_by_its_policy(
    pflow: Pflow, note: str, clock: Clock, tmp_path: Path, catch_up: str, states: list[str], words: list[str]
) -> None:
    pflow("schedule", "add", note, "0 7 * * *", "--catch-up", catch_up, "--window", "4d")
    clock("2026-11-19T12:00")
    said = pflow("schedule", "tick", "--json")
    assert said.code == 0
    assert sorted(state for _, state in items(said) if state != "queued") == sorted(states)
    assert noted(tmp_path) == words
    assert items(pflow("schedule", "tick", "--json")) == []


def test_no_due_time_runs_twice_when_the_clock_is_set_back(
    pflow: Pflow, note: str, clock: Clock, tmp_path: Path
) -> None:
    pflow("schedule", "add", note, "0 * * * *")
    for moment in ("T13:00", "T14:00", "T13:00", "T12:30", "T14:01", "T15:00"):
        clock(f"2026-11-16{moment}")
        pflow("schedule", "tick")
    assert len(noted(tmp_path)) == 3
    clock("2026-11-16T12:59")
    assert shown(pflow, "note")["next"] == "2026-11-16T16:00:00+00:00"


def test_a_clock_that_leaps_a_day_ahead_and_back_costs_one_run(
    pflow: Pflow, note: str, clock: Clock, tmp_path: Path
) -> None:
    pflow("schedule", "add", note, "0 * * * *")
    clock("2026-11-17T12:30")
    pflow("schedule", "tick")
    assert len(noted(tmp_path)) == 1
    clock("2026-11-16T13:00")
    assert items(pflow("schedule", "tick", "--json")) == [("note", "completed")]
    assert len(noted(tmp_path)) == 2


# What goes wrong


def test_a_failure_is_told_and_runs_the_workflow_for_failures(
    pflow: Pflow, write: Write, clock: Clock, tmp_path: Path
) -> None:
    write(
        "bad.json",
        {"id": "stop", "type": "fail", "params": {"message": "no paper: ${why}"}},
        inputs={"why": {"type": "string"}},
    )
    params = {"path": "told", "content": "${workflow}|${error}|${run_id}"}
    names = {"run_id": {"type": "string"}, "workflow": {"type": "string"}, "error": {"type": "string"}}
    write("tell.json", {"id": "w", "type": "write-file", "params": params}, inputs=names)
    for name in ("bad", "tell"):
        assert pflow("workflow", "save", f"{name}.json", name).code == 0
    pflow("schedule", "add", "bad", "0 13 * * *", "why=jam", "--on-failure", "tell")
    clock("2026-11-16T13:00")
    said = pflow("schedule", "tick", "--json")
    assert said.code == 0, "the run was attempted"
    [item] = said.json["data"]["items"]
    assert (item["state"], item["note"]) == ("failed", "no paper: jam")
    assert (tmp_path / "told").read_text() == f"bad|no paper: jam|{item['run_id']}"
    assert pflow("schedule", "list").out == (
        "bad  0 13 * * * UTC  bad  2026-11-17 13:00 (in 1 d)  failed 0 s ago\n  no paper: jam\n"
    )


def test_an_error_that_is_wanted_as_an_object_is_one(pflow: Pflow, write: Write, clock: Clock, tmp_path: Path) -> None:
    write("bad.json", {"id": "stop", "type": "fail", "params": {"message": "no paper", "details": {"tray": 2}}})
    params = {"path": "told", "content": "${error.type} ${error.details.tray}"}
    write("tell.json", {"id": "w", "type": "write-file", "params": params}, inputs={"error": {"type": "object"}})
    for name in ("bad", "tell"):
        assert pflow("workflow", "save", f"{name}.json", name).code == 0
    pflow("schedule", "add", "bad", "0 13 * * *", "--on-failure", "tell")
    clock("2026-11-16T13:00")
    assert items(pflow("schedule", "tick", "--json")) == [("bad", "failed")]
    assert (tmp_path / "told").read_text() == "failed_on_purpose 2"


def test_a_schedule_whose_workflow_was_deleted_is_paused_with_the_reason(
    pflow: Pflow, note: str, clock: Clock, write: Write, tmp_path: Path
) -> None:
    pflow("schedule", "add", note, "0 13 * * *")
    pflow("workflow", "delete", note)
    clock("2026-11-16T13:00")
    said = pflow("schedule", "tick")
    assert (said.code, said.out) == (1, "")
    assert "error: note 2026-11-16 13:00 refused: " in said.err, "there is no run to look at"
    assert "there is no workflow `note`" in said.err
    found = shown(pflow, "note")
    assert (found["status"], found["reason"], found["next"]) == ("paused", "there is no workflow `note`", None)
    clock("2026-11-17T13:00")
    assert pflow("schedule", "tick").code == 0
    assert pflow("schedule", "resume", "note").code == 2, "it still could not run"
    assert pflow("workflow", "save", "note.json", "note").code == 0
    assert pflow("schedule", "resume", "note").code == 0
    clock("2026-11-18T13:00")
    assert items(pflow("schedule", "tick", "--json")) == [("note", "completed")]
    assert noted(tmp_path) == ["ran"]


def test_a_schedule_whose_inputs_do_not_fit_any_more_is_paused_with_the_message(
    pflow: Pflow, note: str, clock: Clock, write: Write
) -> None:
    pflow("schedule", "add", note, "0 13 * * *", "word=x")
    write("note.json", {"id": "echo", "params": {"text": "${words}"}}, inputs={"words": {"type": "integer"}})
    assert pflow("workflow", "save", "note.json", "note", "--overwrite").code == 0
    looked = pflow("schedule", "doctor", "note").out
    assert looked.count("missing input `words` (integer)") == 1, "what is told once is enough"
    clock("2026-11-16T13:00")
    assert pflow("schedule", "tick").code == 1
    listed = pflow("schedule", "list").out
    assert listed.splitlines()[0] == "note  0 13 * * * UTC  note  paused  refused 0 s ago"
    assert "  paused: the workflow now takes other inputs: " in listed and "word" in listed
    said = pflow("schedule", "resume", "note")
    assert said.code == 2
    assert said.err.endswith(
        "hint: remove the schedule with `pflow schedule remove note`, and add it again with other inputs\n"
    )


def test_a_directory_that_is_gone_is_told_and_tried_again_the_next_time(
    pflow: Pflow, note: str, clock: Clock, tmp_path: Path
) -> None:
    (tmp_path / "there").mkdir()
    os.chdir(tmp_path / "there")
    pflow("schedule", "add", note, "0 * * * *")
    os.chdir(tmp_path)
    (tmp_path / "there").rmdir()
    clock("2026-11-16T13:00")
    said = pflow("schedule", "tick")
    assert (said.code, f"its directory `{tmp_path}/there` does not exist" in said.err) == (1, True)
    assert pflow("schedule", "run", "note").code == 1
    (tmp_path / "there").mkdir()
    clock("2026-11-16T14:00")
    assert items(pflow("schedule", "tick", "--json")) == [("note", "completed")]


def test_a_run_that_takes_too_long_is_stopped_and_told(
    pflow: Pflow, write: Write, clock: Clock, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "never")
    write("long.json", {"id": "hang", "type": "shell", "params": {"command": "cat < never"}})
    write(
        "tell.json",
        {"id": "w", "type": "write-file", "params": {"path": "told", "content": "${error}"}},
        inputs={"error": {"type": "string"}},
    )
    for name in ("long", "tell"):
        assert pflow("workflow", "save", f"{name}.json", name).code == 0
    pflow("schedule", "add", "long", "0 13 * * *", "--timeout", "1s", "--on-failure", "tell")
    clock("2026-11-16T13:00")
    [item] = pflow("schedule", "tick", "--json").json["data"]["items"]
    assert item["state"] == "stopped"
    assert (tmp_path / "told").read_text() == item["note"]
    assert "it took longer than 1 s, the timeout of its schedule" in item["note"]


def test_a_schedule_that_is_damaged_does_not_hold_the_others_up(
    pflow: Pflow, note: str, clock: Clock, home: Path, tmp_path: Path
) -> None:
    pflow("schedule", "add", note, "0 13 * * *")
    pflow("schedule", "add", note, "0 13 * * *", "--name", "a-broken-one")
    with sqlite3.connect(home / "runs.db") as database:
        database.execute("UPDATE schedules SET data = 'x' WHERE name = 'a-broken-one'")
    database.close()
    clock("2026-11-16T13:00")
    said = pflow("schedule", "tick", "--json")
    assert (said.code, items(said)) == (1, [("a-broken-one", "refused"), ("note", "completed")])
    assert "schedule `a-broken-one` is damaged" in pflow("schedule", "list").err


def test_a_zone_that_cannot_be_looked_up_any_more_is_told_and_does_not_hold_the_others_up(
    pflow: Pflow, note: str, clock: Clock, home: Path
) -> None:
    pflow("schedule", "add", note, "0 13 * * *")
    pflow("schedule", "add", note, "0 13 * * *", "--name", "a", "--tz", "Europe/Berlin")
    with sqlite3.connect(home / "runs.db") as database:
        database.execute("UPDATE schedules SET data = replace(CAST(data AS TEXT), 'Berlin', 'Gone') WHERE name = 'a'")
        database.execute("UPDATE schedules SET data = CAST(data AS BLOB)")
    database.close()
    clock("2026-11-16T13:00")
    said = pflow("schedule", "tick", "--json")
    assert (said.code, items(said)) == (1, [("a", "refused"), ("note", "completed")])
    first, second, _ = pflow("schedule", "list").out.splitlines()
    assert (first.split()[-5:], second) == (
        ["note", "unknown", "not", "run", "yet"],
        "  `Europe/Gone` is not a time zone",
    )
    assert pflow("schedule", "doctor", "a").code == 1


def test_a_workflow_of_a_project_runs_by_schedule_in_its_project(pflow: Pflow, clock: Clock, tmp_path: Path) -> None:
    project = tmp_path / "shop"
    (project / ".pflow" / "workflows").mkdir(parents=True)
    document = {"nodes": [{"id": "a", "type": "shell", "params": {"command": "echo ran >> did"}}]}
    (project / ".pflow" / "workflows" / "ours.json").write_text(json.dumps(document))
    os.chdir(project)
    assert pflow("project", "agree", "--yes").code == 0
    assert pflow("schedule", "add", "ours", "0 13 * * *").code == 0
    os.chdir(tmp_path)
    clock("2026-11-16T13:00")
    assert items(pflow("schedule", "tick", "--json")) == [("ours", "completed")]
    assert (project / "did").read_text() == "ran\n"
    assert pflow("schedule", "doctor", "ours").out.startswith("ours: works\n")
    (project / ".pflow" / "workflows" / "ours.json").write_text(json.dumps({**document, "description": "changed"}))
    clock("2026-11-17T13:00")
    assert items(pflow("schedule", "tick", "--json")) == [("ours", "refused")], "nobody agreed to what it is now"
    assert shown(pflow, "ours")["status"] == "paused"


def test_old_due_times_are_forgotten_with_old_runs(pflow: Pflow, note: str, home: Path) -> None:
    pflow("schedule", "add", note, "0 13 * * *")
    day, today = 86_400, time.time()
    (home / ".clock").write_text(json.dumps([today - 2 * day, today - day, today]))
    (home / ".clock").chmod(0o600)
    journal = SqliteJournal(home / "runs.db")
    store = SqliteSchedules(journal.database)
    kept: list[Outcome] = ["queued", "completed"]
    store.put(Tick(schedule="note", due=today - 400 * day, outcome="completed", at=1.0))
    store.put(Tick(schedule="note", due=today - 401 * day, outcome=kept[0], at=1.0))
    store.put(Tick(schedule="note", due=today - 2 * day, outcome=kept[1], at=1.0))
    pflow("schedule", "pause", "note")
    pflow("schedule", "tick")
    assert [tick.outcome for tick in reversed(store.ticks())] == kept
    journal.close()
