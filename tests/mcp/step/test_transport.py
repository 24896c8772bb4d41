"""The same steps over a process, a socket and an address: which one it is stands in the configuration alone."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import Pflow
from tests.mcp.protocol.kit import DEADLINE, argv
from tests.mcp.transport.site import Site

CANARY = "canary-0815-zebra"
IN_HTTP = {"call:silence": "silence", "call:exit0": "hangs-up"}
"""What a site does that corresponds to a behaviour of a process."""


@contextmanager
def on_socket(path: str, era: str, doing: str = "well-behaved") -> Iterator[str]:
    """A socket that gives every connection a server of its own."""

    def serve() -> None:
        while True:
            connection, _ = listener.accept()
            with connection:
                if stopped.is_set():
                    return
                subprocess.run(argv(era, doing), stdin=connection.fileno(), stdout=connection.fileno())

    stopped = threading.Event()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield path
        finally:
            stopped.set()
            with socket.socket(socket.AF_UNIX) as last:
                last.connect(path)
            thread.join(DEADLINE)
            assert not thread.is_alive()


@contextmanager
def on_site(era: str, *doing: str) -> Iterator[list[Site]]:
    """Sites on a loop of their own, one per behaviour; each knows the next."""
    ready, stop = threading.Event(), asyncio.Event()
    sites = [Site(era, one) for one in doing or ("",)]
    loop = asyncio.new_event_loop()

    async def main() -> None:
        for site, other in zip(sites, [*sites[1:], None], strict=True):
            await site.__aenter__()
            site.other = other
        ready.set()
        await stop.wait()
        for site in sites:
            await site.__aexit__()

    def run() -> None:
        loop.run_until_complete(main())
        loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(DEADLINE)
    try:
        yield sites
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(DEADLINE)
        assert not thread.is_alive()


@contextmanager
def reachable(transport: str, era: str, doing: str = "well-behaved") -> Iterator[list[str]]:
    """The words of `mcp add` for a server that can be reached in this way."""
    if transport == "stdio":
        yield ["--", *argv(era, doing)]
    elif transport == "uds":
        with on_socket("sock", era, doing) as path:
            yield ["--socket", path]
    else:
        with on_site(era, IN_HTTP.get(doing, "")) as (site,):
            yield ["--url", site.url]


@pytest.mark.parametrize("transport", ["stdio", "uds", "stream-http"])
@pytest.mark.requirement("security:11-2", "security:11-6")
def test_a_workflow_does_not_see_how_its_server_is_reached(
    pflow: Pflow, write: Callable[..., str], home: Path, era: str, transport: str
) -> None:
    with reachable(transport, era) as words:
        assert pflow("mcp", "add", "a", *words).code == 0
        assert pflow("mcp", "sync", "a").code == 0
        write(
            "x.json",
            {"id": "one", "type": "mcp-a-echo", "params": {"text": "hi"}},
            {"id": "two", "type": "mcp-a-echo", "params": {"text": "${one.result} again"}},
        )
        said = pflow("run", "x.json")
    assert (said.code, said.out, said.err) == (0, "hi again\n", "")
    assert json.loads((home / "mcp-servers.json").read_text())["servers"]["a"]["transport"] == transport


@pytest.mark.parametrize("transport", ["stdio", "uds", "stream-http"])
@pytest.mark.parametrize(("doing", "action"), [("call:silence", "timeout"), ("call:exit0", "error")])
@pytest.mark.requirement("security:7.3-6")
def test_errors_mean_the_same_however_a_server_is_reached(
    pflow: Pflow, write: Callable[..., str], transport: str, doing: str, action: str
) -> None:
    with reachable(transport, "legacy", doing) as words:
        assert pflow("mcp", "add", "a", "--timeout", "2", *words).code == 0
        assert pflow("mcp", "sync", "a").code == 0
        write(
            "x.json",
            {"id": "call", "type": "mcp-a-echo"},
            {"id": "error", "type": "echo", "params": {"took": "error"}},
            {"id": "timeout", "type": "echo", "params": {"took": "timeout"}},
            edges=[{"from": "call", "to": name, "action": name} for name in ("error", "timeout")],
        )
        assert pflow("run", "x.json").out == f"{action}\n"


@pytest.mark.requirement("security:7.3-3")
def test_a_socket_that_nobody_listens_on_comes_with_advice(pflow: Pflow, tmp_path: Path) -> None:
    with on_socket("sock", "legacy"):
        pflow("mcp", "add", "a", "--socket", "sock")
        assert pflow("mcp", "sync", "a").code == 0
    said = pflow("call", "a", "echo", "text=hi")
    assert said.code == 1
    assert said.steady == (
        f"error: step `mcp-a-echo` failed: no MCP server can be reached at `{tmp_path}/sock`\n"
        "  params:\n"
        '    text: "hi"\n'
        '  cause: "Connection refused"\n'
        '  tool: "echo"\n'
        "  completed: nothing yet\n"
        "\n"
        "hint: is the server running?\n"
        "hint: pflow mcp doctor a\n"
        "resume: pflow runs resume RUN\n"
    )


@pytest.mark.requirement("security:11-3")
def test_a_windows_pipe_is_refused_clearly_elsewhere(pflow: Pflow) -> None:
    said = pflow("mcp", "add", "a", "--socket", r"\\.\pipe\x", "--transport", "pipe")
    assert (said.code, said.err) == (
        2,
        "error: server `a` has the transport `pipe`, which exists on Windows only\n"
        "\n"
        "hint: use `uds` with the path of a Unix socket\n",
    )


@pytest.mark.requirement("security:9.4-2", "security:9.4-3")
def test_adding_a_server_allows_its_host_and_no_other(pflow: Pflow, home: Path, era: str) -> None:
    with on_site(era) as (site,), on_site(era) as (other,):
        pflow("mcp", "add", "a", "--url", site.url)
        assert pflow("mcp", "sync", "a").code == 0
        assert pflow("call", "a", "echo", "text=hi").out == "hi\n"
        file = home / "mcp-servers.json"
        file.write_text(file.read_text().replace(f":{site.port}/", f":{other.port}/"))
        said = pflow("call", "a", "echo", "text=hi")
        assert said.code == 3
        assert "server `a` changed since it was agreed to, so it is not used" in said.err
        assert other.connections == 0


@pytest.mark.requirement("security:9.4-1")
def test_a_server_cannot_send_us_where_steps_may_not_go(pflow: Pflow, era: str) -> None:
    with on_site(era, "moved-to") as (site,):
        site.memory["to"] = "http://169.254.169.254/latest/meta-data/"
        pflow("mcp", "add", "a", "--url", site.url)
        assert pflow("mcp", "sync", "a").code == 0
        said = pflow("call", "a", "echo", "text=hi")
    assert said.code == 3
    assert "redirects to another origin, `http://169.254.169.254`; nothing was sent there" in said.err


def test_a_redirect_elsewhere_gets_no_arguments_of_a_call(pflow: Pflow, era: str) -> None:
    with on_site(era, "moved-away", "") as (site, other):
        pflow("mcp", "add", "a", "--url", site.url)
        assert pflow("mcp", "sync", "a").code == 0
        said = pflow("call", "a", "echo", "text=confidential")
    here, there = (url.removesuffix("/mcp") for url in (site.url, other.url))
    assert said.code == 3
    assert f"`{here}` redirects to another origin, `{there}`" in said.err
    assert f"use `{other.url}` as its URL" in said.err
    assert other.connections == 0


@pytest.mark.parametrize(
    ("doing", "shown"), [("headers-back", "Bearer «secret:HUB_TOKEN»"), ("echoes-credentials", "…")]
)
def test_secrets_in_headers_appear_nowhere(
    pflow: Pflow, home: Path, monkeypatch: pytest.MonkeyPatch, doing: str, shown: str
) -> None:
    monkeypatch.setenv("HUB_TOKEN", CANARY)
    with on_site("legacy", doing) as (site,):
        pflow("mcp", "add", "a", "--url", site.url, "--header", "Authorization: Bearer ${HUB_TOKEN}")
        assert pflow("mcp", "sync", "a").code == 0
        said = [pflow("call", "a", "echo"), pflow("call", "a", "echo", "--json"), pflow("runs", "show", "latest")]
        assert site.requests[-1].headers.get("authorization") == f"Bearer {CANARY}"
    assert [one for one in said if CANARY in one.out + one.err] == []
    assert shown in said[0].out + said[0].err
    assert [path for path in home.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()] == []
