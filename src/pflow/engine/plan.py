"""The plan: a document after checking, frozen, with everything the executor would otherwise look up per step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pflow.core.document.document import Budget, Input, KeyMapping, MaxFailed, Retry, StateKey
from pflow.core.event import Section
from pflow.core.frozen import Frozen
from pflow.core.interface import Purity
from pflow.core.rate import Rate
from pflow.engine.credential import Credentials, find_credentials
from pflow.engine.graph import predecessors, without_loops

if TYPE_CHECKING:
    from pflow.core.template.compiled import Compiled, JsonIn, Lookup

MAX_VISITS = 1000
"""Steps of one node in a run, unless the document says otherwise; a loop that does not end stops there."""

DONE = "done"
"""The output of a batch that is put together from its items and results where a template names it."""

MAX_DEPTH = 20
"""Levels of sub-workflows."""


class PlanBatch(Frozen):
    """A batch node's items and how to go through them."""

    items: Compiled
    name: str
    concurrency: int
    keep_going: bool
    max_failed: MaxFailed | None = None
    spread: bool = False
    where: Compiled | None = None


class Approve(Frozen):
    """What a person is asked before a step takes effect; without a prompt, whether it may. `timeout` is in seconds."""

    prompt: Compiled | None = None
    timeout: float | None = None


class PlanNode(Frozen):
    """One node of a plan.

    `make` imports and builds the PocketFlow node. `definition` identifies what would run: type, code, params
    as written, batch, mapping; `former` gives the definitions under which earlier releases recorded the same work,
    and is asked only where there is such a record. `implied` are the actions whose edges the order of the document
    added. Where `when` gives false, the node is skipped. `trusted` nodes are known not to change values in place.
    `reads` are natural keys that count as inputs. `outputs` are declared types that what it writes is held to. A
    sub-workflow has a `child` and no `make`. `server` is the MCP server it calls. `json_in` reads the JSON in a
    `result` that is text, for templates that lead into it. `missing` says what a node that is only to be looked at
    lacks; nodes that run lack nothing. A node with a `choice` is not of the document: it stands behind one and decides
    which of its edges is taken; `labels` are their conditions. `until` is the condition that what an attempt gave must
    meet. `limit` is how often it may start. `only_reads` says of an impure node, once its params are known, whether it
    only reads. `approve` is asked before it takes effect. A node that `may_wait` can ask or wait, itself or inside.
    What a node that `sets_state` is given goes into the state of its workflow. One that `asks_model` may ask a language
    model.
    """

    id: str
    number: int
    type: str
    params: Compiled
    definition: str
    node_hash: str
    edges: Mapping[str, tuple[int, ...]]
    implied: tuple[str, ...] = ()
    when: Compiled | None = None
    choice: Compiled | None = None
    labels: Mapping[str, str] = {}
    make: Callable[[], Any] | None = None
    former: Callable[[], tuple[str, ...]] | None = None
    child: Plan | None = None
    purity: Purity = "impure"
    trusted: bool = False
    reads: tuple[str, ...] = ()
    outputs: Mapping[str, str] = {}
    batch: PlanBatch | None = None
    retry: Retry | None = None
    until: Compiled | None = None
    timeout: float | None = None
    limit: Rate | None = None
    only_reads: Callable[[Lookup], bool] | None = None
    max_visits: int = MAX_VISITS
    approve: Approve | None = None
    may_wait: bool = False
    mapping: KeyMapping | None = None
    server: str = ""
    json_in: JsonIn | None = None
    missing: str = ""
    sets_state: bool = False
    asks_model: bool = False


class Plan:
    """A whole plan. `outputs` are compiled sources by name; `raw` is the document it came from.

    `sections` have the node that each begins with. `timeout` is in seconds, for the main part. `only` is the one node
    that runs, where a step is tried out on its own. `state` is what it keeps between runs, under `state_scope`.
    `budget` is for language models.
    """

    def __init__(
        self,
        *,
        nodes: tuple[PlanNode, ...],
        starts: tuple[int, ...],
        name: str = "",
        inputs: Mapping[str, Input] | None = None,
        outputs: Mapping[str, Compiled] | None = None,
        raw: Mapping[str, object] | None = None,
        sections: Mapping[Section, int] | None = None,
        timeout: float | None = None,
        only: str = "",
        state: Mapping[str, StateKey] | None = None,
        state_scope: str = "",
        budget: Budget | None = None,
    ) -> None:
        self.nodes = nodes
        self.starts = starts
        self.name = name
        self.inputs = inputs or {}
        self.outputs = outputs or {}
        self.raw = raw or {}
        self.sections = sections or {}
        self.timeout = timeout
        self.only = only
        self.state = state or {}
        self.state_scope = state_scope
        self.budget = budget

    @cached_property
    def successors(self) -> tuple[Sequence[int], ...]:
        """Targets of each node, over all actions."""
        return tuple(
            tuple(dict.fromkeys(target for targets in node.edges.values() for target in targets)) for node in self.nodes
        )

    @cached_property
    def ahead(self) -> tuple[Sequence[int], ...]:
        """Targets of each node, without the edges that close a loop."""
        return without_loops(self.successors, self.starts)

    @cached_property
    def predecessors(self) -> tuple[tuple[int, ...], ...]:
        """The nodes with an edge to each node."""
        return predecessors(self.successors)

    def section_of(self, number: int) -> Section | None:
        """The section that a node belongs to; None for the main part."""
        return self._members.get(number)

    @cached_property
    def _members(self) -> Mapping[int, Section]:
        found: dict[int, Section] = {}
        for section, first in self.sections.items():
            left = [first]
            while left:
                node = left.pop()
                if node not in found:
                    found[node] = section
                    left += self.successors[node]
        return found

    @cached_property
    def servers(self) -> tuple[str, ...]:
        """The MCP servers that a run is sure to need. Pure nodes do not count: they may come from the cache."""
        sure = [node for node in self.nodes if self.section_of(node.number) != "on_failure"]
        own = [node.server for node in sure if node.server and node.purity != "pure"]
        inner = [server for node in sure if node.child is not None for server in node.child.servers]
        return tuple(dict.fromkeys([*own, *inner]))

    @cached_property
    def keeps(self) -> Mapping[str, Mapping[str, StateKey]]:
        """What it and its sub-workflows keep between runs, by scope."""
        found: dict[str, dict[str, StateKey]] = {self.state_scope: dict(self.state)} if self.state else {}
        for node in self.nodes:
            for scope, keys in node.child.keeps.items() if node.child is not None else ():
                found[scope] = {**keys, **found.get(scope, {})}
        return found

    @cached_property
    def credentials(self) -> Credentials:
        """What its document tells of its credentials."""
        return find_credentials(self)

    @cached_property
    def passes_on(self) -> bool:
        """Whether a node may have nothing of its own to give: it can be skipped, or it only sets state."""
        return any(node.when is not None or node.choice is not None or node.sets_state for node in self.nodes)

    @cached_property
    def may_wait(self) -> bool:
        """Whether a step can ask or wait."""
        return any(node.may_wait for node in self.nodes)

    @cached_property
    def asks_models(self) -> bool:
        """Whether a step can ask a language model, here or in a sub-workflow."""
        return any(node.asks_model or (node.child is not None and node.child.asks_models) for node in self.nodes)

    @cached_property
    def drawn(self) -> Plan:
        """The plan with the nodes of its document alone: conditions stand on their edges."""
        if all(node.choice is None for node in self.nodes):
            return self
        nodes = tuple(node._replace(edges=self._drawn_edges(node)) for node in self.nodes if node.choice is None)
        return Plan(
            nodes=nodes,
            starts=self.starts,
            name=self.name,
            inputs=self.inputs,
            outputs=self.outputs,
            raw=self.raw,
            sections=self.sections,
            timeout=self.timeout,
            state=self.state,
            state_scope=self.state_scope,
            budget=self.budget,
        )

    def _drawn_edges(self, node: PlanNode) -> dict[str, tuple[int, ...]]:
        edges: dict[str, tuple[int, ...]] = {}
        for action, targets in node.edges.items():
            inner = self.nodes[targets[0]] if targets else node
            if inner.choice is None:
                edges[action] = targets
                continue
            before = "" if action == "default" else f"{action}, "
            edges |= {before + inner.labels[case]: found for case, found in inner.edges.items() if case in inner.labels}
        return edges

    @cached_property
    def has_json_text(self) -> bool:
        """Whether a path can lead into the text of a result."""
        return any(node.json_in is not None for node in self.nodes)

    @cached_property
    def reads_done(self) -> bool:
        """Whether a template names what a batch got done, with its items."""
        batches = [part for node in self.nodes if node.batch for part in (node.batch.items, node.batch.where)]
        parts = (
            (node.params, node.when, node.choice, node.until, node.approve and node.approve.prompt)
            for node in self.nodes
        )
        sources = [source for found in (*parts, batches) for source in found if source]
        references = (one for source in (*sources, *self.outputs.values()) for one in source.references)
        return any(reference.path[:1] == (DONE,) for reference in references)

    @cached_property
    def by_id(self) -> Mapping[str, PlanNode]:
        """Nodes by id."""
        return {node.id: node for node in self.nodes}
