"""What the steps of a workflow can do, as its documents write it: read before anyone agrees to have it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from pflow.core.document.document import Document, NodeSpec
from pflow.core.frozen import Frozen
from pflow.execution.need.included import Included, documents_of
from pflow.execution.workflow_source import Source

Kind = Literal["command", "python", "read", "write", "network", "tool", "secret", "ask", "workflow", "unknown"]

_Finder = Callable[[Mapping[str, object]], Iterator[tuple[Kind, str]]]


class Ability(Frozen):
    """One thing that a step can do. `step` is its id, behind those of the nodes that include its workflow."""

    step: str
    kind: Kind
    what: str


def abilities_of(source: Source) -> tuple[Ability, ...]:
    """Everything that the steps of a workflow and of those that it includes can do."""
    return tuple(found for each in documents_of(source.parsed, source.load) for found in _of_document(each))


def known_types() -> frozenset[str]:
    """The built-in node types whose abilities are known."""
    return frozenset(_FINDERS)


def _of_document(included: Included) -> Iterator[Ability]:
    document = included.parsed.document
    for spec in document.nodes if document is not None else ():
        step = "/".join((*included.trail, spec.id))
        for kind, what in _of_node(spec):
            yield Ability(step=step, kind=kind, what=what)
        for name in _secrets(document, spec):
            yield Ability(step=step, kind="secret", what=f"the secret input `{name}`")


def _of_node(spec: NodeSpec) -> Iterator[tuple[Kind, str]]:
    if spec.approve is not None:
        yield "ask", "a person to approve it before it does anything"
    if spec.mcp_server and spec.mcp_tool:
        yield "tool", f"{spec.mcp_tool} of server {spec.mcp_server}"
    elif spec.type.startswith("mcp-"):
        yield "tool", spec.type
    elif spec.type in _FINDERS:
        yield from _FINDERS[spec.type](spec.params)
    else:
        yield "unknown", f"whatever a node of the type `{spec.type}` does, which is Python code of its own"


def _secrets(document: Document | None, spec: NodeSpec) -> list[str]:
    """The secret inputs that a node's params name."""
    declared = [name for name, given in document.inputs.items() if given.secret] if document else []
    texts = list(_texts(spec.params)) if declared else []
    marks = {name: (f"${{{name}}}", f"${{{name}.", f"${{{name}[", f"${{{name}:") for name in declared}
    return [name for name, begins in marks.items() if any(begin in text for text in texts for begin in begins)]


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _shown(params: Mapping[str, object], name: str, default: str = "") -> str:
    value = params.get(name, default)
    return value if isinstance(value, str) else str(value)


def _nothing(_: Mapping[str, object]) -> Iterator[tuple[Kind, str]]:
    yield from ()


def _shell(params: Mapping[str, object]) -> Iterator[tuple[Kind, str]]:
    yield "command", _shown(params, "command", "a command that flows in")


def _code(params: Mapping[str, object]) -> Iterator[tuple[Kind, str]]:
    yield "python", _shown(params, "code", "code that flows in")


def _http(params: Mapping[str, object]) -> Iterator[tuple[Kind, str]]:
    yield "network", f"{_shown(params, 'method', 'GET').upper()} {_shown(params, 'url', 'an address that flows in')}"


def _github(params: Mapping[str, object]) -> Iterator[tuple[Kind, str]]:
    yield "network", _shown(params, "base_url", "https://api.github.com")
    yield "secret", "the setting `GITHUB_TOKEN`, unless `token` is given"


def _reads(name: str) -> _Finder:
    def find(params: Mapping[str, object]) -> Iterator[tuple[Kind, str]]:
        yield "read", _shown(params, name, ".")

    return find


def _writes(name: str) -> _Finder:
    def find(params: Mapping[str, object]) -> Iterator[tuple[Kind, str]]:
        yield "write", _shown(params, name, ".")

    return find


def _copies(params: Mapping[str, object]) -> Iterator[tuple[Kind, str]]:
    yield "read", _shown(params, "from")
    yield "write", _shown(params, "to")


def _moves(params: Mapping[str, object]) -> Iterator[tuple[Kind, str]]:
    yield "write", _shown(params, "from")
    yield "write", _shown(params, "to")


def _asks(params: Mapping[str, object]) -> Iterator[tuple[Kind, str]]:
    who = {"agent": "the agent", "any": "a person or the agent"}.get(_shown(params, "who"), "a person")
    yield "ask", f"{who}: {_shown(params, 'prompt', 'a question that flows in')}"


def _waits(params: Mapping[str, object]) -> Iterator[tuple[Kind, str]]:
    if params.get("url"):
        yield "network", f"GET {_shown(params, 'url')}"
    if params.get("file"):
        yield "read", _shown(params, "file")


def _prompts(params: Mapping[str, object]) -> Iterator[tuple[Kind, str]]:
    yield "network", f"a language model ({_shown(params, 'model', 'the configured one')}), with its prompt"
    for image in _strings(params.get("images")):
        if not image.startswith("data:"):
            yield "read", image


def _strings(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _includes(params: Mapping[str, object]) -> Iterator[tuple[Kind, str]]:
    wanted = params.get("workflow")
    yield "workflow", wanted if isinstance(wanted, str) else "a document inside of this one"


_GITHUB = ("", "-create-issue", "-create-pr", "-get-issue", "-list-issues", "-list-prs")
_FINDERS: Mapping[str, _Finder] = {
    "shell": _shell,
    "code": _code,
    "http": _http,
    "workflow": _includes,
    **dict.fromkeys((f"github{name}" for name in _GITHUB), _github),
    **dict.fromkeys(("git-log", "git-diff", "git-status", "read-file", "list-files"), _reads("path")),
    **dict.fromkeys(("git-commit", "git-checkout", "write-file", "delete-file"), _writes("path")),
    "ask": _asks,
    "llm": _prompts,
    "wait": _waits,
    "copy-file": _copies,
    "move-file": _moves,
    **dict.fromkeys(("echo", "let", "switch", "filter", "map", "fail", "parse", "format", "state-set"), _nothing),
}
"""What each built-in type can do. A type that is missing here counts as one that can do anything."""
