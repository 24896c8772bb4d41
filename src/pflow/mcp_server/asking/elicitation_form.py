"""A question as a form of the protocol, whose fields are flat and of few types, and what was filled in as a reply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import orjson

from pflow.core.advice import Advice
from pflow.core.frozen import Frozen
from pflow.core.json_type import Json
from pflow.core.printable import cut
from pflow.workspace.asking.question import Reply, Waiting, is_optional, options_of

RICH = "2025-11-25"
"""The revision from which on fields have defaults, options have titles, and several can be chosen."""

_TITLED = ("title", "description")
_KEPT = {
    "string": (*_TITLED, "minLength", "maxLength", "format"),
    "integer": (*_TITLED, "minimum", "maximum"),
    "number": (*_TITLED, "minimum", "maximum"),
    "boolean": _TITLED,
    "array": (*_TITLED, "minItems", "maxItems"),
}
"""What a form says of a field, by its type, beside its default and its options."""

_VALUE_CHARACTERS = 2_000
_SHOWN_CHARACTERS = 8_000
"""How much of one value that a question shows, and of all of them, stands in a form."""


class Filled(Frozen):
    """A form that a person has filled in, or declined to."""

    content: Mapping[str, object] = {}
    declined: bool = False

    def reply(self, waiting: Waiting) -> Reply:
        """What it says to the question that it is for."""
        return Reply(declined=True) if self.declined else reply_of(waiting, self.content)


def read_filled(response: Mapping[str, object]) -> Filled | None:
    """What a client says became of a form; None if nobody decided, or if it does not say."""
    if response.get("action") not in ("accept", "decline"):
        return None
    content = response.get("content")
    return Filled(content=content if isinstance(content, Mapping) else {}, declined=response["action"] == "decline")


def fits_form(waiting: Waiting, protocol: str) -> bool:
    """Whether a question can be asked with a form of that revision."""
    return protocol >= RICH or not any(_kind(schema) == "array" for schema in waiting.fields.values())


def message_of(waiting: Waiting) -> str:
    """What stands above the form: the question, and what it shows."""
    lines = [waiting.prompt, ""] if waiting.show else [waiting.prompt]
    room = _SHOWN_CHARACTERS
    is_whole = True
    for line in _shown(waiting.show):
        shown = cut(line, min(_VALUE_CHARACTERS, max(room, 1)))
        is_whole = is_whole and shown == line
        room -= len(shown)
        lines.append(shown)
    if not is_whole:
        lines.append(Advice("(shortened; `{show_run}` shows all of it)", run=waiting.run_id))
    return "\n".join([*lines, "", f"run {waiting.run_id}, step {waiting.place}"])


def schema_of(waiting: Waiting, protocol: str) -> Json:
    """The form itself."""
    properties: dict[str, Json] = {}
    required: list[str] = []
    if waiting.choices:
        name = _choice_name(waiting)
        properties[name] = {"type": "string", "title": "Answer", "enum": list(waiting.choices)}
        required.append(name)
    for name, schema in waiting.fields.items():
        properties[name] = _field(schema, protocol)
        if not is_optional(schema):
            required.append(name)
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def reply_of(waiting: Waiting, content: Mapping[str, object]) -> Reply:
    """The reply that a form is which was filled in."""
    name = _choice_name(waiting) if waiting.choices else None
    choice = content.get(name) if name is not None else None
    fields = {
        key: _read(waiting.fields[key], value) if key in waiting.fields else value
        for key, value in content.items()
        if key != name
    }
    return Reply(choice=None if choice is None else str(choice), fields=fields)


def _field(schema: Mapping[str, object], protocol: str) -> Json:
    kind = _kind(schema)
    options = options_of(schema) if kind != "boolean" else []
    kept = _TITLED if options and kind != "array" else _KEPT[kind]
    found: Json = {"type": kind, **{key: schema[key] for key in kept if key in schema}}
    if kind == "array":
        found["items"] = _options(schema, options, "anyOf", protocol)
    elif options:
        found |= {"type": "string", **_options(schema, options, "oneOf", protocol)}
    default = schema.get("default")
    if default is not None and (protocol >= RICH or kind == "boolean"):
        found["default"] = _write(default) if options else default
    return found


def _options(schema: Mapping[str, object], options: list[object], titled: str, protocol: str) -> Json:
    """Values to choose from, with their titles if they have any."""
    words = [_word(option) for option in options]
    titles = _titles(schema)
    if not titles:
        return {"type": "string", "enum": words}
    if protocol < RICH:
        return {"enum": words, "enumNames": [titles.get(word, word) for word in words]}
    return {titled: [{"const": word, "title": titles.get(word, word)} for word in words]}


def _titles(schema: Mapping[str, object]) -> dict[str, str]:
    for place in (schema, schema.get("items")):
        listed = place.get("oneOf", place.get("anyOf")) if isinstance(place, Mapping) else None
        if isinstance(listed, list):
            return {_word(one["const"]): str(one["title"]) for one in listed if {"const", "title"} <= one.keys()}
    return {}


def _read(schema: Mapping[str, object], value: object) -> object:
    """What was filled in, in the type of the field: a form has words where options are numbers."""
    kind = _kind(schema)
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    by_word = {_word(option): option for option in options_of(schema)} if kind != "boolean" else {}
    if isinstance(value, list):
        return [by_word.get(one, one) if isinstance(one, str) else one for one in value]
    return by_word.get(value, value) if isinstance(value, str) else value


def _write(value: object) -> object:
    return [_word(one) for one in value] if isinstance(value, list) else _word(value)


def _word(option: object) -> str:
    return option if isinstance(option, str) else orjson.dumps(option).decode()


def _kind(schema: Mapping[str, object]) -> str:
    kind = str(schema.get("type", "string"))
    return kind if kind in _KEPT else "string"


def _choice_name(waiting: Waiting) -> str:
    """The field for the choice; none of the question's own has this name."""
    name = "choice"
    while name in waiting.fields:
        name += "_"
    return name


def _shown(show: Mapping[str, object]) -> Iterator[str]:
    for name, value in show.items():
        in_lines = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
        text = value if isinstance(value, str) else orjson.dumps(value, default=str, option=in_lines).decode()
        kept = "".join(one for one in text if one in "\n\t" or one.isprintable())
        yield f"{name}:\n{kept}" if "\n" in kept else f"{name}: {kept}"
