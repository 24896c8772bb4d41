"""The person in front of a run: asked what it asks, and told what it waits for. Only then is more imported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pflow.core.event import StepAsked

if TYPE_CHECKING:
    from pflow.cli.asking.terminal_asker import TerminalAsker
    from pflow.cli.console import Console
    from pflow.workspace.asking.question import Given

_FREE = "Ctrl-C leaves it waiting; `--detach` or a `pflow daemon` would free the terminal"


class Person:
    """Whoever started the command of a console."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._asker: TerminalAsker | None = None
        self._told: set[str] = set()

    async def ask(self, run_id: str, asked: StepAsked) -> Given | None:
        """What they say to a question, at the terminal."""
        if self._asker is None:
            from pflow.cli.asking.terminal_asker import TerminalAsker  # lazy: most runs ask nothing

            self._asker = TerminalAsker(self._console)
        return await self._asker.ask(run_id, asked)

    def tell(self, run_id: str, waits: Sequence[StepAsked]) -> None:
        """Say what the process stays for, each thing once."""
        new = [asked for asked in waits if asked.key not in self._told]
        if not new:
            return
        from pflow.cli.asking.question_text import render_waits  # lazy: most runs never wait
        from pflow.workspace.asking.question import show_waiting

        shown = [show_waiting(run_id, asked, lambda value: value) for asked in new]
        lines = render_waits(shown, stays=True)
        if not self._told:
            lines.append(_FREE)
        self._told.update(asked.key for asked in new)
        with self._console.aside():
            self._console.say("\n".join(lines))
