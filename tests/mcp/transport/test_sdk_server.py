"""A real peer: a server built with the official SDK, in both eras and over both HTTP transports."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pflow.core.errors import ServerGone, StepTimeout
from pflow.mcp.protocol.session import Session
from pflow.mcp.transport.http_wire import HttpWire
from pflow.mcp.transport.remote import connect_http
from tests.mcp.transport.kit import DEADLINE, echo

SCRIPT = str(Path(__file__).with_name("sdk_server.py"))


@pytest.fixture(scope="module", params=["json", "stream"])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where the server listens; it answers with JSON, or with streams of events."""
    with subprocess.Popen(
        [sys.executable, SCRIPT, request.param], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


def talk(url: str, use: Callable[..., Any], **options: Any) -> Any:
    async def main() -> Any:
        async with asyncio.timeout(DEADLINE):
            session = await connect_http(url, timeout=DEADLINE, **options)
            try:
                return await use(session)
            finally:
                await session.close()

    return asyncio.run(main())


WAYS = [("/mcp", {}), ("/mcp", {"era": "legacy"}), ("/sse", {"transport": "sse"})]


@pytest.mark.usefixtures("kit")
@pytest.mark.requirement("security:12.2-2")
@pytest.mark.parametrize(("path", "options"), WAYS, ids=["modern", "legacy", "sse"])
def test_a_real_server_is_listed_and_called(address: str, path: str, options: dict[str, Any]) -> None:
    steps = []

    async def use(session: Session) -> tuple[Any, ...]:
        names = [tool["name"] for tool in await session.list_tools()]
        counted = await session.call_tool("count", {"to": 3}, progress=lambda *step: steps.append(step))
        failed = await session.call_tool("fail", {})
        texts = await asyncio.gather(*(echo(session, str(number)) for number in range(20)))
        return session.peer.era, names, counted["structuredContent"], failed["isError"], texts

    era, names, counted, failed, texts = talk(address + path, use, **options)
    assert era == ("modern" if not options else "legacy")
    assert names == ["echo", "count", "wait", "fail"]
    assert (counted, failed) == ({"result": 3}, True)
    assert texts == [str(number) for number in range(20)]
    assert steps in ([], [(1.0, 3.0, "step 1"), (2.0, 3.0, "step 2"), (3.0, 3.0, "step 3")])


@pytest.mark.usefixtures("kit")
@pytest.mark.parametrize(("path", "options"), WAYS, ids=["modern", "legacy", "sse"])
def test_a_call_to_a_real_server_can_be_given_up(address: str, path: str, options: dict[str, Any]) -> None:
    async def use(session: Session) -> str:
        with pytest.raises(StepTimeout):
            await session.call_tool("wait", {}, timeout=0.2)
        call = asyncio.create_task(session.call_tool("wait", {}))
        await echo(session)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return await echo(session)

    assert talk(address + path, use, **options) == "hi"


@pytest.mark.slow
@pytest.mark.usefixtures("kit")
def test_a_session_that_a_real_server_forgot_is_noticed(address: str) -> None:
    async def use(session: Session) -> tuple[bool, object]:
        assert await echo(session) == "hi"
        other = session._link.wire
        assert isinstance(other, HttpWire)
        await other.leave()
        with pytest.raises(ServerGone) as caught:
            await echo(session)
        return session.is_open, caught.value.details["status"]

    assert talk(f"{address}/mcp", use, era="legacy") == (False, 404)
