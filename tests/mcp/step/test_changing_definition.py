"""Servers that word their tools differently at every start: the same seed for Python's, and a choice of what counts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Pflow, Said
from tests.mcp.step.conftest import Serve, Server, tool

FLAPPING = """
import json, os, sys
WORDS = {"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"}
TOOL = {"name": "run", "description": "Takes " + " ".join(WORDS), "inputSchema": {"type": "object", "properties":
        {"fields": {"type": "string", "default": ",".join(WORDS)}}}}
for line in sys.stdin:
    message = json.loads(line)
    answer = {"error": {"code": -32601, "message": "Method not found"}}
    if message["method"] == "initialize":
        answer = {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                             "serverInfo": {"name": "flapping", "version": "1"}}}
    elif message["method"] == "tools/list":
        answer = {"result": {"tools": [TOOL]}}
    elif message["method"] == "tools/call":
        text = json.dumps({"seed": os.environ.get("PYTHONHASHSEED")})
        answer = {"result": {"content": [{"type": "text", "text": text}]}}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""


def add(pflow: Pflow, folder: Path, name: str, *options: str) -> None:
    path = folder / "flapping.py"
    path.write_text(FLAPPING)
    assert pflow("mcp", "add", name, *options, "--", sys.executable, "-S", str(path)).code == 0


def seed_of(pflow: Pflow, server: str) -> str:
    said = pflow("call", server, "run")
    assert said.code == 0, said
    return str(json.loads(said.out)["seed"])


def test_a_tool_that_is_built_from_a_set_can_be_called_after_a_sync(pflow: Pflow, tmp_path: Path) -> None:
    add(pflow, tmp_path, "one")
    add(pflow, tmp_path, "two")
    for server in ("one", "two"):
        assert pflow("mcp", "sync", server).code == 0
    seeds = {server: [seed_of(pflow, server) for _ in range(2)] for server in ("one", "two")}
    assert seeds["one"][0] == seeds["one"][1] != seeds["two"][0]
    assert 0 < int(seeds["one"][0]) < 2**32
    assert "one has 1 tool (" in pflow("mcp", "sync", "one").out


def test_a_seed_of_the_configuration_wins(pflow: Pflow, tmp_path: Path) -> None:
    add(pflow, tmp_path, "one", "--env", "PYTHONHASHSEED=7")
    assert pflow("mcp", "sync", "one").code == 0
    assert seed_of(pflow, "one") == "7"


def test_the_seed_survives_what_makes_other_knowledge_void_and_asks_nobody(
    pflow: Pflow, tmp_path: Path, home: Path
) -> None:
    add(pflow, tmp_path, "one")
    pflow("mcp", "sync", "one")
    before = seed_of(pflow, "one")
    add(pflow, tmp_path, "one", "--overwrite", "--env", "MORE=1")
    assert seed_of(pflow, "one") == before
    state = json.loads((home / "mcp-state.json").read_text())["servers"]["one"]
    assert "PYTHONHASHSEED" not in json.dumps(state["agreed"])


@pytest.mark.parametrize("seed", [-1, 2**40, True, "7", None, 0])
def test_a_seed_that_cannot_be_one_is_made_anew(pflow: Pflow, tmp_path: Path, home: Path, seed: object) -> None:
    add(pflow, tmp_path, "one")
    path = home / "mcp-state.json"
    state = json.loads(path.read_text())
    state["servers"]["one"]["hash_seed"] = seed
    path.write_text(json.dumps(state))
    assert pflow("mcp", "sync", "one").code == 0
    assert 0 < int(seed_of(pflow, "one")) < 2**32


def worded(text: str, default: str = "x", **more: Any) -> dict[str, Any]:
    properties = {
        "fields": {"type": "string", "default": default, "title": text, "description": text},
        "title": {"type": "string"},
        "mode": {"enum": ["a", "b"]},
    }
    schema = {"type": "object", "properties": properties, "required": ["mode", "title"], **more}
    return {"name": "run", "title": text, "description": text, "inputSchema": schema}


def call(pflow: Pflow) -> Said:
    return pflow("call", "hub", "run", "mode=a", "title=t")


@pytest.fixture
def hub(serve: Serve) -> Server:
    return serve("hub", worded("first"))


def test_another_wording_is_refused_and_the_hint_names_the_choice(pflow: Pflow, hub: Server) -> None:
    hub.write(worded("second", default="y"))
    said = call(pflow)
    assert said.code == 3
    assert "description is now `second`, was `first`" in said.err
    assert "the server words it differently at every start" in said.err
    assert "`pflow mcp sync hub --compare schema`" in said.err


def test_another_schema_is_refused_without_that_hint(pflow: Pflow, hub: Server) -> None:
    hub.write(worded("first", additionalProperties=False))
    said = call(pflow)
    assert (said.code, "--compare" in said.err) == (3, False)


def test_a_sync_that_sees_only_other_words_in_the_same_version_says_what_helps(pflow: Pflow, hub: Server) -> None:
    hub.write(worded("second"))
    assert "`pflow mcp sync hub --compare schema`" in pflow("mcp", "sync", "hub").out
    hub.write(worded("third"), version="2.0")
    assert "--compare" not in pflow("mcp", "sync", "hub").out
    hub.write(worded("third", additionalProperties=False), version="2.0")
    assert "--compare" not in pflow("mcp", "sync", "hub").out


def test_with_the_schema_compared_other_words_are_no_change(pflow: Pflow, hub: Server, home: Path) -> None:
    hub.sync("--compare", "schema")
    before = json.loads((home / "registry.json").read_text())["mcp-hub-run"]
    hub.write(worded("second", default="y"))
    assert call(pflow).code == 0
    assert "hub has 1 tool (" in pflow("mcp", "sync", "hub").out
    assert "all as synced" in pflow("mcp", "doctor", "hub").out
    # The words that were agreed to stay: new ones might be meant for a model.
    assert json.loads((home / "registry.json").read_text())["mcp-hub-run"] == before
    assert "compares the schema of its tools" in pflow("mcp", "show", "hub").out


def test_comparing_everything_again_takes_the_new_words_over(pflow: Pflow, hub: Server) -> None:
    hub.sync("--compare", "schema")
    hub.write(worded("second"))
    said = pflow("mcp", "sync", "hub", "--compare", "everything").out
    assert "description is now `second`, was `first`" in said
    hub.write(worded("third"))
    assert call(pflow).code == 3


def changed(**fields: Any) -> dict[str, Any]:
    """The tool with other parameters, or without those that are None."""
    made = worded("second")
    properties = {**made["inputSchema"]["properties"], **fields}
    made["inputSchema"]["properties"] = {name: part for name, part in properties.items() if part is not None}
    return made


@pytest.mark.parametrize(
    "other",
    [
        changed(fields={"type": "integer"}),
        changed(title=None),
        changed(description={"type": "string"}),
        changed(mode={"enum": ["a", "b", "c"]}),
        changed(title={"type": "string", "maxLength": 3}),
        worded("second", required=["mode"]),
        worded("second", additionalProperties=False),
        worded("second") | {"annotations": {"readOnlyHint": True}},
        worded("second") | {"outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}},
    ],
)
def test_with_the_schema_compared_a_change_of_it_is_still_refused(
    pflow: Pflow, serve: Serve, other: dict[str, Any]
) -> None:
    hub = serve("hub", worded("first"), add=("--compare", "schema"))
    hub.write(other)
    assert call(pflow).code == 3
    assert "1 changed" in pflow("mcp", "sync", "hub").out


@pytest.mark.parametrize("other", [worded("x", required=["title", "mode"]), changed(mode={"enum": ["b", "a"]})])
def test_the_order_of_what_has_no_order_is_no_change(pflow: Pflow, serve: Serve, other: dict[str, Any]) -> None:
    serve("hub", worded("first"), add=("--compare", "schema")).write(other)
    assert call(pflow).code == 0


def test_an_unknown_choice_is_refused_and_changes_nothing(pflow: Pflow, hub: Server, home: Path) -> None:
    before = (home / "mcp-servers.json").read_text()
    said = pflow("mcp", "sync", "hub", "--compare", "nothing")
    assert (said.code, "it should be `everything` or `schema`" in said.err) == (2, True)
    assert (home / "mcp-servers.json").read_text() == before


def test_the_choice_is_no_part_of_the_agreement(pflow: Pflow, hub: Server, home: Path) -> None:
    path = home / "mcp-servers.json"
    content = json.loads(path.read_text())
    content["servers"]["hub"]["compare"] = "schema"
    path.write_text(json.dumps(content))
    assert call(pflow).code == 0


def test_a_server_of_tools_that_never_change_needs_neither(pflow: Pflow, serve: Serve) -> None:
    serve("hub", tool("plain"))
    assert pflow("call", "hub", "plain").code == 0
