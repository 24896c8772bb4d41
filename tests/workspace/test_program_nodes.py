"""Nodes that a program brings to its workspace, and what becomes of its runs without the program."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypedDict

import pytest
from pocketflow import Node

import pflow
from pflow import Home, Workspace
from pflow.errors import NotFoundError, UsageError


class Row(TypedDict):
    title: str


@dataclass
class Counted:
    count: int
    rows: list[Row]


def one_more(n: int) -> int:
    return n + 1


@pflow.node
def count_rows(rows: Annotated[list[Row], "The rows"], *, by: int | None, note: object = b"", plus: int = 1) -> Counted:
    """Count rows.

    :param plus: What to add
    """
    return Counted(one_more(len(rows)) + plus, rows)


async def shout(text: str) -> str:
    return text.upper()


class Stamp(Node):
    """Leave a stamp.

    Interface:
    - Params: ink: str (default: "red")
    - Writes: shared["stamp"]: str
    """

    def exec(self, prep_res: object) -> str:
        return str(self.params["ink"])

    def post(self, shared: dict[str, object], prep_res: object, exec_res: str) -> str:
        shared["stamp"] = exec_res
        return "default"


DOCUMENT = {
    "inputs": {"title": {"type": "string", "default": "ada"}},
    "nodes": [
        {"id": "count", "type": "count-rows", "params": {"rows": [{"title": "${title}"}]}},
        {"id": "shout", "params": {"text": "${count.rows[0].title}"}},
        {"id": "stamp", "params": {}},
    ],
    "outputs": {
        "text": {"source": "${shout.result}"},
        "count": {"source": "${count.count}"},
        "ink": {"source": "${stamp.stamp}"},
    },
}


def opened(home: Path, *nodes: Callable[..., object] | types.ModuleType) -> Workspace:
    return Workspace(Home(home), nodes=nodes)


def test_functions_and_classes_of_a_program_are_node_types_of_its_workspace_only(home: Path) -> None:
    with opened(home, count_rows, shout, Stamp) as workspace:
        assert workspace.run(DOCUMENT).raise_for_status().outputs == {"text": "ADA", "count": 3, "ink": "red"}
        interface = workspace.node_type("count-rows").interface
        assert [(field.name, field.type, field.required) for field in interface.params] == [
            ("rows", "array", True),
            ("by", "integer", False),
            ("note", "any", False),
            ("plus", "integer", False),
        ]
        assert interface.params[0].description == "The rows"
        assert interface.params[3].description == "What to add"
        assert [field.name for field in interface.outputs] == ["count", "rows"]
        assert "shout" in [entry.name for entry in workspace.node_types("shout")]
        workspace.scan()
        assert workspace.node_type("shout").program.endswith(".shout")
    assert b"count-rows" not in Home(home).registry.read_bytes()
    with Workspace(Home(home)) as other, pytest.raises(NotFoundError):
        other.node_type("shout")


def test_a_module_brings_what_it_decorates(home: Path) -> None:
    module = types.ModuleType("my_steps")
    exec(  # a module without source
        "import pflow\nfrom os.path import join\n"
        "@pflow.node\ndef twice(n: int) -> int:\n    return 2 * n\n"
        "def helper(): ...\n",
        module.__dict__,
    )
    with opened(home, module) as workspace:
        assert workspace.run({"nodes": [{"id": "twice", "params": {"n": 4}}]}).outputs == {"result": 8}
        with pytest.raises(NotFoundError):
            workspace.node_type("helper")
    with pytest.raises(UsageError, match="defines no nodes"):
        opened(home, types.ModuleType("empty"))


def test_a_loaded_workflow_runs_functions_on_and_off_an_event_loop(home: Path) -> None:
    with opened(home, count_rows, shout, Stamp) as workspace:
        loaded = pflow.load(DOCUMENT, workspace)
        assert loaded.run(title="x").raise_for_status().outputs["text"] == "X"
        assert asyncio.run(loaded.arun(title="y")).raise_for_status().outputs["text"] == "Y"


def test_a_run_goes_on_with_a_mended_function_and_keeps_what_was_done(home: Path) -> None:
    calls: list[str] = []

    def first() -> int:
        calls.append("first")
        return 1

    @pflow.node(name="second")
    def broken(n: int) -> int:
        raise ValueError(n)

    @pflow.node(name="second")
    def mended(n: int) -> int:
        return n + 1

    document = {"nodes": [{"id": "first"}, {"id": "second", "params": {"n": "${first.result}"}}]}
    with opened(home, first, broken) as workspace:
        failed = workspace.run(document)
        assert failed.failed_node == "second"
    with opened(home, first, mended) as workspace:
        assert workspace.resume(failed.run_id).raise_for_status().outputs == {"result": 2}
    assert calls == ["first"]


def test_a_run_without_its_program_says_what_is_missing(home: Path) -> None:
    def fails(text: str) -> str:
        raise ValueError(text)

    inner = {"nodes": [{"id": "fails", "params": {"text": "x"}}]}
    with opened(home, fails) as workspace:
        failed = workspace.run({"nodes": [{"id": "inner", "type": "workflow", "params": {"workflow": inner}}]})
    assert failed.status == "failed"
    with Workspace(Home(home)) as workspace, pytest.raises(NotFoundError) as caught:
        workspace.resume(failed.run_id)
    assert "needs the node type `fails`, which is `" in caught.value.message
    assert "of the program that began it" in caught.value.message


def test_the_identity_of_a_function_changes_with_what_it_calls_in_its_module(home: Path) -> None:
    def source(added: int) -> types.FunctionType:
        space: dict[str, object] = {"__name__": "made"}
        exec(f"def helper(): return {added}\ndef step() -> int:\n    return helper()\n", space)
        made = space["step"]
        assert isinstance(made, types.FunctionType)
        return made

    hashes = []
    for added in (1, 1, 2):
        with opened(home, source(added)) as workspace:
            hashes.append(workspace.node_type("step").node_hash)
    assert hashes[0] == hashes[1] != hashes[2]


def test_names_that_clash_are_refused_at_once(home: Path) -> None:
    @pflow.node(name="shout")
    def other() -> None: ...

    @pflow.node(name="echo")
    def echo() -> None: ...

    with pytest.raises(UsageError, match="would both be the node type `shout`"):
        opened(home, shout, other)
    with opened(home, echo) as workspace, pytest.raises(UsageError, match="which is built in"):
        workspace.node_types()
    with pytest.raises(UsageError, match="is not a PocketFlow node"):
        opened(home, Row)
    (home / "nodes").mkdir(parents=True)
    (home / "nodes" / "own.py").write_text("import pflow\n@pflow.node\ndef shout(): ...\n")
    with opened(home, shout) as workspace:
        assert workspace.run({"nodes": [{"id": "shout", "params": {"text": "a"}}]}).outputs == {"result": "A"}
        assert any("of this program, not the installed one" in notice for notice in workspace.notices)
