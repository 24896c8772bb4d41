"""What templates build is bounded before it exists, and so is what a run records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pflow import Workspace

MEGABYTE = "y" * 1_000_000


def doubling(shape: Any, first: object, count: int = 31) -> dict[str, object]:
    """A document in which each node takes twice what the one before it gave."""
    nodes: list[dict[str, object]] = [{"id": "n0", "type": "echo", "params": {"x": first}}]
    for number in range(1, count + 1):
        nodes.append({"id": f"n{number}", "type": "echo", "params": {"x": shape(f"${{n{number - 1}.x}}")}})
    return {"nodes": nodes}


@pytest.mark.parametrize(
    ("shape", "first"),
    [
        (lambda x: x + x, MEGABYTE),
        (lambda x: f"{x}, {x}", [MEGABYTE]),
        (lambda x: [x, x], [MEGABYTE]),
        (lambda x: {"a": x, "deep": [{"b": x}]}, MEGABYTE),
    ],
    ids=["text", "JSON in text", "array", "object"],
)
def test_doubling_ends_with_a_clear_error_before_the_step_starts(home: Path, shape: Any, first: object) -> None:
    with Workspace.open() as workspace:
        done = workspace.run(doubling(shape, first))
    assert not done.success and done.error is not None
    assert done.error["type"] == "template_error"
    assert str(done.error["message"]).endswith("would be larger than 64 MB, the most that templates may build")
    assert sum(path.stat().st_size for path in home.rglob("*") if path.is_file()) < 200_000_000


def test_a_batch_item_and_an_output_are_bounded_in_the_same_way() -> None:
    many = ["${item}"] * 100
    nodes = [
        {"id": "big", "type": "echo", "params": {"x": [MEGABYTE]}},
        {
            "id": "each",
            "type": "echo",
            "params": {"x": many},
            "batch": {"items": ["${big.x}"], "on_error": "continue", "max_failed": "100%"},
        },
    ]
    with Workspace.open() as workspace:
        done = workspace.run({"nodes": nodes, "outputs": {"errors": {"source": "${each.errors[0].error}"}}})
        assert "`x` of node `each` would be larger than 64 MB" in str(done.outputs["errors"])
        done = workspace.run({"nodes": nodes[:1], "outputs": {"all": {"source": ["${big.x}"] * 100}}})
        assert done.error is not None and "output `all` would be larger than 64 MB" in str(done.error["message"])


def test_a_large_value_is_passed_on_as_it_is() -> None:
    code = "result = 'y' * 30_000_000"
    nodes: list[dict[str, object]] = [{"id": "a", "type": "code", "params": {"code": code}}]
    nodes += [{"id": f"n{n}", "type": "echo", "params": {"x": "${a.result}", "y": "${a.result}"}} for n in range(3)]
    with Workspace.open() as workspace:
        done = workspace.run({"nodes": nodes, "outputs": {"x": {"source": "${n2.x}"}}})
    assert done.success and len(str(done.outputs["x"])) == 30_000_000


NODE = '''
from pocketflow import Node

class Huge(Node):
    """Writes the same large text many times."""

    def post(self, shared, prepared, done):
        shared["x"] = ["y" * 10_000_000] * 26
'''


@pytest.mark.slow
def test_a_value_that_a_journal_could_not_hold_fails_its_step(home: Path) -> None:
    (home / "nodes").mkdir(parents=True, mode=0o700)
    (home / "nodes" / "huge.py").write_text(NODE)
    with Workspace.open() as workspace:
        done = workspace.run({"nodes": [{"id": "h", "type": "huge"}]})
    assert done.error is not None and done.error["node"] == "h"
    assert done.error["message"] == "a value of 260 MB is larger than 256 MB, the most that a run can hold"


def test_the_results_of_a_batch_are_bounded_together() -> None:
    big = {"id": "big", "type": "code", "params": {"code": "result = 'y' * 30_000_000"}}
    each = {"id": "each", "type": "echo", "params": {"x": "${big.result}"}, "batch": {"items": [*range(20)]}}
    with Workspace.open() as workspace:
        done = workspace.run({"nodes": [big, each]})
    assert done.error is not None
    assert "the results of `each` are larger than 256 MB together" in str(done.error["message"])
