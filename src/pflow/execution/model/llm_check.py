"""Checks `llm` nodes before a run: their prompt and their schema."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.document.position import show_path
from pflow.core.json_type import TYPES
from pflow.engine.model.schema import is_field_map, response_schema
from pflow.execution.node_check import CheckedNode, Report


def check_llm(node: CheckedNode, report: Report) -> None:
    """Report what is wrong with the prompt and the schema of a node."""
    params, here = node.spec.params, ("nodes", node.index, "params")
    if params.get("prompt") == "":
        report("missing-param", f"the prompt of `{node.spec.id}` is empty", (*here, "prompt"), hint="say what is asked")
    written = params.get("schema")
    if not isinstance(written, Mapping) or not written:
        return
    path = (*here, "schema")
    if "${" in str(written):
        message = "the schema of an answer must be known when checking; templates do not apply here"
        report("template-here", message, path, hint="put what is only known in the run into `prompt`")
        return
    from pflow.execution.model.answer_check import schema_problem  # lazy: few answers have a schema

    if is_field_map(written):
        for name, field in written.items():
            kind = field.get("type") if isinstance(field, Mapping) else None
            known = TYPES.get(kind, "") if isinstance(kind, str) else ""
            if known and known != kind:
                message = f"field `{name}` of the answer cannot be of type `{kind}`"
                report("bad-schema", message, (*path, name, "type"), hint=f"write `type: {known}`")
                return
    problem, place = schema_problem(response_schema(written))
    if problem:
        inside = place[1:] if is_field_map(written) and place[:1] == ("properties",) else place
        where = f" at `{show_path(inside)}`" if inside else ""
        report(
            "bad-schema",
            f"the schema of node `{node.spec.id}` (llm) cannot be used{where}: {problem}",
            (*path, *inside),
            hint="write fields by name, such as `{title: {type: string}}`, or JSON Schema",
        )
