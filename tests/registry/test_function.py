"""Functions in a person's `nodes` directory as steps, through the workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import pflow
from pflow import Home, Workspace
from pflow.errors import UsageError

NODES = '''
from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, TypedDict

import pflow
from pflow import StepError, node as step


class Row(TypedDict):
    title: str
    size: int


@dataclass
class Sum:
    total: int
    rows: list[Row]


@pflow.node(name="fetch-rows", version=2, pure=True)
async def fetch(url: Annotated[str, "Where they are"], limit: int = 2, from_: str | None = None) -> list[Row]:
    """Fetch rows.

    Args:
        limit (int): How many,
            at most.
        from_: Where to begin.

    Returns:
        The rows.
    """
    await asyncio.sleep(0)
    return [{"title": f"{url}{from_}", "size": n} for n in range(limit)]


@step
def add_up(rows: list[Row], **more) -> Sum:
    """Add up. :param rows: not here"""
    rows.sort(key=lambda row: -row["size"])
    return Sum(sum(row["size"] for row in rows) + len(more), rows)


@step(repeatable=True)
def ends(how):
    if how == "exit":
        raise SystemExit(3)
    if how == "interrupt":
        raise KeyboardInterrupt
    if how == "limit":
        raise StepError("too fast", action="rate_limited")
    if how == "object":
        return object()
    if how == "list":
        return [Sum(1, [])]
    raise ValueError(how)


@step
def declares() -> Sum:
    return None
'''


@pytest.fixture
def nodes(home: Path) -> Path:
    folder = home / "nodes"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def workspace(nodes: Path, home: Path) -> Iterator[Workspace]:
    (nodes / "mine.py").write_text(NODES)
    with Workspace(Home(home)) as opened:
        yield opened


def one(kind: str, **params: object) -> dict[str, object]:
    return {"nodes": [{"id": "it", "type": kind, "params": params}]}


def test_a_signature_is_the_interface(workspace: Workspace) -> None:
    assert workspace.notices == []
    interface = workspace.node_type("fetch-rows").interface
    assert interface.description == "Fetch rows."
    assert interface.purity == "pure"
    shown = [(field.name, field.type, field.required, field.description) for field in interface.params]
    assert shown == [
        ("url", "string", True, "Where they are"),
        ("limit", "integer", False, "How many, at most."),
        ("from", "string", False, "Where to begin."),
    ]
    (result,) = interface.outputs
    assert (result.name, result.type, result.description) == ("result", "array", "The rows.")
    assert [field.name for field in workspace.node_type("add-up").interface.outputs] == ["total", "rows"]
    assert workspace.node_type("add-up").interface.open_params
    assert workspace.node_type("ends").interface.purity == "read"


def test_functions_run_as_steps_and_what_they_change_in_place_stays_theirs(workspace: Workspace) -> None:
    document = {
        "nodes": [
            {"id": "fetch", "type": "fetch-rows", "params": {"url": "u", "limit": 3, "from": "!"}},
            {"id": "sum", "type": "add-up", "params": {"rows": "${fetch.result}", "extra": 1}},
        ],
        "outputs": {
            "total": {"source": "${sum.total}"},
            "first": {"source": "${sum.rows[0].size}"},
            "kept": {"source": "${fetch.result[0].size}"},
            "title": {"source": "${fetch.result[0].title}"},
        },
    }
    outcome = workspace.run(document).raise_for_status()
    assert outcome.outputs == {"total": 4, "first": 2, "kept": 0, "title": "u!"}
    again = workspace.run(document).raise_for_status()
    assert again.steps == outcome.steps - 1  # the pure one was reused


def test_paths_into_a_typed_result_are_checked(workspace: Workspace) -> None:
    document = {
        "nodes": [
            {"id": "fetch", "type": "fetch-rows", "params": {"url": "u"}},
            {"id": "show", "type": "echo", "params": {"x": "${fetch.result[0].titel}"}},
        ]
    }
    assert "titel" in workspace.check(document).issues[0].message
    assert [issue.code for issue in workspace.check(one("fetch-rows", limit="three")).errors] != []


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("exit", "SystemExit: 3"),
        ("interrupt", "RuntimeError: the node raised KeyboardInterrupt"),
        ("limit", "too fast"),
        ("other", "ValueError: other"),
    ],
)
def test_what_a_function_raises_fails_its_step(workspace: Workspace, how: str, message: str) -> None:
    outcome = workspace.run(one("ends", how=how))
    assert outcome.status == "failed"
    assert outcome.error is not None
    assert outcome.error["message"] == message
    assert outcome.error["action"] == ("rate_limited" if how == "limit" else "error")


def test_what_json_does_not_have_is_as_with_any_node(workspace: Workspace) -> None:
    assert workspace.run(one("ends", how="object")).success
    assert workspace.run(one("ends", how="list")).outputs == {"result": [{"total": 1, "rows": []}]}
    outcome = workspace.run(one("declares"))
    assert outcome.error is not None
    assert outcome.error["message"] == "`declares` declares the outputs `total`, `rows`, and returned null"


def test_retry_timeout_and_batch_are_as_with_any_node(workspace: Workspace, nodes: Path) -> None:
    (nodes / "flaky.py").write_text(
        "import pflow, time, threading\n"
        "calls = []\n"
        "@pflow.node\ndef flaky(n: int) -> int:\n"
        "    calls.append(n)\n"
        "    if calls.count(n) < 2:\n        raise ValueError(n)\n"
        "    return n\n"
        "@pflow.node\ndef hangs():\n    threading.Event().wait(30)\n"
    )
    with Workspace(workspace.home) as fresh:
        batch = {
            "id": "it",
            "type": "flaky",
            "params": {"n": "${item}"},
            "batch": {"items": [1, 2]},
            "retry": {"attempts": 2, "wait": 0},
        }
        outcome = fresh.run({"nodes": [batch]}).raise_for_status()
        assert outcome.outputs["results"] == [{"result": 1}, {"result": 2}]
        stuck = fresh.run({"nodes": [{"id": "it", "type": "hangs", "timeout": 0.05}]})
        assert stuck.error is not None
        assert stuck.error["type"] == "timeout"


def test_a_version_keeps_a_steps_identity_and_a_changed_file_ends_it_without_one(
    workspace: Workspace, nodes: Path
) -> None:
    before = [workspace.node_type(name).node_hash for name in ("fetch-rows", "add-up")]
    (nodes / "mine.py").write_text(NODES + "\n# changed\n")
    with Workspace(workspace.home) as fresh:
        after = [fresh.node_type(name).node_hash for name in ("fetch-rows", "add-up")]
    assert before[0] == after[0] == "fetch-rows@2"
    assert before[1] != after[1]


def test_functions_that_cannot_be_steps_are_left_out_with_the_reason(home: Path, nodes: Path) -> None:
    (nodes / "bad.py").write_text(
        "import pflow, other\nN = input\n"
        "@pflow.node\ndef by_place(a, /): ...\n"
        "@pflow.node\ndef many(*rows): ...\n"
        "@pflow.node\ndef gives():\n    yield 1\n"
        "class Owner:\n    @pflow.node\n    def method(self): ...\n"
        "@pflow.node(name='Bad Name')\ndef named(): ...\n"
        "@pflow.node(name=N())\ndef computed(): ...\n"
        "@pflow.node(colour=1)\ndef unknown(): ...\n"
        "@pflow.node(version='a b')\ndef versioned(): ...\n"
        "@pflow.node\ndef twice(): ...\n"
        "@pflow.node(name='twice')\ndef again(): ...\n"
        "@other.node\ndef foreign(): ...\n"
    )
    with Workspace(Home(home)) as opened:
        assert [entry.name for entry in opened.node_types() if entry.is_user] == ["twice"]
        left_out = [notice.removeprefix("`bad.py`: function ") for notice in opened.notices]
    assert left_out == [
        "`by_place` is left out; `a` is positional-only, and a step is given its params by name; remove the `/`",
        "`many` is left out; `*rows` has no name to give a param by; take a list instead",
        "`gives` is left out; it is a generator, which gives its values one by one; return a list",
        "`method` is left out; it is a method, which needs an object; write it as a function outside of the class",
        "`named` is left out; a node type's name has only a-z, 0-9 and -",
        "`computed` is left out; its `name` must be a constant, since the file is read and not run",
        "`unknown` is left out; `@pflow.node` has no option `colour`",
        "`versioned` is left out; a version is a number or a word such as `2` or `1.4`",
        "`again` is left out; another function of the file is `twice`",
    ]


def test_the_decorator_leaves_the_function_as_it_is() -> None:
    @pflow.node(version=3)
    def double(n: int) -> int:
        return 2 * n

    @pflow.node
    async def later(n: int) -> int:
        return n

    typed: Callable[[int], int] = double
    assert typed(2) == 4
    assert double.__name__ == "double"
    assert later.__name__ == "later"


def test_the_decorator_refuses_what_cannot_be_a_step() -> None:
    def gives() -> Iterator[int]:
        yield 1

    class Owner:
        def method(self) -> None: ...

    for refused in (lambda: 1, len, Owner, Owner.method, Owner().method, gives, "text".join):
        with pytest.raises(UsageError):
            pflow.node(refused)
    with pytest.raises(UsageError, match="not a valid name"):
        pflow.node(name="No Name")
    with pytest.raises(UsageError, match="not a valid version"):
        pflow.node(version="a b")
