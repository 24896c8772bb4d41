"""`pflow state …`, and `pflow run --state`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Pflow

COUNTER = """\
name: counter
inputs: {by: {type: integer, default: 1}}
state:
  count: {type: integer, default: 0, merge: add, description: How often it ran}
  last: {type: string}
  seen: {type: array, default: [], merge: union}
nodes:
  - {id: say, type: echo, params: {text: "ran ${state.count} times"}}
  - {id: keep, type: state-set, params: {count: "${by}", seen: ["${by}"]}}
outputs: {text: "${say.text}"}
"""


@pytest.fixture
def counter(tmp_path: Path) -> str:
    path = tmp_path / "counter.yaml"
    path.write_text(COUNTER)
    return str(path)


@pytest.fixture
def saved(pflow: Pflow, counter: str) -> str:
    assert pflow("workflow", "save", counter).code == 0
    return "counter"


def values(pflow: Pflow, workflow: str = "counter") -> dict[str, object]:
    found = pflow("state", "list", workflow, "--json").json["data"]["state"]
    return {one["key"]: one["value"] for one in found if one["is_set"]}


def test_what_a_workflow_keeps_is_listed_with_its_type(pflow: Pflow, saved: str) -> None:
    assert pflow("state", "list").err == "no workflow keeps anything yet\n"
    lines = pflow("state", "list", saved).out.splitlines()
    assert [line.split() for line in lines] == [
        ["count", "integer", "0", "default"],
        ["last", "string", "null", "default"],
        ["seen", "array", "[]", "default"],
    ]
    assert [pflow(saved).out for _ in range(2)] == ["ran 0 times\n", "ran 1 times\n"]
    assert pflow("state", "list").out.split()[:3] == ["counter", "2", "values"]
    assert pflow("state", "list", saved).out.splitlines()[0].split()[:3] == ["count", "integer", "2"]
    [scope] = pflow("state", "list", "--json").json["data"]["workflows"]
    assert (scope["workflow"], scope["values"]) == ("counter", 2)


def test_a_value_is_read_set_and_unset(pflow: Pflow, saved: str) -> None:
    assert pflow("state", "get", saved, "count").out == "0\n"
    assert pflow("state", "get", saved, "last").out == "null\n"
    assert pflow("state", "set", saved, "count", "41").out == "count = 41\n"
    assert pflow("state", "set", saved, "last", "41").out == 'last = "41"\n'
    assert pflow("state", "set", saved, "seen", '[1, {"a": 2}]').out == 'seen = [1,{"a":2}]\n'
    assert pflow(saved).out == "ran 41 times\n"
    assert pflow("state", "get", saved, "seen").out == '[{"a":2},1]\n'
    found = pflow("state", "get", saved, "count", "--json").json["data"]
    assert (found["value"], found["is_set"], found["version"], found["type"]) == (42, True, 2, "integer")
    assert pflow("state", "unset", saved, "count").out == "count has its default again\n"
    assert values(pflow) == {"last": "41", "seen": [{"a": 2}, 1]}


def test_the_history_says_who_set_what(pflow: Pflow, saved: str) -> None:
    assert pflow("state", "history", saved).err == "nothing was ever set\n"
    pflow(saved)
    pflow("state", "set", saved, "count", "7")
    pflow("state", "unset", saved, "count")
    lines = pflow("state", "history", saved, "count").out.splitlines()
    assert [line.split()[1:3] for line in lines] == [["3", "unset"], ["2", "7"], ["1", "1"]]
    assert [line.split("  ")[-1].strip()[:4] for line in lines] == ["by h", "by h", "run "]
    versions = pflow("state", "history", saved, "--json").json["data"]["versions"]
    assert [(one["key"], one["version"], one["is_set"]) for one in versions] == [
        ("count", 3, False),
        ("count", 2, True),
        ("seen", 1, True),
        ("count", 1, True),
    ]


def test_all_that_is_kept_can_be_deleted(pflow: Pflow, saved: str) -> None:
    pflow(saved)
    for words in ((), ("count", "--all")):
        said = pflow("state", "unset", saved, *words)
        assert said.code == 2
        assert "say which KEY to unset, or `--all`" in said.err
    assert pflow("state", "unset", saved, "--all").out == "deleted all that `counter` kept\n"
    assert pflow("state", "unset", saved, "--all").out == "`counter` kept nothing\n"
    assert pflow("state", "history", saved).out == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("get", "counter", "cont"),
            "error: `counter` keeps no `cont`\n  available: count, last, seen\n\nhint: did you mean `count`?\n",
        ),
        (("get", "countre", "count"), "error: there is no workflow `countre`\n"),
        (("set", "counter", "zz", "1"), "error: `counter` keeps no `zz`\n  available: count, last, seen\n"),
        (("set", "counter", "count", "many"), "error: `count` must be an integer, not `many`\n"),
        (("set", "counter", "seen", "[1"), "error: `seen` must be an array, not `[1`\n"),
        (("set", "counter", "last", "x" * 70_000), "error: `last` would take 69 kB, and a value that is kept"),
        (("unset", "counter", "zz"), "error: `counter` keeps no `zz`\n"),
        (("history", "counter", "zz"), "error: `counter` keeps no `zz`\n"),
    ],
)
def test_what_makes_no_sense_is_refused(pflow: Pflow, saved: str, words: tuple[str, ...], said: str) -> None:
    found = pflow("state", *words)
    assert found.code == 2
    assert found.err.startswith(said)
    assert values(pflow) == {}


def test_a_secret_is_not_set_by_hand(pflow: Pflow, saved: str) -> None:
    pflow("settings", "set", "MY_TOKEN", stdin="a-very-long-secret")
    said = pflow("state", "set", saved, "last", "a-very-long-secret")
    assert said.code == 3
    assert "secret, which is not kept" in said.err
    assert "a-very-long" not in said.err + said.out


def test_what_looks_like_a_credential_is_not_set_by_hand(pflow: Pflow, saved: str) -> None:
    said = pflow("state", "set", saved, "last", "ghp_0123456789abcdefghij0123456789abcdef")
    assert said.code == 3
    assert "looks like a credential" in said.err and "`pflow settings set LAST`" in said.err
    assert values(pflow) == {}


def test_what_became_a_secret_later_is_not_shown(pflow: Pflow, saved: str) -> None:
    pflow("state", "set", saved, "last", "a-very-long-secret")
    pflow("settings", "set", "MY_TOKEN", stdin="a-very-long-secret")
    for words in (("list", saved), ("get", saved, "last"), ("history", saved), ("get", saved, "last", "--json")):
        assert "a-very-long" not in pflow("state", *words).out


# ---- trials


def test_a_run_is_tried_with_other_state(pflow: Pflow, saved: str, tmp_path: Path) -> None:
    pflow(saved)
    (tmp_path / "state.yaml").write_text("count: 41\n")
    (tmp_path / "state.json").write_text('{"count": 5}')
    assert pflow("run", saved, "--state", "state.yaml").out == "ran 41 times\n"
    assert pflow("run", saved, "--state=state.json", "by=3").out == "ran 5 times\n"
    assert pflow("run", saved, "--state", "none").out == "ran 0 times\n"
    assert pflow("run", saved, "--state", "-", stdin='{"count": 6}').out == "ran 6 times\n"
    assert values(pflow) == {"count": 1, "seen": [1]}
    assert "a trial: nothing was kept" in pflow("runs", "show", "latest").out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "error: `state.json` does not hold an object\n"),
        ('{"count": "x"}', "error: `count` must be an integer, not a string\n"),
        ('{"cuont": 1}', "error: the workflow keeps no `cuont`\n"),
        ('{"count": 1', "error"),
    ],
)
def test_a_file_that_is_not_state_is_refused(pflow: Pflow, saved: str, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "state.json").write_text(text)
    found = pflow("run", saved, "--state", "state.json")
    assert found.code == 2
    assert said in found.err
    assert pflow("run", saved, "--state", "nothing.json").code == 2


def test_a_workflow_that_keeps_nothing_has_no_state_to_try(pflow: Pflow, write: Callable[..., str]) -> None:
    said = pflow("run", write("a.json", {"id": "echo"}), "--state", "none")
    assert (said.code, said.err.splitlines()[0]) == (2, "error: the workflow keeps no state")


def test_a_single_step_has_the_state_of_its_run_and_no_other(pflow: Pflow, saved: str) -> None:
    pflow(saved)
    said = pflow("run", saved, "--only", "say", "--from-run", "latest", "--state", "none")
    assert said.code == 2
    assert "`--state` cannot be combined with `--only`" in said.err
    assert pflow("run", saved, "--only", "say", "--from-run", "latest").out == "ran 0 times\n"
    assert values(pflow) == {"count": 1, "seen": [1]}


def test_an_input_that_is_called_state_is_still_a_flag(pflow: Pflow, write: Callable[..., str]) -> None:
    node = {"id": "echo", "params": {"x": "${state}"}}
    path = write("a.json", node, inputs={"state": {"type": "string"}})
    assert pflow("run", path, "--state", "open", "--json").json["data"]["outputs"] == {"x": "open"}
    assert pflow("run", path, "state=closed", "--json").json["data"]["outputs"] == {"x": "closed"}
    assert pflow("run", path, "state=closed", "--state", "open").code == 2


# ---- beside


def test_a_run_shows_what_it_set_and_what_became_of_it(pflow: Pflow, saved: str) -> None:
    pflow(saved)
    pflow(saved, "by=5")
    lines = pflow("runs", "show", "latest").out.splitlines()
    assert next(line for line in lines if line.startswith("  keep")).endswith("sets count, seen")
    at = lines.index("kept")
    assert [line.split() for line in lines[at + 1 : at + 3]] == [["counter.count", "6"], ["counter.seen", "[1,5]"]]
    trace = json.loads(pflow("trace").out)
    assert trace["state"]["found"]["counter"]["count"] == 1
    assert pflow("trace", "--field", "state.kept.counter.count").out == "6\n"


def test_a_lost_race_says_how_to_go_on(pflow: Pflow, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "name: a\nstate: {n: {type: integer, default: 0}}\nnodes:\n"
        "  - {id: wait, type: read-file, params: {path: later.txt}}\n"
        "  - {id: bump, type: let, params: {n: state.n + 1}}\n"
        '  - {id: keep, type: state-set, params: {n: "${bump.n}"}}\n'
    )
    assert pflow("run", "a.yaml").code == 1
    late = pflow("runs", "list", "--json").json["data"]["runs"][0]["run_id"]
    (tmp_path / "later.txt").touch()
    assert pflow("run", "a.yaml").code == 0
    said = pflow("runs", "resume", late)
    assert said.code == 1
    assert said.steady == (
        "error: run `RUN` has changed `n`, which `a` keeps, since this run read it\n"
        '  versions: {"read":0,"now":1}\n'
        "  completed: wait, bump, keep\n\n"
        "hint: `pflow runs resume RUN` reads it again, and reruns what depends on it\n"
        "hint: if the values of all runs count, declare how they `merge`\n"
        "resume: pflow runs resume RUN\n"
    )
    said = pflow("runs", "resume", late)
    assert said.code == 0
    assert said.err == "kept: wait\nran: bump (its inputs changed)\nran: keep (its inputs changed)\n"
    assert values(pflow, "a.yaml") == {"n": 2}


def test_deleting_a_workflow_says_that_its_state_stays(pflow: Pflow, saved: str) -> None:
    pflow(saved)
    said = pflow("workflow", "delete", saved)
    assert (said.code, said.out) == (0, "deleted `counter`\n")
    assert said.err == "note: what it kept between runs stays; `pflow state unset counter --all` deletes it\n"
    assert values(pflow) == {"count": 1, "seen": [1]}


def test_a_renamed_workflow_keeps_its_state(pflow: Pflow, saved: str) -> None:
    pflow(saved)
    assert pflow("workflow", "rename", saved, "tally").code == 0
    assert pflow("tally").out == "ran 1 times\n"


def test_describe_shows_what_is_kept(pflow: Pflow, saved: str) -> None:
    lines = pflow("describe", saved).out.splitlines()
    at = lines.index("state, kept as counter")
    assert [line.split()[:4] for line in lines[at + 1 : at + 4]] == [
        ["count", "integer", "=", "0"],
        ["last", "string"],
        ["seen", "array", "=", "[]"],
    ]
    assert pflow("describe", saved, "--json").json["data"]["state"]["last"] == {"type": "string"}


def test_a_document_without_a_name_says_where_it_would_keep_what(pflow: Pflow, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(COUNTER.replace("name: counter\n", ""))
    for words in (("run", "a.yaml"), ("validate", "a.yaml")):
        said = pflow(*words)
        assert said.code == 2
        assert "the document keeps state, and nothing says under which name" in said.err
        assert "pflow workflow setup" not in said.err
    assert pflow("state", "list", "a.yaml").code == 2
    assert pflow("workflow", "save", "a.yaml", "named").code == 0
    assert pflow("named").out == "ran 0 times\n"
