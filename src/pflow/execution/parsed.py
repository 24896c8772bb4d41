"""What is known of a `parse` step before it runs: the type of its value, and whether its pattern can be used."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pflow.core.document.document import NodeSpec
from pflow.core.document.position import Path
from pflow.core.errors import StepError
from pflow.core.interface import Field

_STRING = {"type": "string"}
_FOR = {"regex": ("pattern",), "csv": ("header", "delimiter")}
"""Params that only one format has."""


def parsed_value(params: Mapping[str, object]) -> Field:
    """The output `value` of a step with these params."""
    schema = _schema(params)
    kind = "any" if schema is None else "array"
    return Field(name="value", type=kind, description="The value that the text holds", schema=schema)


def check_pattern(spec: NodeSpec, report: Callable[..., None], path: Path) -> None:
    """Report a pattern that cannot be used, and params that belong to another format."""
    kind = spec.params.get("as", "json")
    if not isinstance(kind, str) or "${" in kind:
        return
    for owner, names in _FOR.items():
        for name in names if owner != kind else ():
            if spec.params.get(name) is not None:
                message = f"parameter `{name}` of node `{spec.id}` (parse) has no effect with `as: {kind}`"
                report("no-effect", message, (*path, name), hint=f"it is for `as: {owner}`", severity="warning")
    pattern = spec.params.get("pattern")
    if kind != "regex" or not isinstance(pattern, str | None):
        return
    from pflow.nodes.data.regex import compile_pattern  # lazy: few documents have a pattern

    try:
        compile_pattern(pattern or "")
    except StepError as error:
        where = (*path, "pattern") if pattern is not None else path
        report("pattern", f"node `{spec.id}` (parse): {error.message}", where, hint=(error.suggestions or ("",))[0])


def _schema(params: Mapping[str, object]) -> dict[str, object] | None:
    kind = params.get("as", "json")
    if kind == "lines":
        return {"type": "array", "items": _STRING}
    if kind == "jsonl":
        return {"type": "array"}
    if kind == "csv":
        return {"type": "array", "items": _row(params.get("header", True))}
    if kind == "regex":
        return {"type": "array", "items": {"type": "object", **_groups(params.get("pattern"))}}
    return None


def _row(header: object) -> dict[str, object]:
    if isinstance(header, bool):
        if header:
            return {"type": "object", "additionalProperties": _STRING}
        return {"type": "array", "items": _STRING}
    return {}


def _groups(pattern: object) -> dict[str, object]:
    from pflow.nodes.data.regex import compile_pattern  # lazy: few documents have a pattern

    try:
        names = compile_pattern(pattern if isinstance(pattern, str) else "").groupindex
    except StepError:
        return {}  # it is reported where the pattern stands
    return {"properties": {name: {"type": ["string", "null"]} for name in names}}
