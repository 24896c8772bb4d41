"""A run as pages show it: the same, whether it is folded at once or piece by piece."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pflow.core.file.home import Home
from pflow.core.json_type import objects_in
from pflow.engine.ending.look import LOOKS
from pflow.execution.view.items import DONE, FAILED, RUNNING, Items
from pflow.workspace import Workspace
from pflow.workspace.viewing.viewing import Following

DOCUMENTS: dict[str, dict[str, Any]] = {
    "plain": {"nodes": [{"id": "a", "type": "echo", "params": {"text": "x"}}]},
    "failed": {"nodes": [{"id": "a", "type": "code", "params": {"code": "1 / 0"}}]},
    "handled": {
        "nodes": [
            {"id": "a", "type": "code", "params": {"code": "1 / 0"}, "on": {"error": "b", "default": "end"}},
            {"id": "b", "type": "echo", "params": {"text": "x"}},
        ]
    },
    "skipped": {"nodes": [{"id": "a", "type": "echo", "when": "1 > 2", "params": {"text": "x"}}]},
    "batch": {
        "nodes": [
            {
                "id": "a",
                "type": "code",
                "batch": {"items": [1, 0, 3], "as": "n", "on_error": "continue"},
                "params": {"code": "result = 1 / n", "inputs": {"n": "${n}"}},
            }
        ]
    },
    "asked": {"nodes": [{"id": "a", "type": "ask", "params": {"prompt": "?", "schema": {"n": {"type": "integer"}}}}]},
    "sections": {
        "nodes": [
            {"id": "a", "type": "code", "params": {"code": "1 / 0"}},
            {"id": "z", "type": "echo", "params": {"text": "x"}},
        ],
        "finally": "z",
    },
    "loop": {
        "nodes": [
            {"id": "a", "type": "echo", "params": {"text": "x"}, "max_visits": 3},
            {"id": "b", "type": "code", "params": {"code": "result = 1"}, "on": {"default": "a"}},
        ]
    },
}


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace(Home(tmp_path / "home")) as found:
        yield found


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_view_told_piece_by_piece_is_the_view_told_at_once(workspace: Workspace, name: str) -> None:
    run = workspace.run({"name": name, **DOCUMENTS[name]}).run_id
    whole = workspace.viewing.follow(run).whole()
    count: Any = whole["seq"]
    following: Following = workspace.viewing.follow(run)
    rows: dict[str, Any] = {}
    for until in range(count + 1):
        info = following.read(until)
        rows |= {str(row["step"]): row for row in following.view.changed(info)}
    assert json.dumps(list(rows.values()), sort_keys=True) == json.dumps(whole["steps"], sort_keys=True)
    assert following.view.head(info) == {key: value for key, value in whole.items() if key != "steps"}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_view_agrees_with_the_trace(workspace: Workspace, name: str) -> None:
    run = workspace.run({"name": name, **DOCUMENTS[name]}).run_id
    trace = workspace.show_run(run)
    view = workspace.viewing.follow(run).whole()
    assert view["status"] == trace["status"]
    told = {entry["step"]: entry["status"] for entry in objects_in(trace["steps"])}
    assert {row["step"]: row["status"] for row in objects_in(view["steps"])} == told
    assert {row["look"] for row in objects_in(view["steps"])} <= set(LOOKS)


def test_a_fork_shows_what_it_kept_and_what_it_ran(workspace: Workspace) -> None:
    nodes = [{"id": n, "type": "echo", "params": {"text": n}} for n in ("a", "b")]
    first = workspace.run({"name": "two", "nodes": nodes}).run_id
    second = workspace.again.fork(first, "b").run_id
    view = workspace.viewing.follow(second).whole()
    assert [(row["step"], row["look"]) for row in objects_in(view["steps"])] == [("a", "reused"), ("b", "done")]
    assert (view["forked_from"], view["forked_at"]) == (first, "b")


def test_a_strip_shows_the_worst_of_each_group() -> None:
    items = Items(1600)
    for item in range(800):
        items.set(item, DONE)
    items.set(3, FAILED)
    items.set(1599, RUNNING)
    strip = items.strip()
    assert (len(strip), strip[0], strip[1], strip[79], strip[80], strip[-1]) == (160, "f", "d", "d", ".", "r")
    assert items.as_data() == {"count": 1600, "strip": strip, "running": 1, "completed": 799, "failed": 1}
    items.cut_off()
    assert items.strip()[-1] == "."


def test_items_beyond_what_was_announced_are_counted_all_the_same() -> None:
    items = Items(0)
    items.set(2, DONE)
    assert items.strip() == "..d"
