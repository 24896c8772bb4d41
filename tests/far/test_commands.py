"""Commands with `--on` do what they do without: the same output, exit codes and JSON, driven by a worker."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import dev_cluster
from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.far.conftest import Far

pytestmark = pytest.mark.needs("postgres", "temporal")


def steady(text: str) -> str:
    """What was said, without what differs from run to run."""
    text = re.sub(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{16}", "RUN", text.replace(" --on dev", ""))
    return re.sub(r'"duration_ms":[0-9.]+', '"duration_ms":0', text)


def write(folder: Path, name: str, *nodes: dict[str, Any], **fields: Any) -> str:
    """A document as a file."""
    (folder / name).write_text(json.dumps({**fields, "nodes": list(nodes)}))
    return name


def test_a_place_with_a_worker_does_what_this_machine_does(far: Far, tmp_path: Path) -> None:
    far.worker()
    failing = {"id": "bad", "type": "shell", "params": {"command": "echo no >&2; exit 3"}}
    documents = {
        "good.json": [{"id": "a", "type": "echo", "params": {"said": "hello ${name}"}}],
        "bad.json": [{"id": "a", "type": "echo", "params": {"said": "${name}"}}, failing],
        "batch.json": [
            {
                "id": "each",
                "type": "code",
                "batch": {"items": [1, 0, 2], "as": "n", "on_error": "continue"},
                "params": {"code": "result = 2 / n", "inputs": {"n": "${n}"}},
            },
            {"id": "b", "type": "echo", "params": {"said": "${each.results}"}},
        ],
    }
    for name, nodes in documents.items():
        write(tmp_path, name, *nodes, inputs={"name": {"type": "string", "default": "you"}})
        for words in (["run", name], ["run", name, "name=x", "--json"]):
            here, there = far.pflow(*words), far.pflow(*words, "--on", "dev")
            assert (there.code, steady(there.out), steady(there.err)) == (here.code, steady(here.out), steady(here.err))
    secret = write(
        tmp_path,
        "secret.json",
        {"id": "a", "type": "echo", "params": {"said": "x"}},
        inputs={"token": {"type": "string", "secret": True}},
    )
    said = far.pflow("run", secret, "token=much-too-open", "--on", "dev")
    assert said.code == 1
    assert "secret inputs do not leave this machine: `token`" in said.err
    assert "much-too-open" not in said.err + said.out
    assert "secret" not in [info.workflow for info in far.runs()]


def test_a_run_asks_is_answered_and_goes_on_at_the_place(far: Far, tmp_path: Path) -> None:
    worker = far.worker()
    asking = far.scene.write(
        far.scene.mark("a"),
        {"id": "ok", "type": "ask", "params": {"prompt": "go on?", "choices": ["yes", "no"]}},
        far.scene.mark("b"),
    )
    said = far.pflow("run", asking, "--on", "dev", "--json")
    assert said.code == 4, said
    run_id = said.json["data"]["run_id"]
    listed = far.pflow("runs", "list", "--waiting", "--on", "dev", "--json")
    assert run_id in listed.out
    answered = far.pflow("answer", run_id, "yes", "--on", "dev")
    assert answered.code == 0, answered
    far.until_state(run_id, "completed")
    assert far.scene.did() == ["a", "b"]
    refused = far.pflow("answer", run_id, "no", "--on", "dev")
    assert refused.code != 0
    again = far.pflow("run", asking, "--on", "dev", "--json").json["data"]["run_id"]
    assert far.pflow("runs", "cancel", again, "--on", "dev").code == 0
    assert far.state(again) == "cancelled"
    held = far.detach(far.scene.write(far.scene.hold("h"), far.scene.mark("never")))
    far.scene.until_began("h")
    assert far.pflow("runs", "cancel", held, "--on", "dev").code == 0
    far.until_state(held, "cancelled")
    assert far.scene.did() == ["a", "b", "a"]
    assert worker.said.count("Traceback") == 0


def test_what_cannot_be_reached_is_named_without_its_password(far: Far, tmp_path: Path) -> None:
    document = far.scene.write(far.scene.mark("a"), file="unreached.json")
    port = dev_cluster.free_port()
    password = far.cluster.postgres.password
    with Workspace(Home(far.home)) as workspace:
        workspace.set_setting("on.dev.temporal", f"127.0.0.1:{port}/default")
        workspace.set_setting("on.gone.journal", f"postgresql://pflow@127.0.0.1:{port}/postgres")
        workspace.set_setting("on.gone.journal_password", dev_cluster.PASSWORD)
        workspace.set_setting("on.gone.temporal", far.cluster.temporal.address)
        workspace.set_setting("on.bare.journal", far.cluster.settings["on.dev.journal"])
    for place, word in (("dev", "Temporal at `127.0.0.1:"), ("gone", "the journal of place `gone`")):
        for words in (["run", document], ["worker"]):
            said = far.pflow(*words, "--on", place)
            assert said.code == 1
            assert word in said.err and str(port) in said.err
            assert password not in said.err + said.out
            assert "Traceback" not in said.err
    assert far.scene.did() == []
    assert "unreached" not in [info.workflow for info in far.runs()], "nothing is half submitted"
    said = far.pflow("worker", "--on", "bare")
    assert said.code == 2
    assert "`on.bare.temporal` is not set" in said.err
