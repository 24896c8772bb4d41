"""Tests of a workflow as values. Reads no files and runs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pflow.core.frozen import Frozen
from pflow.core.json_type import JsonView

if TYPE_CHECKING:
    from pflow.core.expression.tree import Expression

NAMES = ("inputs", "outputs", "steps", "status", "calls", "error")
"""What expressions of a test can name."""


class ExpectedStep(Frozen):
    """What is expected of a node: None where nothing is said.

    `count` is how often it ran, items of a batch included. `outputs` and `error` may hold matchers; `action` is the one
    with which it ended the last time.
    """

    reached: bool = True
    count: int | None = None
    outputs: JsonView | None = None
    action: str | None = None
    error: JsonView | None = None


class Expected(Frozen):
    """What is expected of a run. Only the outputs, steps and types that are named count.

    `edges` are pairs of nodes, `that` are expressions that must hold.
    """

    status: str = "completed"
    outputs: Mapping[str, object] = {}
    error: JsonView | None = None
    steps: Mapping[str, ExpectedStep] = {}
    reached: tuple[str, ...] = ()
    edges: tuple[tuple[str, str], ...] = ()
    calls: Mapping[str, int] = {}
    that: tuple[Expression, ...] = ()


class Case(Frozen):
    """One test. Without a cassette, only stubs answer; nodes in `real` run. Paths begin at the test file."""

    name: str
    description: str = ""
    inputs: Mapping[str, object] = {}
    cassette: str = ""
    stubs: Mapping[str, JsonView] = {}
    real: tuple[str, ...] = ()
    expected: Expected = Expected()


class Suite(Frozen):
    """The tests of one workflow, in the order of their file. Without a `workflow`, the document beside the file."""

    workflow: str = ""
    cases: tuple[Case, ...] = ()
