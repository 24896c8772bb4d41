"""Chooses what a task is done with, writes a document for it, and mends documents. What is valid, others decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pflow.core.document.issue import Issue
from pflow.core.document.position import Path, Places
from pflow.core.frozen import Frozen
from pflow.core.printable import shorten
from pflow.core.suggest import did_you_mean
from pflow.planning.writing.answer import CHOICE, WRITTEN, Choice, Written, read_choice, read_written
from pflow.planning.writing.exchange import Exchange, Settled
from pflow.planning.writing.fence import fence
from pflow.planning.writing.prompt_file import load_prompt

Judge = Callable[[Written], tuple[Issue, ...]]
"""What is wrong with a document that was written; nothing, if it may be shown to a person."""

_OFFERS_CHARACTERS = 40_000
_ABOUT_CHARACTERS = 4_000
_STRUCTURE_CHARACTERS = 300
_DOCUMENT_CHARACTERS = 60_000
_FAILURE_CHARACTERS = 4_000
_SHAPES_CHARACTERS = 20_000
_MOST_RECHOSEN = 1


NOT_OFFERED = "not-offered"
"""The code of an issue about something that a model uses without having been offered it."""


class Offer(Frozen):
    """Something that a model may choose: a node type or a saved workflow, and what it is told about it."""

    name: str
    about: str


class Failure(Frozen):
    """Why a run failed, without the values that it had: `error` as text, and `shapes` of what its steps gave."""

    step: str
    error: str
    shapes: str


async def choose(exchange: Exchange, task: str, workflows: Sequence[Offer], types: Sequence[Offer]) -> Settled[Choice]:
    """A saved workflow that does a task, or the node types to write a new one with."""
    values = {"task": quote(task), "workflows": _offers("workflows", workflows), "types": _offers("node-types", types)}

    def judge(choice: Choice) -> tuple[Issue, ...]:
        return tuple(_unoffered(choice, [one.name for one in workflows], [one.name for one in types]))

    return await exchange.settle(load_prompt("choose"), values, CHOICE, read_choice, judge, most=_MOST_RECHOSEN)


async def write_document(
    exchange: Exchange, task: str, structure: str, types: Sequence[Offer], guide: str, judge: Judge
) -> Settled[Written]:
    """A document that does a task."""
    values = {
        "task": quote(task),
        "structure": shorten(structure, _STRUCTURE_CHARACTERS) or "not said",
        "types": _offers("node-types", types),
        "guide": guide,
    }
    return await exchange.settle(load_prompt("write"), values, WRITTEN, read_written, judge)


async def repair_document(
    exchange: Exchange, text: str, failure: Failure, types: Sequence[Offer], guide: str, judge: Judge
) -> Settled[Written]:
    """The document of a failed run, edited so that the run can go on."""
    values = {
        "document": fence("document", text, _DOCUMENT_CHARACTERS),
        "failure": fence("failure", f"step: {failure.step}\n{failure.error}", _FAILURE_CHARACTERS),
        "shapes": fence("shapes", failure.shapes, _SHAPES_CHARACTERS),
        "types": _offers("node-types", types),
        "guide": guide,
    }
    return await exchange.settle(load_prompt("repair"), values, WRITTEN, read_written, judge)


def quote(task: str) -> str:
    """The words of the person, set off from those of the prompt."""
    return "\n".join(f"> {line}" for line in task.strip().splitlines())


def _offers(name: str, offers: Sequence[Offer]) -> str:
    lines = [f"{one.name}\n  {shorten(one.about, _ABOUT_CHARACTERS)}" for one in offers]
    return fence(name, "\n".join(lines) or "none", _OFFERS_CHARACTERS)


def _unoffered(choice: Choice, workflows: Sequence[str], types: Sequence[str]) -> list[Issue]:
    """What was chosen without having been offered."""
    if choice.workflow:
        return [] if choice.workflow in workflows else [not_offered("workflow", choice.workflow, workflows)]
    return [not_offered("node type", name, types) for name in choice.types if name not in types]


def not_offered(what: str, name: str, offered: Sequence[str], places: Places | None = None, path: Path = ()) -> Issue:
    """The issue about something that a model uses without having been offered it, and where it stands."""
    hint = did_you_mean(name, offered) or "use what is listed"
    message = f"the {what} `{shorten(name)}` was not offered for this task"
    return (places or Places()).issue(NOT_OFFERED, message, path, hint=hint)
