"""The workflow document as values: what an author wrote, well-formed, not yet checked against node types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pflow.core.document.position import Path
from pflow.core.event import Section
from pflow.core.frozen import Frozen
from pflow.core.rate import Rate

IR_VERSION = "0.1.0"

END = ""
"""The target of an edge after which its branch ends."""

Mode = Literal["order", "complete", "data"]
"""What gives the order: the nodes as they stand, with edges added to them; the edges alone; or the templates."""


class Input(Frozen):
    """A declared input. `default` counts only when `has_default`.

    `type` is `string`, `integer`, `number`, `boolean`, `array`, `object` or `any`, aliases resolved.
    `required` is as written, else true without a default. A null `default` makes the input optional; beside
    `required: true` it says that there is none.
    """

    type: str = "any"
    required: bool = True
    default: object = None
    has_default: bool = False
    description: str = ""
    secret: bool = False


class Output(Frozen):
    """A declared output; `source` is a template, by default the natural key of the output's name."""

    type: str = "any"
    description: str = ""
    source: object = None


class StateKey(Frozen):
    """A value that a workflow keeps between runs. `default` is what it is before it was ever set.

    `merge` is `add`, `max` or `union`, how what a run sets is joined with what is kept by then; without one it replaces
    that, unless another run was faster. A union holds the newest `keep` elements. What is set becomes real with the
    `end` of the run, or with its `step`: `commit`.
    """

    type: str = "any"
    default: object = None
    description: str = ""
    merge: str = ""
    keep: int = 2000
    commit: str = "end"


class Budget(Frozen):
    """What may be spent on language models: US dollars and tokens, each without a limit if it is None."""

    usd: float | None = None
    tokens: int | None = None


class MaxFailed(Frozen):
    """How many items of a batch may fail: a number of them, or a share in percent."""

    number: float
    is_percent: bool = False

    @property
    def allows_all(self) -> bool:
        """Whether a batch may complete with nothing done."""
        return self.is_percent and self.number >= 100

    def of(self, items: int) -> int:
        """How many of so many items may fail."""
        return int(items * self.number / 100) if self.is_percent else int(self.number)


class Batch(Frozen):
    """Run the node once per item. `on_error`: `stop` fails the step, `continue` keeps partial results.

    With `continue`, the step fails when more than `max_failed` items do, or all of them. With `spread`, items are runs
    of their own where there are workers.
    """

    items: object
    name: str = "item"
    where: str = ""
    concurrency: int = 1
    on_error: str = "stop"
    max_failed: MaxFailed | None = None
    spread: bool = False


class Retry(Frozen):
    """How often to try in all, and how long to wait: `wait` seconds, times `backoff` after each attempt.

    With `until`, a condition on what an attempt gave, one that succeeds without it is followed by another as well.
    """

    attempts: int = 1
    wait: float = 0.0
    backoff: float = 1.0
    until: str = ""


class Approval(Frozen):
    """What is asked before a step takes effect: a template, or whether it may run. `timeout` is in seconds."""

    prompt: str = ""
    timeout: float | None = None


class NodeSpec(Frozen):
    """One node as written. `max_visits` overrides how often a loop may come back to it.

    `when` is the condition under which it runs. What `on` says is among the edges of the document. `limit` is how
    often it may start. `approve` is asked before each of its steps. `repeatable` is whether it may run again unasked,
    where the author says so.
    """

    id: str
    type: str
    params: Mapping[str, object] = {}
    when: str = ""
    batch: Batch | None = None
    retry: Retry | None = None
    timeout: float | None = None
    limit: Rate | None = None
    repeatable: bool | None = None
    approve: Approval | None = None
    max_visits: int | None = None
    description: str = ""
    mcp_server: str | None = None
    mcp_tool: str | None = None


class Edge(Frozen):
    """From one node to another, or to the `END`, for one action.

    `when` is the condition under which it is taken, or `else`. `is_next` says that the target was written as `next`;
    `path` is where it stands in the document.
    """

    source: str
    target: str
    action: str = "default"
    when: str = ""
    is_next: bool = False
    path: Path = ()


class KeyMapping(Frozen):
    """How one node's natural keys translate to the store's: `{node key: store key}`."""

    input_mappings: Mapping[str, str] = {}
    output_mappings: Mapping[str, str] = {}


class Requirements(Frozen):
    """What a document needs. `pflow` is a version specifier, `servers` holds each server's fields by its name."""

    pflow: str = ""
    servers: Mapping[str, Mapping[str, object]] = {}
    settings: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()


class Document(Frozen):
    """A whole workflow.

    `edges` are those that the author wrote, in `edges` or `on`; what `mode` adds to them is known once the node types
    are. `start_node` is where a run begins: as written, else the first node, and None for `data` without one.
    `sections` have the node that each begins with, and `timeout` is in seconds. `budget` is for language models.
    `state_scope` is the name under which its `state` is kept, if the document says one. `raw` is the normalised object,
    with `ir_version` added when missing: what is saved, hashed and journalled. Reading it gives the same document.
    """

    nodes: tuple[NodeSpec, ...]
    edges: tuple[Edge, ...] = ()
    mode: Mode = "order"
    name: str = ""
    description: str = ""
    ir_version: str = IR_VERSION
    metadata: Mapping[str, object] = {}
    inputs: Mapping[str, Input] = {}
    outputs: Mapping[str, Output] = {}
    state: Mapping[str, StateKey] = {}
    state_scope: str = ""
    start_node: str | None = None
    sections: Mapping[Section, str] = {}
    timeout: float | None = None
    budget: Budget | None = None
    mappings: Mapping[str, KeyMapping] = {}
    requires: Requirements | None = None
    raw: Mapping[str, object] = {}
