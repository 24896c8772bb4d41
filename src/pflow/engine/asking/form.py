"""Which answers a question takes: reads what somebody gives, in whatever door, and says what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TypeVar

import orjson

from pflow.core.errors import InputError
from pflow.core.event import Settled
from pflow.core.frozen import Frozen
from pflow.core.json_type import describe, fits, with_article
from pflow.core.printable import shorten
from pflow.core.suggest import did_you_mean
from pflow.engine.binding import coerce_text

T = TypeVar("T")

MOST_BYTES = 64 << 10
"""Of JSON, for one answer."""

MOST_LENT_BYTES = 1 << 20
"""Of JSON, for the answer to a prompt."""

YES, NO = "yes", "no"
"""The choices of an approval."""

_FORMATS = {
    "email": r"[^@\s]+@[^@\s]+\.[^@\s]+",
    "uri": r"[a-zA-Z][a-zA-Z0-9+.-]*:\S+",
    "date": r"\d{4}-\d{2}-\d{2}",
    "date-time": r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?([Zz]|[+-]\d{2}:?\d{2})?",
}

FORMATS = tuple(_FORMATS)
"""Formats that a field of text can have."""


class Reply(Frozen):
    """What somebody says to a question, not yet checked: a choice, values of fields, or that they decline.

    An agent that answers a prompt may give a `value` that is not fields: text, a list, a number.
    """

    choice: str | None = None
    fields: Mapping[str, object] = {}
    declined: bool = False
    value: object = None


def choices_of(form: Mapping[str, object]) -> tuple[str, ...]:
    """The choices of a question."""
    found = form.get("choices")
    return tuple(str(one) for one in found) if isinstance(found, list | tuple) else ()


def fields_of(form: Mapping[str, object]) -> Mapping[str, Mapping[str, object]]:
    """The fields of a question, each with its schema."""
    found = form.get("fields")
    if not isinstance(found, Mapping):
        return {}
    return {str(name): schema if isinstance(schema, Mapping) else {} for name, schema in found.items()}


def schema_of(form: Mapping[str, object]) -> Mapping[str, object] | None:
    """The JSON Schema that the answer to a prompt must fit; None if it is a question with choices or fields."""
    found = form.get("schema")
    return found if isinstance(found, Mapping) else None


def is_optional(schema: Mapping[str, object]) -> bool:
    """Whether a field may be left out."""
    return "default" in schema or schema.get("required") is False


def read_reply(form: Mapping[str, object], reply: Reply, *, text: bool = False) -> dict[str, object]:
    """The answer that a reply is: `choice` and `answer`, with defaults; with `text` its values are words.

    Raises `InputError` that says what can be answered.
    """
    schema = schema_of(form)
    if schema is not None:
        return {"answer": fitting(_value(schema, reply, text), MOST_LENT_BYTES)}
    if reply.value is not None:
        raise InputError(f"the answer is not an object of fields but {describe(reply.value)}")
    choices, fields = choices_of(form), fields_of(form)
    choice = _choice(choices, reply.choice)
    unknown = [name for name in reply.fields if name not in fields]
    if unknown:
        raise InputError(
            f"the question has no field `{shorten(unknown[0])}`",
            details={"fields": list(fields)},
            suggestions=[did_you_mean(unknown[0], fields) or _list_fields(fields)],
        )
    answer = {name: _field(name, schema, reply.fields, text) for name, schema in fields.items()}
    answer = {name: value for name, value in answer.items() if value is not None}
    found: dict[str, object] = {} if choice is None else {"choice": choice}
    if fields:
        found["answer"] = answer
    return fitting(found, MOST_BYTES)


def fitting(found: T, most: int = MOST_BYTES, what: str = "answer") -> T:
    """What somebody says, if it is JSON of a size that a journal takes; raises `InputError`."""
    try:
        size = len(orjson.dumps(found))
    except TypeError as error:
        raise InputError(f"the {what} is not JSON: {error}") from None
    if size > most:
        raise InputError(f"the {what} is larger than {most >> 10} kB", suggestions=["give the path of a file instead"])
    return found


def _value(schema: Mapping[str, object], reply: Reply, text: bool) -> object:
    """The value that a reply to a prompt gives. What words mean depends on the schema."""
    if reply.value is not None:
        return reply.value
    if reply.choice is not None and reply.fields:
        raise InputError("the answer is given twice: as a value, and as fields", suggestions=["leave one of them out"])
    if reply.choice is not None:
        return reply.choice if schema.get("type") == "string" else _read_json(reply.choice)
    if not reply.fields and (text or schema.get("type") == "string"):
        raise InputError("the answer is missing", suggestions=["give it as text, as JSON, or as `name=value`"])
    if not text:
        return dict(reply.fields)
    inner = schema.get("properties")
    return {
        name: _word(value, inner.get(name) if isinstance(inner, Mapping) else None)
        for name, value in reply.fields.items()
    }


def _word(value: object, schema: object) -> object:
    """A word of a command line as the value of a field."""
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    if not isinstance(value, str) or kind in (None, "string") or isinstance(kind, list):
        return value
    return _read_json(value)


def _read_json(word: str) -> object:
    try:
        found: object = orjson.loads(word)
    except ValueError:
        return word  # the check of the schema says what it should be
    return found


def settle_reply(form: Mapping[str, object], reply: Reply, *, text: bool = False) -> tuple[Settled, dict[str, object]]:
    """How a reply ends a question, and the answer that it is. Who says `no` to an approval declines."""
    if reply.declined:
        return "declined", {}
    answer = read_reply(form, reply, text=text)
    if form.get("approve") is True and answer.get("choice") == NO:
        return "declined", {}
    return "answered", answer


def _choice(choices: tuple[str, ...], given: str | None) -> str | None:
    if not choices:
        if given is not None:
            raise InputError(
                f"the question has no choices, so it cannot be answered with `{shorten(given)}`",
                suggestions=["give its fields as `name=value`"],
            )
        return None
    listed = ", ".join(f"`{choice}`" for choice in choices)
    if given is None:
        raise InputError(
            "no choice was given", details={"choices": list(choices)}, suggestions=[f"choose one of {listed}"]
        )
    found = [choice for choice in choices if choice == given] or [
        choice for choice in choices if choice.lower() == given.lower()
    ]
    if len(found) == 1:
        return found[0]
    raise InputError(
        f"`{shorten(given)}` is not one of the choices: {listed}",
        details={"choices": list(choices)},
        suggestions=filter_empty([did_you_mean(given, choices)]),
    )


def _field(name: str, schema: Mapping[str, object], given: Mapping[str, object], text: bool) -> object:
    value = given.get(name)
    if value is None:
        if not is_optional(schema):
            raise InputError(f"the field `{name}` was not given", suggestions=[_describe(name, schema)])
        return schema.get("default")
    kind = str(schema.get("type", "string"))
    if text and isinstance(value, str):
        several = kind == "array" and not value.lstrip().startswith("[")
        value = _listed(value, options_of(schema)) if several else coerce_text(value, kind, name)
    for problem in field_problems(schema, value):
        raise InputError(f"`{name}` {problem}", suggestions=[_describe(name, schema)])
    return value


def _listed(text: str, options: list[object]) -> list[object]:
    """Several of the options, as people write them: `a, b`."""
    words = [word.strip() for word in text.split(",")]
    return [next((option for option in options if str(option) == word), word) for word in words if word]


def field_problems(schema: Mapping[str, object], value: object) -> Iterator[str]:
    """What is wrong with the value of a field."""
    kind = str(schema.get("type", "string"))
    if not fits(value, kind):
        yield f"must be {kind}, not {describe(value)}"
        return
    known = options_of(schema)
    chosen = value if kind == "array" and isinstance(value, list) else [value]
    for one in chosen if known else ():
        if one not in known:
            yield f"cannot be `{shorten(str(one))}`; it is one of {', '.join(f'`{option}`' for option in known)}"
    if isinstance(value, str):
        yield from _text_problems(schema, value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        low, high = schema.get("minimum"), schema.get("maximum")
        if isinstance(low, int | float) and value < low:
            yield f"must be at least {low:g}"
        if isinstance(high, int | float) and value > high:
            yield f"must be at most {high:g}"


def options_of(schema: Mapping[str, object]) -> list[object]:
    """The values that a field can have, if they are listed."""
    for place in (schema, schema.get("items")):
        if isinstance(place, Mapping):
            listed = place.get("enum")
            titled = place.get("oneOf", place.get("anyOf"))
            if isinstance(listed, list):
                return listed
            if isinstance(titled, list):
                return [one.get("const") for one in titled if isinstance(one, Mapping)]
    return []


def _text_problems(schema: Mapping[str, object], value: str) -> Iterator[str]:
    least, most = schema.get("minLength"), schema.get("maxLength")
    if isinstance(least, int) and len(value) < least:
        yield f"must have at least {least} characters" if value or least > 1 else "must not be empty"
    if isinstance(most, int) and len(value) > most:
        yield f"must have at most {most} characters"
    wanted = schema.get("format")
    if isinstance(wanted, str) and wanted in _FORMATS and not re.fullmatch(_FORMATS[wanted], value):
        yield f"must be {_article(wanted)} {wanted}"


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"


def _describe(name: str, schema: Mapping[str, object]) -> str:
    options = options_of(schema)
    listed = f", one of {', '.join(f'`{option}`' for option in options)}" if options else ""
    about = schema.get("description") or schema.get("title")
    kind = with_article(str(schema.get("type", "string")))
    return f"`{name}` takes {kind}{listed}" + (f": {about}" if about else "")


def _list_fields(fields: Mapping[str, object]) -> str:
    return f"it has: {', '.join(f'`{name}`' for name in fields)}" if fields else "it takes a choice only"


def filter_empty(suggestions: list[str]) -> list[str]:
    """Those that say something."""
    return [one for one in suggestions if one]
