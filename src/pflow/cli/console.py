"""A command's output: data to stdout, everything else to stderr, each in a form that the receiver can read."""

from __future__ import annotations

import io
import os
import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING, TextIO, TypeVar

import click

from pflow.core.errors import DocumentError, InputError, PflowError, StorageError
from pflow.core.printable import escape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pflow.cli.progress import Progress
    from pflow.core.document.issue import Issue
    from pflow.core.document.position import Places
    from pflow.core.project.projects import Ask, Waiting
    from pflow.execution.wiring import Parts
    from pflow.workspace import Workspace


F = TypeVar("F", bound="str | Mapping[str, object]")

BROKEN_PIPE = 141
"""The exit code that shells report for a program whose reader is gone, as with `| head`."""


class Console:
    """One command's surroundings: its streams, whether it speaks JSON, and the workspace once it is needed."""

    def __init__(self, parts: Parts | None = None) -> None:
        self._parts: Parts = parts or {}
        self.json = False
        self.on = ""
        """The place whose journal is meant; "" for the home."""
        self.options: list[str] = []
        self.typed = ""
        """The word at the cursor while a shell completes."""
        self.places: Places | None = None
        self.source = ""
        self.progress: Progress | None = None
        self._workspace: Workspace | None = None
        self._discreet: Workspace | None = None
        self._told: set[str] = set()
        self._deaf = False
        self._kept: TextIO | None = None

    @property
    def stdout(self) -> TextIO | None:
        """Where data goes; nothing if it is closed."""
        return self._kept or sys.stdout

    def keep_stdout(self) -> None:
        """Keep stdout for data before code of others runs in this process: what that prints goes to stderr."""
        stream = sys.stdout
        if self._kept is not None or not isinstance(stream, io.TextIOWrapper) or not _is_first_output(stream):
            return
        from pflow.core.stdout import take_stdout  # lazy: only runs and imports of nodes

        stream.flush()
        kept = os.fdopen(take_stdout(), "w", encoding=stream.encoding, errors=stream.errors, newline="")
        stream.reconfigure(line_buffering=True)  # or what is printed would stand behind what stderr said later
        self._kept = kept

    def return_stdout(self) -> None:
        """Undo `keep_stdout`."""
        kept, self._kept = self._kept, None
        if kept is None:
            return
        try:
            sys.stdout.flush()
        except (OSError, ValueError):
            pass  # a node may have closed it
        os.dup2(kept.fileno(), 1)
        kept.close()

    def workspace(self) -> Workspace:
        """The workspace that the environment names, opened on first use and watched where someone looks."""
        if self._workspace is None:
            from pflow.core.project.search import current_directory  # lazy: help and completion scripts need none
            from pflow.workspace import Workspace

            if shows_progress():
                from pflow.cli.progress import Progress  # lazy: only on a terminal

                self.progress = Progress(sys.stderr)
            self._workspace = self._discreet = Workspace.open(
                project=current_directory(),
                ask=self._asking(),
                observer=self.progress,
                **self._own_parts(),
            )
        return self._workspace

    def _own_parts(self) -> Parts:
        """Who is asked what runs ask, who is told what they wait for, and what the program brings."""
        from pflow.cli.asking.person import Person  # lazy: help and completion scripts run nothing

        person = Person(self)
        asker: Parts = {"asker": person} if self.can_ask() else {}
        place: Parts = {"on": self.on} if self.on else {}
        return {"staying": person.tell, **asker, **place, **self._parts}

    def aside(self) -> AbstractContextManager[None]:
        """Have the terminal for oneself while a run goes on."""
        return nullcontext() if self.progress is None else self.progress.aside()

    def can_ask(self) -> bool:
        """Whether a person is there who can read a question and answer it."""
        is_completing = bool(os.environ.get("_PFLOW_COMPLETE"))
        return not self.json and not is_completing and _is_terminal(sys.stdin) and _is_terminal(sys.stderr)

    def _asking(self) -> Ask | None:
        if not self.can_ask():
            return None

        def ask(waiting: Waiting) -> bool:
            from pflow.cli.project_text import ask_about  # lazy: only where a project waits
            from pflow.workspace.project import view

            return ask_about(self, view(waiting))

        return ask

    def close(self) -> None:
        """Say the notices of the workspace, and close it."""
        workspace, self._workspace = self._workspace, None
        if workspace is None:
            return
        for notice in workspace.notices:
            if notice not in self._told and not os.environ.get("_PFLOW_COMPLETE"):
                self._told.add(notice)
                self.say(f"note: {escape(notice)}")
        workspace.close()

    def data(self, value: object) -> None:
        """Print a command's result: text as it is, other values as JSON."""
        if isinstance(value, str):
            self.text(value)
        elif value is not None:
            self._write(_json(self.hide(value), indent=_is_terminal(self.stdout)))

    def text(self, text: str) -> None:
        """Print text as a result, with a line end if it lacks one."""
        text = str(self.hide(self._placed(text)))
        self._write(text if text.endswith("\n") or not text else f"{text}\n")

    def reply(self, data: object, shown: object) -> None:
        """Print a result: `data` in the common envelope for programs, `shown` for people."""
        if self.json:
            self.envelope({"success": True, "data": data})
        else:
            self.data(shown)

    def show(self, data: object, composed: str) -> None:
        """Print a result, for people as text that may hold colours; see `pflow.cli.looking.colour`."""
        if self.json:
            self.envelope({"success": True, "data": data})
            return
        from pflow.cli.looking.colour import for_terminal, without_marks  # lazy: only for what has colours

        text = str(self.hide(self._placed(composed)))
        text = text if text.endswith("\n") or not text else f"{text}\n"
        if self.stdout is not None and _is_terminal(self.stdout):
            lines = "\n".join(for_terminal(line) for line in text.split("\n"))
            self._send(lines.encode(self.stdout.encoding or "utf-8", "backslashreplace"))
        else:
            self._send(without_marks(text).encode("utf-8", "backslashreplace"))

    def envelope(self, envelope: Mapping[str, object]) -> None:
        """Print the one object that a program gets."""
        self._write(_json(self.hide(envelope), indent=_is_terminal(self.stdout)))

    def line(self, value: object) -> None:
        """Print one of several objects for programs, on a line of its own."""
        self._write(_json(self.hide(value), indent=False))

    def fail(self, error: PflowError) -> None:
        """Say why the command failed; a document's issues where they stand in its text."""
        from pflow.core.error_text import render_error  # lazy: most commands succeed

        with suppress(PflowError):
            self.workspace()  # it knows the secrets that a wrong word may hold
        if self.json and not self._deaf:
            facts = {name: part for name, part in error.as_dict().items() if part}
            self.envelope({"success": False, "error": self.hide_parts(facts)})
        elif isinstance(error, InputError) and error.details.get("inputs"):
            from pflow.cli.text import render_inputs  # lazy: only for this error

            self.say(render_inputs(error))
        elif isinstance(error, DocumentError):
            self.say(render_error(error, self.places, source=self.source))
        else:
            self.say(render_error(_without_echo(error)))

    def remark(self, *lines: str) -> None:
        """Say something beside the result, to people only."""
        if not self.json:
            for line in lines:
                self.say(line)

    def warn(self, issues: Sequence[Issue]) -> None:
        """Say what is probably wrong with a document that can run all the same, where it stands in its text."""
        from pflow.core.error_text import render_issues  # lazy: most documents are fine

        self.say(render_issues(issues, self.places, source=self.source))

    def say(self, text: str) -> None:
        """A message for the person; already escaped where it holds foreign text."""
        if sys.stderr is None:
            return
        try:
            text = self.hide_parts(self._placed(text))
            if _is_terminal(sys.stderr):
                from pflow.cli.looking.colour import paint_message  # lazy: only on a terminal

                text = paint_message(text)
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            pass  # stderr is gone; the exit code still tells

    def _placed(self, text: str) -> str:
        """Text in which commands that name a run say where it is."""
        if not self.on:
            return text
        from pflow.cli.place.naming import name_places  # lazy: most runs are at home

        return name_places(text, self.on)

    def raw(self, data: bytes) -> None:
        """Print bytes as they are; on a terminal, as text that does no harm."""
        if _is_terminal(self.stdout):
            self._write(data.decode(errors="backslashreplace"))
        else:
            self._send(data)

    def hide(self, shown: object) -> object:
        """A result without the secrets that are known."""
        try:
            return shown if self._discreet is None else self._discreet.redact(shown)
        except PflowError:
            return shown  # the settings cannot be read; a command that needs them says so

    def hide_parts(self, shown: F) -> F:
        """A message without the secrets that are known, or what a cut left of them."""
        try:
            return shown if self._discreet is None else self._discreet.redact_report(shown)
        except PflowError:
            return shown

    def _write(self, text: str) -> None:
        encoding = "utf-8"
        if self.stdout is not None and _is_terminal(self.stdout):
            text = "\n".join(_visible(line) for line in text.split("\n"))
            encoding = self.stdout.encoding or "utf-8"
        self._send(text.encode(encoding, "backslashreplace"))

    def _send(self, data: bytes) -> None:
        stream = self.stdout
        if stream is None:
            self._deaf = True
            raise StorageError("the result cannot be printed: stdout is closed")
        try:
            stream.flush()
            stream.buffer.write(data)
            stream.buffer.flush()
        except BrokenPipeError as error:
            drop_output(stream)
            raise click.exceptions.Exit(BROKEN_PIPE) from error
        except OSError as error:
            drop_output(stream)
            self._deaf = True
            raise StorageError(f"the result cannot be printed: {error.strerror}") from error


def drop_output(stream: TextIO) -> None:
    """Point a stream at nothing, so that the interpreter's last flush of what cannot be written does not fail."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        pass


def _is_first_output(stream: TextIO) -> bool:
    """Whether a stream writes where other languages, too, have their stdout; within a program it may be replaced."""
    try:
        return stream.fileno() == 1
    except (OSError, ValueError):
        return False


def _without_echo(error: PflowError) -> PflowError:
    """The error without the details that its message or its advice already tells."""
    told = " ".join([error.message, *error.suggestions])
    details = {}
    for name, value in error.details.items():
        parts = value if isinstance(value, list | tuple) else [value]
        if not all(str(part) in told for part in parts):
            details[name] = value
    return PflowError(error.message, details=details, suggestions=error.suggestions)


def shows_progress() -> bool:
    """Whether someone watches: stderr is a terminal that can move its cursor."""
    return _is_terminal(sys.stderr) and os.environ.get("TERM", "") != "dumb"


def speaks_unicode(stream: object) -> bool:
    """Whether lines and arrows reach the reader of a stream."""
    encoding = getattr(stream, "encoding", None) or ""
    if not _is_terminal(stream):
        return True  # what is not shown on a terminal is written as UTF-8
    return encoding.lower().replace("-", "").startswith("utf")


def _is_terminal(stream: object) -> bool:
    try:
        return bool(getattr(stream, "isatty", lambda: False)())
    except ValueError:
        return False  # closed


def _visible(line: str) -> str:
    return "\t".join(escape(part) for part in line.split("\t"))


def _json(value: object, *, indent: bool) -> str:
    import orjson  # lazy: help and completion print no JSON

    options = orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS | (orjson.OPT_INDENT_2 if indent else 0)
    try:
        return orjson.dumps(value, default=str, option=options).decode()
    except orjson.JSONEncodeError:
        import json  # lazy: integers beyond 64 bits and half surrogates are rare

        return json.dumps(value, default=str, indent=2 if indent else None) + "\n"
