"""Conditions as formulas of atoms that hold or do not, and whether some formulas can hold together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from pflow.core.expression.reference import STEPS
from pflow.core.expression.tree import (
    Arithmetic,
    Call,
    Compare,
    Field,
    Has,
    Literal,
    Logic,
    Macro,
    Node,
    Not,
    Path,
    walk,
)
from pflow.core.frozen import Frozen

_MOST_TRIES = 500
_MOST_ATOMS = 64
_OPPOSITE = {"!=": "==", ">=": "<", "<=": ">"}
"""Operators that hold where another one does not."""


class Formula(Frozen):
    """`all` or `any` of some formulas, or `not` one, or an `atom`."""

    kind: str
    atom: str = ""
    parts: tuple[Formula, ...] = ()


def atom(name: str) -> Formula:
    """Something that holds or does not."""
    return Formula(kind="atom", atom=name)


def negated(formula: Formula) -> Formula:
    """The opposite of a formula."""
    return Formula(kind="not", parts=(formula,))


def any_of(*parts: Formula) -> Formula:
    """At least one of the formulas."""
    return Formula(kind="any", parts=parts)


def implies(condition: Formula, consequence: Formula) -> Formula:
    """A formula that holds wherever another one does."""
    return any_of(negated(condition), consequence)


def asked(root: str, path: Sequence[str | int]) -> str:
    """The atom for what `has` asks of a root."""
    return f"has {root} {list(path)}"


class Reader:
    """Makes formulas of conditions that one node evaluates.

    What mentions one of the `own` names means something else in every node, here called `owner`. `on_has` is told
    of each root and path that `has` asks for.
    """

    def __init__(self, owner: str, own: Collection[str], on_has: Callable[[str, tuple[str | int, ...]], None]) -> None:
        self._owner = owner
        self._own = own
        self._on_has = on_has

    def read(self, node: Node) -> Formula:
        """The formula of a condition."""
        match node:
            case Logic():
                kind = "all" if node.operator == "&&" else "any"
                return Formula(kind=kind, parts=tuple(self.read(operand) for operand in node.operands))
            case Not():
                return negated(self.read(node.operand))
            case Compare(operator=("!=" | ">=" | "<=") as operator):
                return negated(atom(self._name(node._replace(operator=_OPPOSITE[operator]))))
            case Has(target=Path(is_local=False) as path) if path.name not in self._own:
                keys = (path.name, *path.keys)
                root, *rest = keys[1:] if path.name == STEPS and path.keys else keys
                self._on_has(str(root), tuple(rest))
                return atom(asked(str(root), rest))
        return atom(self._name(node))

    def _name(self, node: Node) -> str:
        paths = (part for part in walk(node) if isinstance(part, Path))
        is_own = any(path.is_local or path.name in self._own for path in paths)
        return f"{spelled(node)} in {self._owner}" if is_own else spelled(node)


def spelled(node: Node) -> str:
    """A text that is equal for equal expressions, however they are written."""
    match node:
        case Path():
            return node.text
        case Literal():
            return f"{type(node.value).__name__} {node.value!r}"
        case Arithmetic():
            said = " ".join(term.operator for term in node.rest)
        case Compare() | Logic():
            said = node.operator
        case Call():
            said = node.name
        case Macro():
            said = f"{node.name} {node.variable}"
        case Field():
            said = repr(node.key)
        case _:
            said = ""
    return f"{type(node).__name__}({said}; {', '.join(spelled(part) for part in node.parts)})"


def can_hold(formulas: Sequence[Formula]) -> bool:
    """Whether all the formulas can hold together. Where that takes too long to find out, they can."""
    tries = iter(range(_MOST_TRIES))
    return _search(formulas, {}, tries)


def _search(formulas: Sequence[Formula], known: Mapping[str, bool], tries: Iterator[int]) -> bool:
    open_: list[Formula] = []
    for formula in formulas:
        found = _truth(formula, known)
        if found is False:
            return False
        if found is None:
            open_.append(formula)
    if not open_ or len(known) > _MOST_ATOMS or next(tries, None) is None:
        return True
    name = _first_open(open_[0], known)
    return any(_search(open_, {**known, name: holds}, tries) for holds in (True, False))


def _truth(formula: Formula, known: Mapping[str, bool]) -> bool | None:
    if formula.kind == "atom":
        return known.get(formula.atom)
    found = [_truth(part, known) for part in formula.parts]
    if formula.kind == "not":
        return None if found[0] is None else not found[0]
    decides = formula.kind == "any"
    return decides if decides in found else None if None in found else not decides


def _first_open(formula: Formula, known: Mapping[str, bool]) -> str:
    if formula.kind == "atom":
        return formula.atom
    return next(_first_open(part, known) for part in formula.parts if _truth(part, known) is None)
