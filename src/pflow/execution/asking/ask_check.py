"""Checks questions before anybody is asked: their choices, their fields, and what happens if nobody answers."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.advice import Advice
from pflow.core.document.position import Path
from pflow.core.duration import FORM as DURATION_FORM
from pflow.core.duration import read_seconds, show_duration
from pflow.core.json_type import TYPES, describe
from pflow.core.printable import shorten
from pflow.core.suggest import did_you_mean
from pflow.engine.asking.approval import LONGEST_PROMPT
from pflow.engine.asking.form import FORMATS, field_problems, options_of
from pflow.engine.asking.question import LONGEST_SECONDS, WHO
from pflow.execution.node_check import CheckedNode, Report

_TYPES = ("string", "integer", "number", "boolean", "array")
_OTHER_TYPES = {
    **{word: f"write `type: {kind}`" for word, kind in TYPES.items() if word != kind and kind in _TYPES},
    "text": "write `type: string`",
    **{name: f"write `{{type: string, format: {name}}}`" for name in FORMATS},
    **dict.fromkeys(("enum", "select", "choice"), "write `{type: string, enum: […]}`"),
}
_FIELD = (
    *("type", "title", "description", "default", "required", "enum", "oneOf", "anyOf", "items", "format", "secret"),
    *("minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems"),
)
_MOST_CHOICES = 20
_LONGEST_CHOICE = 60


def check_ask(node: CheckedNode, report: Report) -> None:
    """Report what is wrong with the question of a node."""
    params, here = node.spec.params, ("nodes", node.index, "params")
    for name in ("choices", "schema", "who", "default"):
        if "${" in str(params.get(name, "")):
            report(
                "template-here",
                f"`{name}` of a question must be known when checking; templates do not apply here",
                (*here, name),
                hint="put what is only known in the run into `prompt` or `show`",
            )
            return
    if params.get("prompt") == "":
        report(
            "missing-param", f"the question of `{node.spec.id}` is empty", (*here, "prompt"), hint="say what is asked"
        )
    check_prompt(params.get("prompt"), (*here, "prompt"), report)
    choices = _check_choices(node, params.get("choices"), (*here, "choices"), report)
    fields = params.get("schema")
    if isinstance(fields, Mapping):
        _check_fields(fields, (*here, "schema"), report)
    if not params.get("choices") and not fields:
        report(
            "missing-param",
            f"node `{node.spec.id}` (ask) has nothing that could be answered",
            here,
            hint="give it `choices: [yes, no]`, or `schema: {note: {type: string}}`, or both",
        )
    who = params.get("who")
    if isinstance(who, str) and who not in WHO:
        report("bad-choice", f"`who` cannot be `{who}`", (*here, "who"), known=WHO, hint=did_you_mean(who, WHO))
    _check_silence(node, choices, report)


def check_prompt(prompt: object, path: Path, report: Report) -> None:
    """Warn of a question that nobody would read to its end, because it is cut."""
    if isinstance(prompt, str) and len(prompt) > LONGEST_PROMPT:
        message = f"of the {len(prompt):,} characters of the prompt only {LONGEST_PROMPT:,} are shown"
        report("too-large", message, path, hint="ask briefly, and put the rest into `show`", severity="warning")


def _check_fields(fields: Mapping[str, object], path: Path, report: Report) -> None:
    inner = fields.get("properties")
    if fields.get("type") == "object" and isinstance(inner, Mapping):
        report(
            "nested-field",
            "`schema` of a question has the fields themselves, by name",
            (*path, "properties"),
            hint=f"write `schema: {{{', '.join(f'{name}: …' for name in inner)}}}`",
        )
        return
    if (kind := fields.get("type")) in _TYPES and not any(isinstance(field, Mapping) for field in fields.values()):
        hint = f"write `schema: {{answer: {{type: {kind}}}}}`, with a name of your own"
        report("wrong-type", "`schema` of a question has fields, by name", (*path, "type"), hint=hint)
        return
    for name, schema in fields.items():
        _check_field(str(name), schema, (*path, str(name)), report)


def _check_choices(node: CheckedNode, given: object, path: Path, report: Report) -> list[str]:
    """The choices of a question, as far as they are right."""
    if not isinstance(given, list):
        return []
    name = node.spec.id
    found: list[str] = []
    for index, choice in enumerate(given):
        problem, hint = _choice_problem(choice, found)
        if problem:
            report("bad-choice", f"{problem} among the choices of `{name}`", (*path, index), hint=hint)
        elif isinstance(choice, str):
            found.append(choice)
    if len(given) > _MOST_CHOICES:
        hint = "ask for a field with `enum`: `schema: {place: {type: string, enum: […]}}`"
        report("too-many", f"a question has at most {_MOST_CHOICES} choices", path, hint=hint)
    return found


def _choice_problem(choice: object, before: list[str]) -> tuple[str, str]:
    """What is wrong with a choice, and what to do; nothing if it is right."""
    if isinstance(choice, bool):
        return f"the truth value `{str(choice).lower()}` is", f'write "{"yes" if choice else "no"}"'
    if not isinstance(choice, str):
        if isinstance(choice, int | float):
            return f"the number `{choice}` is", f'write "{choice}"'
        return f"{describe(choice)} is", "a choice is a string: one word or a few"
    if not choice.strip():
        return "an empty string is", "leave it out"
    if choice != choice.strip() or not choice.isprintable() or len(choice) > _LONGEST_CHOICE:
        return (
            f"`{shorten(choice)}`, which does not fit on one short line, is",
            f"write at most {_LONGEST_CHOICE} characters, on one line, with no space at either end",
        )
    same = next((one for one in before if one.lower() == choice.lower()), None)
    if same is not None:
        twice = "stands twice" if same == choice else f"differs from `{same}` only in case, and stands"
        return f"`{choice}` {twice}", "leave one of them out"
    return "", ""


def _check_field(name: str, schema: object, path: Path, report: Report) -> None:
    if not isinstance(schema, Mapping):
        kind = schema if schema in _TYPES else "string"
        report("wrong-type", f"field `{name}` of the question needs a schema", path, hint=f"write {{type: {kind}}}")
        return
    for key in schema:
        if key in ("properties", "additionalProperties"):
            message = f"field `{name}` of the question is nested; people fill in flat fields"
            report("nested-field", message, (*path, key), hint=_flattened(name, schema.get("properties")))
            return
        if key not in _FIELD:
            hint = did_you_mean(str(key), _FIELD)
            report("unknown-field", f"a field of a question has no `{key}`", (*path, str(key)), known=_FIELD, hint=hint)
    kind = schema.get("type", "string")
    if kind == "object":
        hint = "ask for each of its parts in a field of its own"
        report(
            "nested-field", f"field `{name}` of the question is an object, which nobody can fill in", path, hint=hint
        )
    elif kind not in _TYPES:
        hint = _OTHER_TYPES.get(str(kind)) or did_you_mean(str(kind), _TYPES)
        message = f"field `{name}` of the question cannot be of type `{kind}`"
        report("wrong-type", message, (*path, "type"), known=_TYPES, hint=hint)
    elif kind == "array" and not options_of(schema):
        hint = "write `items: {enum: […]}`, from which people can choose several"
        report(
            "nested-field",
            f"field `{name}` of the question is a list, and does not say of which values",
            path,
            hint=hint,
        )
    if schema.get("secret") is True:
        hint = Advice("store it with `{store_secret}`, and take it as an input with `secret: true`", name="NAME")
        report(
            "secret-field", f"field `{name}` cannot be secret: answers are recorded as they are given", path, hint=hint
        )
    if schema.get("format") is not None and schema["format"] not in FORMATS:
        report("bad-choice", f"a field cannot have the format `{schema['format']}`", (*path, "format"), known=FORMATS)
    for problem in field_problems(schema, schema["default"]) if schema.get("default") is not None else ():
        report("wrong-type", f"the default of field `{name}` {problem}", (*path, "default"))


def _flattened(name: str, parts: object) -> str:
    """How to ask for the parts of a nested field: each as a field of its own."""
    fields = [f"`{name}_{part}`" for part in parts][:3] if isinstance(parts, Mapping) else []
    return f"make it fields of their own: {', '.join(fields) or f'`{name}_…`'}"


def _check_silence(node: CheckedNode, choices: list[str], report: Report) -> None:
    """What counts when nobody answers must be said, once."""
    params, path = node.spec.params, ("nodes", node.index, "params")
    check_duration(params.get("timeout"), "timeout", (*path, "timeout"), report)
    default, timeout, goes_on = params.get("default"), params.get("timeout"), "timeout" in node.edges
    if isinstance(default, str) and default and default not in choices:
        hint = did_you_mean(default, choices) or ("" if choices else "a default needs `choices`")
        message = f"`default` is `{default}`, which is not one of the choices"
        report("bad-choice", message, (*path, "default"), known=tuple(choices), hint=hint)
    if timeout not in (None, "") and not default and not goes_on:
        report(
            "missing-edge",
            f"`{node.spec.id}` has a `timeout`, but does not say what counts if nobody answers in time",
            (*path, "timeout"),
            hint=f"add `default: {choices[-1]}`, or `on: {{timeout: …}}`" if choices else "add `on: {timeout: …}`",
        )
    if default and goes_on:
        report(
            "timeout-twice",
            f"`{node.spec.id}` has a `default` and an edge for `timeout`, and only one of them can count",
            (*path, "default"),
            hint="remove one of them",
        )
    if goes_on and timeout in (None, ""):
        report(
            "missing-param",
            f"`{node.spec.id}` has an edge for `timeout` but waits for ever",
            path,
            hint="add `timeout: 3d` to its params",
        )


def check_duration(
    value: object,
    name: str,
    path: Path,
    report: Report,
    *,
    least: float = 1e-9,
    most: float = LONGEST_SECONDS,
) -> None:
    """Report a duration that is none, or too short or long; what a template gives is only known in the run."""
    if value in (None, "") or "${" in str(value):
        return
    seconds = read_seconds(value)
    if seconds is None:
        report("wrong-type", f"`{name}` must be a duration, not `{value}`", path, hint=f"write {DURATION_FORM}")
    elif not least <= seconds <= most:
        said = "above 0" if least > 0 else "at least 0"
        longest = "a year" if most == LONGEST_SECONDS else show_duration(most)
        report("out-of-range", f"`{name}` must be {said} and at most {longest}, not `{value}`", path)
