"""A form that a person leaves open holds a call for a while, and what the client is told meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pflow import Workspace
from pflow.core.event import StepAnswered, StepAsked, StepStarted
from pflow.core.file.home import Home
from pflow.mcp_server.asking.caller import Caller
from pflow.mcp_server.asking.elicitor import HOLD_SECONDS, Elicitor, Show
from pflow.mcp_server.progress import HEARTBEAT_SECONDS, ProgressFeed
from pflow.workspace import Outcome
from tests.mcp_server.asking.document import asks, asks_each

CODEX = Caller(name="codex", version="1", protocol="2025-06-18", takes_forms=True)


@pytest.fixture
def run(home: Path) -> Callable[..., Outcome]:
    """Runs a document whose questions somebody is shown."""

    def run(document: Mapping[str, Any], show: Show, caller: Caller = CODEX) -> Outcome:
        async def work() -> Outcome:
            elicitor = Elicitor(show, caller, lambda: True, hold=0.01)
            with Workspace(Home(home), asker=elicitor) as workspace:
                return await asyncio.to_thread(lambda: workspace.run(document))

        return asyncio.run(work())

    return run


async def never(message: str, schema: Mapping[str, object]) -> Mapping[str, object]:
    await asyncio.Event().wait()
    raise AssertionError


def test_a_form_that_stays_open_leaves_the_run_waiting(run: Callable[..., Outcome]) -> None:
    assert run(asks(), never).status == "waiting"


def test_who_leaves_one_form_open_is_shown_no_other(run: Callable[..., Outcome]) -> None:
    shown = []

    async def note(message: str, schema: Mapping[str, object]) -> Mapping[str, object]:
        shown.append(message.splitlines()[0])
        return await never(message, schema)

    outcome = run(asks_each("a", "b", "c"), note)
    assert len(outcome.open_waits) == 3
    assert shown == ["Send a?"]


def test_a_client_that_cannot_show_it_leaves_the_run_waiting(run: Callable[..., Outcome]) -> None:
    async def broken(message: str, schema: Mapping[str, object]) -> Mapping[str, object]:
        return {}

    assert run(asks(), broken).status == "waiting"


@pytest.mark.parametrize(
    ("caller", "fields"),
    [
        (CODEX._replace(takes_forms=False), {}),
        (CODEX, {"schema": {"tags": {"type": "array", "items": {"enum": ["a", "b"]}}}}),
    ],
)
def test_what_a_client_cannot_show_it_is_not_asked(
    run: Callable[..., Outcome], caller: Caller, fields: dict[str, Any]
) -> None:
    async def shown(message: str, schema: Mapping[str, object]) -> Mapping[str, object]:
        raise AssertionError(message)

    assert run(asks(**fields), shown, caller).status == "waiting"


def test_a_call_is_held_for_less_than_a_minute_with_signs_of_life() -> None:
    assert HEARTBEAT_SECONDS * 4 < HOLD_SECONDS < 60


def test_a_client_hears_what_is_asked_and_that_it_still_waits() -> None:
    told: list[str] = []

    async def work() -> None:
        seen = asyncio.Event()

        async def send(done: float, total: float | None, message: str) -> None:
            told.append(message)
            if len(told) >= 3:
                seen.set()

        feed = ProgressFeed(send, heartbeat=0.01)
        feed.notify("run", StepStarted(step="ask", node="ask", definition="", inputs="", at=0.0))
        feed.notify("run", StepAsked(step="ask", key="k", kind="question", at=0.0, prompt="Post it?"))
        feed.notify("run", StepAsked(step="pause", key="t", kind="timer", at=0.0))
        telling = asyncio.create_task(feed.tell())
        await asyncio.wait_for(seen.wait(), 20)
        feed.notify("run", StepAnswered(step="ask", key="k", kind="question", at=0.0))
        telling.cancel()
        assert "waits for an answer" not in feed._still()

    asyncio.run(work())
    assert told[0] == "`ask` waiting for an answer: Post it?"
    assert told[1] == "`pause` waiting for a moment"
    assert told[2].startswith("waiting in `ask`")
