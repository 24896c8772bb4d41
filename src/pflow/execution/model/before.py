"""Whether a run is sure to need a language model that is not there: then it does not begin."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.engine.model.desk import no_model
from pflow.engine.plan import Plan
from pflow.execution.wiring import Wiring


def check_models(wiring: Wiring, plan: Plan) -> None:
    """Raise `NoModelError` if a step that always runs would find nobody to answer it.

    Where there are several ways, or the model is only known in the run, the step itself says so.
    """
    if wiring.lends or plan.only or not _has_one_way(plan):
        return
    llm = wiring.services.llm()
    for node in plan.nodes:
        model = _model_of(plan, node.number) if node.asks_model and plan.section_of(node.number) is None else None
        if model is not None and (llm is None or not llm.is_available(model)):
            raise no_model(model, node.id)


def _has_one_way(plan: Plan) -> bool:
    return all(node.when is None and node.choice is None and node.edges.keys() <= {"default"} for node in plan.nodes)


def _model_of(plan: Plan, number: int) -> str | None:
    """The model that a node names; None if only the run knows."""
    document = plan.raw.get("document")
    nodes = document.get("nodes") if isinstance(document, Mapping) else None
    node = nodes[number] if isinstance(nodes, list) else None
    params = node.get("params") if isinstance(node, Mapping) else None
    model = params.get("model") if isinstance(params, Mapping) else None
    if model is None:
        return ""
    return model if isinstance(model, str) and "${" not in model else None
