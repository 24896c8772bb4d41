"""What the shell offers at a word: node types, their flags, workflows, inputs, runs and settings.

A completion that fails offers nothing; it never prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from pflow.cli.console import Console
from pflow.core.errors import PflowError
from pflow.core.json_type import objects_in

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from pflow.core.interface import Field

Complete = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]
Offer = Iterable[tuple[str, str]]


def _completer(offer: Callable[[Console, click.Context], Offer], *, files: bool = False) -> Complete:
    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return offered(ctx, incomplete, offer, files=files)

    return complete


def offered(
    ctx: click.Context, incomplete: str, offer: Callable[[Console, click.Context], Offer], *, files: bool = False
) -> list[CompletionItem]:
    """What of an offer begins like the incomplete word; if nothing does, with `files` the shell offers files."""
    from click.shell_completion import CompletionItem  # lazy: only while completing

    console = ctx.ensure_object(Console)
    try:
        pairs = dict(offer(console, ctx))
    except PflowError:
        pairs = {}
    found = [
        CompletionItem(value, help=" ".join(about.split())[:80] or None)
        for value, about in pairs.items()
        if value.startswith(incomplete)
    ]
    return found or [CompletionItem(incomplete, type="file")] * files


def complete_start(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Workflows and node types, for a first word that is not a command."""
    return offered(ctx, incomplete, lambda console, ctx: [*_workflows(console), *_node_types(console)])


def _workflows(console: Console, *, drafts: bool = True) -> Offer:
    for found in console.workspace().workflows(drafts=drafts):
        yield found.name, found.description or "workflow"


def _node_types(console: Console) -> Offer:
    for entry in console.workspace().node_types():
        data = entry.data.get("interface")
        yield entry.name, str(data.get("description", "")) if isinstance(data, dict) else ""


@_completer
def complete_run(console: Console, ctx: click.Context) -> Offer:
    yield "latest", "the newest run"
    for info in console.workspace().runs():
        yield info.run_id, f"{info.status}, {info.workflow}"


@_completer
def complete_step(console: Console, ctx: click.Context) -> Offer:
    trace = console.workspace().show_run(str(ctx.params.get("run") or "latest"))
    for step in objects_in(trace["steps"]):
        yield str(step.get("step")), str(step.get("status"))


@_completer
def complete_input(console: Console, ctx: click.Context) -> Offer:
    """Inputs that are not given yet, as `name=`; the words of a shell may be split at the `=`."""
    word = ctx.params.get("workflow")
    if not isinstance(word, str) or word == "-":
        return
    given = {str(text).partition("=")[0] for text in ctx.params.get("inputs") or ()}
    plan = console.workspace().check(word).plan
    for name, declared in plan.inputs.items() if plan else ():
        if name not in given:
            yield f"{name}=", f"{declared.type}. {declared.description}"


@_completer
def complete_setting(console: Console, ctx: click.Context) -> Offer:
    for found in console.workspace().settings():
        yield found.key, found.description or ("credential" if found.secret else "")


@_completer
def complete_server(console: Console, ctx: click.Context) -> Offer:
    yield from ((name, "MCP server") for name in console.workspace().servers.names())


@_completer
def complete_tool(console: Console, ctx: click.Context) -> Offer:
    yield from ((name, "tool") for name in console.workspace().servers.tools(str(ctx.params.get("server") or "")))


@_completer
def complete_param(console: Console, ctx: click.Context) -> Offer:
    name = str(ctx.params.get("node") or "")
    for field in console.workspace().node_type(name).interface.params:
        yield f"{field.name}=", _about(field)


def offer_flags(console: Console, ctx: click.Context) -> Offer:
    """Flags of the node that is being written, or the next node."""
    words = [str(word) for word in ctx.params.get("words") or ()]
    begin = len(words) - words[::-1].index(">>") if ">>" in words else 0
    segment = words[begin:]
    if not segment:
        yield from _node_types(console)
        return
    interface = console.workspace().node_type(segment[0]).interface
    given = {word[2:].partition("=")[0].replace("-", "_") for word in segment if word.startswith("--")}
    for field in (*interface.params, *interface.reads):
        if field.name not in given:
            end = "" if field.type == "boolean" else "="
            yield f"--{field.name.replace('_', '-')}{end}", _about(field)
    yield "'>>'", "and then"


def _about(field: Field) -> str:
    needed = "required" if field.required else field.type
    return f"{needed}. {field.description}" if field.description else needed


complete_workflow = _completer(lambda console, ctx: _workflows(console), files=True)
complete_saved = _completer(lambda console, ctx: _workflows(console, drafts=False))
complete_node = _completer(lambda console, ctx: _node_types(console))
complete_flag = _completer(offer_flags)
