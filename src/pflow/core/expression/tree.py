"""The parsed form of an expression: plain nodes, each with its offset in the text. Knows neither types nor values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import dumps

from pflow.core.expression.fault import position
from pflow.core.frozen import Frozen

Key = str | int

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z", re.ASCII)


class Node(Frozen):
    """One part of an expression; `at` is the offset that messages about it point to."""

    at: int

    @property
    def parts(self) -> tuple[Node, ...]:
        """The nodes right inside, in the order of the text."""
        return ()


class Literal(Node):
    """A constant: a string, a number, a boolean or null."""

    value: str | int | float | bool | None


class Path(Node):
    """A name and the constant keys behind it: `fetch.response.items[0]`.

    `text` is the canonical spelling, equal for equal paths. A local name is the variable of a macro around it.
    """

    name: str
    keys: tuple[Key, ...] = ()
    text: str
    is_local: bool = False

    def text_to(self, count: int) -> str:
        """The spelling of the path up to its first `count` keys."""
        return path_text(self.name, self.keys[:count])


class Field(Node):
    """A constant key of a value that is not a path: `items.first().title`."""

    operand: Node
    key: Key

    @property
    def parts(self) -> tuple[Node, ...]:
        return (self.operand,)


class Index(Node):
    """A key that is itself computed: `items[size(items) - 1]`."""

    operand: Node
    key: Node

    @property
    def parts(self) -> tuple[Node, ...]:
        return (self.operand, self.key)


class Has(Node):
    """Whether the last key of a path or field exists."""

    target: Path | Field

    @property
    def parts(self) -> tuple[Node, ...]:
        return (self.target,)


class Not(Node):
    """`!operand`."""

    operand: Node

    @property
    def parts(self) -> tuple[Node, ...]:
        return (self.operand,)


class Negative(Node):
    """`-operand`."""

    operand: Node

    @property
    def parts(self) -> tuple[Node, ...]:
        return (self.operand,)


class Term(Frozen):
    """An operator and what follows it, in a row such as `a + b - c`."""

    operator: str
    operand: Node
    at: int


class Arithmetic(Node):
    """Operands joined by operators of one rank, computed from the left. A row is one node: its length is not depth."""

    first: Node
    rest: tuple[Term, ...]

    @property
    def parts(self) -> tuple[Node, ...]:
        return (self.first, *(term.operand for term in self.rest))


class Compare(Node):
    """`==`, `!=`, `<`, `<=`, `>`, `>=` or `in`."""

    operator: str
    left: Node
    right: Node

    @property
    def parts(self) -> tuple[Node, ...]:
        return (self.left, self.right)


class Logic(Node):
    """Operands joined by `&&` or by `||`."""

    operator: str
    operands: tuple[Node, ...]

    @property
    def parts(self) -> tuple[Node, ...]:
        return self.operands


class Case(Frozen):
    """One `condition ? value` of a choice."""

    condition: Node
    value: Node


class Choice(Node):
    """`a ? b : c ? d : e`: the value of the first case that is true."""

    cases: tuple[Case, ...]
    otherwise: Node

    @property
    def parts(self) -> tuple[Node, ...]:
        return (*(part for case in self.cases for part in (case.condition, case.value)), self.otherwise)


class Array(Node):
    """`[a, b]`."""

    items: tuple[Node, ...]

    @property
    def parts(self) -> tuple[Node, ...]:
        return self.items


class Entry(Frozen):
    """One `key: value` of an object."""

    key: Node
    value: Node


class Object(Node):
    """`{"key": value}`."""

    entries: tuple[Entry, ...]

    @property
    def parts(self) -> tuple[Node, ...]:
        return tuple(part for entry in self.entries for part in (entry.key, entry.value))


class Call(Node):
    """A function of the language; for `x.f(y)`, x is the first argument."""

    name: str
    arguments: tuple[Node, ...]

    @property
    def parts(self) -> tuple[Node, ...]:
        return self.arguments


class Macro(Node):
    """`items.filter(variable, …)` and its kin: `bodies` are evaluated for each item."""

    name: str
    items: Node
    variable: str
    bodies: tuple[Node, ...]

    @property
    def parts(self) -> tuple[Node, ...]:
        return (self.items, *self.bodies)


class Expression(Frozen):
    """A parsed expression.

    `doubles` are the offsets of operators with an operand that is declared as `number`; checking fills it in.
    """

    text: str
    tree: Node
    doubles: frozenset[int] = frozenset()

    def position(self, node: Node) -> tuple[int, int]:
        """Line and column of a node, both counted from 1."""
        return position(self.text, node.at)


def walk(node: Node) -> Iterator[Node]:
    """A node and everything inside it, in the order of the text."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(reversed(found.parts))


def path_text(name: str, keys: tuple[Key, ...]) -> str:
    """A path as it is written: `fetch.items[0]["odd key"]`."""
    return name + "".join(key_text(key) for key in keys)


def key_text(key: Key) -> str:
    """A key as it is written behind a value."""
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if _NAME.match(key) else f"[{dumps(key, ensure_ascii=False)}]"
