"""`pflow mcp doctor`: everything on the way to a server, in order, and what helps."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Pflow, Said
from tests.mcp.step.conftest import Serve, tool

PYTHON = f"  ok      command: {sys.executable}\n"
AGREED = "  ok      agreed: as it is configured now\n"


def steady(said: Said) -> str:
    """stdout without the milliseconds."""
    return re.sub(r"\([0-9.]+ ms\)", "(N ms)", said.out)


def test_a_server_that_works_is_told_how_it_does(pflow: Pflow, serve: Serve, era: str) -> None:
    serve("a", tool("one"), tool("two"), era=era, version="2.1")
    said = pflow("mcp", "doctor", "a")
    version = {"legacy": "2025-11-25", "modern": "2026-07-28"}[era]
    assert (said.code, said.err) == (0, "")
    assert steady(said) == (
        f"a: works\n{PYTHON}{AGREED}"
        f"  ok      connected: scripted 2.1, protocol {version} (N ms)\n"
        "  ok      tools: 2 tools, all as synced\n"
    )
    told = pflow("mcp", "doctor", "a", "--json").json["data"]["servers"]
    assert [(report["server"], report["ok"]) for report in told] == [("a", True)]


def test_tools_that_changed_are_a_note(pflow: Pflow, serve: Serve) -> None:
    serve("a", tool("one"), tool("two")).write(tool("one", needs={"x": "string"}))
    said = pflow("mcp", "doctor")
    assert said.code == 0
    assert steady(said).endswith(
        "  note    tools: 1 tool; since the last sync: 1 changed, 1 removed\n          hint: pflow mcp sync a\n"
    )


def test_a_missing_command_is_named(pflow: Pflow) -> None:
    pflow("mcp", "add", "a", "--", "no-such-program-at-all")
    said = pflow("mcp", "doctor", "a")
    assert said.code == 1
    assert said.out == (
        f"a: does not work\n{AGREED}"
        "  FAILED  connected: Command not found: no-such-program-at-all\n"
        "          hint: install it, or give its full path\n"
    )


def test_a_missing_variable_is_a_note_and_said_once(pflow: Pflow, serve: Serve) -> None:
    serve("a", tool("one"), add=("--env", "TOKEN=${NO_SUCH_TOKEN}"))
    said = pflow("mcp", "doctor", "a")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(
        "a: works\n"
        "  note    variables: `NO_SUCH_TOKEN` is not defined; the variable `TOKEN` of server `a` has nothing in its "
        "place\n"
        "          hint: `pflow settings set NAME` stores a value\n"
    )


def test_a_changed_configuration_is_not_started(pflow: Pflow, serve: Serve, home: Path) -> None:
    server = serve("a", tool("one"))
    file = home / "mcp-servers.json"
    content = json.loads(file.read_text())
    content["servers"]["a"]["cwd"] = "/"
    file.write_text(json.dumps(content))
    said = pflow("mcp", "doctor", "a")
    assert said.code == 1
    assert said.out == (
        f"a: does not work\n{PYTHON}"
        "  FAILED  agreed: server `a` changed since it was agreed to, so it is not used\n"
        '          changed: ["cwd"]\n'
        "          hint: `pflow mcp sync a` shows what it is and asks\n"
    )
    assert server.pids == []


def test_an_entry_that_is_no_server_is_said_so(pflow: Pflow, serve: Serve, home: Path) -> None:
    (home / "mcp-servers.json").write_text(json.dumps({"servers": {"a": {"transport": "smoke", "command": "x"}}}))
    said = pflow("mcp", "doctor", "a")
    assert said.code == 1
    assert said.out == (
        "a: does not work\n"
        "  FAILED  configuration: server `a` has the transport `smoke`, which does not exist\n"
        '          known: ["stdio","sse","stream-http","uds","pipe","http"]\n'
    )


def test_a_server_that_hangs_is_ended(pflow: Pflow, serve: Serve) -> None:
    serve("a", tool("one"), hang="tools/list", add=("--timeout", "1"), sync=None)
    said = pflow("mcp", "doctor", "a")
    assert said.code == 1
    assert said.out == (
        f"a: does not work\n{PYTHON}{AGREED}"
        "  FAILED  connected: server `a` did not answer within 1 s\n"
        "          hint: `timeout` of server `a` in `mcp-servers.json` is how many seconds it has\n"
    )


def test_a_server_that_crashes_is_heard_without_its_secrets(
    pflow: Pflow, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUB_TOKEN", "canary-47110815")
    serve(
        "a",
        tool("one"),
        exit="start",
        stderr="connecting\nkey canary-47110815 \x1b[31mrefused\n",
        add=("--env", "KEY=${HUB_TOKEN}"),
        sync=None,
    )
    said = pflow("mcp", "doctor", "a")
    assert said.code == 1
    assert said.out == (
        f"a: does not work\n{PYTHON}{AGREED}"
        "  FAILED  connected: MCP server process terminated unexpectedly\n"
        "          exit_code: 3\n"
        "          stderr:\n"
        "            connecting\n"
        "            key «secret:HUB_TOKEN» \\x1b[31mrefused\n"
    )


def test_no_servers_are_said_so(pflow: Pflow) -> None:
    said = pflow("mcp", "doctor")
    assert (said.code, said.err) == (0, "no server is configured\n\nhint: pflow mcp add NAME -- COMMAND\n")
