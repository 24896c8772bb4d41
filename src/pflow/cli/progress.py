"""Shows a run on a terminal while it happens: finished steps scroll up, running ones tick below them.

Nothing is drawn for a run that ends at once. The picture is at most a few lines high, is rewritten in place ten
times a second in one write, and leaves nothing but the finished steps behind.
"""

from __future__ import annotations

import os
import threading
import time
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

from pflow.cli.text import show_ms, show_seconds
from pflow.core.event import (
    Event,
    ItemCompleted,
    ItemFailed,
    ItemNotYet,
    RunEnding,
    StepAnswered,
    StepAsked,
    StepCompleted,
    StepFailed,
    StepNotYet,
    StepStarted,
    show_ending,
)
from pflow.core.printable import escape, shorten
from pflow.core.wait_text import show_asked

_TICK_SECONDS = 0.1
_MOST_RUNNING = 8
_MOST_FINISHED = 8
_NAME_CHARACTERS = 40
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PLAIN = {"✓": "+", "✗": "x", "!": "!", "…": "...", "·": "-"}
_COLOURS = {"✓": "32", "✗": "31", "!": "33"}
_SOURCES = {"cache": "from the cache", "reuse": "kept", "skipped": "skipped"}


class _Step:
    """What is known of a running step."""

    __slots__ = ("attempt", "began", "failed_items", "items", "message", "name", "total", "waiting")

    def __init__(self, name: str, attempt: int, total: int, began: float) -> None:
        self.name = name
        self.attempt = attempt
        self.total = total
        self.began = began
        self.message = ""
        self.items = 0
        self.failed_items = 0
        self.waiting = 0
        """How many of its items wait."""

    def about(self, time: str) -> str:
        """The time, the items, and what the step last said."""
        parts = (
            time,
            f"{self.items}/{self.total} items" if self.total else "",
            f"{self.failed_items} failed" if self.failed_items else "",
            f"{self.waiting} waiting" if self.waiting else "",
            f"attempt {self.attempt}" if self.attempt > 1 else "",
            self.message,
        )
        return " · ".join(filter(None, parts))


class Progress:
    """An observer that draws on a terminal. Use it as a context manager around the run."""

    def __init__(self, stream: TextIO, *, environ: Mapping[str, str] | None = None) -> None:
        variables = os.environ if environ is None else environ
        self._stream = stream
        self._colour = not variables.get("NO_COLOR")
        self._unicode = (stream.encoding or "").lower().replace("-", "").startswith("utf")
        self._lock = threading.Lock()
        self._drawing = threading.RLock()
        self._aside = 0
        self._running: dict[str, _Step] = {}
        self._begun: set[str] = set()
        self._finished: list[tuple[str, str, str]] = []
        self._drawn: list[int] = []
        self._frame = 0
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self.shown = False

    def __enter__(self) -> Progress:
        self._thread = threading.Thread(target=self._tick, name="pflow-progress", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()
        if self.shown:
            self._running.clear()
            self.draw()

    def notify(self, run_id: str, event: Event) -> None:
        """Take an event into account."""
        with self._lock:
            if isinstance(event, StepStarted):
                self._begun.add(event.step)
                self._running[event.step] = _Step(event.step, event.attempt, event.items, time.monotonic())
            elif isinstance(event, StepCompleted):
                self._complete(event)
            elif isinstance(event, StepFailed):
                self._fail(event)
            elif isinstance(event, ItemCompleted | ItemFailed):
                self._item(event)
            elif isinstance(event, StepNotYet | ItemNotYet):
                self._wait(event)
            elif isinstance(event, StepAsked):
                self._ask(event)
            elif isinstance(event, StepAnswered):
                self._answer(event)
            elif isinstance(event, RunEnding):
                self._finished.append(("·", f"{event.scope}{event.section}", show_ending(event.status)))

    def report(self, run_id: str, step: str, message: str) -> None:
        """Show what a step says it is doing."""
        with self._lock:
            found = self._running.get(step) or self._running.get(step.partition("[")[0])
            if found is None:
                if step in self._begun:
                    return
                # It waits for its turn.
                found = self._running[step] = _Step(step, 1, 0, time.monotonic())
            found.message = escape(message[:200])

    def _complete(self, event: StepCompleted) -> None:
        step = self._running.pop(event.step, None)
        about = _SOURCES.get(event.source)
        if about is None and step is not None:
            step.message = ""
            about = step.about(show_ms(event.ms))
        if "[" not in event.step:
            self._finished.append(("·" if event.source == "skipped" else "✓", event.step, about or ""))

    def _fail(self, event: StepFailed) -> None:
        cause = escape(str(event.error.get("message", "")))
        if event.retry_in is not None:
            step = self._running.get(event.step)
            if step is not None:
                step.message = f"failed, next attempt in {show_seconds(event.retry_in)}: {cause}"
            return
        self._running.pop(event.step, None)
        mark, cause = ("✗", cause) if event.action is None else ("!", f"{cause}, goes on with `{event.action}`")
        self._finished.append((mark, event.step, f"{show_ms(event.ms)} · {cause}"))

    def _wait(self, event: StepNotYet | ItemNotYet) -> None:
        step = self._running.get(event.step)
        if step is not None:
            item = f"item {event.item} " if isinstance(event, ItemNotYet) else ""
            step.message = f"{item}not yet, again in {show_seconds(event.retry_in)}: {escape(event.reason)}"

    def _ask(self, event: StepAsked) -> None:
        step = self._running.get(event.step)
        if step is None:  # it begins when somebody has approved it
            step = self._running[event.step] = _Step(event.step, 1, 0, time.monotonic())
        if event.item is not None:
            step.waiting += 1
            return
        step.message = f"waiting {escape(show_asked(event))}"

    def _answer(self, event: StepAnswered) -> None:
        step = self._running.get(event.step)
        if step is None:
            return
        if event.item is not None:
            step.waiting -= 1
        elif event.step in self._begun:
            step.message = ""
        else:
            del self._running[event.step]

    def _item(self, event: ItemCompleted | ItemFailed) -> None:
        step = self._running.get(event.step)
        if step is None:
            return
        if isinstance(event, ItemCompleted):
            step.items += 1
        elif event.final:
            step.failed_items += 1

    def _tick(self) -> None:
        while not self._done.wait(_TICK_SECONDS):
            self.draw()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Leave the terminal to others: what runs is not shown meanwhile."""
        with self._drawing:
            self._draw(live=False)
            self._aside += 1
        try:
            yield
        finally:
            with self._drawing:
                self._aside -= 1

    def draw(self) -> None:
        """Bring the terminal up to date, unless others use it."""
        with self._drawing:
            if not self._aside:
                self._draw()

    def _draw(self, *, live: bool = True) -> None:
        try:
            columns, rows = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            columns, rows = 80, 24
        with self._lock:
            finished, self._finished = self._finished, []
            now = time.monotonic()
            steps = list(self._running.values()) if live else []
            running = [(step.name, step.about(show_seconds(now - step.began))) for step in steps]
        if not (finished or running or self._drawn):
            return
        room = max(1, min(_MOST_RUNNING, rows - 2))
        lines = [self._line(*line, columns) for line in _fold(finished)]
        spinner = _SPINNER[self._frame % len(_SPINNER)] if self._unicode else "|/-\\"[self._frame % 4]
        below = [self._line(spinner, name, about, columns) for name, about in running[:room]]
        if len(running) > room:
            below[-1] = self._line(spinner, f"{len(running) - room + 1} more steps", "", columns)
        self._frame += 1
        above = sum(max(1, -(-width // max(1, columns))) for width in self._drawn)
        frame = f"\x1b[{above}F" if above else ""
        frame += "".join(f"{text}\x1b[K\n" for text, _ in (*lines, *below)) + ("\x1b[J" if above else "")
        self._drawn = [width for _, width in below]
        self.shown = True
        try:
            self._stream.write(frame)
            self._stream.flush()
        except (OSError, ValueError):
            self._done.set()  # the terminal is gone; the run is not

    def _line(self, mark: str, name: str, about: str, columns: int) -> tuple[str, int]:
        name = shorten(name, _NAME_CHARACTERS)
        text = f"{name}  {about}" if about else name
        if not self._unicode:
            mark = _PLAIN.get(mark, mark)
            for sign, plain in _PLAIN.items():
                text = text.replace(sign, plain)
            text = text.encode("ascii", "backslashreplace").decode()
        text, width = _cut(text, max(1, columns - 3))
        painted = f"\x1b[{_COLOURS.get(mark, '36')}m{mark}\x1b[0m" if self._colour else mark
        return f"{painted} {text}", width + 2


def _fold(finished: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Many quick steps as one line; failures always on their own."""
    quick = [line for line in finished if line[0] == "✓"]
    if len(quick) <= _MOST_FINISHED:
        return finished
    names = f"{quick[0][1]} … {quick[-1][1]}"
    return [("✓", f"{len(quick)} steps", names), *(line for line in finished if line[0] != "✓")]


def _cut(text: str, room: int) -> tuple[str, int]:
    """The text as far as it fits, and how many cells it takes."""
    if text.isascii() and len(text) <= room:
        return text, len(text)
    width = 0
    for index, letter in enumerate(text):
        cells = 0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if width + cells > room:
            return text[:index], width
        width += cells
    return text, width
