"""What a node type takes, gives and may do: the one description that checking, help and discovery share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, get_args

from pflow.core.frozen import Frozen

Purity = Literal["pure", "read", "impure"]
Slot = Literal[
    "value", "duration", "shell", "env", "url", "raw", "expression", "condition", "cases", "where", "to", "check"
]

SLOTS: Mapping[str, Slot] = {slot: slot for slot in get_args(Slot)}
"""The slots by their names."""

VALUE_SLOTS: tuple[Slot, ...] = ("value", "duration")
"""Slots that take values as they are."""

EXPRESSION_SLOTS: tuple[Slot, ...] = ("expression", "condition", "cases", "where", "to", "check")
"""Slots that hold expressions, not templates: one, a condition, conditions by name, those for each item, and a
condition on the `value` that a step comes by."""

MISSING = "\x00missing"
"""The default of a field that has none."""

MCP_SERVER, MCP_TOOL = "__mcp_server__", "__mcp_tool__"
"""Parameters that checking adds to a node that calls a tool, so that its code knows which."""

ERROR_ACTIONS = ("rate_limited", "auth_failed", "resource_missing", "timeout", "declined", "error")
"""Actions that a failed step can take, the general one last."""

MODEL_ERROR_ACTIONS = ("refused", "cut")
"""Further ones of a step that asks a language model. Elsewhere they are words like any other."""


class Field(Frozen):
    """A parameter, a natural key or an output.

    `type` is one of the document's types or a union of them (`object|string`). `schema` is a JSON Schema
    where more is known. `slot` says how templates enter a parameter: as values, as durations, as arguments of a
    command, as its variables, as parts of a URL, or not at all; `EXPRESSION_SLOTS` hold expressions instead.
    """

    name: str
    type: str = "any"
    description: str = ""
    required: bool = False
    default: object = MISSING
    schema: Mapping[str, object] | None = None
    slot: Slot = "value"


def named_fields(group: object) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Fields as JSON has them with their names, whether they are in a list or under their names."""
    if isinstance(group, Mapping):
        yield from ((str(name), field if isinstance(field, Mapping) else {}) for name, field in group.items())
    elif isinstance(group, list):
        yield from ((str(field.get("name")), field) for field in group if isinstance(field, Mapping))


class Interface(Frozen):
    """Everything about a node type that can be known without running it.

    `pure` nodes may be cached and rerun, `read` nodes may be rerun, `impure` ones neither. `open_params`
    and `open_outputs` admit names that are not listed; `echo_params` means every parameter comes back as an
    output of the same name. `open_slot` is the slot of parameters that are not listed.
    `choice_param` names an object whose keys, or a list whose words, are actions as well. A type that `waits` asks or
    waits for something. `synonyms` are everyday words that it should be found by.
    """

    description: str = ""
    params: tuple[Field, ...] = ()
    reads: tuple[Field, ...] = ()
    outputs: tuple[Field, ...] = ()
    actions: tuple[str, ...] = ("default", "error")
    purity: Purity = "impure"
    open_params: bool = False
    open_outputs: bool = False
    echo_params: bool = False
    open_slot: Slot = "value"
    choice_param: str = ""
    waits: bool = False
    synonyms: tuple[str, ...] = ()

    def param(self, name: str) -> Field | None:
        """The parameter of that name, or the natural key, which params can give as well."""
        return next((field for field in (*self.params, *self.reads) if field.name == name), None)

    def output(self, name: str) -> Field | None:
        """The output of that name."""
        return next((field for field in self.outputs if field.name == name), None)
