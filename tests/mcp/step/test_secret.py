"""What servers are given stays between us and them: no output, trace, journal, error or notice holds it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.cli.conftest import Pflow
from tests.mcp.step.conftest import Serve, Server, tool

CANARY = "canary-0815-zebra"
STORED = "stored-4711-llama"


def leaks(home: Path, *texts: str) -> list[Any]:
    """Where a canary can be read: in what was said, and in the files that runs leave."""
    found = [text for text in texts for canary in (CANARY, STORED) if canary in text]
    kept = {"settings.json", "mcp-servers.json"}  # where a person put it
    for path in home.rglob("*"):
        if path.is_file() and path.name not in kept:
            data = path.read_bytes()
            found += [str(path) for canary in (CANARY, STORED) if canary.encode() in data]
    return found


@pytest.fixture
def given(pflow: Pflow, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A server that is given secrets in every way there is, and that repeats them."""
    monkeypatch.setenv("HUB_TOKEN", CANARY)
    assert pflow("settings", "set", "HUB_KEY", stdin=STORED).code == 0
    return serve(
        "a",
        *(tool(name) for name in ("env", "fail", "refuse", "crash", "text", "babble")),
        add=("--env", "TOKEN=${HUB_TOKEN}", "--env", "OTHER=${HUB_KEY}", "--env", f"API_KEY={CANARY}"),
        replies={
            "env": [{"env": True}],
            "fail": [{"failed": f"bad token {CANARY} and {STORED}"}],
            "refuse": [{"refuse": [-32000, f"bad token {CANARY}", {"key": STORED}]}],
            "crash": [{"stderr": f"token={CANARY}\nkey={STORED}\n", "exit": 1}],
            "babble": [{"raw": f"logging in with {CANARY}", "then": {"failed": "no"}}],
            "text": [{"text": f"https://x.example/?key={STORED}&t={CANARY}"}],
        },
    )


@pytest.mark.parametrize("name", ["env", "fail", "refuse", "crash", "text", "babble"])
def test_secrets_of_servers_appear_nowhere(pflow: Pflow, given: Server, home: Path, name: str) -> None:
    said = pflow("call", "a", name)
    told = pflow("call", "a", name, "--json")
    shown = pflow("runs", "show", "latest", "--json").out + pflow("trace", "latest", "--json").out
    assert leaks(home, said.out, said.err, told.out, told.err, shown) == []
    assert "«secret:" in said.out + said.err
    assert len(given.calls) == 2


def test_secrets_of_servers_appear_in_no_sync_and_no_list(pflow: Pflow, given: Server, home: Path) -> None:
    given.write(tool("x"), exit="tools/list", stderr=f"cannot log in with {CANARY}/{STORED}\n")
    said = [pflow("mcp", *words) for words in (["sync", "a"], ["doctor"], ["list", "--json"], ["doctor", "--json"])]
    assert leaks(home, *(part for one in said for part in (one.out, one.err))) == []


@pytest.mark.requirement("client:test-12", "client:rule-11", "client:edge-4")
def test_a_server_sees_only_what_is_harmless_and_what_it_is_given(
    pflow: Pflow, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", CANARY)
    monkeypatch.setenv("HUB_TOKEN", CANARY)
    monkeypatch.setenv("MODE", "fast")
    monkeypatch.delenv("TOKEN", raising=False)
    serve(
        "a",
        tool("env"),
        replies={"env": [{"env": True}]},
        add=("--env", "TOKEN=${TOKEN}", "--env", "SPEED=${MODE}", "--env", "LEVEL=${NONE:-3}"),
    )
    said = pflow("call", "a", "env")
    environment = json.loads(said.out)
    assert said.err == "note: `TOKEN` is not defined; the variable `TOKEN` of server `a` has nothing in its place\n"
    assert (environment["TOKEN"], environment["SPEED"], environment["LEVEL"]) == ("", "fast", "3")
    assert {"AWS_SECRET_ACCESS_KEY", "HUB_TOKEN", "MODE"}.isdisjoint(environment)
    assert "PATH" in environment


def test_a_secret_that_came_later_is_kept_as_well(serve: Serve, home: Path) -> None:
    server = serve("a", tool("env"), tool("crash"), replies={"env": [{"env": True}]})
    with Workspace(Home(home)) as workspace:
        assert workspace.run({"nodes": [{"id": "e", "type": "echo", "params": {"x": 1}}]}).success
        fields = {"command": server.argv[0], "args": server.argv[1:], "env": {"API_KEY": CANARY}}
        with Workspace(Home(home)) as other:
            other.servers.add("a", fields, overwrite=True)
        outcome = workspace.run(workspace.one_step("mcp-a-env", {}))
    result: Any = outcome.outputs["result"]
    assert result["API_KEY"] == "«secret:a.env.API_KEY»"
    assert leaks(home) == []


def test_a_password_in_an_address_is_a_secret(pflow: Pflow, serve: Serve, home: Path) -> None:
    serve(
        "a",
        tool("fail"),
        add=("--env", f"DATABASE_URL=postgres://user:{CANARY}@db/shop"),
        replies={"fail": [{"failed": f"cannot log in to db as user with {CANARY}"}]},
    )
    said = pflow("call", "a", "fail")
    assert said.code == 1
    assert leaks(home, said.out, said.err) == []


def test_a_short_secret_of_a_server_is_hidden_where_that_server_gives_it_and_nowhere_else(
    pflow: Pflow, serve: Serve, home: Path
) -> None:
    serve("a", tool("text"), add=("--env", "DB_PASSWORD=root"), replies={"text": [{"text": "root"}]})
    serve("b", tool("text"), replies={"text": [{"text": "root"}]})
    assert pflow("call", "b", "text").out == "root\n"
    assert pflow("run", '{"nodes": [{"id": "e", "type": "echo", "params": {"x": "root"}}]}').out == "root\n"
    assert pflow("call", "a", "text").out == "«secret:a.env.DB_PASSWORD»\n"


def test_adding_a_server_says_what_a_short_secret_means(pflow: Pflow) -> None:
    said = pflow("mcp", "add", "a", "--env", "DB_PASSWORD=root", "--", "true")
    assert "`DB_PASSWORD` of server `a` has fewer than 8 characters" in said.err and "root" not in said.err
