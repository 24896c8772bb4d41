"""What every `ToolSessions` does: the real connections to a scripted server, and the stand-in for tests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from pflow.core.errors import NotFoundError, StepError
from pflow.core.file.home import Home
from pflow.engine.ports import ToolSessions
from pflow.execution.wiring import Wiring
from pflow.testing import MemoryTools
from tests.mcp.step.conftest import pflow, registry_file, serve, tool, write

__all__ = ["pflow", "registry_file", "serve", "write"]

T = TypeVar("T")


class Offered:
    """A server `hub` with the tools `say` and `fail`, and the calls that reached it."""

    def __init__(self, make: Callable[[], ToolSessions], calls: Callable[[], list[object]]) -> None:
        self._make = make
        self._calls = calls

    @property
    def calls(self) -> list[object]:
        return self._calls()

    def use(self, work: Callable[[ToolSessions], Awaitable[T]]) -> T:
        """Do `work` on an event loop of its own, and close the sessions after it."""

        async def go() -> T:
            sessions = self._make()
            try:
                return await work(sessions)
            finally:
                await sessions.close()

        return asyncio.run(go())


def say(text: str, times: int = 1) -> dict[str, object]:
    return {"text": text} if times == 1 else {"text": text, "times": times}


async def fail() -> None:
    raise StepError("it broke")


@pytest.fixture(params=["memory", "servers"])
def offered(request: pytest.FixtureRequest, home: Path) -> Offered:
    if request.param == "memory":
        tools = MemoryTools({"hub": {"say": say, "fail": fail}})
        return Offered(lambda: tools, lambda: [dict(arguments) for _, _, arguments in tools.calls])
    make = request.getfixturevalue("serve")
    speak = tool("say", needs={"text": "string"})
    speak["inputSchema"]["properties"]["times"] = {"type": "integer"}
    speak["inputSchema"]["additionalProperties"] = False
    server = make("hub", speak, tool("fail"), replies={"fail": [{"failed": "it broke"}]})
    return Offered(lambda: Wiring(Home(home)).tools, lambda: server.calls)


def test_a_call_gives_outputs_by_name(offered: Offered) -> None:
    assert offered.use(lambda tools: tools.call("hub", "say", {"text": "hi"})) == {"result": {"text": "hi"}}
    assert offered.calls == [{"text": "hi"}]


def test_only_what_a_tool_cannot_do_without_is_needed(offered: Offered) -> None:
    async def work(tools: ToolSessions) -> list[list[str]]:
        return [list(tools.needs("hub", name)) for name in ("say", "fail")]

    assert offered.use(work) == [["text"], []]


@pytest.mark.parametrize(("server", "name"), [("hub", "unknown"), ("unknown", "say")])
def test_a_tool_that_is_not_known_is_not_found(offered: Offered, server: str, name: str) -> None:
    async def needs(tools: ToolSessions) -> object:
        return tools.needs(server, name)

    for work in (needs, lambda tools: tools.call(server, name, {})):
        with pytest.raises(NotFoundError):
            offered.use(work)


@pytest.mark.parametrize("arguments", [{}, {"text": "hi", "more": 1}])
def test_arguments_that_a_tool_does_not_take_never_reach_it(offered: Offered, arguments: dict[str, object]) -> None:
    with pytest.raises(StepError) as caught:
        offered.use(lambda tools: tools.call("hub", "say", arguments))
    assert (caught.value.details["server"], caught.value.details["tool"]) == ("hub", "say")
    assert offered.calls == []


def test_a_tool_that_fails_says_which_it_is(offered: Offered) -> None:
    with pytest.raises(StepError, match="it broke") as caught:
        offered.use(lambda tools: tools.call("hub", "fail", {}))
    assert (caught.value.details["server"], caught.value.details["tool"]) == ("hub", "fail")


def test_calls_run_side_by_side_after_an_early_start(offered: Offered) -> None:
    async def work(tools: ToolSessions) -> list[object]:
        tools.prepare(["hub"])
        tools.prepare(["hub"])
        return [*await asyncio.gather(*(tools.call("hub", "say", {"text": str(n)}) for n in range(8)))]

    assert offered.use(work) == [{"result": {"text": str(n)}} for n in range(8)]


def test_a_call_after_closing_works_again(offered: Offered) -> None:
    async def work(tools: ToolSessions) -> object:
        await tools.call("hub", "say", {"text": "one"})
        await tools.close()
        await tools.close()
        return await tools.call("hub", "say", {"text": "two"})

    assert offered.use(work) == {"result": {"text": "two"}}
