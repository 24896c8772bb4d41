"""A resume runs the document that was run, with the values that were recorded, whatever the secrets are by then."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Pflow

Write = Callable[..., str]
GATE = {"id": "gate", "type": "shell", "params": {"command": "test -e open"}}


def secret(name: str, **more: object) -> dict[str, object]:
    return {name: {"type": "string", "secret": True, **more}}


@pytest.mark.parametrize(
    "value",
    ["postgres", "gate", "c", "shell", "write-file", "command", "params", "content", "nodes", "x", "«secret:pw»"],
)
def test_a_document_that_holds_the_secret_itself_is_resumed_as_it_was(
    pflow: Pflow, write: Write, tmp_path: Path, value: str
) -> None:
    file = write(
        "w.json",
        GATE,
        {"id": "b", "type": "shell", "params": {"command": "echo connect as postgres, content x > out"}},
        {
            "id": "c",
            "type": "write-file",
            "params": {"path": "conf-postgres.txt", "content": "«secret:pw» «secret:no»"},
        },
        inputs=secret("pw"),
    )
    assert pflow("run", file, f"pw={value}").code == 1
    (tmp_path / "open").touch()
    assert pflow("runs", "resume", "latest", f"pw={value}").code == 0
    assert (tmp_path / "out").read_text() == "connect as postgres, content x\n"
    assert (tmp_path / "conf-postgres.txt").read_text() == "«secret:pw» «secret:no»"


def test_a_document_with_a_secret_in_its_keys_and_numbers_is_resumed_as_it_was(
    pflow: Pflow, write: Write, tmp_path: Path
) -> None:
    code = {"code": "result = [inputs, 4711471147]", "inputs": {"inputs": {"4711471147": 4711471147}}}
    show = {"id": "show", "type": "write-file", "params": {"path": "out", "content": "${made.result}"}}
    file = write(
        "w.json", GATE, {"id": "made", "type": "code", "params": code}, show, inputs=secret("pin", type="integer")
    )
    assert pflow("run", file, "pin=4711471147").code == 1
    (tmp_path / "open").touch()
    assert pflow("runs", "resume", "latest", "pin=4711471147").code == 0
    assert json.loads((tmp_path / "out").read_text()) == [{"4711471147": 4711471147}, 4711471147]


def test_a_document_is_not_resumed_with_another_secret_in_place_of_the_one_in_it(
    pflow: Pflow, write: Write, tmp_path: Path
) -> None:
    file = write(
        "w.json", GATE, {"id": "b", "type": "shell", "params": {"command": "echo postgres > out"}}, inputs=secret("pw")
    )
    assert pflow("run", file, "pw=postgres").code == 1
    (tmp_path / "open").touch()
    said = pflow("runs", "resume", "latest", "pw=mariadb-1")
    assert said.code == 2 and "`pw`" in said.err and "mariadb-1" not in said.err
    assert not (tmp_path / "out").exists()


MADE = (
    {"id": "made", "type": "shell", "params": {"command": "echo made with ${k}; echo x >> made"}},
    {"id": "other", "type": "shell", "params": {"command": "echo x >> other"}},
    GATE,
)
SAVE = {"id": "save", "type": "write-file", "params": {"path": "out", "content": "${made.stdout}"}}


def test_what_was_recorded_with_another_secret_is_not_rewritten(pflow: Pflow, write: Write, tmp_path: Path) -> None:
    file = write("w.json", *MADE, SAVE, inputs=secret("k"))
    assert pflow("run", file, "k=FIRSTSECRET1").code == 1
    (tmp_path / "open").touch()
    refused = pflow("runs", "resume", "latest", "k=SECONDSECRET2")
    assert refused.code == 2 and not (tmp_path / "out").exists()
    assert refused.err.startswith("error: `${made.stdout}` holds a value of the secret `k` that is not known now\n")
    again = pflow("runs", "resume", "latest", "--with", file, "k=SECONDSECRET2")
    assert again.code == 0 and (tmp_path / "out").read_text() == "made with SECONDSECRET2"
    assert (tmp_path / "made").read_text() == "x\nx\n" and (tmp_path / "other").read_text() == "x\n"


def test_the_former_secret_still_resumes(pflow: Pflow, write: Write, tmp_path: Path) -> None:
    file = write("w.json", *MADE, SAVE, inputs=secret("k"))
    assert pflow("run", file, "k=FIRSTSECRET1").code == 1
    (tmp_path / "open").touch()
    assert pflow("runs", "resume", "latest", "k=SECONDSECRET2").code == 2
    assert pflow("runs", "resume", "latest", "k=FIRSTSECRET1").code == 0
    assert (tmp_path / "out").read_text() == "made with FIRSTSECRET1"
    assert (tmp_path / "made").read_text() == "x\n"


def test_a_rotated_credential_resumes_if_nothing_that_is_left_reads_the_former_one(
    pflow: Pflow, write: Write, tmp_path: Path
) -> None:
    use = {
        "id": "use",
        "type": "shell",
        "params": {"command": 'test "$K" = SECONDSECRET2 && echo y > out', "env": {"K": "${k}"}},
    }
    file = write("w.json", *MADE[:2], use, inputs=secret("k"), outputs={"s": {"source": "${use.stdout}"}})
    assert pflow("run", file, "k=FIRSTSECRET1").code == 1
    said = pflow("runs", "resume", "latest", "k=SECONDSECRET2")
    assert said.code == 0 and (tmp_path / "out").exists()
    assert (tmp_path / "made").read_text() == "x\n"


@pytest.mark.parametrize("read", ["${made}", "${made.stdout}", "x ${made.stdout:-none}"])
def test_a_former_secret_is_noticed_inside_a_sub_workflow(
    pflow: Pflow, write: Write, tmp_path: Path, read: str
) -> None:
    save = {"id": "save", "type": "write-file", "params": {"path": "out", "content": read}}
    write("inner.json", *MADE, save, inputs=secret("k"))
    node = {"id": "sub", "type": "workflow", "params": {"workflow": "inner.json", "inputs": {"k": "${k}"}}}
    file = write("w.json", node, inputs=secret("k"))
    assert pflow("run", file, "k=FIRSTSECRET1").code == 1
    (tmp_path / "open").touch()
    said = pflow("runs", "resume", "latest", "k=SECONDSECRET2")
    assert said.code != 0 and "secret `k` that is not known now" in said.err
    assert not (tmp_path / "out").exists()


def test_a_batch_that_was_given_another_secret_runs_again(pflow: Pflow, write: Write, tmp_path: Path) -> None:
    each = {"command": "echo ${item} ${k}; test ${item} = a || test -e open"}
    batch = {"id": "all", "type": "shell", "params": each, "batch": {"items": ["a", "b"]}}
    save = {"id": "save", "type": "write-file", "params": {"path": "out", "content": "${all.results[0].stdout}"}}
    file = write("w.json", batch, save, inputs=secret("k"))
    assert pflow("run", file, "k=FIRSTSECRET1").code == 1
    (tmp_path / "open").touch()
    assert pflow("runs", "resume", "latest", "k=SECONDSECRET2").code == 0
    assert (tmp_path / "out").read_text() == "a SECONDSECRET2"  # the items that were given the former one ran again


def test_a_rotated_setting_is_noticed_in_the_items_of_a_batch(
    pflow: Pflow, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "said").write_text("it is first-of-all")
    each = {"command": "cat said; test ${item} = a || test -e open"}
    batch = {"id": "all", "type": "shell", "params": each, "batch": {"items": ["a", "b"]}}
    save = {"id": "save", "type": "write-file", "params": {"path": "out", "content": "${all.results[0].stdout}"}}
    file = write("w.json", batch, save)
    monkeypatch.setenv("SOME_TOKEN", "first-of-all")
    assert pflow("run", file).code == 1
    (tmp_path / "open").touch()
    monkeypatch.setenv("SOME_TOKEN", "second-of-all")
    said = pflow("runs", "resume", "latest")
    assert said.code != 0 and "secret `SOME_TOKEN` that is not known now" in said.err
    monkeypatch.setenv("SOME_TOKEN", "first-of-all")
    assert pflow("runs", "resume", "latest").code == 0
    assert (tmp_path / "out").read_text() == "it is first-of-all"


def test_a_former_secret_is_not_given_out_as_an_output(pflow: Pflow, write: Write, tmp_path: Path) -> None:
    file = write("w.json", MADE[0], GATE, inputs=secret("k"), outputs={"said": {"source": "${made.stdout}"}})
    assert pflow("run", file, "k=FIRSTSECRET1").code == 1
    (tmp_path / "open").touch()
    assert pflow("runs", "resume", "latest", "k=SECONDSECRET2").code == 2


def test_a_rotated_setting_is_noticed_as_well(
    pflow: Pflow, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "said").write_text("it is first-of-all")
    read = {"id": "read", "type": "read-file", "params": {"path": "said"}}
    save = {"id": "save", "type": "write-file", "params": {"path": "out", "content": "${read.content}"}}
    file = write("w.json", read, GATE, save)
    monkeypatch.setenv("SOME_TOKEN", "first-of-all")
    assert pflow("run", file).code == 1
    (tmp_path / "open").touch()
    monkeypatch.setenv("SOME_TOKEN", "second-of-all")
    assert pflow("runs", "resume", "latest").code == 2
    monkeypatch.setenv("OTHER_TOKEN", "first-of-all")  # under whatever name it is known
    assert pflow("runs", "resume", "latest").code == 0
    assert (tmp_path / "out").read_text() == "it is first-of-all"


@pytest.mark.parametrize("given", ["setting", "environment"])
def test_a_secret_that_is_looked_up_is_read_by_its_type(
    pflow: Pflow, write: Write, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    node = {"id": "a", "type": "code", "params": {"code": "result = n + 1", "inputs": {"n": "${account_number}"}}}
    file = write("w.json", node, inputs=secret("account_number", type="integer"))

    def give(value: str) -> None:
        if given == "environment":
            monkeypatch.setenv("ACCOUNT_NUMBER", value)
        else:
            assert pflow("settings", "set", "ACCOUNT_NUMBER", stdin=value).code == 0

    give("1234567890")
    assert pflow("run", file, "--json").json["data"]["outputs"]["result"] == 1234567891
    give("not-a-number-at-all")
    said = pflow("run", file)
    assert said.code == 2 and "input `account_number` must be an integer" in said.err
    assert "not-a-number-at-all" not in said.err + said.out
