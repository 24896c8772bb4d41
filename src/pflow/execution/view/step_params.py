"""The parameters of a step as its node got them, put together from its document and what the run recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pflow.core.json_type import JsonView, objects_in
from pflow.core.template.compiled import Reference, as_text
from pflow.core.template.template import split_text

_MISSING = object()
Find = Callable[[str], object]


def params_of(document: object, node: str) -> Mapping[str, object]:
    """What a document gives a node, as it is written there."""
    for one in objects_in(document.get("nodes")) if isinstance(document, Mapping) else ():
        if one.get("id") == node:
            params = one.get("params")
            return params if isinstance(params, Mapping) else {}
    return {}


def fill_in(value: object, trace: JsonView, entry: JsonView) -> object:
    """A value of a document with what its templates named. What is not known, or is large, stays a template."""
    return _fill(value, lambda root: _look_up(root, trace, entry))


def _fill(value: object, find: Find) -> object:
    if isinstance(value, Mapping):
        return {str(name): _fill(part, find) for name, part in value.items()}
    if isinstance(value, list):
        return [_fill(part, find) for part in value]
    if not isinstance(value, str) or "${" not in value:
        return value
    parts, problems = split_text(value)
    if problems:
        return value
    found = [part if isinstance(part, str) else _value_of(part, find) for part in parts]
    if len(found) == 1 and found[0] is not _MISSING:
        return found[0]
    return "".join(_text_of(part, shown) for part, shown in zip(parts, found, strict=True))


def _text_of(part: str | Reference, shown: object) -> str:
    if isinstance(part, str):
        return part
    is_known = shown is not _MISSING and not (isinstance(shown, Mapping) and "$value" in shown)
    return as_text(shown) if is_known else part.text


def _value_of(reference: Reference, find: Find) -> object:
    value = find(reference.root)
    for key in reference.path:
        if isinstance(value, Mapping) and "$value" in value:
            return _MISSING
        if isinstance(value, Mapping) and str(key) in value:
            value = value[str(key)]
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        else:
            return _MISSING
    return value


def _look_up(root: str, trace: JsonView, entry: JsonView) -> object:
    """What a name stood for when a step began: an input, or the outputs of the last step of that node before it."""
    if root == "run":
        return {"id": trace.get("run_id"), "name": trace.get("workflow")}
    inputs = trace.get("inputs")
    if isinstance(inputs, Mapping) and root in inputs:
        return inputs[root]
    found: object = _MISSING
    for other in objects_in(trace.get("steps")):
        if other.get("step") == entry.get("step"):
            break
        if other.get("node") == root and "/" not in str(other.get("step")) and "outputs" in other:
            found = other["outputs"]
    return found
