"""What a document declares that it keeps: under which name, of which types, and what names something else."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from pflow.core.document.document import Document, StateKey
from pflow.core.document.issue import NO_SCOPE, Issue
from pflow.core.document.position import Path, Places
from pflow.core.document.state_key import SCOPE
from pflow.core.interface import Field, Interface
from pflow.core.suggest import did_you_mean
from pflow.engine.plan import Plan
from pflow.engine.value import digest
from pflow.execution.node_check import CheckedNode, Report


def find_scope(document: Document, name: str | None, report: Report) -> str:
    """The scope of a document's state, "" if it has none: such a document can be saved, and not run.

    `name` is the document's own. One that stands in place, for which it is None, cannot get one: that is reported.
    """
    if document.state and name is None:
        report(
            NO_SCOPE,
            "a workflow inside of a document has no name, and keeps nothing between runs",
            ("state",),
            hint="save it, and include it by its name; or declare the state in the document around it",
        )
    return document.state_scope or name or ""


def unnamed_state(plan: Plan, places: Places) -> Issue:
    """The issue of a plan that keeps state, itself or in a workflow that it includes, under no name."""
    path: Path = ("state",)
    what = "the document"
    if plan.state_scope or not plan.state:
        node = next(node for node in plan.nodes if node.child is not None and "" in node.child.keeps)
        path, what = ("nodes", node.number, "params", "workflow"), f"the workflow of node `{node.id}`"
    hint = f"give the document a `name`, or its `state` a `{SCOPE}`; a saved workflow has its own name"
    return places.issue(NO_SCOPE, f"{what} keeps state, and nothing says under which name", path, hint=hint)


def give_interface(node: CheckedNode, document: Document, scope: str) -> None:
    """Let a node that sets state take what the document declares, instead of anything.

    What it sets under another name, or as another type, is other work.
    """
    state = document.state.items()
    fields = tuple(Field(name=name, type=key.type, description=key.description) for name, key in state)
    node.sets_state = True
    node.interface = Interface(params=fields, actions=("default", "error"), purity="read")
    keys = [[name, key.type, key.merge, key.commit] for name, key in state if name in node.spec.params]
    node.own_hash = digest(orjson.dumps([node.entry.node_hash if node.entry else "", scope, keys]))


def report_unknown_key(node: CheckedNode, document: Document, name: str, path: Path, report: Report) -> None:
    """Report a value that is set and is not declared."""
    message = f"node `{node.spec.id}` sets `{name}`, which the `state` of the document does not declare"
    hint = did_you_mean(name, document.state) or how_to_declare(name)
    report("unknown-param", message, path, known=known_keys(document.state), hint=hint)


def known_keys(state: Mapping[str, StateKey]) -> tuple[str, ...]:
    """The declared names with their types."""
    return tuple(f"{name} ({key.type})" for name, key in state.items())


def how_to_declare(*names: str) -> str:
    """What to do about state that is not declared."""
    keys = ", ".join(f"{name}: {{type: …, default: …}}" for name in names) or "…"
    return f"declare it in the document: `state: {{{keys}}}`"
