"""`pflow answer` and `pflow send`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from pflow.cli.argument import read_params
from pflow.cli.asking.answer_word import read_answer_words, read_message
from pflow.cli.command_group import with_console
from pflow.cli.commands.runs_again import explain_missing
from pflow.cli.completion import complete_answer, complete_message, complete_waiting_run
from pflow.cli.console import Console
from pflow.cli.place.option import place_option
from pflow.cli.run_report import run_watched, show_outcome
from pflow.core.errors import ConflictError, EndedError, InputError, UsageError
from pflow.core.printable import escape
from pflow.core.suggest import did_you_mean

if TYPE_CHECKING:
    from pflow.workspace import Workspace
    from pflow.workspace.asking.question import Answered, Reply, Waiting
    from pflow.workspace.serving import LiveRun

ANSWER_EXAMPLE = """\b
  pflow runs list --waiting
  pflow answer latest yes
  pflow answer 20261118 review post note='looks good'
  pflow answer 20261118 'send[17]' no
  pflow answer 20261118 send --all yes
"""

_MOST_SHOWN = 20
_NO_RESUME = "Only deliver it; the run goes on when somebody resumes it."


@click.command(short_help="Answer a question of a run, which then goes on.", epilog=ANSWER_EXAMPLE)
@click.argument("run", shell_complete=complete_waiting_run)
@click.argument("words", nargs=-1, metavar="[STEP] [CHOICE] [field=value]...", shell_complete=complete_answer)
@click.option("--decline", is_flag=True, help="Say no, or that you will not decide.")
@click.option("--all", "every", is_flag=True, help="Answer the questions of all items of STEP, or of all steps.")
@click.option("--no-resume", is_flag=True, help=_NO_RESUME)
@place_option()
@with_console
def answer(console: Console, run: str, words: tuple[str, ...], decline: bool, every: bool, no_resume: bool) -> int:
    """Answer a question of RUN; then the run goes on here.

    STEP is needed where RUN asks several questions; an item of a batch is `STEP[17]`. A word that could be both is the
    CHOICE if RUN asks one question and has that choice, and the STEP otherwise. Without an answer, it is asked for at
    the terminal.
    """
    workspace = console.workspace()
    run_id = workspace.find_run(run)
    questions = [one for one in workspace.waiting(run_id) if one.kind == "question"]
    found = read_answer_words(questions, words, decline=decline)
    reply = None if decline or found.says_something else _ask(console, questions, found.step, every)
    if reply is not None:
        found = found._replace(choice=reply.choice, fields=reply.fields)
        decline = reply.declined
    answered = workspace.answer(
        run_id,
        found.step,
        found.choice,
        found.fields,
        declined=decline,
        every=every,
        by=_user_name(),
        via="terminal",
        text=reply is None,
    )
    places = ", ".join(f"`{escape(place)}`" for place in answered.places[:_MOST_SHOWN])
    more = len(answered.places) - _MOST_SHOWN
    said = f"answered {places}" + (f" and {more:,} more" if more > 0 else "")
    return _go_on(console, answered, said, resume=not no_resume)


def _ask(console: Console, questions: Sequence[Waiting], step: str | None, every: bool) -> Reply | None:
    """Ask at the terminal, if there is one and it is clear which question is meant; the first one of several items."""
    items = f"{step}["
    meant = [one for one in questions if step in (None, one.place, one.key) or (every and one.place.startswith(items))]
    if not console.can_ask() or not meant or (len(meant) > 1 and not every) or meant[0].schema is not None:
        return None
    import asyncio  # lazy: only for those who give no answer

    from pflow.cli.asking.terminal_asker import TerminalAsker

    reply = asyncio.run(TerminalAsker(console).prompt(meant[0]))
    if reply is None:
        raise UsageError(f"`{meant[0].place}` was not answered; it is still waiting")
    return reply


@click.command(short_help="Send a message to a run that waits for one.")
@click.argument("run", shell_complete=complete_waiting_run)
@click.argument("name", shell_complete=complete_message)
@click.argument("values", nargs=-1, metavar="[key=value]...")
@click.option("--json-value", metavar="JSON", help="The values as one JSON object, in place of key=value.")
@click.option("--no-resume", is_flag=True, help=_NO_RESUME)
@place_option()
@with_console
def send(
    console: Console, run: str, name: str, values: tuple[str, ...], json_value: str | None, no_resume: bool
) -> int:
    """Send the message NAME to RUN; then the run goes on here.

    The step that waits for a message of that name takes it, now or when the run gets there. A value that is JSON, such
    as `7` or `true`, is read as that; everything else is text.
    """
    workspace = console.workspace()
    message = read_message(read_params(values), json_value)
    expected = [one.message for one in workspace.waiting(run) if one.message]
    sent = workspace.send(run, name, message, by=_user_name(), via="terminal")
    if name not in expected and (near := did_you_mean(name, expected)):
        console.remark(f"note: no step waits for `{escape(name)}` now; it is kept for one that may; {near}")
    return _go_on(console, sent, f"sent `{escape(name)}` to {sent.run_id}", resume=not no_resume)


def _go_on(console: Console, answered: Answered, said: str, *, resume: bool) -> int:
    """See the run through, unless another process does or nobody should."""
    run_id = answered.run_id
    data = {"run_id": run_id, "answered": list(answered.places), "goes_on": resume or answered.alive}
    if answered.alive:
        console.reply(data, f"{said}; the process that runs it takes it up")
        return 0
    if not resume:
        console.reply(data, f"{said}; go on with `pflow runs resume {run_id}`")
        return 0
    console.remark(said)
    try:
        outcome = run_watched(console, lambda workspace: _begin_next(workspace, answered))
    except (ConflictError, EndedError):
        console.reply(data, f"another process has taken the run up; `pflow runs show {run_id}` tells how it goes")
        return 0
    except InputError as error:
        raise explain_missing(error, ["resume", run_id], ()) from None
    return show_outcome(console, outcome)


def _begin_next(workspace: Workspace, answered: Answered) -> LiveRun:
    workspace.inbox.check_left(answered)
    return workspace.begin_resume(answered.run_id)


def _user_name() -> str:
    from pflow.workspace.asking.who import user_name  # lazy: completion needs no names

    return user_name()
