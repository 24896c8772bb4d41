"""Asks the person at the terminal, one question at a time: its choices by letter, its fields one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pflow.cli.asking.choice_letter import letters_of, show_choice
from pflow.cli.asking.question_text import about_deadline, about_question, command_for, describe_field, shown_values
from pflow.cli.asking.terminal_line import drop_typed, read_line
from pflow.cli.text import show_whole
from pflow.core.errors import InputError
from pflow.core.event import StepAsked
from pflow.core.printable import escape, shorten
from pflow.workspace.asking.question import Given, Reply, Waiting, is_optional, read_reply, show_waiting
from pflow.workspace.asking.who import user_name

if TYPE_CHECKING:
    from pflow.cli.console import Console

_DECLINE = "decline"


class TerminalAsker:
    """The person at the terminal of a console."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._turn = asyncio.Lock()

    async def ask(self, run_id: str, asked: StepAsked) -> Given | None:
        """What the person says; None if they leave the question for later with Ctrl-D."""
        waiting = show_waiting(run_id, asked, lambda value: value)
        async with self._turn:
            with self._console.aside():
                try:
                    reply = await self.prompt(waiting)
                except asyncio.CancelledError:
                    self._console.say("")  # ends the line of the prompt
                    raise
        return None if reply is None else Given(reply=reply, by=user_name(), via="terminal")

    async def prompt(self, waiting: Waiting) -> Reply | None:
        """Ask one question."""
        say = self._console.say
        drop_typed()
        what = "approve" if waiting.approves else "question"
        say(f"{what} `{escape(waiting.place)}`: {_lines(waiting.prompt)}")
        for line in about_question(waiting._replace(choices=(), fields={})):
            say(f"  {line}")
        choice = None
        if waiting.choices:
            choice = await self._choose(waiting)
            if choice is None or choice == _DECLINE not in waiting.choices:
                return None if choice is None else Reply(declined=True)
        fields: dict[str, object] = {}
        for name, schema in waiting.fields.items():
            value = await self._fill(waiting, name, schema)
            if value is None:
                return None
            fields.update(value)
        return Reply(choice=choice, fields=fields)

    async def _choose(self, waiting: Waiting) -> str | None:
        letters = letters_of(waiting.choices)
        shown = "  ".join(escape(show_choice(letter, choice)) for letter, choice in letters.items())
        while True:
            line = await self._read(f"  {shown}  (? shows everything, Ctrl-C leaves it waiting): ")
            if line is None:
                return None
            word = line.strip()
            if word == "?":
                self._explain(waiting)
            if word in ("", "?"):
                continue
            known = {choice.lower(): choice for choice in waiting.choices}
            found = known.get(word.lower()) or letters.get(word.lower())
            if found is not None or word.lower() == _DECLINE:
                return found or _DECLINE
            self._console.say(f"  `{shorten(word)}` is not one of the choices")

    async def _fill(self, waiting: Waiting, name: str, schema: Mapping[str, object]) -> dict[str, object] | None:
        """The value of a field by its name, none if it is left out; None if the question is left for later."""
        while True:
            line = await self._read(f"  {escape(name)} ({describe_field(schema)}): ")
            if line is None:
                return None
            if line.strip() == "?":
                self._explain(waiting)
                continue
            given = {name: line} if line.strip() else {}
            if not given and not is_optional(schema):
                continue
            try:
                answer = read_reply({"fields": {name: schema}}, Reply(fields=given), text=True)["answer"]
            except InputError as error:
                self._console.say(f"  {escape(error.message)}")
                continue
            return {str(key): value for key, value in answer.items()} if isinstance(answer, dict) else {}

    def _explain(self, waiting: Waiting) -> None:
        """Everything about a question: its values in full, its deadline, and how it can be answered elsewhere."""
        say = self._console.say
        for name, value in shown_values(waiting).items():
            for line in show_whole(name, value):
                say(f"  {line}")
        for line in [*about_question(waiting._replace(show={})), *about_deadline(waiting)]:
            say(f"  {line}")
        say(f"  run {waiting.run_id}, step `{escape(waiting.place)}`")
        say(f"  `{_DECLINE}` declines; Ctrl-C leaves it waiting; later: {command_for(waiting, alone=False)}")

    async def _read(self, prompt: str) -> str | None:
        line = await read_line(prompt)
        if line is None:
            self._console.say("")  # ends the line of the prompt
        return line


def _lines(prompt: str) -> str:
    """A prompt of one or several lines, each made harmless."""
    return "\n  ".join(escape(line) for line in prompt.split("\n"))
