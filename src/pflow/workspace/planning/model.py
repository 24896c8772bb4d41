"""The model that plans and repairs, and what a person is told who has none. Asks nothing itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from pflow.core.errors import NoModelError, UsageError
from pflow.engine.model.llm import LLM, Report
from pflow.execution.live_run import in_event_loop
from pflow.execution.wiring import Wiring
from pflow.planning.writing.exchange import Exchange
from pflow.workspace.guide import guide_page

T = TypeVar("T")

_PAGES = ("documents", "templates", "branching", "loops", "batches", "errors", "asking")
"""The pages of the guide that a model is given to write documents."""


def find_model(wiring: Wiring, what: str, instead: Sequence[str], model: str = "") -> LLM:
    """Whoever answers prompts; raises `NoModelError`, which says what to set up, and what works without."""
    llm = wiring.services.llm()
    if llm is None or not llm.is_available(model):
        asked = f"the model `{model}` is not configured" if model else "no model is configured"
        raise NoModelError(
            f"{what} needs a language model, and {asked}",
            suggestions=["set one up with `pflow llm add`, or name it in the setting `llm.default`", *instead],
        )
    return llm


def open_exchange(wiring: Wiring, llm: LLM, model: str, report: Report) -> Exchange:
    """An exchange whose prompts hold no secret that is known here."""
    return Exchange(llm, model=model, report=report, hide=wiring.redactor.text)


def writing_guide() -> str:
    """How documents are written, as the guide says it to everyone."""
    return "\n\n".join(guide_page(topic) for topic in _PAGES)


def run_alone(work: Callable[[], Awaitable[T]], what: str) -> T:
    """See work through from synchronous code, on an event loop of its own."""
    if in_event_loop():
        raise UsageError(
            f"{what} cannot be waited for inside a running event loop",
            suggestions=[f"write `await asyncio.to_thread(workspace.{what}, …)`"],
        )

    async def alone() -> T:
        return await work()

    with asyncio.Runner() as runner:
        return runner.run(alone())
