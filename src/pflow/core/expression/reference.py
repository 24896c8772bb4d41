"""What an expression reads: the paths that begin with a name, for the order of steps and for their checks."""

from __future__ import annotations

from collections.abc import Iterator

from pflow.core.expression.tree import Choice, Expression, Has, Key, Logic, Macro, Node, Not, Path
from pflow.core.frozen import Frozen

STEPS = "steps"
"""The name that holds the outputs of every node, by id: `steps["my-id"].x`."""


class Reference(Frozen):
    """A path that an expression reads, as far as its keys are constant.

    `is_test`: only `has` asks for it. `is_guarded`: it is read only where `has` found something of the same root.
    """

    keys: tuple[Key, ...]
    text: str
    at: int
    is_test: bool = False
    is_guarded: bool = False

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


def references(expression: Expression) -> tuple[Reference, ...]:
    """Every path that the expression reads, in the order of the text."""
    return tuple(_references(expression.tree, frozenset()))


def conjuncts(expression: Expression) -> tuple[Node, ...]:
    """The conditions that must all hold: the operands of `&&` around the whole expression, or the whole."""
    return tuple(_operands(expression.tree, "&&"))


def _references(node: Node, sure: frozenset[str]) -> Iterator[Reference]:
    match node:
        case Path():
            yield from _of_path(node, sure)
        case Has(target=Path() as target):
            yield from _of_path(target, sure, is_test=True)
        case Logic():
            # `&&` is false and `||` true whatever fails beside the operand that decides, so their order does not matter
            found = [_found(operand, node.operator == "&&") for operand in node.operands]
            for place, operand in enumerate(node.operands):
                others = frozenset().union(*found[:place], *found[place + 1 :])
                yield from _references(operand, sure | others)
        case Choice():
            for case in node.cases:
                yield from _references(case.condition, sure)
                yield from _references(case.value, sure | _found(case.condition, True))
                sure |= _found(case.condition, False)
            yield from _references(node.otherwise, sure)
        case Macro():
            yield from _references(node.items, sure)
            for body in node.bodies:
                yield from _references(body, sure)
        case _:
            for part in node.parts:
                yield from _references(part, sure)


def _of_path(path: Path, sure: frozenset[str], *, is_test: bool = False) -> Iterator[Reference]:
    if not path.is_local:
        found = Reference(keys=(path.name, *path.keys), text=path.text, at=path.at, is_test=is_test)
        yield found._replace(is_guarded=not is_test and found.root in sure)


def _found(condition: Node, holds: bool) -> frozenset[str]:
    """The roots of which `has` has found something, if a condition holds, or does not hold."""
    match condition:
        case Has(target=Path(is_local=False) as target) if holds:
            return frozenset(found.root for found in _of_path(target, frozenset()))
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
