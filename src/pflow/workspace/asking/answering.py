"""The part of a workspace that finds runs, answers their questions, and sends them messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pflow.execution.wiring import Wiring

if TYPE_CHECKING:
    from pflow.execution.asking.answer import Answered, Inbox, Waiting


class Answering:
    """See `pflow.workspace.workspace.Workspace`."""

    _wiring: Wiring

    def find_run(self, reference: str) -> str:
        """The one run that `reference` means: `latest`, an id, or the beginning of one."""
        from pflow.execution.run_lookup import find_run  # lazy: a run that begins is not looked up

        return find_run(self._wiring.journal, reference)

    @property
    def inbox(self) -> Inbox:
        """The questions that runs ask, and how to answer them."""
        from pflow.execution.asking.answer import Inbox  # lazy: most runs ask nothing

        return Inbox(self._wiring)

    def answer(
        self,
        run_id: str,
        step: str | None = None,
        choice: str | None = None,
        fields: Mapping[str, object] | None = None,
        *,
        declined: bool = False,
        every: bool = False,
        by: str = "",
        via: str = "python",
        text: bool = False,
    ) -> Answered:
        """Answer a question of a run, or `every` one of a batch. The run goes on when somebody resumes it or runs it.

        `step` may be left out where the run asks one question. Raises `InputError` for what is not an answer, and
        `AnsweredError` if somebody was first.
        """
        from pflow.engine.asking.form import Reply  # lazy: most runs ask nothing

        reply = Reply(choice=choice, fields=fields or {}, declined=declined)
        return self.inbox.answer(self.find_run(run_id), step, reply, by=by, via=via, every=every, text=text)

    def send(
        self, run_id: str, name: str, value: Mapping[str, object] | None = None, *, by: str = "", via: str = "python"
    ) -> Answered:
        """Send a message to a run, for the step that waits for one of this name, now or later."""
        return self.inbox.send(self.find_run(run_id), name, value or {}, by=by, via=via)

    def waiting(self, run_id: str | None = None) -> list[Waiting]:
        """What a run waits for, or what all runs do: first those that rest, then those that a process has."""
        return self.inbox.all() if run_id is None else self.inbox.waiting(self.find_run(run_id))
