"""The command line's root: finds the command that the first word means, and turns every error into an exit code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import click

from pflow.cli.command_group import SHORTHAND, CommandGroup, json_option
from pflow.cli.command_table import COMMANDS
from pflow.cli.console import BROKEN_PIPE, Console
from pflow.core.errors import PflowError, StorageError, UsageError
from pflow.core.printable import escape, is_text, shorten

if TYPE_CHECKING:
    from pflow.execution.wiring import Parts

LEADING = {"--dry-run": 0, "--no-cache": 0, "--mermaid": 0, "--svg": 1}
"""Options of `run` that may also stand before a short form, and how many words they take."""

INTERRUPTED = 130

COMPLETING = "_PFLOW_COMPLETE"
"""The variable that a completion script sets."""

EPILOG = """\b
Examples:
  pflow run report.json --since 2026-01-01
  pflow my-report --since 2026-01-01
  pflow "shell --command='git log --oneline' >> write-file --path=log.txt"
  pflow "find the largest files here and write their names to a file"

\b
New here? `pflow guide` shows how to write a workflow, `pflow run --help` a small one to try.
"""


class Root(CommandGroup):
    """Commands from the table, each imported when it is used. Other first words are workflows, pipelines or tasks."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every name, in the order of the table."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """The command, imported."""
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the words mean."""
        if args[0] in COMMANDS:
            return super().resolve_command(ctx, args)
        from pflow.cli.commands.pipeline import pipeline, starts_pipeline  # lazy: only for the short forms
        from pflow.cli.commands.run import run
        from pflow.cli.planning.sentence import is_sentence

        console = ctx.ensure_object(Console)
        words = [*console.options, *args]
        if starts_pipeline(console, args):
            return "", pipeline, words
        if is_sentence(args[0]):
            from pflow.cli.planning.plan import plan  # lazy: only for tasks in words

            return "plan", plan, words
        ctx.meta[SHORTHAND] = True
        return "run", run, words

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table as help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[click.shell_completion.CompletionItem]:
        """Commands, options, then the workflows and node types that need no command."""
        from pflow.cli.completion import complete_start, offered  # lazy: only while completing

        commands = offered(ctx, incomplete, lambda console, ctx: ((name, COMMANDS[name][1]) for name in COMMANDS))
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete), *complete_start(ctx, incomplete)]


@click.group(
    cls=Root,
    epilog=EPILOG,
    invoke_without_command=True,
    subcommand_metavar="COMMAND | WORKFLOW | PIPELINE | TASK ...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("--version", "-V", is_flag=True, is_eager=True, help="Print the version.")
@json_option
@click.pass_context
def root(ctx: click.Context, version: bool) -> None:
    """Run workflows: checked, durable, resumable.

    WORKFLOW is the name of a saved workflow, a path, or `-` for a document on stdin. `pflow WORKFLOW --input value` is
    short for `pflow run WORKFLOW --input value`, and `pflow WORKFLOW --help` shows its inputs.
    """
    if version:
        from pflow import __version__  # lazy: the usual way to ask never gets here

        ctx.ensure_object(Console).text(f"pflow {__version__}")
        ctx.exit()
    if ctx.invoked_subcommand is None:
        ctx.ensure_object(Console).text(ctx.get_help())


def run_command(words: Sequence[str], parts: Parts | None = None) -> int:
    """Run one command line and return its exit code. Nothing escapes but a bug under PFLOW_DEBUG.

    `parts` are those of a program that brings some of its own.
    """
    console = Console(parts)
    try:
        return _run(console, words)
    finally:
        console.return_stdout()


def run_program(words: Sequence[str]) -> int:
    """`run_command` as all that this process does: threads that nodes left behind never get its stdout back."""
    return _run(Console(), words)


def _run(console: Console, words: Sequence[str]) -> int:
    if os.environ.get(COMPLETING):
        return _complete(console)
    args = _move_options(console, [_as_text(word) for word in words])
    try:
        try:
            code = root.main(args=args, prog_name="pflow", standalone_mode=False, obj=console)
        finally:
            console.close()
        return code if isinstance(code, int) else 0
    except PflowError as error:
        return _report(console, error, words)
    except click.exceptions.NoArgsIsHelpError as error:
        console.say(error.ctx.get_help() if error.ctx else "")
        return 2
    except click.ClickException as error:
        usage = _usage(error) if isinstance(error, click.UsageError) else UsageError(error.format_message())
        return _report(console, usage, words)
    except (click.Abort, KeyboardInterrupt):
        console.say("interrupted")
        return INTERRUPTED
    except SystemExit:
        return BROKEN_PIPE  # click's answer when nobody reads the help that it prints by itself
    except Exception as error:
        if os.environ.get("PFLOW_DEBUG"):
            raise
        odd = next((word for word in words if not is_text(word)), None)
        if odd is not None and isinstance(error, TypeError | UnicodeError):
            return _report(console, UsageError(f"`{shorten(odd)}` is not UTF-8 text"), words)
        bug = PflowError(
            f"pflow has a bug: {type(error).__name__}: {error}",
            suggestions=["set PFLOW_DEBUG=1 to see where, and report it"],
        )
        return _report(console, bug, words)


def _complete(console: Console) -> int:
    """Answer a shell that completes a word. Whatever goes wrong, it is told nothing: it would show it at the prompt."""
    from pflow.cli.shell import register_shells  # lazy: only while completing

    register_shells()
    try:
        try:
            root.main(args=[], prog_name="pflow", complete_var=COMPLETING, standalone_mode=False, obj=console)
        finally:
            console.close()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except Exception:
        if os.environ.get("PFLOW_DEBUG"):
            raise
        return 1
    return 0


def _as_text(word: str) -> str:
    """A word that the locale could not decode, read as UTF-8 if it is that."""
    if word.isascii():
        return word
    try:
        return os.fsencode(word).decode()
    except UnicodeError:
        return word


def _move_options(console: Console, words: list[str]) -> list[str]:
    """Put options that stand first where they belong: behind the command, or aside for the short forms."""
    end = 0
    while end < len(words) and (words[end] in LEADING or words[end] == "--json"):
        end += 1 + LEADING.get(words[end], 0)
    options, rest = words[:end], words[end:]
    if not rest:
        return words
    if rest[0] in COMMANDS:
        return [rest[0], *options, *rest[1:]] if any(option in LEADING for option in options) else words
    console.json = "--json" in options
    console.options = [option for option in options if option != "--json"]
    return rest


def _report(console: Console, error: PflowError, words: Sequence[str]) -> int:
    plain = words[: words.index("--")] if "--" in words else words
    console.json = console.json or "--json" in plain
    try:
        console.fail(error)
    except click.exceptions.Exit as gone:
        return gone.exit_code
    except StorageError:
        console.fail(error)
    return error.exit_code


def _usage(error: click.UsageError) -> UsageError:
    """Click's error in pflow's words: no period at the end, the usage as a suggestion."""
    message = error.format_message().rstrip(".")
    message = message[:1].lower() + message[1:]
    suggestions = []
    if isinstance(error, click.NoSuchOption):
        message = f"no such option `{error.option_name}`"
        suggestions += [f"did you mean `{near}`?" for near in sorted(error.possibilities or ())[:1]]
    if error.ctx is not None:
        suggestions.append(error.ctx.get_usage().replace("Usage: ", "usage: ", 1))
    return UsageError(escape(message), suggestions=suggestions)
