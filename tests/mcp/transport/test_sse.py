"""Servers of 2024-11-05: a standing stream, an endpoint for POST, and what they do wrong."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from pflow.core.errors import SecurityError, ServerError, ServerGone, StepTimeout
from pflow.mcp.protocol.session import Session
from pflow.mcp.transport.remote import connect_http
from tests.mcp.transport.kit import DEADLINE, echo
from tests.mcp.transport.site import Out, Request, Site, failure, progress, said, text


class Stream(Site):
    """A site that answers on the stream; `doing` is one of a few misbehaviours, mostly of the stream."""

    out: Out

    async def _handle(self, request: Request, out: Out) -> None:
        if (request.method, self.doing) in (("GET", "stream-moves"), ("POST", "endpoint-moves")):
            await out.reply(307, location="http://127.0.0.2:1/messages")
        elif request.method == "GET":
            await self._open(out)
        elif self.doing == "post-500" and request.rpc == "tools/call":
            await out.reply(500, b"oh dear", "text/plain")
        elif self.doing == "post-401":
            await out.reply(401)
        elif self.doing == "post-404" and request.rpc == "tools/call":
            await out.reply(404, b"Could not find session")
        else:
            await out.reply(202, b"Accepted")
            await self._answer(request)

    async def _open(self, out: Out) -> None:
        self.out = out
        if self.doing == "no-stream":
            await out.reply(404)
            return
        if self.doing == "html-stream":
            await out.reply(200, b"<html>", "text/html")
            return
        await out.stream()
        endpoint = {
            "elsewhere": "http://127.0.0.2:1/messages",
            "other-scheme": "https://127.0.0.1/messages",
            "junk": "http://[::1",
        }.get(self.doing, "/messages?session=7")
        if self.doing == "no-endpoint":
            await out.chunk(b": nothing yet\n\n")
        elif self.doing == "ends-at-once":
            await out.end()
        else:
            await out.chunk(f"event: endpoint\r\ndata: {endpoint}\r\n\r\n".encode())
            await out.chunk(b"event: endpoint\ndata: /changed\n\n")
        await out.gone()
        self.cancelled.set()

    async def _answer(self, request: Request) -> None:
        match request.rpc, self.doing:
            case "initialize", _:
                info = {"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": {"name": "old"}}
                await self.out.event(self.message(request, info))
            case "tools/call", "ends":
                await self.out.end()
            case "tools/call", "hangs-up":
                self.out.hang_up()
            case "tools/call", "silence":
                pass
            case "tools/call", "endless":
                while True:
                    await self.out.chunk(b"data: " + b"x" * 65536 + b"\n")
            case "tools/call", "junk-first":
                await self.out.chunk(b"data: {oops\n\nevent: ping\ndata: x\n\n")
                await self.out.event({**self.good(request), "id": 99})
                await self.out.event(progress(request, 1))
                await self.out.event(self.good(request))
            case "tools/call", "asks":
                await self.out.event({"jsonrpc": "2.0", "id": "q", "method": "ping"})
                self.memory["call"] = request
            case "", _ if self.doing == "asks":
                await self.out.event(self.message(self.memory["call"], text(json.dumps(request.message))))
            case "tools/call", _:
                await self.out.event(self.message(request, said(request)))
            case method, _ if request.id is not None:
                await self.out.event(failure(request.id, -32601, method))


def talk(doing: str, use: Callable[..., Any], **options: Any) -> tuple[Any, ...]:
    async def main() -> tuple[Any, ...]:
        async with asyncio.timeout(DEADLINE), Stream("legacy", doing) as site:
            options.setdefault("timeout", DEADLINE)
            session = await connect_http(site.url, transport="sse", **options)
            try:
                return site, await use(session)
            finally:
                await session.close()
                await site.cancelled.wait()

    return asyncio.run(main())


def refuse(doing: str, kind: type[BaseException], **options: Any) -> Any:
    async def use(session: Session) -> None:
        raise AssertionError("it opened")

    with pytest.raises(kind) as caught:
        talk(doing, use, **options)
    return caught.value


@pytest.mark.usefixtures("kit")
@pytest.mark.requirement("security:11-4")
def test_an_old_server_is_talked_to_through_its_endpoint() -> None:
    async def use(session: Session) -> tuple[str, list[str]]:
        return session.peer.version, await asyncio.gather(*(echo(session, str(number)) for number in range(20)))

    site, (version, texts) = talk("", use, headers={"X-Key": "k"})
    assert version == "2024-11-05"
    assert texts == [str(number) for number in range(20)]
    assert {request.path for request in site.requests[1:]} == {"/messages?session=7"}
    assert site.requests[0].listens
    assert site.seen()[:2] == ["initialize", "notifications/initialized"]
    assert {request.headers["x-key"] for request in site.requests} == {"k"}


@pytest.mark.usefixtures("kit")
def test_other_things_on_the_stream_do_no_harm() -> None:
    async def use(session: Session) -> tuple[str, dict[str, Any]]:
        return await echo(session), dict(session.dropped)

    assert talk("junk-first", use)[1] == ("hi", {"event": 2, "garbage": 1, "unknown id": 1})


@pytest.mark.usefixtures("kit")
def test_an_old_server_may_ask() -> None:
    _, answer = talk("asks", echo)
    assert json.loads(answer) == {"jsonrpc": "2.0", "id": "q", "result": {}}


@pytest.mark.usefixtures("kit")
@pytest.mark.parametrize("doing", ["elsewhere", "other-scheme"])
def test_an_endpoint_at_another_origin_is_refused(doing: str) -> None:
    assert "names an endpoint elsewhere" in refuse(doing, SecurityError).message


@pytest.mark.usefixtures("kit")
@pytest.mark.parametrize("doing", ["stream-moves", "endpoint-moves"])
def test_a_redirect_to_another_origin_is_refused(doing: str) -> None:
    assert "redirects to another origin, `http://127.0.0.2:1`" in refuse(doing, SecurityError).message


@pytest.mark.usefixtures("kit")
@pytest.mark.parametrize("doing", ["junk", "no-stream", "html-stream", "ends-at-once"])
def test_a_stream_that_does_not_begin_as_it_should_is_refused(doing: str) -> None:
    refuse(doing, ServerError)


@pytest.mark.usefixtures("kit")
def test_a_stream_without_endpoint_runs_out_of_time() -> None:
    assert refuse("no-endpoint", StepTimeout, timeout=0.1).message == "the MCP server named no endpoint for 0.1 s"


@pytest.mark.usefixtures("kit")
def test_a_server_that_wants_credentials_says_so() -> None:
    assert refuse("post-401", ServerError).action == "auth_failed"


@pytest.mark.usefixtures("kit")
@pytest.mark.parametrize("doing", ["ends", "hangs-up", "endless", "post-404"])
def test_the_end_of_the_stream_ends_the_session(doing: str) -> None:
    async def use(session: Session) -> bool:
        with pytest.raises(ServerGone):
            await echo(session)
        return session.is_open

    assert talk(doing, use, limit=200_000)[1] is False


@pytest.mark.usefixtures("kit")
def test_a_refused_call_leaves_the_stream_open() -> None:
    async def use(session: Session) -> tuple[bool, object]:
        with pytest.raises(ServerError) as caught:
            await echo(session)
        return session.is_open, caught.value.details["server_says"]

    assert talk("post-500", use)[1] == (True, "oh dear")


@pytest.mark.usefixtures("kit")
def test_a_silent_call_runs_out_of_time_and_is_cancelled() -> None:
    async def use(session: Session) -> bool:
        with pytest.raises(StepTimeout):
            await echo(session, timeout=0.1)
        return session.is_open

    site, still = talk("silence", use)
    assert still
