"""What the shell offers at a word: workflows and their inputs, node types and their flags, runs, servers and settings.

A completion that fails offers nothing; it never prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from pflow.cli.command_table import COMMANDS
from pflow.cli.console import Console
from pflow.core.errors import PflowError
from pflow.core.json_type import objects_in

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from pflow.core.document.document import Input
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
        if value.startswith(incomplete) and value.isprintable()  # a document may name its inputs as it likes
    ]
    return found or [CompletionItem(incomplete, type="file")] * files


def complete_start(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Workflows and node types, for a first word that is not a command."""
    return offered(
        ctx,
        incomplete,
        lambda console, ctx: (
            pair for pair in (*_workflows(console), *_node_types(console)) if pair[0] not in COMMANDS
        ),
    )


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
        yield info.run_id, f"{info.workflow}, {info.state}"


@_completer
def complete_step(console: Console, ctx: click.Context) -> Offer:
    trace = console.workspace().show_run(str(ctx.params.get("run") or "latest"))
    for step in objects_in(trace["steps"]):
        yield str(step.get("step")), str(step.get("status"))


@_completer
def complete_waiting_run(console: Console, ctx: click.Context) -> Offer:
    for one in console.workspace().waiting():
        yield one.run_id, f"`{one.place}` waits {one.phrase}"


@_completer
def complete_answer(console: Console, ctx: click.Context) -> Offer:
    """Steps that ask while no word is there, choices of the step that is named or of all, and fields as `name=`."""
    words = [str(word) for word in ctx.params.get("words") or ()]
    questions = [one for one in console.workspace().waiting(str(ctx.params.get("run"))) if one.kind == "question"]
    named = [one for one in questions if one.place in words]
    if not words and len(questions) > 1:
        yield from ((one.place, one.phrase) for one in questions)
    meant = named or questions
    chosen = any(choice in words for one in meant for choice in one.choices)
    for one in meant:
        yield from ((choice, f"answers `{one.place}`") for choice in one.choices if not chosen)
        given = {word.partition("=")[0] for word in words}
        yield from (
            (f"{name}=", str(schema.get("type", ""))) for name, schema in one.fields.items() if name not in given
        )


@_completer
def complete_message(console: Console, ctx: click.Context) -> Offer:
    for one in console.workspace().waiting(str(ctx.params.get("run"))):
        if one.message:
            yield one.message, f"`{one.place}` waits for it"


def complete_input(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Inputs that are not given yet as `name=`, and the value behind `name=`, `--name=` or `--name`."""
    given = [str(word) for word in ctx.params.get("inputs") or ()]
    word = _typed(ctx, incomplete)
    declared = _declared_inputs(ctx)
    flag, equals, value = word.partition("=")
    last = given[-1] if given else ""
    if equals:
        return _offer_value(declared.get(flag) or _flagged(declared, flag), value)
    if last.startswith("--") and "=" not in last and (takes := _flagged(declared, last)) and takes.type != "boolean":
        return _offer_value(takes, incomplete)
    names = _names_given(declared, given)
    return offered(
        ctx,
        incomplete,
        lambda console, ctx: ((f"{name}=", _about_input(one)) for name, one in declared.items() if name not in names),
    )


def complete_input_flag(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Inputs that are not given yet as flags, without those whose name is an option of pflow's own."""
    from pflow.cli.input_flag import flag_of  # lazy: only while completing

    declared = _declared_inputs(ctx)
    names = _names_given(declared, [str(word) for word in ctx.params.get("inputs") or ()])
    own = {option for param in ctx.command.get_params(ctx) for option in (*param.opts, *param.secondary_opts)}

    def offer(console: Console, ctx: click.Context) -> Offer:
        for name, one in declared.items():
            flag = flag_of(name)
            if name in names and one.type != "array":
                continue
            flags = [flag, f"--no-{flag[2:]}"] if one.type == "boolean" else [f"{flag}="]
            yield from ((written, _about_input(one)) for written in flags if written.rstrip("=") not in own)

    return offered(ctx, incomplete, offer)


def _declared_inputs(ctx: click.Context) -> Mapping[str, Input]:
    """The inputs of the workflow of a command line. Its nodes are not checked: that would take longer."""
    # lazy: only while completing
    from pflow.core.document.declared import read_declared
    from pflow.core.document.parse import parse_value

    word = ctx.params.get("workflow")
    if not isinstance(word, str) or word == "-":
        return {}
    try:
        return read_declared(parse_value(ctx.ensure_object(Console).workspace().document(word))).inputs
    except PflowError:
        return {}


def _names_given(declared: Mapping[str, Input], words: Iterable[str]) -> set[str]:
    from pflow.cli.input_flag import find_input  # lazy: only while completing

    starts = [word.partition("=")[0] for word in words]
    return {found[0] if (found := find_input(declared, start)) else start for start in starts}


def _flagged(declared: Mapping[str, Input], flag: str) -> Input | None:
    from pflow.cli.input_flag import find_input  # lazy: only while completing

    found = find_input(declared, flag)
    return declared[found[0]] if found else None


def _offer_value(declared: Input | None, value: str) -> list[CompletionItem]:
    """What an input may be: files for text, nothing for a secret."""
    return [] if declared is None or declared.secret else _offer_type(declared.type, value)


def _offer_type(kind: str, value: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem  # lazy: only while completing

    kinds = kind.split("|")
    if kinds == ["boolean"]:
        return [CompletionItem(word) for word in ("true", "false") if word.startswith(value)]
    takes_files = not {"string", "any", "array"}.isdisjoint(kinds)
    return [CompletionItem(value, type="file")] * takes_files


def _about_input(declared: Input) -> str:
    return f"{declared.type}. {declared.description}" if declared.description else declared.type


def _typed(ctx: click.Context, incomplete: str) -> str:
    """The whole word at the cursor: click cuts an option off its value."""
    return ctx.ensure_object(Console).typed or incomplete


def complete_from(words: Iterable[str]) -> Complete:
    """A completion that offers fixed words."""
    return _completer(lambda console, ctx: ((word, "") for word in words))


def complete_file(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Files, which the shell knows."""
    from click.shell_completion import CompletionItem  # lazy: only while completing

    return [CompletionItem(incomplete, type="file")]


@_completer
def complete_state_key(console: Console, ctx: click.Context) -> Offer:
    for found in console.workspace().state.values(str(ctx.params.get("workflow") or "")):
        yield found.key, found.type


@_completer
def complete_setting(console: Console, ctx: click.Context) -> Offer:
    for found in console.workspace().settings():
        yield found.key, found.description or ("credential" if found.secret else "")


@_completer
def complete_place(console: Console, ctx: click.Context) -> Offer:
    yield from ((name, "place") for name in console.workspace().places())


@_completer
def complete_schedule(console: Console, ctx: click.Context) -> Offer:
    for view in console.workspace().schedules.list():
        yield view.schedule.name, f"{view.schedule.workflow}, {view.schedule.when}"


@_completer
def complete_server(console: Console, ctx: click.Context) -> Offer:
    yield from ((name, "MCP server") for name in console.workspace().servers.names())


@_completer
def complete_tool(console: Console, ctx: click.Context) -> Offer:
    yield from ((name, "tool") for name in console.workspace().servers.tools(str(ctx.params.get("server") or "")))


def complete_param(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Parameters of a node type as `name=`, and the value behind the `=`."""
    name = str(ctx.params.get("node") or "")
    return _complete_field(ctx, incomplete, lambda console: console.workspace().node_type(name).interface.params)


def complete_tool_param(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Parameters of a server's tool as `name=`, and the value behind the `=`."""
    server, tool = str(ctx.params.get("server") or ""), str(ctx.params.get("tool") or "")
    return _complete_field(
        ctx, incomplete, lambda console: console.workspace().servers.find_tool(server, tool).interface.params
    )


def _complete_field(
    ctx: click.Context, incomplete: str, find: Callable[[Console], Sequence[Field]]
) -> list[CompletionItem]:
    name, equals, value = incomplete.partition("=")
    if not equals:
        given = {str(word).partition("=")[0] for word in ctx.params.get("params") or ()}
        return offered(
            ctx,
            incomplete,
            lambda console, ctx: (
                (f"{field.name}=", _about(field)) for field in find(console) if field.name not in given
            ),
        )
    try:
        fields = find(ctx.ensure_object(Console))
    except PflowError:
        return []
    return next((_offer_type(field.type, value) for field in fields if field.name == name), [])


def complete_pipeline(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Flags of the node that is being written, their values, or the next node."""
    from pflow.cli.input_flag import flag_of  # lazy: only while completing

    console = ctx.ensure_object(Console)
    words = [str(word) for word in ctx.params.get("words") or ()]
    begin = len(words) - words[::-1].index(">>") if ">>" in words else 0
    segment = words[begin:]
    if not segment:
        return offered(ctx, incomplete, lambda console, ctx: _node_types(console))
    try:
        interface = console.workspace().node_type(segment[0]).interface
    except PflowError:
        return []
    fields = {flag_of(field.name): field for field in (*interface.params, *interface.reads)}
    flag, equals, value = _typed(ctx, incomplete).partition("=")
    if not equals:
        flag, value = segment[-1], incomplete
    if flag in fields and (equals or fields[flag].type != "boolean"):
        return _offer_type(fields[flag].type, value)

    def offer(console: Console, ctx: click.Context) -> Offer:
        given = {word.partition("=")[0] for word in segment}
        for written, field in fields.items():
            if written not in given:
                yield written if field.type == "boolean" else f"{written}=", _about(field)
        yield ">>", "and then"

    return offered(ctx, incomplete, offer)


def _about(field: Field) -> str:
    needed = "required" if field.required else field.type
    return f"{needed}. {field.description}" if field.description else needed


complete_workflow = _completer(lambda console, ctx: _workflows(console), files=True)
complete_saved = _completer(lambda console, ctx: _workflows(console, drafts=False))
complete_node = _completer(lambda console, ctx: _node_types(console))
