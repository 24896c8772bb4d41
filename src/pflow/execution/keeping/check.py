"""Whether what the steps of a document set can be kept: declared, of its type, and not lost to another step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pflow.core.document.document import Document, StateKey
from pflow.core.document.issue import Severity
from pflow.core.document.position import Path
from pflow.core.frozen import Frozen
from pflow.core.json_type import with_article
from pflow.engine.plan import Plan
from pflow.execution.keeping.declared import how_to_declare
from pflow.execution.keeping.parallel import Parallel
from pflow.execution.node_check import CheckedNode, Report


class Setting(Frozen):
    """A value that a node sets, itself or in the workflow that it runs."""

    node: CheckedNode
    name: str
    key: StateKey
    path: Path
    is_inside: bool = False


def check_sets(
    document: Document, scope: str, nodes: Sequence[CheckedNode], starts: Sequence[int], report: Report
) -> None:
    """Report what is set and would be lost, or could be set by two steps at once."""
    for node in nodes:
        if node.sets_state:
            _check_node(node, document, report)
    found = [(scoped, one) for node in nodes for scoped, one in _settings(node, document, scope)]
    if not found:
        return
    _check_shared(found, report)
    for (kept_by, name), one in found:
        _check_section(kept_by, name, one, report)
        batch = one.node.spec.batch
        if batch is not None and batch.concurrency > 1 and not one.key.merge:
            message = f"several items of `{one.node.spec.id}` may set `{name}` at the same time, and only one is kept"
            _lost(one, message, report)
    _check_parallel(found, nodes, starts, report)


def _check_node(node: CheckedNode, document: Document, report: Report) -> None:
    path: Path = ("nodes", node.index)
    if not document.state:
        message = f"node `{node.spec.id}` sets state, and the document declares none"
        report("missing-field", message, path, hint=how_to_declare(*node.spec.params))
    elif not node.spec.params:
        report("missing-param", f"node `{node.spec.id}` sets nothing", path, known=tuple(document.state))
    if node.spec.batch is not None:
        report(
            "unexpected-field",
            f"`{node.spec.id}` sets state, which is not done once per item",
            (*path, "batch"),
            hint="collect the values first, with a `let` or a `map`, and set them together",
        )
    for name, value in node.spec.params.items():
        key = document.state.get(name)
        if value is None and key is not None and key.type != "any":
            report("wrong-type", f"`{name}` must be {with_article(key.type)}, not null", (*path, "params", name))


def _settings(node: CheckedNode, document: Document, scope: str) -> Iterator[tuple[tuple[str, str], Setting]]:
    """What a node sets, by the scope and the name that it has there."""
    path: Path = ("nodes", node.index)
    if node.sets_state:
        for name in node.spec.params:
            if name in document.state:
                key = document.state[name]
                yield (scope, name), Setting(node=node, name=name, key=key, path=(*path, "params", name))
    elif node.child is not None:
        for (inner, name), key in settings_of(node.child).items():
            yield (inner, name), Setting(node=node, name=name, key=key, path=path, is_inside=True)


def settings_of(plan: Plan) -> Mapping[tuple[str, str], StateKey]:
    """What the steps of a plan set, those in its sub-workflows as well."""
    found: dict[tuple[str, str], StateKey] = {}
    for node in plan.nodes:
        if node.sets_state:
            found |= {(plan.state_scope, name): plan.state[name] for name in node.params.named() if name in plan.state}
        elif node.child is not None:
            found |= settings_of(node.child)
    return found


def _check_shared(found: Sequence[tuple[tuple[str, str], Setting]], report: Report) -> None:
    """Report one value that is declared in two ways by workflows that share a scope."""
    declared: dict[tuple[str, str], Setting] = {}
    for scoped, one in found:
        other = declared.setdefault(scoped, one)
        facts = ("type", "merge", "keep", "commit")
        if any(getattr(other.key, fact) != getattr(one.key, fact) for fact in facts):
            message = f"`{one.name}` of `{scoped[0]}` is declared differently where `{other.node.spec.id}` sets it"
            report("name-clash", message, one.path, hint="declare it alike wherever the scope is shared")


def _check_section(scope: str, name: str, one: Setting, report: Report) -> None:
    if one.node.section != "on_failure" or one.key.commit == "step":
        return
    what = f"`{one.node.spec.id}` sets `{name}`" + (f" of `{scope}`" if one.is_inside else "")
    report(
        "never-kept",
        f"{what} after a failure, and a run that failed keeps nothing",
        one.path,
        hint=f"declare `{name}` with `commit: step`, which keeps it as soon as it is set",
        severity="warning" if one.is_inside else "error",
    )


def _check_parallel(
    found: Sequence[tuple[tuple[str, str], Setting]],
    nodes: Sequence[CheckedNode],
    starts: Sequence[int],
    report: Report,
) -> None:
    """Report settings of one value, not merged, in branches that run at the same time."""
    by_name: dict[tuple[str, str], dict[int, Setting]] = {}
    for scoped, one in found:
        if not one.key.merge:
            by_name.setdefault(scoped, {})[one.node.index] = one
    several = [settings for settings in by_name.values() if len(settings) > 1]
    if not several:
        return
    forks = Parallel(nodes, starts)
    for settings in several:
        earlier = 0
        for index, one in sorted(settings.items()):
            other = forks.first_beside(index, earlier)
            earlier |= 1 << index
            if other is not None:
                ids = f"`{nodes[other].spec.id}` and `{one.node.spec.id}`"
                has_when = bool(one.node.spec.when or nodes[other].spec.when)
                message = f"{ids} may set `{one.name}` at the same time, and only one of the two is kept"
                _lost(one, message, report, "warning" if has_when else "error")


def _lost(one: Setting, message: str, report: Report, severity: Severity = "error") -> None:
    hint = f"declare how the values of `{one.name}` `merge`: `add`, `max` or `union`; or set it in one place"
    report("parallel-state", message, one.path, hint=hint, severity=severity)
