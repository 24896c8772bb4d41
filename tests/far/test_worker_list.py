"""Who works at a place, and runs that nobody there could drive: refused before anything is recorded."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from pflow.workspace.driving.engine_thread import MOST_RUNS
from tests.cli.conftest import Said
from tests.far.conftest import Far
from tests.robust.world import until

pytestmark = pytest.mark.needs("postgres", "temporal")


@pytest.fixture
def lease() -> int:
    """Short, because workers tell of themselves twice in each."""
    return 3


NODE = '''
from pocketflow import Node

class Own(Node):
    """Do {what}.

    Interface:
    - Writes: shared["done"]: str
    """
    name = "own"

    def post(self, shared, prep_res, exec_res):
        shared["done"] = "{what}"
        return "default"
'''
HELLO = {"nodes": [{"id": "a", "type": "echo", "params": {"said": "hello"}}]}
OWN = {"nodes": [{"id": "a", "type": "own", "params": {}}], "outputs": {"done": {"source": "${a.done}"}}}
SECRET = {
    "inputs": {"key_word": {"type": "string", "secret": True, "required": True}},
    "nodes": [{"id": "a", "type": "code", "params": {"code": "result = len(w)", "inputs": {"w": "${key_word}"}}}],
    "outputs": {"length": {"source": "${a.result}"}},
}

SEALED = {"nodes": [{"id": "a", "type": "echo", "params": {"api_key": "sk-much-too-open-0123456789"}}]}


def write(folder: Path, document: dict[str, Any]) -> str:
    """A document as a file."""
    (folder / "document.json").write_text(json.dumps(document))
    return "document.json"


def refused(far: Far, document: str, *words: str) -> dict[str, Any]:
    """What a submit is refused with; nothing is recorded, whether or not it is detached."""
    with far.workspace() as workspace:
        before = workspace.driving.version()
        for detach in ([], ["--detach"]):
            said: Said = far.pflow("run", document, *words, "--on", "dev", "--json", *detach)
            assert said.code == 1, said
        assert workspace.driving.version() == before
    found: dict[str, Any] = said.json["error"]
    return found


def write_node(home: Path, what: str) -> None:
    """Give a home a node type of its own."""
    (home / "nodes").mkdir(mode=0o700, exist_ok=True)
    (home / "nodes" / "own.py").write_text(NODE.format(what=what))


def listed(far: Far) -> list[dict[str, Any]]:
    """The workers of the test's queue."""
    queue = far.pflow("settings", "get", "on.dev.queue").out.strip()
    found = far.pflow("workers", "--on", "dev", "--json").json["data"]["workers"]
    return [one for one in found if one["queue"] == queue]


def test_workers_are_listed_from_their_start_to_their_end(far: Far) -> None:
    assert listed(far) == []
    worker = far.worker("--slots", "7")
    [found] = listed(far)
    assert (found["slots"], found["as_here"], found["is_gone"]) == (7, True, False)
    text = far.pflow("workers", "--on", "dev").out
    assert found["name"] in text and found["registry"] in text
    worker.end(signal.SIGTERM)
    assert listed(far) == []


@pytest.mark.slow
def test_a_worker_that_was_killed_is_shown_as_gone_after_some_leases(far: Far) -> None:
    far.pflow("settings", "set", "on.dev.lease", "1")
    far.worker().end(signal.SIGKILL)
    until(lambda: listed(far)[0]["is_gone"], "the worker counts as gone")
    assert ", gone" in far.pflow("workers", "--on", "dev").out


def test_a_run_is_refused_while_nobody_works_there(far: Far, tmp_path: Path) -> None:
    document = write(tmp_path, HELLO)
    error = refused(far, document)
    assert error["type"] == "no_worker"
    assert "pflow worker --on dev" in error["suggestions"][0]
    far.worker("--queue", "another")
    assert "`another`" in refused(far, document)["message"]
    far.worker()
    assert far.pflow("run", document, "--on", "dev").code == 0


@pytest.mark.slow
def test_a_run_is_refused_that_needs_a_node_type_which_no_worker_has(far: Far, tmp_path: Path) -> None:
    document = write(tmp_path, OWN)
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    (other / "settings.json").write_bytes((far.home / "settings.json").read_bytes())
    (other / "settings.json").chmod(0o600)
    write_node(far.home, "this")
    worker = far.worker(home=other)
    error = refused(far, document)
    assert (error["type"], error["details"]["missing"]) == ("no_worker", ["own"])
    [found] = listed(far)
    assert not found["as_here"]
    assert found["name"] in error["details"]["workers"]
    write_node(other, "that")
    until(lambda: listed(far)[0]["registry"] != found["registry"], "the worker tells of its new node")
    assert f"another one is at {found['name']}" in refused(far, document)["message"]
    write_node(other, "this")
    until(lambda: listed(far)[0]["as_here"], "the worker has what is here")
    assert far.pflow("run", document, "--on", "dev").out == "this\n", worker.said


def test_a_secret_input_is_looked_up_by_workers_and_refused_if_none_has_it(far: Far, tmp_path: Path) -> None:
    document = write(tmp_path, SECRET)
    far.pflow("settings", "set", "on.dev.lease", "2")
    far.worker()
    error = refused(far, document)
    assert error["details"]["missing"] == ["key_word"]
    assert "pflow settings set KEY_WORD" in error["suggestions"][0]
    assert refused(far, document, "key_word=much-too-open")["type"] == "execution"
    assert far.pflow("settings", "set", "KEY_WORD", stdin="0123456789").code == 0
    until(lambda: far.pflow("run", document, "--on", "dev").out == "10\n", "the worker tells of its new credential")


def test_a_worker_takes_no_more_slots_than_a_process_has(far: Far) -> None:
    refused = far.pflow("worker", "--on", "dev", "--slots", str(MOST_RUNS + 1))
    assert refused.code == 2, refused
    assert f"at most {MOST_RUNS} runs at once" in refused.err


def test_a_run_with_a_credential_is_refused_by_workers_that_could_not_open_its_seal(far: Far, tmp_path: Path) -> None:
    document = write(tmp_path, SEALED)
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    copy_settings(far.home, other)
    worker = far.worker(home=other)
    error = refused(far, document)
    assert (error["type"], error["details"]["missing"]) == ("no_worker", ["key"])
    assert "pflow settings set on.dev.key" in error["suggestions"][0]
    assert "0123456789" not in json.dumps(error)
    worker.end(signal.SIGTERM)
    assert far.pflow("settings", "set", "on.dev.key", "PLACE_KEY").code == 0
    unset = far.pflow("worker", "--on", "dev")
    assert unset.code == 2, unset
    assert "`on.dev.key` names `PLACE_KEY`" in unset.err
    assert far.pflow("settings", "set", "PLACE_KEY", stdin="one key for all of us").code == 0
    copy_settings(far.home, other)
    worker = far.worker(home=other)
    done = far.pflow("run", document, "--on", "dev")
    assert done.code == 0, (done, worker.said)


def copy_settings(home: Path, other: Path) -> None:
    """Give another home the same settings."""
    (other / "settings.json").write_bytes((home / "settings.json").read_bytes())
    (other / "settings.json").chmod(0o600)
