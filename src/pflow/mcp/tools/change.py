"""How a tool changed between two readings of a server: in words for people, in names for its workflows. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import orjson

from pflow.core.frozen import Frozen
from pflow.core.interface import MISSING, Field, Interface
from pflow.core.printable import shorten
from pflow.registry.entry import ToolConfig, interface_from_json, tool_in

Data = Mapping[str, object]

_MOST = 40
_BEFORE = 20
_SORTED = orjson.OPT_SORT_KEYS


class ToolChange(Frozen):
    """A node type whose tool is not what it was. `differences` are sentences; the rest is for `touched`.

    A node type that is gone may have `moved_to` another name.
    """

    name: str
    tool: str
    differences: tuple[str, ...] = ()
    is_gone: bool = False
    moved_to: str = ""
    lost_params: frozenset[str] = frozenset()
    new_required: tuple[str, ...] = ()
    lost_outputs: frozenset[str] = frozenset()


def compare(name: str, old: Data, new: Data) -> ToolChange:
    """How the entry of a node type changed. Whatever the hash of a definition covers leaves a difference."""
    before, after = interface_from_json(old.get("interface")), interface_from_json(new.get("interface"))
    was, became = source_of(old), source_of(new)
    differences = list(_tool(was, became))
    params = list(_params(before, after))
    outputs = list(_outputs(before.outputs, after.outputs))
    details = list(_details(was.definition, became.definition, seen_in=bool(params), seen_out=bool(outputs)))
    differences += [*params, *outputs, *details]
    if before.purity != after.purity:
        differences.append(f"counts as {after.purity} now, was {before.purity}")
    if len(differences) > _MOST:
        differences[_MOST - 1 :] = [f"… and {len(differences) - _MOST + 1:,} more differences"]
    given, needed = _by_name(before.params), [field.name for field in after.params if field.required]
    return ToolChange(
        name=name,
        tool=became.tool,
        differences=tuple(differences),
        lost_params=frozenset() if after.open_params else frozenset(given.keys() - _by_name(after.params).keys()),
        new_required=tuple(param for param in needed if param not in given or not given[param].required),
        lost_outputs=frozenset(_by_name(before.outputs).keys() - _by_name(after.outputs).keys()),
    )


def source_of(entry: Data) -> ToolConfig:
    """The tool that an entry was made from."""
    return tool_in(entry) or ToolConfig(server="", tool="")


def _tool(old: ToolConfig, new: ToolConfig) -> Iterator[str]:
    if old.tool != new.tool:
        yield f"calls the tool `{shorten(new.tool)}` now, was `{shorten(old.tool)}`"
    was, became = old.definition, new.definition
    for word in ("title", "description"):
        if not _same(was.get(word, MISSING), became.get(word, MISSING)):
            yield _text(word, was.get(word), became.get(word))


def _params(before: Interface, after: Interface) -> Iterator[str]:
    old, new = _by_name(before.params), _by_name(after.params)
    for name in (name for name in old if name not in new):
        yield f"parameter `{shorten(name)}` ({old[name].type}) is gone"
    for name, field in new.items():
        if name not in old:
            yield f"parameter `{shorten(name)}` ({field.type}) is new{', and required' if field.required else ''}"
        else:
            yield from _param(old[name], field)
    if before.open_params != after.open_params:
        yield f"takes {'any' if after.open_params else 'no'} other parameter now"


def _param(old: Field, new: Field) -> Iterator[str]:
    name = f"parameter `{shorten(new.name)}`"
    if old.type != new.type:
        yield f"{name} is {new.type} now, was {old.type}"
    if old.required != new.required:
        yield f"{name} is {'required now' if new.required else 'no longer required'}"
    if _shown(old.default) != _shown(new.default):
        yield f"{name} has the default {_shown(new.default)} now, was {_shown(old.default)}"
    if old.description != new.description:
        yield _text(f"description of {name}", old.description, new.description)


def _outputs(before: Sequence[Field], after: Sequence[Field]) -> Iterator[str]:
    old, new = _by_name(before), _by_name(after)
    for name in (name for name in old if name not in new):
        yield f"output `{shorten(name)}` ({old[name].type}) is gone"
    for name, field in new.items():
        if name not in old:
            yield f"output `{shorten(name)}` ({field.type}) is new"
        elif old[name].type != field.type:
            yield f"output `{shorten(name)}` is {field.type} now, was {old[name].type}"


def _details(was: Data, became: Data, *, seen_in: bool, seen_out: bool) -> Iterator[str]:
    """What else differs in two definitions, so that nothing changes unseen."""
    told = {"name", "title", "description"}
    told |= {word for word, seen in (("inputSchema", seen_in), ("outputSchema", seen_out)) if seen}
    for word in sorted({*was, *became} - told):
        old, new = was.get(word, MISSING), became.get(word, MISSING)
        if _same(old, new):
            continue
        hints = list(_hints(old, new)) if word == "annotations" else []
        yield from hints or [f"`{shorten(word)}` changed in its details"]


def _hints(old: object, new: object) -> Iterator[str]:
    before, after = (hints if isinstance(hints, dict) else {} for hints in (old, new))
    for hint in sorted({*before, *after}):
        was, became = before.get(hint, MISSING), after.get(hint, MISSING)
        if not _same(was, became):
            yield f"annotation `{shorten(hint)}` is {_shown(became)} now, was {_shown(was)}"


def _same(one: object, other: object) -> bool:
    """Whether two values are the same JSON; Python holds `true` and 1 for equal."""
    return one == other and orjson.dumps(one, option=_SORTED) == orjson.dumps(other, option=_SORTED)


def _text(what: str, old: object, new: object) -> str:
    """Two strings from a little before where they differ: a change far down must not be cut off."""
    before, after = str(old or ""), str(new or "")
    start = max(_parting(before, after) - _BEFORE, 0)
    shown = [shorten(("…" if start and text else "") + text[start:]) for text in (before, after)]
    return f"{what} is now `{shown[1]}`, was `{shown[0]}`"


def _parting(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _shown(value: object) -> str:
    return "none" if value == MISSING else shorten(orjson.dumps(value).decode())


def _by_name(fields: Sequence[Field]) -> dict[str, Field]:
    return {field.name: field for field in fields}
