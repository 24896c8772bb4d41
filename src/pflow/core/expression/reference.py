"""What an expression reads: the paths that begin with a name, for the order of steps and for their checks."""

from __future__ import annotations

from collections.abc import Iterator

from pflow.core.expression.tree import Choice, Expression, Has, Key, Logic, Node, Not, Path
from pflow.core.frozen import Frozen

STEPS = "steps"
"""The name that holds the outputs of every node, by id: `steps["my-id"].x`."""


class Guard(Frozen):
    """A condition that holds, or does not hold, wherever something is read.

    Of the operands of `&&` and `||`, the one at `place` is not part of it: it is where the reading happens.
    """

    condition: Node
    holds: bool
    place: int | None = None

    def parts(self) -> tuple[Node, ...]:
        """The conditions that all hold, or all do not hold."""
        if self.place is None or not isinstance(self.condition, Logic):
            return (self.condition,)
        operands = self.condition.operands
        return (*operands[: self.place], *operands[self.place + 1 :])


class Reference(Frozen):
    """A path that an expression reads, as far as its keys are constant.

    `is_test`: only `has` asks for it. `guards`: what is known where it is read.
    """

    keys: tuple[Key, ...]
    text: str
    at: int
    is_test: bool = False
    guards: tuple[Guard, ...] = ()

    @property
    def root(self) -> str:
        """The input or node that it reads, also if it is written `steps["my-id"]`."""
        if self.keys[0] == STEPS and len(self.keys) > 1:
            return str(self.keys[1])
        return str(self.keys[0])

    @property
    def path(self) -> tuple[Key, ...]:
        """The keys behind the root."""
        return self.keys[2:] if self.keys[0] == STEPS and len(self.keys) > 1 else self.keys[1:]

    @property
    def is_guarded(self) -> bool:
        """Whether it is read only where `has` found something of the same root."""
        found = (_found(part, guard.holds) for guard in self.guards for part in guard.parts())
        return not self.is_test and any(self.root in roots for roots in found)


def references(expression: Expression) -> tuple[Reference, ...]:
    """Every path that the expression reads, in the order of the text."""
    return tuple(_references(expression.tree, ()))


def conjuncts(expression: Expression) -> tuple[Node, ...]:
    """The conditions that must all hold: the operands of `&&` around the whole expression, or the whole."""
    return tuple(_operands(expression.tree, "&&"))


def _references(node: Node, guards: tuple[Guard, ...]) -> Iterator[Reference]:
    match node:
        case Path():
            yield from _of_path(node, guards)
        case Has(target=Path() as target):
            yield from _of_path(target, guards, is_test=True)
        case Logic():
            # `&&` is false and `||` true whatever fails beside the operand that decides, so their order does not matter
            for place, operand in enumerate(node.operands):
                beside = Guard(condition=node, holds=node.operator == "&&", place=place)
                yield from _references(operand, (*guards, beside))
        case Choice():
            for case in node.cases:
                yield from _references(case.condition, guards)
                yield from _references(case.value, (*guards, Guard(condition=case.condition, holds=True)))
                guards = (*guards, Guard(condition=case.condition, holds=False))
            yield from _references(node.otherwise, guards)
        case _:
            for part in node.parts:
                yield from _references(part, guards)


def _of_path(path: Path, guards: tuple[Guard, ...] = (), *, is_test: bool = False) -> Iterator[Reference]:
    if not path.is_local:
        yield Reference(keys=(path.name, *path.keys), text=path.text, at=path.at, is_test=is_test, guards=guards)


def _found(condition: Node, holds: bool) -> frozenset[str]:
    """The roots of which `has` has found something, if a condition holds, or does not hold."""
    match condition:
        case Has(target=Path(is_local=False) as target) if holds:
            return frozenset(found.root for found in _of_path(target))
        case Not():
            return _found(condition.operand, not holds)
        case Logic() if holds == (condition.operator == "&&"):
            return frozenset().union(*(_found(operand, holds) for operand in condition.operands))
    return frozenset()


def _operands(node: Node, operator: str) -> Iterator[Node]:
    if isinstance(node, Logic) and node.operator == operator:
        for operand in node.operands:
            yield from _operands(operand, operator)
    else:
        yield node
