"""Random documents of steps that choose and compute, with mistakes here and there, and inputs for them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

_INPUTS = {"i": "integer", "j": "integer", "d": "number", "s": "string", "b": "boolean"}
_KIND = {"integer": "int", "number": "number", "string": "string", "boolean": "bool"}
_WRONG = 0.004
_KINDS = ("int", "number", "string", "bool", "ints", "record")


def inputs(random: Random) -> dict[str, object]:
    """A value for every input."""
    return {
        "i": random.choice((0, 1, 2, -3, 100)),
        "j": random.choice((0, 1, 7)),
        "d": random.choice((0.5, 2.0, -1.25, 3)),
        "s": random.choice(("", "a", "open", "10")),
        "b": random.random() < 0.5,
    }


class DocumentMaker:
    """Makes one document. A node can use what every earlier one gives, whether that is sure to be there or not."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._names: list[tuple[str, str]] = [(name, _KIND[kind]) for name, kind in _INPUTS.items()]
        self._own: list[tuple[str, str]] = []

    def document(self) -> dict[str, Any]:
        """A document of three to eight nodes."""
        count = self._random.randint(3, 8)
        nodes = [self._node(number, count) for number in range(count)]
        edges = self._edges(nodes)
        outputs = {"last": f"${{n{count - 1}}}"}
        declared = {name: {"type": kind} for name, kind in _INPUTS.items()}
        return {"inputs": declared, "nodes": nodes, "outputs": outputs} | ({"edges": edges} if edges else {})

    def _node(self, number: int, count: int) -> dict[str, Any]:
        pick, name = self._random.choice, f"n{number}"
        kind = pick(("let", "let", "switch", "filter", "map", "echo"))
        node: dict[str, Any] = {"id": name, "type": kind}
        if self._chance(0.25):
            node["when"] = self._text("bool", 2)
        node["params"], gives = getattr(self, f"_{kind}")()
        later = [f"n{other}" for other in range(number + 1, count)]
        follows = later[0] if later else "end"
        if kind == "switch":
            cases = [*node["params"]["cases"], "else"]
            node["on"] = {case: pick((follows, pick([*later, "end"]))) for case in cases}
            node["on"]["default"] = follows
        elif len(later) > 1 and self._chance(0.2):
            node["on"] = {"default": [follows, pick(later[1:])]}
        else:
            node["on"] = {"default": follows}
        self._names += [(f"{name}.{field}", of) for field, of in gives]
        return node

    def _edges(self, nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Now and then conditions on the edges of a node in place of what follows it."""
        edges: list[dict[str, Any]] = []
        for number, node in enumerate(nodes[:-2]):
            if node["type"] != "switch" and self._chance(0.15):
                del node["on"]
                later = [f"n{other}" for other in range(number + 1, len(nodes))]
                before = self._names
                self._names = [known for known in before if not known[0].startswith(tuple(f"{one}." for one in later))]
                edges.append({"from": node["id"], "to": self._random.choice(later), "when": self._text("bool", 2)})
                edges.append({"from": node["id"], "to": later[0], "when": "else"})
                self._names = before
        return edges

    # ---- the params of each type, and what it gives

    def _let(self) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        kinds = [self._random.choice(_KINDS) for _ in range(self._random.randint(1, 3))]
        gives = [(f"x{place}", kind) for place, kind in enumerate(kinds)]
        return {field: self._text(kind, 3) for field, kind in gives}, gives

    def _switch(self) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        names = self._random.sample(("one", "two", "three"), self._random.randint(1, 2))
        return {"cases": {name: self._text("bool", 2) for name in names}}, [("case", "string")]

    def _filter(self) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        params = {"items": self._list(), "where": self._for_item("bool")}
        return params, [("items", "ints"), ("count", "int"), ("dropped", "int")]

    def _map(self) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        params: dict[str, Any] = {
            "items": self._list(),
            "to": {"n": self._for_item("int"), "t": self._for_item("string")},
        }
        if self._chance(0.3):
            params["where"] = self._for_item("bool")
        return params, [("items", "records"), ("count", "int")]

    def _echo(self) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        known = [(name, kind) for name, kind in self._names if kind != "record"]
        name, kind = self._random.choice(known)
        default = self._chance(0.5)
        return {"x": f"${{{name}{':-none' if default else ''}}}"}, [] if default else [("x", kind)]

    def _list(self) -> object:
        lists = [name for name, kind in self._names if kind == "ints"]
        if lists and self._chance(0.6):
            name = self._random.choice(lists)
            return f"${{{name}{self._random.choice(('', ':-[]'))}}}"
        return [1, 2, 3][: self._random.randint(0, 3)]

    def _for_item(self, kind: str) -> str:
        self._own = [("item", "int"), ("item_index", "int")]
        text = self._text(kind, 2)
        self._own = []
        return text

    # ---- expressions

    def _text(self, kind: str, depth: int) -> str:
        if self._chance(_WRONG):
            kind = self._random.choice(_KINDS)
        if depth <= 0 or self._chance(0.2):
            return self._leaf(kind)
        return self._random.choice(self._forms(kind, depth - 1))()

    def _leaf(self, kind: str) -> str:
        known = [name for name, of in (*self._names, *self._own) if of == kind]
        if known and self._chance(0.75):
            name = self._random.choice(known)
            if self._chance(_WRONG) and "." in name:
                return f"{name}.typo"
            return f"(has({name}) ? {name} : {self._constant(kind)})" if "." in name and self._chance(0.7) else name
        return self._constant(kind)

    def _constant(self, kind: str) -> str:
        constants = {
            "int": ("0", "1", "-2"),
            "number": ("0.5", "2.0"),
            "string": ("'a'", "'open'", "''"),
            "bool": ("true", "false"),
            "ints": ("[]", "[1, 2]"),
            "record": ("{'n': 1, 't': 'a'}", "{'n': i, 't': s}"),
        }
        return self._random.choice(constants[kind])

    def _forms(self, kind: str, depth: int) -> list[Callable[[], str]]:
        def some(of: str) -> str:
            return self._text(of, depth)

        records = [name for name, of in self._names if of == "record"]
        lists = [name for name, of in self._names if of == "records"]
        forms: dict[str, list[Callable[[], str]]] = {
            "int": [
                lambda: f"({some('int')} {self._random.choice('+-*/%')} {some('int')})",
                lambda: f"size({some('ints')})",
                lambda: f"size({some('string')})",
                lambda: f"{some('ints')}.sum()",
                *(lambda name=name: f"{name}.n" for name in records),
                *(lambda name=name: f"{name}[0].n" for name in lists),
            ],
            "number": [
                lambda: f"({some('number')} {self._random.choice('+-*')} {some('int')})",
                lambda: f"double({some('int')})",
            ],
            "string": [
                lambda: f"({some('string')} + {some('string')})",
                lambda: f"string({some('int')})",
                lambda: f"{some('string')}.trim()",
                *(lambda name=name: f"{name}.t" for name in records),
                *(lambda name=name: f"{name}.map(r, r.t).join(',')" for name in lists),
            ],
            "bool": [
                lambda: f"({some('int')} {self._random.choice(('<', '>', '==', '!='))} {some('number')})",
                lambda: f"({some('string')} == {some('string')})",
                lambda: f"({some('bool')} {self._random.choice(('&&', '||'))} {some('bool')})",
                lambda: f"!({some('bool')})",
                lambda: f"({some('int')} in {some('ints')})",
                lambda: f"{some('ints')}.exists(k, k > {some('int')})",
            ],
            "ints": [
                lambda: f"[{some('int')}]",
                lambda: f"({some('ints')} + {some('ints')})",
                lambda: f"{some('ints')}.map(k, k + {some('int')})",
                lambda: f"{some('ints')}.filter(k, {some('bool')})",
                *(lambda name=name: f"{name}.map(r, r.n)" for name in lists),
            ],
            "record": [lambda: f"{{'n': {some('int')}, 't': {some('string')}}}"],
        }
        choice = lambda: f"({some('bool')} ? {some(kind)} : {some(kind)})"  # noqa: E731
        steps = [name for name, _ in self._names if "." in name]
        if kind == "bool" and steps:
            forms["bool"].append(lambda: f"has({self._random.choice(steps)})")
        return [*forms[kind], choice]

    def _chance(self, how: float) -> bool:
        return self._random.random() < how
