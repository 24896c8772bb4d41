"""Random expressions: well typed, or with a part here and there whose type does not fit."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from pflow.core.value_type import ValueType, of_schema

SCHEMAS: dict[str, dict[str, object]] = {
    "i": {"type": "integer"},
    "d": {"type": "number"},
    "s": {"type": "string"},
    "b": {"type": "boolean"},
    "li": {"type": "array", "items": {"type": "integer"}},
    "ls": {"type": "array", "items": {"type": "string"}},
    "m": {
        "type": "object",
        "properties": {
            "n": {"type": "integer"},
            "t": {"type": "string"},
            "f": {"type": "boolean"},
            "l": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        },
    },
}
TYPES: dict[str, ValueType] = {name: of_schema(schema) for name, schema in SCHEMAS.items()}

KINDS = ("int", "double", "string", "bool", "ints", "strings")
_INTS = (0, 1, 2, -1, -7, 10, 63, 2**31, 2**62, 2**63 - 1, -(2**63))
_DOUBLES = (0.0, 0.5, -1.25, 2.0, 1000.75, -3.0)
_STRINGS = ("", "a", "b", "aXb", " pad ", "Grüße", "10", "2.5", "true", "a,b,,c", "2026-11-16T09:30:00Z", "90s")
_PATTERNS = ("a", "^a+$", "[a-c]+,", "(a|b)*c", "\\\\d+", ".", "^$", "X?b", "(?i)x", "a{2,3}", "\\\\bpad\\\\b")


def values(random: Random) -> dict[str, object]:
    """A value for every name, one key of the object now and then missing."""
    some = {
        "n": random.choice(_INTS),
        "t": random.choice(_STRINGS),
        "f": random.random() < 0.5,
        "l": [{"n": random.choice(_INTS)} for _ in range(random.randrange(3))],
    }
    return {
        "i": random.choice(_INTS),
        "d": random.choice(_DOUBLES),
        "s": random.choice(_STRINGS),
        "b": random.random() < 0.5,
        "li": [random.choice(_INTS[:6]) for _ in range(random.randrange(4))],
        "ls": [random.choice(_STRINGS) for _ in range(random.randrange(4))],
        "m": {key: value for key, value in some.items() if random.random() < 0.9},
    }


class Generator:
    """Writes one random expression; `wrong` is how likely a part is of another type, `own` allows what CEL lacks."""

    def __init__(self, random: Random, *, wrong: float = 0.0, own: bool = False) -> None:
        self.random = random
        self.wrong = wrong
        self.own = own
        self.variables: list[tuple[str, str]] = []

    def text(self, kind: str, depth: int, *, exact: bool = False) -> str:
        """An expression of a kind; an exact one never has another, so that two of them have the same."""
        if self.wrong and not exact and self.random.random() < self.wrong:
            kind = self.random.choice(KINDS)
        locals_ = [name for name, of in self.variables if of == kind]
        if locals_ and self.random.random() < 0.4:
            return self.random.choice(locals_)
        if depth <= 0 or self.random.random() < 0.15:
            return self.random.choice(self.leaves(kind))()
        return self.random.choice(self.forms(kind, depth - 1))()

    def leaves(self, kind: str) -> list[Callable[[], str]]:
        pick = self.random.choice
        return {
            "int": [lambda: str(pick(_INTS)), lambda: "i", lambda: "m.n"],
            "double": [lambda: repr(pick(_DOUBLES)), lambda: "d"],
            "string": [lambda: repr_text(pick(_STRINGS)), lambda: "s", lambda: "m.t"],
            "bool": [lambda: pick(("true", "false")), lambda: "b", lambda: "m.f", lambda: "has(m.t)"],
            "ints": [lambda: "li", lambda: "[]", lambda: "[1, i]", lambda: "m.l.map(o, o.n)"],
            "strings": [lambda: "ls", lambda: "['a', s]"],
        }[kind]

    def forms(self, kind: str, depth: int) -> list[Callable[[], str]]:
        def sub(of: str) -> str:
            return self.text(of, depth)

        def exact(of: str) -> str:
            return self.text(of, depth, exact=True)

        def op(of: str, *marks: str) -> str:
            return f"({sub(of)} {self.random.choice(marks)} {sub(of)})"

        def choice() -> str:
            return f"({sub('bool')} ? {exact(kind)} : {exact(kind)})"

        found: dict[str, list[Callable[[], str]]] = {
            "int": [
                lambda: op("int", "+", "-", "*", "/", "%"),
                lambda: op("int", "+", "-"),
                lambda: f"-({sub('int')})",
                lambda: f"size({sub(self.random.choice(('string', 'ints', 'strings')))})",
                lambda: f"int({sub(self.random.choice(('string', 'double', 'int')))})",
                lambda: f"{sub('ints')}[{sub('int')}]",
                lambda: f"duration({sub('string')}).getMinutes()",
                lambda: f"timestamp({sub('string')}).getDayOfYear()",
            ],
            "double": [
                lambda: op("double", "+", "-", "*", "/"),
                lambda: f"double({sub(self.random.choice(('string', 'double', 'int')))})",
                lambda: f"-({sub('double')})",
            ],
            "string": [
                lambda: op("string", "+"),
                lambda: f"string({sub(self.random.choice(('string', 'int', 'bool')))})",
                lambda: f"{sub('string')}.{self.random.choice(('trim', 'lowerAscii', 'upperAscii'))}()",
                lambda: f"{sub('string')}.replace({sub('string')}, {sub('string')})",
                lambda: f"{sub('strings')}.join({sub('string')})",
                lambda: f"{sub('strings')}[{sub('int')}]",
                lambda: f"string(timestamp({sub('string')}) + duration({sub('string')}))",
            ],
            "bool": [
                lambda: op("bool", "&&", "||"),
                lambda: op("bool", "&&", "||", "==", "!="),
                lambda: f"(!({sub('bool')}))",
                lambda: op(self.random.choice(("int", "double", "string", "bool")), "<", "<=", ">", ">="),
                lambda: op(self.random.choice(KINDS), "==", "!="),
                lambda: f"({sub('int')} < {sub('double')})",
                lambda: f"({sub('int')} == {sub('double')})",
                lambda: (
                    f"{sub('string')}.{self.random.choice(('startsWith', 'endsWith', 'contains'))}({sub('string')})"
                ),
                lambda: f"{sub('string')}.matches('{self.random.choice(_PATTERNS)}')",
                lambda: f"({sub('int')} in {sub('ints')})",
                lambda: f"({sub('string')} in m)",
                lambda: f"{sub('ints')}.{self.macro('int', 'bool', depth, ('all', 'exists', 'exists_one'))}",
            ],
            "ints": [
                lambda: f"[{exact('int')}, {exact('int')}]",
                lambda: f"({exact('ints')} + {exact('ints')})",
                lambda: f"{sub('ints')}.{self.macro('int', 'bool', depth, ('filter',))}",
                lambda: f"{sub('ints')}.{self.macro('int', 'int', depth, ('map',))}",
                lambda: f"{sub('strings')}.{self.macro('string', 'int', depth, ('map',))}",
            ],
            "strings": [
                lambda: f"[{exact('string')}, {exact('string')}]",
                lambda: f"({exact('strings')} + {exact('strings')})",
                lambda: f"{sub('string')}.split({sub('string')})",
                lambda: f"{sub('strings')}.{self.macro('string', 'bool', depth, ('filter',))}",
                lambda: f"{sub('ints')}.{self.macro('int', 'string', depth, ('map',))}",
            ],
        }
        if self.own:
            found["int"] += [
                lambda: f"{sub('ints')}.{self.random.choice(('sum', 'min', 'max', 'first', 'last'))}()",
            ]
            found["double"] += [
                lambda: f"({sub('int')} * {sub('double')})",
                lambda: f"({sub('double')} / {sub('int')})",
            ]
            found["ints"] += [lambda: f"{sub('ints')}.{self.own_list(depth)}"]
            found["strings"] += [lambda: f"{sub('strings')}.{self.own_list(depth)}"]
        return [*found[kind], choice]

    def own_list(self, depth: int) -> str:
        """A function from a list to a list of the same kind, which CEL has only in an extension."""
        count = self.text("int", depth)
        return self.random.choice(("distinct()", "reverse()", f"first({count})", "slice(0, 2)", "sortBy(k, k)"))

    def macro(self, item: str, body: str, depth: int, names: tuple[str, ...]) -> str:
        """A macro behind a list, its variable known in its body."""
        variable = f"v{len(self.variables)}"
        self.variables.append((variable, item))
        text = f"{self.random.choice(names)}({variable}, {self.text(body, depth)})"
        self.variables.pop()
        return text


def repr_text(text: str) -> str:
    """A string as expressions write it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
