"""Groups of calls that repeat, two or more for each element of an array, as one batch of a small workflow."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from pflow.core.frozen import Frozen
from pflow.core.json_type import Json
from pflow.core.template.compiled import ValuePath
from pflow.planning.learning.act import Act
from pflow.planning.learning.around import Around, find_around
from pflow.planning.learning.leaf import at, leaves, says_enough, spell_path
from pflow.planning.learning.loops import Loop, find_loop, part_of, varying
from pflow.planning.learning.source import Produced

_LONGEST_PERIOD = 4
_TEMPLATE = re.compile(r"(?<!\$)\$\{([^}]+)\}")


class Turns(Frozen):
    """A loop whose every turn makes several calls. `inner` has what varying arguments of each member take."""

    loop: Loop
    members: tuple[tuple[Act, ...], ...]
    inner: tuple[Mapping[ValuePath, str], ...]
    origins: tuple[Mapping[ValuePath, tuple[str, tuple[str, ...]]], ...]


def segments(acts: Sequence[Act]) -> list[list[list[Act]]]:
    """Calls in order, cut into what may be loops: each a list of turns, each turn a list of calls."""
    found: list[list[list[Act]]] = []
    place = 0
    while place < len(acts):
        turns = _repeated(acts, place, 1)
        if len(turns) < 2:
            grouped = (_repeated(acts, place, period) for period in range(2, _LONGEST_PERIOD + 1))
            turns = next((each for each in grouped if len(each) >= 2), turns)
        found.append(turns)
        place += sum(map(len, turns))
    return found


def _repeated(acts: Sequence[Act], place: int, period: int) -> list[list[Act]]:
    turns = [list(acts[place : place + period])]
    shape = [act.shape for act in turns[0]]
    while [act.shape for act in acts[place + period : place + 2 * period]] == shape and len(shape) == period:
        place += period
        turns.append(list(acts[place : place + period]))
    return turns


def joined_runs(found: Sequence[Sequence[Sequence[Act]]], before: Sequence[Produced]) -> Iterator[list[list[Act]]]:
    """Calls that were made side by side, one run after the other, as turns: the first of each run, the second of each.

    `found` are the segments to come. A run that goes through an array by itself is left to itself, unless it takes
    whole results of the runs before it.
    """
    for count in range(min(_LONGEST_PERIOD, len(found)), 1, -1):
        runs = [[turn[0] for turn in turns] for turns in found[:count] if len(turns[0]) == 1]
        if len(runs) < count or len({len(run) for run in runs}) > 1 or len(runs[0]) < 2:
            continue
        known = list(before)
        for place, run in enumerate(runs):
            if place and not _takes_whole(run, runs[:place]) and find_loop(run, known) is not None:
                break
            known.append(Produced(id=run[0].label, outputs={"results": [act.outputs for act in run]}, is_loop=True))
        else:
            yield [list(turn) for turn in zip(*runs, strict=True)]


def _takes_whole(run: Sequence[Act], earlier: Sequence[Sequence[Act]]) -> bool:
    names = [one[0].label for one in earlier]
    found = varying(run).items()
    return any(_from_turn(earlier, names, path, values, _as_it_is, is_whole=True) for path, values in found)


def _as_it_is(text: str, path: ValuePath) -> str:
    return text


def find_turns(
    turns: Sequence[Sequence[Act]],
    names: Sequence[str],
    before: Sequence[Produced],
    literal: Callable[[str, ValuePath], str],
) -> Turns | None:
    """How the arguments of repeated groups come from the elements of an array, and from each other.

    `names` are those of the members' steps; `literal` gives a text of the session as documents have it.
    """
    members = [tuple(turn[place] for turn in turns) for place in range(len(turns[0]))]
    loops = (find_loop(member, before) for member in members)
    loop = next((one for one in loops if one is not None and one.has_rule), None)
    if loop is None:
        return None
    inner: list[dict[ValuePath, str]] = []
    origins: list[dict[ValuePath, tuple[str, tuple[str, ...]]]] = []
    for place, member in enumerate(members):
        taken: dict[ValuePath, str] = {}
        from_items: dict[ValuePath, tuple[str, tuple[str, ...]]] = {}
        for path, values in varying(member).items():
            part = part_of(loop, path, values)
            is_element = part is not None and part.around == Around()
            whole = None if is_element else _from_turn(members[:place], names, path, values, literal, is_whole=True)
            if whole is not None:
                taken[path] = whole
                continue
            if part is not None:
                field = spell_path(part.field)
                taken[path] = part.around.template(f"${{item{field}}}", literal(part.around.pieces[0], path))
                from_items[path] = (field, tuple(part.around.value_in(str(value)) for value in values))
                continue
            text = _from_turn(members[:place], names, path, values, literal)
            if text is None:
                return None
            taken[path] = text
        inner.append(taken)
        origins.append(from_items)
    return Turns(loop=loop, members=tuple(members), inner=tuple(inner), origins=tuple(origins))


def _from_turn(
    earlier: Sequence[Sequence[Act]],
    names: Sequence[str],
    path: ValuePath,
    values: Sequence[object],
    literal: Callable[[str, ValuePath], str],
    *,
    is_whole: bool = False,
) -> str | None:
    """What an argument takes from an earlier call of the same turn; with `is_whole`, all of it but for a line end."""
    for place in reversed(range(len(earlier))):
        member = earlier[place]
        if any(act.is_cut for act in member):
            continue
        for where, value in leaves(member[0].told):
            if not says_enough(value, path, where):
                continue
            given = [at(act.outputs, where) for act in member]
            if given == list(values):
                return f"${{{names[place]}{spell_path(where)}}}"
            around = find_around([str(one) for one in values], str(value))
            if around is None or (is_whole and around.pieces != ("", "\n")):
                continue
            if [around.value_in(str(one)) for one in values] == [str(one) for one in given]:
                return around.template(f"${{{names[place]}{spell_path(where)}}}", literal(around.pieces[0], path))
    return None


def inner_workflow(nodes: Sequence[Json], main: str, item_type: str) -> tuple[Json, Json]:
    """A workflow for one turn, and the inputs that it is given: the element, and what it takes from outside."""
    own = {str(node["id"]) for node in nodes} | {"item"}
    given: Json = {"item": "${item}"}
    declared: Json = {"item": {"type": item_type} if item_type else {}}

    def lead_in(text: str) -> str:
        def put(found: re.Match[str]) -> str:
            root = re.split(r"[.\[]", found[1])[0]
            if root in own:
                return found[0]
            name = re.sub(r"\W+", "_", found[1]).strip("_")
            given[name] = found[0]
            declared[name] = {}
            return f"${{{name}}}"

        return _TEMPLATE.sub(put, text)

    inside = [{**node, "params": _mapped(node["params"], lead_in)} for node in nodes]
    outputs = {"result": {"source": f"${{{main}}}"}}
    return {"inputs": declared, "nodes": inside, "outputs": outputs}, given


def _mapped(value: object, change: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: _mapped(part, change) for key, part in value.items()}
    return [_mapped(part, change) for part in value] if isinstance(value, list) else value
