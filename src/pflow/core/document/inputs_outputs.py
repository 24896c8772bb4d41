"""Reads what a document declares it takes and gives: its inputs and outputs, and their types."""

from __future__ import annotations

from pflow.core.document.document import Input, Output
from pflow.core.document.fields import Fields, check_name, show_value, wrong_type
from pflow.core.document.position import Path
from pflow.core.json_type import TYPES, fits, with_article
from pflow.core.printable import shorten
from pflow.core.suggest import nearest

_INPUT = dict.fromkeys(("type", "required", "default", "description", "secret"))
_OUTPUT = dict.fromkeys(("type", "description", "source"))


def read_type(fields: Fields) -> str:
    """The type that a declaration names."""
    written = fields.text("type", "any")
    kind = TYPES.get(written)
    if kind is not None:
        return kind
    meant = nearest(written, TYPES, limit=1)
    hint = f"did you mean `{TYPES[meant[0]]}`?" if meant else ""
    message = f"there is no type `{shorten(written)}`"
    names = tuple(dict.fromkeys(TYPES.values()))
    fields.issues.add("unknown-type", message, (*fields.path, "type"), known=names, hint=hint)
    return "any"


def read_inputs(top: Fields) -> dict[str, Input]:
    """The declared inputs by name."""
    inputs: dict[str, Input] = {}
    for name, value in top.mapping("inputs").items():
        path: Path = ("inputs", name)
        check_name(top.issues, name, path, "the name of an input", key=True)
        if not isinstance(value, dict):
            known = isinstance(value, str) and value in TYPES
            wrong_type(top.issues, path, "an object", value, f'write {{"type": "{value}"}}' if known else "")
            inputs[name] = Input()
            continue
        fields = Fields(top.issues, value, path, _INPUT, what="an input")
        kind = read_type(fields)
        default = value.get("default")
        # Null beside `required: true` says that there is no default; null alone makes the input optional.
        has_default = default is not None or ("default" in value and value.get("required") is not True)
        if default is not None and not fits(default, kind):
            message = f"the default of `{shorten(name)}` must be {with_article(kind)}, not {show_value(default)}"
            top.issues.add("bad-default", message, (*path, "default"), hint="change the default or the type")
        secret = fields.flag("secret", False)
        if secret and default not in (None, ""):
            hint = "remove the default; the value is given for each run, or comes from settings or the environment"
            message = f"`{shorten(name)}` is secret and cannot have a default: a document must not hold secrets"
            top.issues.add("bad-default", message, (*path, "secret"), hint=hint)
        inputs[name] = Input(
            type=kind,
            required=fields.flag("required", not has_default),
            default=default,
            has_default=has_default,
            description=fields.text("description"),
            secret=secret,
        )
    return inputs


def read_outputs(top: Fields) -> dict[str, Output]:
    """The declared outputs by name."""
    outputs: dict[str, Output] = {}
    for name, value in top.mapping("outputs").items():
        path: Path = ("outputs", name)
        if not name or name.startswith("__"):
            message = f"`{shorten(name)}` is reserved: names that begin with `__` belong to pflow"
            top.issues.add("reserved-name", message if name else "an output has no name", path, key=True)
        if isinstance(value, str) and "${" in value:
            outputs[name] = Output(source=value)
            continue
        if not isinstance(value, dict):
            wrong_type(top.issues, path, "an object or a template", value, 'write {"source": "${node.output}"}')
            outputs[name] = Output(source="")
            continue
        fields = Fields(top.issues, value, path, _OUTPUT, what="an output")
        outputs[name] = Output(
            type=read_type(fields), description=fields.text("description"), source=value.get("source")
        )
    return outputs


def describe_input(declared: Input) -> dict[str, object]:
    """An input for callers that want to give it."""
    shown: dict[str, object] = {
        "type": declared.type,
        "required": declared.required and not declared.has_default,
        "description": declared.description,
    }
    if declared.has_default:
        shown["default"] = declared.default
    if declared.secret:
        shown["secret"] = True
    return shown
