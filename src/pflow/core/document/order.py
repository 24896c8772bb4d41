"""What document order adds to the edges that are written: the one rule for what follows a node that does not say it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import islice

from pflow.core.document.document import END, Edge
from pflow.core.frozen import Frozen


class Unclear(Frozen):
    """A node that would lead on to the one after it, which others name as well: it may be an arm, a handler or a join.

    `edge` is the first that names it.
    """

    node: str
    following: str
    edge: Edge


class Order(Frozen):
    """The edges that document order adds, and where nobody can know what was meant."""

    added: tuple[Edge, ...]
    unclear: tuple[Unclear, ...]


def follow_order(
    ids: Collection[str],
    edges: Sequence[Edge],
    choices: Mapping[str, tuple[str, ...]],
    closed: Collection[str] = (),
    sections: Collection[str] = (),
) -> Order:
    """What follows each node for the actions that `edges` leave open.

    `choices` are the actions that a node ends with by choosing: where none of them is written, all go where `default`
    goes, and where some are, `else` does. A `closed` node never ends with `default`. Where conditions are written for
    `default`, what is added is their `else`. Nothing leads on to a node that one of the `sections` begins with.
    """
    position = {name: index for index, name in enumerate(ids)}
    written: dict[str, dict[str, list[str]]] = {}
    conditional: set[str] = set()
    named_by: dict[str, Edge] = {}
    for edge in edges:
        if edge.when and edge.when != "else" and edge.action == "default":
            conditional.add(edge.source)
        else:
            written.setdefault(edge.source, {}).setdefault(edge.action, []).append(edge.target)
        first = named_by.get(edge.target)
        if not edge.is_next and (first is None or position[edge.source] < position[first.source]):
            named_by[edge.target] = edge
    added: list[Edge] = []
    unclear: list[Unclear] = []
    following = [*(END if name in sections else name for name in islice(ids, 1, None)), END]
    for name, after in zip(ids, following, strict=True):
        said = written.get(name, {})
        own = choices.get(name, ())
        open_ = [choice for choice in own if choice not in said]
        if len(open_) < len(own):
            open_ = [choice for choice in open_ if choice == "else"]  # the others have to be said
        targets = said.get("default")
        if targets is None and (open_ or name not in closed):
            targets = [after]
            names = named_by.get(after) if after else None
            if names is not None and position[names.source] <= position[name]:
                unclear.append(Unclear(node=name, following=after, edge=names))
            if (after or name in conditional) and name not in closed:
                added.append(Edge(source=name, target=after, when="else" if name in conditional else ""))
        added += [Edge(source=name, target=target, action=choice) for choice in open_ for target in targets or ()]
    return Order(added=tuple(added), unclear=tuple(unclear))
