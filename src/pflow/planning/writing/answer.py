"""What a model's answers may be, and reading them strictly: whatever does not fit is a sentence about it, no guess."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pflow.core.frozen import Frozen
from pflow.core.json_type import type_of
from pflow.core.printable import cut, shorten
from pflow.engine.model.llm import Completion

MOST_ANSWER_CHARACTERS = 200_000
"""An answer that is longer is not looked at."""

_MOST_INPUTS = 100
_HEAD_CHARACTERS = 200
_PROSE_CHARACTERS = 1_000
_FENCED = re.compile(r"\A\s*```[a-z]*\n(.*?)\n?```\s*\Z", re.DOTALL)

_INPUTS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "value": {"type": "string"}},
        "required": ["name", "value"],
        "additionalProperties": False,
    },
}
_TEXT = {"type": "string"}


def _object(**properties: object) -> Mapping[str, object]:
    """The schema of an object that has all of these and nothing else, as providers demand for strict answers."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


CHOICE = _object(
    reasoning=_TEXT,
    selection_type={"type": "string", "enum": ["existing_workflow", "new_composition"]},
    workflow=_TEXT,
    inputs=_INPUTS,
    chosen_nodes={"type": "array", "items": _TEXT},
    flow_structure=_TEXT,
)
WRITTEN = _object(document=_TEXT, inputs=_INPUTS, why=_TEXT)


class Choice(Frozen):
    """What a model chose: a saved workflow with inputs, or node types to write a new one with."""

    workflow: str
    inputs: Mapping[str, str]
    types: tuple[str, ...]
    reason: str
    structure: str


class Written(Frozen):
    """A document that a model wrote, as text, with values for its inputs."""

    text: str
    inputs: Mapping[str, str]
    why: str


class Unusable(Frozen):
    """An answer that has not the form that was asked for, and why."""

    reason: str
    head: str


def read_choice(completion: Completion) -> Choice | Unusable:
    """What was chosen."""
    value = _object_of(completion)
    if isinstance(value, Unusable):
        return value
    types, is_existing = value.get("chosen_nodes"), value.get("selection_type") == "existing_workflow"
    workflow = value.get("workflow") if is_existing else ""
    if not isinstance(workflow, str) or (is_existing and not workflow):
        return _unusable(completion, "it names no saved workflow")
    if not isinstance(types, list) or not all(isinstance(name, str) for name in types):
        return _unusable(completion, "`chosen_nodes` is not a list of names")
    return Choice(
        workflow=workflow,
        inputs=_inputs(value),
        types=tuple(dict.fromkeys(map(str, types))),
        reason=_text(value, "reasoning"),
        structure=_text(value, "flow_structure"),
    )


def read_written(completion: Completion) -> Written | Unusable:
    """The document that was written, not yet parsed."""
    value = _object_of(completion)
    if isinstance(value, Unusable):
        return value
    document = value.get("document")
    if not isinstance(document, str) or not document.strip():
        found = "empty" if document == "" else type_of(document)
        return _unusable(completion, f"`document` is not the text of a document but {found}")
    fenced = _FENCED.match(document)
    return Written(text=fenced[1] if fenced else document, inputs=_inputs(value), why=_text(value, "why"))


def _object_of(completion: Completion) -> Mapping[str, object] | Unusable:
    if len(completion.text) > MOST_ANSWER_CHARACTERS:
        size = f"{len(completion.text):,} characters; at most {MOST_ANSWER_CHARACTERS:,} are read"
        return _unusable(completion, f"it has {size}")
    value = completion.value
    if isinstance(value, Mapping):
        return value
    return _unusable(completion, "it is not a JSON object" if completion.text.strip() else "it is empty")


def _unusable(completion: Completion, reason: str) -> Unusable:
    return Unusable(reason=reason, head=shorten(completion.text, _HEAD_CHARACTERS))


def _inputs(value: Mapping[str, object]) -> dict[str, str]:
    """Values of inputs; entries of another form are left out, and the inputs are then missing."""
    listed = value.get("inputs")
    entries = (
        [entry for entry in listed[:_MOST_INPUTS] if isinstance(entry, Mapping)] if isinstance(listed, list) else []
    )
    pairs = [(entry.get("name"), entry.get("value")) for entry in entries]
    return {name: given for name, given in pairs if isinstance(name, str) and isinstance(given, str)}


def _text(value: Mapping[str, object], name: str) -> str:
    found = value.get(name)
    return cut(found, _PROSE_CHARACTERS) if isinstance(found, str) else ""
