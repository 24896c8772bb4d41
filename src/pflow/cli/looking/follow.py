"""Shows a run line by line while any process drives it."""

from __future__ import annotations

import time
from collections.abc import Mapping

from pflow.cli.console import Console
from pflow.cli.looking.colour import paint
from pflow.cli.text import show_ms, show_seconds
from pflow.core.event import (
    Event,
    ItemCompleted,
    ItemFailed,
    RunCancelled,
    RunCompleted,
    RunEnding,
    RunFailed,
    RunResumed,
    RunStarted,
    RunStopped,
    StepAnswered,
    StepAsked,
    StepCompleted,
    StepFailed,
    StepNotYet,
    StepStarted,
    show_ending,
)
from pflow.core.json_type import Json
from pflow.core.printable import escape
from pflow.core.wait_text import show_asked
from pflow.workspace.looking.heard import Heard, LiveLine

_INTERRUPTED = 130
_SOURCES = {"cache": "from the cache", "reuse": "kept", "settled": "settled"}
_KEPT_OUT = frozenset({"document", "inputs", "writes", "outputs", "state", "reads", "params", "show", "answer", "form"})
"""What a follower is not told: values, and a key with which anybody could answer. `pflow trace` has the values."""


def follow_run(console: Console, run_id: str) -> int:
    """Print what a run does until it ends; the exit code of the run."""
    workspace = console.workspace()
    teller = _Teller()
    try:
        for heard in workspace.follow(run_id):
            if console.json:
                console.line(_data(heard))
            elif text := teller.tell(heard):
                console.show(None, text)
    except KeyboardInterrupt:
        console.remark("", f"the run goes on; follow it again: pflow runs follow {run_id}")
        return _INTERRUPTED
    ending = workspace.ending(run_id)
    status = str(ending.trace.get("status"))
    took = ending.trace.get("duration_ms")
    if console.json:
        console.line({"event": "end", "run_id": run_id, "status": status, "exit_code": ending.exit_code})
    else:
        spent = f" after {show_ms(took)}" if isinstance(took, float | int) else ""
        console.remark(f"run {run_id} is {status}{spent}; show: pflow runs show {run_id}")
    return ending.exit_code


def _data(heard: Heard) -> Json:
    if isinstance(heard, LiveLine):
        return {"event": "line", **heard.as_dict()}
    facts = {name: value for name, value in heard.as_dict().items() if name not in _KEPT_OUT and name != "key"}
    return {"event": type(heard).__name__, **facts}


class _Teller:
    """Puts what is heard in words. Knows when each step began, so that its end has a time as well."""

    def __init__(self) -> None:
        self._begun: dict[str, float] = {}
        self._items: dict[str, tuple[int, int]] = {}
        self._at = 0.0

    def tell(self, heard: Heard) -> str:
        """A line, or nothing where there is nothing to say."""
        if isinstance(heard, LiveLine):
            colour = {"stderr": "yellow", "report": "dim"}.get(heard.stream)
            text = escape(heard.text)
            self._at = heard.at
            return self._line(heard.step, f"│ {paint(text, colour) if colour else text}")
        at = getattr(heard, "at", None)
        if isinstance(at, float) and at:
            self._at = at
        return self._event(heard)

    def _event(self, event: Event) -> str:
        match event:
            case StepStarted():
                if event.attempt == 1:
                    self._begun[event.step] = event.at
                done, _ = self._items.get(event.step, (0, 0))
                self._items[event.step] = done, event.items
                attempt = f", attempt {event.attempt}" if event.attempt > 1 else ""
                items = f", {event.items} items" if event.items else ""
                return self._line(event.step, f"{paint('started', 'cyan')}{attempt}{items}")
            case StepCompleted():
                self._end(event.step, event.ms)
                if event.source == "skipped":
                    return self._line(event.step, paint("skipped", "dim"))
                about = _SOURCES.get(event.source) or f"in {show_ms(event.ms)}"
                return self._line(event.step, f"{paint('completed', 'green')} {about}")
            case StepFailed():
                self._end(event.step, event.ms)
                again = f"; next attempt in {show_seconds(event.retry_in)}" if event.retry_in is not None else ""
                on = f"; goes on with `{event.action}`" if event.action else ""
                said = f"{_message(event.error)}{again}{escape(on)}"
                return self._line(event.step, f"{paint('failed', 'red')} {said}")
            case StepNotYet():
                self._end(event.step, event.ms)
                return self._line(
                    event.step, f"not yet, again in {show_seconds(event.retry_in)}: {escape(event.reason)}"
                )
            case ItemCompleted() | ItemFailed():
                return self._item(event)
            case StepAsked():
                return self._line(event.step, paint(f"waiting {escape(show_asked(event))}", "yellow"))
            case StepAnswered():
                return self._line(event.step, event.outcome.replace("_", " "))
            case _:
                return self._run(event)

    def _run(self, event: Event) -> str:
        match event:
            case RunStarted():
                return self._line("", f"{escape(event.workflow)} started")
            case RunResumed():
                return self._line("", "resumed")
            case RunEnding():
                return self._line("", f"{escape(event.scope)}{event.section}: {show_ending(event.status)}")
            case RunCompleted():
                return self._line("", paint("completed", "green"))
            case RunFailed():
                return self._line("", f"{paint('failed', 'red')} {_message(event.error)}")
            case RunStopped():
                return self._line("", paint(escape(event.reason.replace("_", " ")), "yellow"))
            case RunCancelled():
                return self._line("", paint("cancelled", "yellow"))
        return ""

    def _item(self, event: ItemCompleted | ItemFailed) -> str:
        done, of = self._items.get(event.step, (0, 0))
        name = f"{event.step}[{event.item}]"
        if isinstance(event, ItemFailed):
            word = paint("failed", "red") if event.final else "failed, another attempt follows:"
            return self._line(name, f"{word} {_message(event.error)}")
        self._items[event.step] = done + 1, of
        return self._line(name, f"{paint('completed', 'green')} ({done + 1} of {of})")

    def _end(self, step: str, ms: float) -> None:
        if step in self._begun:
            self._at = self._begun[step] + ms / 1000

    def _line(self, step: str, text: str) -> str:
        clock = time.strftime("%H:%M:%S", time.localtime(self._at)) if self._at else "        "
        return f"{paint(clock, 'dim')}  {escape(step)}  {text}" if step else f"{paint(clock, 'dim')}  {text}"


def _message(error: Mapping[str, object]) -> str:
    return escape(str(error.get("message", "")))
