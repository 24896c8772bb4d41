"""A flag of a node on the command line: which field it names, and its text as a value of that field's type."""

from __future__ import annotations

from collections.abc import Sequence

from pflow.core.document import Input
from pflow.core.errors import InputError
from pflow.core.interface import Field, Interface
from pflow.engine.binding import bind_inputs
from pflow.engine.plan import Plan


def flag_name(name: str) -> str:
    """How a field is written as a flag: `max_results` as `max-results`."""
    return name.replace("_", "-")


def find_field(interface: Interface, flag: str) -> tuple[Field, bool] | None:
    """The field that a flag names, and whether it is data (a natural key) rather than configuration (a param)."""
    wanted = flag_name(flag)
    for field in interface.params:
        if flag_name(field.name) == wanted:
            return field, False
    for field in interface.reads:
        if flag_name(field.name) == wanted:
            return field, True
    if interface.open_params:
        return Field(name=flag.replace("-", "_")), False
    return None


def kinds(field: Field) -> list[str]:
    """The types that a field admits."""
    return field.type.split("|")


def read_flag(field: Field, texts: Sequence[str]) -> object:
    """What the words of a flag mean for the field; raises `ValueError` with the reason.

    Text stays text wherever the field admits text, unless it is an object or a list in JSON that the field admits
    as well. A flag of a list may be given several times. A template is checked with the document.
    """
    admitted = kinds(field)
    if "array" in admitted and (len(texts) > 1 or not texts[0].lstrip().startswith(("[", "${"))):
        if len(texts) == 1 and "string" in admitted:
            return texts[0]
        return [_word(text, _item_kinds(field)) for text in texts]
    return _word(texts[0], admitted)


def _word(text: str, admitted: Sequence[str]) -> object:
    if "${" in text or "any" in admitted:
        return text
    structured = [kind for kind in admitted if kind in ("object", "array")]
    plain = [kind for kind in ("integer", "number", "boolean") if kind in admitted]
    last = "string" if "string" in admitted else admitted[0]
    for kind in structured if "string" in admitted else [*structured, *plain]:
        try:
            return _coerce(text, kind)
        except ValueError:
            continue
    return _coerce(text, last)


def _coerce(text: str, kind: str) -> object:
    """By the rule for words of a command line, which only `bind_inputs` knows."""
    try:
        return bind_inputs(
            Plan(nodes=(), starts=(), inputs={"it": Input(type=kind)}), {"it": text}, text=True
        )["it"]
    except InputError as error:
        raise ValueError(error.message.removeprefix("input `it` ")) from error


def _item_kinds(field: Field) -> list[str]:
    items = field.schema.get("items") if field.schema else None
    kind = items.get("type") if isinstance(items, dict) else None
    return [kind] if isinstance(kind, str) else ["any"]
