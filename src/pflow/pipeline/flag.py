"""A flag of a node on the command line: which field it names, and its words as a value of that field."""

from __future__ import annotations

from collections.abc import Sequence

from pflow.core.interface import Field, Interface
from pflow.engine.binding import coerce_text


def flag_name(name: str) -> str:
    """How a field is written as a flag: `max_results` as `max-results`."""
    return name.replace("_", "-")


def find_field(interface: Interface, flag: str) -> tuple[Field, bool] | None:
    """The field that a flag names, and whether it is data (a natural key) rather than configuration."""
    wanted = flag_name(flag)
    for fields, is_data in ((interface.params, False), (interface.reads, True)):
        for field in fields:
            if flag_name(field.name) == wanted:
                return field, is_data
    return (Field(name=flag.replace("-", "_")), False) if interface.open_params else None


def is_open(interface: Interface, flag: str) -> bool:
    """Whether a flag is admitted only because the node takes any parameter."""
    found = find_field(interface, flag)
    return found is not None and found[0] not in (*interface.params, *interface.reads)


def kinds(field: Field) -> list[str]:
    """The types that a field admits."""
    return field.type.split("|")


def takes_several(field: Field) -> bool:
    """Whether a flag may be given once per item. What takes text as well is given once, as that."""
    return "array" in kinds(field) and "string" not in kinds(field)


def read_flag(field: Field, texts: Sequence[str]) -> object:
    """What the words of a flag mean for the field; raises `InputError`.

    A flag of a list may be given once per item, or once with the list as JSON. A template stays as it is: it
    is checked with the document.
    """
    name = f"--{flag_name(field.name)}"
    is_list = len(texts) > 1 or not texts[0].lstrip().startswith(("[", "${"))
    if is_list and takes_several(field):
        return [_word(text, _item_type(field), name) for text in texts]
    return _word(texts[0], field.type, name)


def _word(text: str, kind: str, name: str) -> object:
    return text if "${" in text else coerce_text(text, kind, name)


def _item_type(field: Field) -> str:
    items = field.schema.get("items") if field.schema else None
    kind = items.get("type") if isinstance(items, dict) else None
    return kind if isinstance(kind, str) else "any"
