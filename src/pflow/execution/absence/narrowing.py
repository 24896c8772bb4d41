"""Whether conditions make sure of a node that not every way leads through: those of steps, of edges and of cases."""

from __future__ import annotations

from collections.abc import Sequence

from pflow.core.errors import ExpressionError
from pflow.core.expression.formula import Formula, Reader, any_of, asked, atom, can_hold, implies, negated, spelled
from pflow.core.expression.parser import parse
from pflow.core.expression.reference import Guard
from pflow.core.expression.tree import Compare, Expression, Literal, Node, Path, path_text
from pflow.core.frozen import Frozen
from pflow.core.template.computed import Cases, One
from pflow.execution.absence.flow import VISITED, Endings, Exit, Flow
from pflow.execution.node_check import CheckedNode

_ALWAYS_OWN = ("visit", "error")
"""Names that mean something else in every node."""


class Fact(Frozen):
    """A condition that a node has found to hold, or not to hold."""

    node: int
    condition: Expression
    holds: bool


class Narrowing:
    """What the conditions of a document tell about its nodes."""

    def __init__(self, nodes: Sequence[CheckedNode], flow: Flow) -> None:
        self._nodes = nodes
        self._ids = {node.spec.id: node.index for node in nodes}
        self._flow = flow
        self._whens = [node.when.expression if isinstance(node.when, One) else None for node in nodes]
        self._known: dict[tuple[int, str, bool], Fact] = {}
        self._reached: list[int] = []

    def is_sure(
        self, given: int, reader: int, endings: Endings, guards: Sequence[Guard], own: Sequence[str], *, started: bool
    ) -> bool:
        """Whether a node has ended so where another one reads it, under `guards`.

        `own` are names that only the reader has. What is read once it has `started`, its own condition lets pass.
        """
        proof = _Proof(self._nodes, self._ids, self._whens, self._flow, reader)
        for guard in guards:
            for part in guard.parts():
                proof.assume(part, guard.holds, reader, own)
        when = self._whens[reader]
        if started and when is not None:
            proof.assume(when.tree, True, reader)
        for fact in self.facts(reader):
            proof.assume(fact.condition.tree, fact.holds, fact.node)
        return proof.shows(given, endings)

    def facts(self, reader: int) -> list[Fact]:
        """What is known wherever a node is reached, from the edges and cases on all ways to it."""
        if not self._reached:
            self._reached = self._follow()
        mask = self._reached[reader]
        return [fact for place, fact in enumerate(self._known.values()) if mask >> place & 1]

    def _follow(self) -> list[int]:
        numbers: dict[tuple[int, str, bool], int] = {}
        masks: dict[tuple[int, int], int] = {}
        for number, ways in enumerate(self._flow.exits):
            for place, way in enumerate(ways):
                mask = 0
                # What a loop has found may have changed by the time of its next round.
                for fact in [] if self._flow.repeats(number) else facts_of(self._nodes[number], way):
                    key = number, spelled(fact.condition.tree), fact.holds
                    self._known.setdefault(key, fact)
                    mask |= 1 << numbers.setdefault(key, len(numbers))
                masks[number, place] = mask
        return self._flow.carry(masks)


def facts_of(node: CheckedNode, way: Exit) -> list[Fact]:
    """What holds when a node is left by a way."""
    found: list[Fact] = []
    if way.place is not None:
        ways = node.choices_made[way.action]
        found += _first_of([_parsed(each.when) for each in ways], way.place, node.index)
    cases = node.params.get("cases")
    if isinstance(cases, Cases) and way.ending == "given":
        named = {str(place.path[-1]): place.expression for place in cases.expressions()}
        names = [*named, "else"]
        if way.action in names:
            found += _first_of([*named.values(), None], names.index(way.action), node.index)
            found.append(Fact(node=node.index, condition=_case(node.spec.id, way.action), holds=True))
    return found


def _first_of(conditions: Sequence[Expression | None], place: int, node: int) -> list[Fact]:
    """Conditions that are tried in order, of which the one at `place` is the first that holds."""
    tried = enumerate(conditions[: place + 1])
    return [Fact(node=node, condition=one, holds=at == place) for at, one in tried if one is not None]


def _parsed(text: str) -> Expression | None:
    try:
        return None if text == "else" else parse(text)
    except ExpressionError:
        return None  # it is reported where it stands


def _case(switch: str, name: str) -> Expression:
    path = Path(at=0, name=switch, keys=("case",), text=path_text(switch, ("case",)))
    tree = Compare(at=0, operator="==", left=path, right=Literal(at=0, value=name))
    return Expression(text="", tree=tree)


class _Proof:
    """One question: what is assumed, and what is known of the nodes that the assumptions speak of."""

    def __init__(
        self,
        nodes: Sequence[CheckedNode],
        ids: dict[str, int],
        whens: Sequence[Expression | None],
        flow: Flow,
        reader: int,
    ) -> None:
        self._nodes = nodes
        self._ids = ids
        self._whens = whens
        self._flow = flow
        self._reader = reader
        self._formulas: list[Formula] = []
        self._asked: dict[int, set[tuple[str | int, ...]]] = {}
        self._waiting: list[int] = []

    def assume(self, condition: Node, holds: bool, node: int, own: Sequence[str] = ()) -> None:
        """Take a condition of a node as given."""
        formula = self._read(condition, node, own)
        self._formulas.append(formula if holds else negated(formula))

    def shows(self, given: int, endings: Endings) -> bool:
        """Whether it follows that a node has ended in one of some ways."""
        self._involve(given)
        while self._waiting:
            self._describe(self._waiting.pop())
        for one in self._asked:
            self._formulas += [
                implies(_ran(one), _ran(other))
                for other in self._asked
                if other != one and self._flow.is_sure(other, one) and not self._can_be_lost(other)
            ]
        wanted = [_ended(ending, given) for ending in sorted(endings)]
        return not can_hold([*map(negated, wanted), *self._formulas])

    def _describe(self, number: int) -> None:
        """What a node's condition says about whether it ran, and what `has` says about it."""
        ran, failed, condition = _ran(number), _failed(number), self._whens[number]
        handles = any(way.ending == "failed" for way in self._flow.exits[number])
        self._formulas.append(any_of(negated(ran), negated(failed)) if handles else negated(failed))
        is_visited = self._flow.is_sure(number, self._reader, VISITED)
        if condition is not None:
            held = self._read(condition.tree, number, ())
            self._formulas.append(implies(any_of(ran, failed), held))
            if is_visited:
                self._formulas.append(implies(held, any_of(ran, failed)))
        elif is_visited:
            self._formulas.append(any_of(ran, failed))

    def _read(self, condition: Node, node: int, own: Sequence[str]) -> Formula:
        reader = Reader(self._nodes[node].spec.id, (*_ALWAYS_OWN, *own), self._ask)
        return reader.read(condition)

    def _ask(self, root: str, path: tuple[str | int, ...]) -> None:
        """What it tells about a node that `has` finds something of it."""
        number = self._ids.get(root)
        if number is None or path in self._asked.get(number, ()):
            return
        self._involve(number)
        self._asked[number].add(path)
        ran, failed, there = _ran(number), _failed(number), atom(asked(root, path))
        if not path:
            self._formulas += [implies(there, any_of(ran, failed)), implies(any_of(ran, failed), there)]
            return
        ended = failed if names_error(self._nodes[number], path) else ran
        self._formulas.append(implies(there, ended))
        if len(path) == 1 and (ended is failed or _always_gives(self._nodes[number], str(path[0]))):
            self._formulas.append(implies(ended, there))

    def _involve(self, number: int) -> None:
        if number not in self._asked:
            self._asked[number] = set()
            self._waiting.append(number)

    def _can_be_lost(self, number: int) -> bool:
        """Whether a node may fail after it has given something, and then has only its error."""
        return self._flow.repeats(number) and any(way.ending == "failed" for way in self._flow.exits[number])


def _ran(number: int) -> Formula:
    return _ended("given", number)


def _failed(number: int) -> Formula:
    return _ended("failed", number)


def _ended(ending: str, number: int) -> Formula:
    return atom(f"{ending} {number}")


def names_error(node: CheckedNode, path: Sequence[str | int]) -> bool:
    """Whether a path leads to the error of a node that failed; a node may have an output of that name."""
    return path[:1] == ("error",) and (node.interface is None or node.interface.output("error") is None)


def _always_gives(node: CheckedNode, name: str) -> bool:
    """Whether a node has an output whenever it has run."""
    if node.batch is not None:
        return name in ("results", "errors", "count")
    if node.child is not None:
        return name in node.child.outputs
    return node.interface is not None and node.interface.echo_params and name in node.params
