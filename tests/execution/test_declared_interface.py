"""What a person's node declares holds when it runs: defaults of params arrive, outputs are of their types."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pflow import Workspace

NODES = '''
import os
from pocketflow import AsyncNode, BaseNode, Node

def computed():
    return "made"

class Counts(Node):
    """Gives what it got."""

    class Params:
        n: int = 3
        words: list[str] = ["a"]
        word: str | None = None
        late: str = computed()
        from_: str = "here"
        given: str = "unused"

    class Outputs:
        out: dict

    def prep(self, shared):
        return [self.params["n"], shared["n"]]

    def exec(self, seen):
        self.params["words"].append("b")
        return [*seen, dict(self.params)]

    def post(self, shared, prepared, done):
        shared["out"] = {**done[2], "seen": done[:2]}

class Prose(AsyncNode):
    """Gives what it got.

    Interface:
    - Params: n: int - how many (default: 7)
    - Writes: shared["n"]: int
    """

    async def post_async(self, shared, prepared, done):
        shared["n"] = self.params["n"]

class Reader(Node):
    """Reads a natural key that has a default."""

    class Reads:
        n: int = 5

    class Outputs:
        out: int

    def post(self, shared, prepared, done):
        shared["out"] = shared["n"]

class Bare(BaseNode):
    """Does not call the constructor that it inherits."""

    class Params:
        n: int = 3

    def __init__(self):
        self.successors = {}

    def post(self, shared, prepared, done):
        shared["out"] = self.params["n"]

class Wrong(Node):
    """Writes whatever it is given."""

    class Params:
        value: object = None

    class Outputs:
        out: int | None
        ratio: float
        names: list[str]

    def post(self, shared, prepared, done):
        name, value = self.params["value"]
        shared[name] = value
'''


@pytest.fixture
def ws(home: Path) -> Iterator[Workspace]:
    (home / "nodes").mkdir(parents=True, mode=0o700)
    (home / "nodes" / "mine.py").write_text(NODES)
    with Workspace.open() as opened:
        yield opened


def outputs(ws: Workspace, *nodes: dict[str, Any], **more: Any) -> Any:
    done = ws.run({"nodes": list(nodes), **more})
    assert done.success, done.error
    return done.outputs


DEFAULTS = {"words": ["a", "b"], "word": None, "late": "made", "from": "here", "given": "x"}


def test_defaults_of_params_arrive_in_every_step_anew(ws: Workspace) -> None:
    counts = {"id": "c", "type": "counts", "params": {"given": "x"}, "batch": {"items": [1, 2]}}
    found = outputs(ws, counts, outputs={"all": {"source": "${c.results}"}})["all"]
    assert found == [{"out": {**DEFAULTS, "n": 3, "seen": [3, 3]}}] * 2


def test_what_is_given_wins_over_a_default(ws: Workspace) -> None:
    counts = {"id": "c", "type": "counts", "params": {"given": "x", "n": 0, "words": []}}
    found = outputs(ws, counts, outputs={"all": {"source": "${c.out}"}})["all"]
    assert found == {**DEFAULTS, "n": 0, "words": ["b"], "seen": [0, 0]}


def test_what_stands_in_the_store_wins_over_a_default_there(ws: Workspace) -> None:
    upstream = {"id": "n", "type": "prose", "params": {"n": 20}}
    reader = {"id": "r", "type": "reader"}
    source = {"outputs": {"all": {"source": "${r.out}"}}}
    assert outputs(ws, upstream, reader, **source)["all"] == 20
    assert outputs(ws, reader, **source)["all"] == 5


def test_defaults_arrive_through_mappings_and_in_sub_workflows(ws: Workspace) -> None:
    inner = {
        "nodes": [{"id": "p", "type": "prose"}, {"id": "r", "type": "reader"}],
        "mappings": {"r": {"input_mappings": {"n": "other"}, "output_mappings": {"out": "total"}}},
        "outputs": {"p": {"source": "${p.n}"}, "r": {"source": "${r.total}"}},
    }
    outer = {"id": "w", "type": "workflow", "params": {"workflow": inner}}
    assert outputs(ws, outer, outputs={"p": {"source": "${w.p}"}, "r": {"source": "${w.r}"}}) == {"p": 7, "r": 5}


def test_defaults_need_no_constructor_of_pocketflow(ws: Workspace) -> None:
    assert outputs(ws, {"id": "b", "type": "bare"}) == {"out": 3}


@pytest.mark.parametrize(
    ("name", "value"),
    [("out", 1), ("out", None), ("out", 2.0), ("ratio", 1), ("ratio", 1.5), ("names", ["a"]), ("names", ())],
)
def test_an_output_of_its_declared_type_is_kept(ws: Workspace, name: str, value: object) -> None:
    step = {"id": "w", "type": "wrong", "params": {"value": [name, value]}}
    assert outputs(ws, step)[name] == (list(value) if isinstance(value, tuple) else value)


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("out", "many", "declares its output `out` as an integer, and wrote a string"),
        ("out", 1.5, "declares its output `out` as an integer, and wrote a number"),
        ("out", True, "declares its output `out` as an integer, and wrote a boolean"),
        ("ratio", "half", "declares its output `ratio` as a number, and wrote a string"),
        ("names", {}, "declares its output `names` as an array, and wrote an object"),
    ],
)
def test_an_output_of_another_type_fails_the_step(ws: Workspace, name: str, value: object, problem: str) -> None:
    step = {"id": "w", "type": "wrong", "params": {"value": [name, value]}}
    done = ws.run({"nodes": [step]})
    assert not done.success and done.error is not None
    assert done.error["message"] == f"node `w` {problem}"
    mapped = ws.run({"nodes": [step], "mappings": {"w": {"output_mappings": {name: "renamed"}}}})
    assert not mapped.success and mapped.error is not None and problem in str(mapped.error["message"])
    each = ws.run({"nodes": [{**step, "batch": {"items": [1], "on_error": "continue", "max_failed": "100%"}}]})
    assert each.success and problem in str(each.outputs["errors"])
