"""`pflow mcp sync`: tools become node types, with what changed shown, and nothing starts that nobody agreed to."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Pflow, Said, spawn
from tests.mcp.protocol.kit import argv
from tests.mcp.step.conftest import Serve, Server, tool

SECONDS = r"[0-9]+\.[0-9]{2} s"


@pytest.fixture
def entries(home: Path) -> Callable[..., Any]:
    """The tools that the registry holds."""

    def read() -> dict[str, Any]:
        found = json.loads((home / "registry.json").read_text())
        return {name: entry for name, entry in found.items() if name.startswith("mcp-")}

    return read


def steady(said: Said) -> str:
    """stdout without the seconds."""
    return re.sub(SECONDS, "N s", said.out)


@pytest.mark.requirement("client:test-3", "client:input-2", "security:10.1-1", "client:state-2", "client:state-3")
@pytest.mark.requirement("server5:require-2")
def test_three_tools_are_three_node_types(pflow: Pflow, serve: Serve, entries: Callable[..., Any]) -> None:
    serve("a", tool("one"), tool("Two_B"), tool("list all"), sync=None)
    said = pflow("mcp", "sync", "a")
    assert (said.code, said.err) == (0, "")
    assert steady(said) == (
        "a has 3 tools, 3 new (N s)\n"
        "  + mcp-a-one       Does one.\n"
        "  + mcp-a-two-b     Does Two_B.\n"
        "  + mcp-a-list-all  Does list all.\n"
    )
    assert set(entries()) == {"mcp-a-one", "mcp-a-two-b", "mcp-a-list-all"}
    assert entries()["mcp-a-two-b"]["mcp_config"]["tool_name"] == "Two_B"
    listed = pflow("registry", "list", "--filter", "mcp").out
    assert listed.splitlines() == [
        "mcp-a-list-all  Does list all.",
        "mcp-a-one       Does one.",
        "mcp-a-two-b     Does Two_B.",
    ]


@pytest.mark.requirement("client:test-4", "client:rule-4")
def test_no_tools_are_no_node_types(pflow: Pflow, serve: Serve, entries: Callable[..., Any]) -> None:
    serve("a", sync=None)
    said = pflow("mcp", "sync", "a", "--json")
    (report,) = said.json["data"]["servers"]
    assert (report["tools_discovered"], report["tools_registered"]) == (0, 0)
    assert entries() == {}


@pytest.mark.requirement("client:scope-5")
def test_only_a_sync_asks_servers_for_their_tools(pflow: Pflow, serve: Serve, write: Callable[..., str]) -> None:
    server = serve("a", tool("one"))
    write("x.json", {"id": "s", "type": "mcp-a-one"})
    for words in (["mcp", "list"], ["registry", "list"], ["registry", "scan"], ["validate", "x.json"], ["--help"]):
        assert pflow(*words).code == 0
    pflow("mcp", "add", "b", "--", *server.argv)
    (server.path.parent / "m.json").write_text(json.dumps({"mcpServers": {"c": {"command": server.argv[0]}}}))
    pflow("mcp", "import", str(server.path.parent / "m.json"))
    assert server.pids == []


@pytest.mark.requirement("client:rule-6", "client:test-11", "security:13.3-1", "security:13.3-2", "security:13.3-3")
def test_a_second_sync_shows_what_changed_and_which_workflows_that_touches(
    pflow: Pflow, serve: Serve, write: Callable[..., str], entries: Callable[..., Any]
) -> None:
    server = serve("a", tool("same"), tool("old"), tool("send", needs={"to": "string", "body": "string"}))
    write("mail.json", {"id": "s", "type": "mcp-a-send", "params": {"to": "x", "body": "y"}})
    write("gone.json", {"id": "o", "type": "mcp-a-old"})
    assert pflow("workflow", "save", "mail.json", "--name", "mail").code == 0
    assert pflow("workflow", "save", "gone.json", "--name", "gone").code == 0
    before = entries()
    server.write(tool("same"), tool("new"), tool("send", needs={"to": "array", "text": "string"}))
    expected = (
        "a {} 3 tools, 1 new, 1 changed, 1 gone (N s)\n"
        "  + mcp-a-new  Does new.\n"
        "  ~ mcp-a-send\n"
        "      parameter `body` (string) is gone\n"
        "      parameter `to` is array now, was string\n"
        "      parameter `text` (string) is new, and required\n"
        "  - mcp-a-old\n"
        "  ! workflow `gone`, node `o`: the tool `old` is gone\n"
        "  ! workflow `mail`, node `s`: gives `body`, which the tool `send` no longer takes\n"
        "  ! workflow `mail`, node `s`: does not give `text`, which the tool `send` needs now\n"
        "  note: tools of server `a` changed since the last sync; the entries are replaced: `mcp-a-send`\n"
    )
    assert steady(pflow("mcp", "sync", "a", "--dry-run")) == expected.format("would have")
    assert entries() == before
    assert steady(pflow("mcp", "sync", "a")) == expected.format("has")
    assert set(entries()) == {"mcp-a-same", "mcp-a-new", "mcp-a-send"}
    assert steady(pflow("mcp", "sync", "a")) == "a has 3 tools (N s)\n"


@pytest.mark.requirement("client:edge-7")
def test_the_registry_as_it_was_stays_beside_it(pflow: Pflow, serve: Serve, home: Path) -> None:
    server = serve("a", tool("one"))
    before = (home / "registry.json").read_bytes()
    server.write(tool("two"))
    server.sync()
    assert (home / "registry.json.bak").read_bytes() == before
    assert (home / "registry.json.bak").stat().st_mode & 0o777 == 0o600


def test_five_thousand_tools_are_synced_and_searched(pflow: Pflow, entries: Callable[..., Any]) -> None:
    pflow("mcp", "add", "big", "--", *argv("modern", "many-tools"))
    said = pflow("mcp", "sync", "big", "--json")
    (report,) = said.json["data"]["servers"]
    assert report["tools_registered"] == 5000
    assert len(entries()) == 5000
    assert pflow("registry", "list", "--filter", "tool-4711").out.startswith("mcp-big-tool-4711 ")


def test_tools_whose_names_collide_are_both_callable(pflow: Pflow, serve: Serve) -> None:
    server = serve("a", tool("get_it"), tool("get-it"), sync=None)
    said = pflow("mcp", "sync", "a", "--json").json["data"]["servers"][0]
    assert said["tools_registered"] == 2
    assert len(said["warnings"]) == 1
    assert "`get_it`" in said["warnings"][0]
    assert "`get-it`" in said["warnings"][0]
    for name in ("get_it", "get-it"):
        assert pflow("call", "a", name).code == 0
    assert [params["name"] for params in server.asked("tools/call")] == ["get_it", "get-it"]


@pytest.mark.requirement("client:edge-6")
def test_tools_of_one_name_on_two_servers_are_two_node_types(
    pflow: Pflow, serve: Serve, entries: Callable[..., Any]
) -> None:
    serve("a", tool("get"))
    serve("b", tool("get"))
    assert set(entries()) == {"mcp-a-get", "mcp-b-get"}


def test_a_server_that_fails_does_not_keep_the_others(
    pflow: Pflow, serve: Serve, home: Path, entries: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pflow.workspace.server_sync.PATIENCE_SECONDS", 1.0)
    serve("bad", tool("x"), exit="initialize", stderr="no database\n", sync=None)
    serve("good", tool("x"), sync=None)
    serve("late", tool("x"), hang="start", add=("--timeout", "1"), sync=None)
    serve("other", tool("x"), protocol="1999-01-01", sync=None)
    pflow("mcp", "add", "none", "--", "no-such-program-at-all")
    file = home / "mcp-servers.json"
    servers = json.loads(file.read_text())
    servers["servers"]["odd"] = {"transport": "smoke", "command": "x"}
    file.write_text(json.dumps(servers))
    said = pflow("mcp", "sync", "--all")
    assert said.code == 1
    assert steady(said) == "good has 1 tool, 1 new (N s)\n  + mcp-good-x  Does x.\n"
    assert said.err == (
        "error: bad: MCP server process terminated unexpectedly\n"
        "  exit_code: 3\n"
        '  stderr: "no database"\n'
        "\n"
        "hint: pflow mcp doctor bad\n"
        "\n"
        "error: late: server `late` did not answer within 1 s\n"
        "\n"
        "hint: `timeout` of server `late` in `mcp-servers.json` is how many seconds it has\n"
        "hint: pflow mcp doctor late\n"
        "\n"
        "error: none: Command not found: no-such-program-at-all\n"
        "\n"
        "hint: install it, or give its full path\n"
        "hint: pflow mcp doctor none\n"
        "\n"
        "error: other: MCP protocol version not supported\n"
        '  server_speaks: "1999-01-01"\n'
        '  pflow_speaks: ["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]\n'
        "\n"
        "hint: pflow mcp doctor other\n"
        "\n"
        "error: odd: server `odd` has the transport `smoke`, which does not exist\n"
        '  known: ["stdio","sse","stream-http","uds","pipe","http"]\n'
    )
    assert set(entries()) == {"mcp-good-x"}


def test_hostile_text_is_shown_escaped(pflow: Pflow, serve: Serve) -> None:
    serve("a", {**tool("e\x1b[2Jvil\u202e"), "description": "Nice\x1b]0;pwned\x07 \u202etxt"}, sync=None)
    said = pflow("mcp", "sync", "a")
    assert steady(said) == "a has 1 tool, 1 new (N s)\n  + mcp-a-e-2-jvil  Nice\\x1b]0;pwned\\x07 \\u202etxt\n"
    shown = pflow("registry", "describe", "mcp-a-e-2-jvil").out + pflow("registry", "list", "--filter", "mcp").out
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_which_servers_must_be_said(pflow: Pflow, serve: Serve) -> None:
    for words in (["mcp", "sync", "--all"], ["registry", "refresh"], ["registry", "test-mcp-connections"]):
        none = pflow(*words)
        assert (none.code, none.err) == (0, "no server is configured\n\nhint: pflow mcp add NAME -- COMMAND\n")
    said = pflow("mcp", "sync")
    assert (said.code, said.err) == (
        2,
        "error: name the servers to sync, or say `--all`\n\nhint: pflow mcp list\n",
    )
    assert pflow("mcp", "sync", "nix").err == "error: Server nix not configured\n\nhint: add it with `pflow mcp add`\n"


@pytest.fixture
def edited(serve: Serve, home: Path) -> Server:
    """A server whose configuration was edited by hand after a person agreed to it."""
    server = serve("a", tool("one"))
    file = home / "mcp-servers.json"
    content = json.loads(file.read_text())
    content["servers"]["a"]["args"].append("\x1b[2J\n--evil")
    file.write_text(json.dumps(content))
    return server


def test_a_server_that_was_edited_by_hand_is_refused_where_nobody_can_be_asked(
    pflow: Pflow, edited: Server, write: Callable[..., str]
) -> None:
    said = pflow("mcp", "sync", "a")
    assert (said.code, said.out) == (3, "")
    assert said.err == (
        "error: a: server `a` changed since it was agreed to, so it is not used\n"
        '  changed: ["args"]\n'
        "\n"
        "hint: `pflow mcp sync a` on a terminal shows what it is and asks; `--yes` agrees unseen\n"
    )
    told = pflow("mcp", "sync", "a", "--json")
    assert (told.code, told.json["error"]["type"]) == (3, "security")
    write("x.json", {"id": "s", "type": "mcp-a-one"})
    ran = pflow("run", "x.json")
    assert ran.code == 3
    assert ran.steady == (
        "error: step `s` failed: server `a` changed since it was agreed to, so it is not used\n"
        '  changed: ["args"]\n'
        "  completed: nothing yet\n"
        "\n"
        "hint: `pflow mcp sync a` shows what it is and asks\n"
        "resume: pflow runs resume RUN\n"
    )
    assert edited.pids == []
    assert pflow("mcp", "sync", "a", "--yes").code == 0
    assert pflow("run", "x.json").code == 0


def ask(home: Path, answer: bytes, *words: str) -> tuple[int, str]:
    """What a person sees on a terminal who answers one question."""
    import pty  # not everywhere

    leader, follower = pty.openpty()
    program = spawn(*words, cwd=home.parent, stdin=follower, stdout=follower, stderr=follower)
    os.close(follower)
    shown = b""
    while b"agree? [y/N]" not in shown:
        shown += os.read(leader, 4096)
    os.write(leader, answer)
    while True:
        try:
            data = os.read(leader, 4096)
        except OSError:  # the last holder of the terminal has left
            break
        if not data:
            break
        shown += data
    os.close(leader)
    return program.wait(), shown.decode().replace("\r\n", "\n")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal")
def test_a_person_sees_everything_before_agreeing(edited: Server, home: Path) -> None:
    code, shown = ask(home, b"n\n", "mcp", "sync", "a")
    asked = shown.partition("agree?")[0]
    python = os.path.realpath(sys.executable)
    words, arguments = shlex.join(edited.argv), shlex.join(edited.argv[1:])
    assert asked == (
        "server `a` changed since it was agreed to; it would start this program:\n"
        f"  command: {words} $'\\x1b[2J\\n--evil'\n"
        f"  program: {shlex.quote(sys.executable)}, which is {python}\n"
        "changed:\n"
        f"  args: {arguments} → {arguments} $'\\x1b[2J\\n--evil'\n"
    )
    assert code == 3
    assert "error:\x1b[0m a: server `a` was not agreed to" in shown
    assert edited.pids == []
    code, shown = ask(home, b"y\n", "mcp", "sync", "a")
    assert code == 0
    assert "a has 1 tool" in shown
    assert len(edited.pids) == 1
