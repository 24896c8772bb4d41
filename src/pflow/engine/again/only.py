"""One step of a plan on its own, with what another run did before it."""

from __future__ import annotations

from pflow.core.errors import InputError
from pflow.core.event import StepCompleted
from pflow.core.interface import MISSING
from pflow.engine.again.name import templates_of
from pflow.engine.again.origin import Origin
from pflow.engine.plan import Plan, PlanNode


def only_plan(plan: Plan, node: PlanNode) -> Plan:
    """The plan in which nothing follows a node, and no outputs are declared: what the node gives is what is shown."""
    nodes = tuple(one._replace(edges={}, implied=()) if one is node else one for one in plan.nodes)
    return Plan(
        nodes=nodes,
        starts=plan.starts,
        name=plan.name,
        inputs=plan.inputs,
        raw=plan.raw,
        only=node.id,
        state=plan.state,
        state_scope=plan.state_scope,
        budget=plan.budget,
    )


def check_before(plan: Plan, node: PlanNode, origin: Origin) -> None:
    """Raise `InputError` if a template of the node names a step that another run has no outputs of."""
    own = () if node.batch is None else (node.batch.name, f"{node.batch.name}_index")
    given = {event.step.partition("#")[0] for event in origin.events if isinstance(event, StepCompleted)}
    missing = {
        reference.root: reference.text
        for reference in templates_of(node)
        if reference.root in plan.by_id
        and not (reference.root in plan.inputs or reference.root in own or reference.root in given)
        and reference.default is MISSING
    }
    if not missing:
        return
    names = ", ".join(f"`{text}`" for text in missing.values())
    unknown = [name for name in missing if name in origin.unknown]
    reason = "what it wrote holds a secret that is not known now" if unknown else "it did not complete there"
    them = ", ".join(f"`{name}`" for name in missing)
    raise InputError(
        f"`{origin.step}` reads {names}, and run `{origin.run_id}` has no outputs of {them}: {reason}",
        details={"missing": list(missing), "exists": sorted(given)},
        suggestions=[f"it has outputs of: {', '.join(sorted(given))}"] if given else [],
    )
