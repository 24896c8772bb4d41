"""What a person sees of a run while it happens."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import termios
from pathlib import Path

import pytest

from pflow.cli.progress import Progress
from pflow.core.event import (
    Event,
    ItemCompleted,
    ItemFailed,
    ItemNotYet,
    StepCompleted,
    StepFailed,
    StepNotYet,
    StepStarted,
)
from tests.cli.conftest import spawn
from tests.cli.screen import Screen


class Terminal(io.StringIO):
    """A stream that claims to be a terminal, too small to ask for its size."""

    encoding = "utf-8"


class Shown:
    """A progress display over a screen of 80 columns."""

    def __init__(self, encoding: str = "utf-8", **environ: str) -> None:
        self.stream = Terminal()
        self.stream.encoding = encoding
        self.progress = Progress(self.stream, environ=environ)
        self.screen = Screen(80)

    def see(self, *events: Event) -> list[str]:
        """Let events happen and the display catch up."""
        for event in events:
            self.progress.notify("run", event)
        self.progress.draw()
        return self.look()

    def look(self) -> list[str]:
        self.screen.feed(self.stream.getvalue())
        self.stream.seek(0)
        self.stream.truncate()
        return [line[2:] if line[:1] in "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏" else line for line in self.screen.lines]


def begin(step: str, attempt: int = 1, total: int = 0) -> StepStarted:
    return StepStarted(step=step, node=step, definition="", inputs="", at=0.0, attempt=attempt, items=total)


def end(step: str, ms: float = 20.0, source: str = "run") -> StepCompleted:
    return StepCompleted(step=step, action="default", writes={}, ms=ms, source=source)


def fail(step: str, **more: object) -> StepFailed:
    return StepFailed(step=step, error={"message": "no luck"}, ms=20.0, **more)  # type: ignore[arg-type]


def test_finished_steps_stay_and_running_ones_tick_below() -> None:
    shown = Shown()
    assert shown.see(begin("a")) == ["a  0.0 s"]
    assert shown.see(end("a", 1234.0), begin("b"), begin("c")) == ["✓ a  1.2 s", "b  0.0 s", "c  0.0 s"]
    assert shown.see(end("c", 3.0)) == ["✓ a  1.2 s", "✓ c  3 ms", "b  0.0 s"]
    assert shown.see(end("b", 65_000.0)) == ["✓ a  1.2 s", "✓ c  3 ms", "✓ b  1 min 05 s"]


def test_items_reports_and_attempts_are_shown() -> None:
    shown = Shown()
    items = [ItemCompleted(step="a", item=n, writes={}) for n in range(3)]
    assert shown.see(begin("a", total=5), *items) == ["a  0.0 s · 3/5 items"]
    failed = ItemFailed(step="a", item=3, error={})
    assert shown.see(failed) == ["a  0.0 s · 3/5 items · 1 failed"]
    shown.progress.report("run", "a[4]", "reading")
    assert shown.see() == ["a  0.0 s · 3/5 items · 1 failed · reading"]
    assert shown.see(end("a")) == ["✓ a  20 ms · 3/5 items · 1 failed"]
    assert shown.see(begin("b"), fail("b", retry_in=2.0))[-1] == "b  0.0 s · failed, next attempt in 2.0 s: no luck"
    assert shown.see(begin("b", 2))[-1] == "b  0.0 s · attempt 2"


def test_failures_and_known_results_are_told_apart() -> None:
    shown = Shown()
    assert shown.see(begin("a"), end("a", source="cache"), begin("b"), end("b", source="reuse")) == [
        "✓ a  from the cache",
        "✓ b  kept",
    ]
    assert shown.see(begin("c"), fail("c", action="error"))[-1] == "! c  20 ms · no luck, goes on with `error`"
    assert shown.see(begin("d"), fail("d"))[-1] == "✗ d  20 ms · no luck"


def test_many_quick_steps_take_one_line_and_many_running_ones_a_few() -> None:
    shown = Shown()
    quick = [event for n in range(50) for event in (begin(f"s{n}"), end(f"s{n}"))]
    assert shown.see(*quick, begin("x"), fail("x")) == ["✓ 50 steps  s0 … s49", "✗ x  20 ms · no luck"]
    lines = shown.see(*(begin(f"r{n}") for n in range(30)))
    assert len(lines) == 10
    assert lines[-1] == "23 more steps"


def test_a_hostile_step_cannot_move_the_cursor() -> None:
    shown = Shown()
    shown.see(begin("a\x1b[2J\r\n" + "x" * 500))
    shown.progress.report("run", "a\x1b[2J\r\n" + "x" * 500, "\x1b]0;title\x07" + "y" * 500)
    lines = shown.see()
    assert len(lines) == 1
    assert len(lines[0]) <= 80


def test_no_colour_is_used_where_none_is_wanted() -> None:
    for environ, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        shown = Shown(**environ)
        shown.progress.notify("run", begin("a"))
        shown.progress.draw()
        assert ("\x1b[36m" in shown.stream.getvalue()) is coloured


def test_a_terminal_without_unicode_gets_plain_signs() -> None:
    shown = Shown("iso-8859-1", NO_COLOR="1")
    assert shown.see(begin("ä"), end("ä"), begin("b"), fail("b")) == [r"+ \xe4  20 ms", "x b  20 ms - no luck"]
    assert shown.stream.getvalue().isascii()


def test_a_run_that_ends_at_once_shows_nothing() -> None:
    shown = Shown()
    with shown.progress as progress:
        progress._done.set()  # the first tick never comes
        progress.notify("run", begin("a"))
        progress.notify("run", end("a"))
    assert shown.stream.getvalue() == ""
    assert not progress.shown


def test_a_terminal_that_went_away_does_not_disturb_the_run() -> None:
    shown = Shown()
    shown.stream.close()
    with shown.progress as progress:
        progress.notify("run", begin("a"))
        progress.draw()


@pytest.mark.parametrize("columns", [80, 24])
def test_a_real_terminal_is_left_as_it_should_be(tmp_path: Path, columns: int) -> None:
    os.mkfifo(tmp_path / "gate")
    command = "echo --x=1 >> shell --command='cat gate; printf \"done \\033[31mred\"'"
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = spawn(
        command,
        cwd=tmp_path,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={"TERM": "xterm", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"},
    )
    os.close(follower)
    output = b""
    with os.fdopen(leader, "rb", buffering=0) as terminal:
        while b"shell" not in output:
            output += terminal.read(1024)
        (tmp_path / "gate").write_text("")
        try:
            while part := terminal.read(1024):
                output += part
        except OSError:
            pass  # how Linux says that the other side has closed
    assert process.wait() == 0
    lines = Screen(columns).feed(output.decode()).lines
    assert lines[0].startswith("✓ echo  ")
    assert lines[1].startswith("✓ shell  ")
    assert lines[2].startswith("2 steps in ")
    assert lines[-1] == r"done \x1b[31mred"


def test_a_step_that_is_not_there_yet_is_no_alarm() -> None:
    shown = Shown(NO_COLOR="1")
    wait = StepNotYet(step="poll", reason='`poll.state` was "pending"', ms=1.0, attempt=1, retry_in=5.0)
    [line] = shown.see(begin("poll"), wait)
    assert line.endswith('not yet, again in 5.0 s: `poll.state` was "pending"')
    item = ItemNotYet(step="poll", item=3, reason="`x` was 1", attempt=1, retry_in=60.0)
    [line] = shown.see(item)
    assert "item 3 not yet, again in" in line


def test_a_step_that_waits_for_its_turn_is_shown_before_it_begins() -> None:
    shown = Shown(NO_COLOR="1")
    shown.progress.report("run", "fetch", "waits for its turn, at most 5/h")
    [line] = shown.see()
    assert line.startswith("fetch  ") and line.endswith("waits for its turn, at most 5/h")
    assert [line.split()[:2] for line in shown.see(begin("fetch"), end("fetch"))] == [["✓", "fetch"]]
    shown.progress.report("run", "fetch", "late")
    assert [line.split()[:2] for line in shown.see()] == [["✓", "fetch"]]
