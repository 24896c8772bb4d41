"""What `--help` shows of a workflow, also of a broken one: its inputs as flags, its outputs, a call to start from."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import click

from pflow.cli.console import Console
from pflow.cli.input_flag import setting_of, write_input
from pflow.core.document.document import Input
from pflow.core.document.inputs_outputs import describe_input
from pflow.core.printable import escape

if TYPE_CHECKING:
    from pflow.core.document.declared import Declared
    from pflow.workspace import Checked


def show_workflow_help(console: Console, ctx: click.Context, checked: Checked, call: str) -> None:
    """Print how a workflow is called; `call` is the beginning of its command line."""
    from pflow.core.document.declared import read_declared  # lazy: only for help

    declared = read_declared(checked.source.parsed)
    if not declared.description and checked.source.library and checked.source.parsed.document is not None:
        known = console.workspace().describe(checked).statistics
        declared = declared._replace(description=known.description if known else "")
    options = own_options(ctx.command)
    if console.json:
        console.reply(_view(declared, checked, options), "")
        return
    console.text(_render(declared, ctx, call, options))
    if checked.errors:
        console.say("\nit cannot run as it is:\n")
        console.warn(checked.errors)


def own_options(command: click.Command) -> list[str]:
    """The options of a command that no input can have."""
    names = [name for param in command.params if isinstance(param, click.Option) for name in param.opts]
    return [*(name for name in names if name.startswith("--")), "--help"]


def _view(declared: Declared, checked: Checked, options: Collection[str]) -> dict[str, object]:
    return {
        "name": declared.name,
        "description": declared.description,
        "inputs": {
            name: {**describe_input(one), "written": write_input(name, one, options)}
            for name, one in declared.inputs.items()
        },
        "outputs": {name: {"type": one.type, "description": one.description} for name, one in declared.outputs.items()},
        "issues": [issue.as_dict() for issue in checked.errors],
    }


def _render(declared: Declared, ctx: click.Context, call: str, options: Collection[str]) -> str:
    formatter = ctx.make_formatter()
    formatter.write_usage(call, "[INPUTS] [OPTIONS]" if declared.inputs else "[OPTIONS]")
    title = ": ".join(part for part in (_line(declared.name), _line(declared.description)) if part)
    if title:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(title)
    if declared.inputs:
        with formatter.section("Inputs"):
            formatter.write_dl(
                [(escape(write_input(name, one, options)), _about(name, one)) for name, one in declared.inputs.items()]
            )
    if declared.outputs:
        with formatter.section("Outputs"):
            formatter.write_dl(
                [(escape(name), _sentences(one.type, _line(one.description))) for name, one in declared.outputs.items()]
            )
    ctx.command.format_options(ctx, formatter)
    with formatter.section("Example"):
        formatter.write_text(" ".join([call, *_example(declared, options)]))
    return formatter.getvalue()


def _about(name: str, declared: Input) -> str:
    from pflow.drawing.text import describe_input as describe_type  # lazy: only for help

    parts = [describe_type(declared), _line(declared.description)]
    if declared.type == "array":
        parts.append("Give it once per item, or once as JSON")
    setting = setting_of(name, declared)
    if setting:
        parts.append(f"Store it with `pflow settings set {setting}` rather than typing it here")
    return _sentences(*parts)


def _sentences(*parts: str) -> str:
    return ". ".join(part.rstrip(".") for part in parts if part)


def _example(declared: Declared, options: Collection[str]) -> Iterator[str]:
    """What must be given; secrets come from the settings."""
    for name, one in declared.inputs.items():
        if one.required and not one.has_default and not setting_of(name, one):
            written = write_input(name, one, options).partition(" / ")[0]
            yield escape(written.replace("=true|false", "=true"))


def _line(text: str) -> str:
    return escape(" ".join(text.split()))


def start_of_call(workflow: str, *, short: bool) -> str:
    """The words that run a workflow."""
    from pflow.cli.text import quote  # lazy: only for help

    return f"pflow {'' if short else 'run '}{escape(quote(workflow))}"
