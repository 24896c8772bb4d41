"""Inputs of a workflow on a command line: what its words and flags give, and how an input is written as a flag."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pflow.cli.argument import read_params
from pflow.core.document.document import Input
from pflow.core.errors import UsageError
from pflow.core.printable import is_text, shorten
from pflow.core.setting.settings import is_credential
from pflow.core.suggest import did_you_mean

_METAVARS = {"string": "TEXT", "integer": "INTEGER", "number": "NUMBER", "object": "JSON"}


def read_words(
    inputs: Mapping[str, Input], words: Sequence[str], *, workflow: str, options: Collection[str]
) -> dict[str, object]:
    """What the words behind a workflow give its inputs: text, or a list where a flag is given once per item.

    Text becomes what an input declares when it is bound. `options` are pflow's own, for suggestions.
    """
    given: dict[str, object] = {}
    items: dict[str, list[str]] = {}
    rest = [*words]
    while rest:
        word = rest.pop(0)
        if not word.startswith("-") or word == "-":
            [(name, value)] = read_params([word]).items()
            _put(given, name, value)
            continue
        written, equals, value = word.partition("=")
        name, negated = find_input(inputs, written) or _refuse(inputs, written, workflow, options)
        kind = inputs[name].type
        if not equals and kind == "boolean":
            follows = not negated and bool(rest) and rest[0].lower() in ("true", "false")
            _put(given, name, rest.pop(0) if follows else str(not negated).lower())
            continue
        if negated:
            raise UsageError(f"`{written}` takes no value", suggestions=[f"write `{flag_of(name)}={shorten(value)}`"])
        if not equals:
            if not rest or (rest[0].startswith("--") and rest[0] != "--"):
                raise UsageError(f"`{written}` needs a value", suggestions=[f"write `{written}=VALUE`"])
            value = rest.pop(0)
        if not is_text(value):
            hint = "pass the path of a file instead"
            raise UsageError(f"input `{shorten(name)}` is not UTF-8 text", suggestions=[hint])
        if kind != "array":
            _put(given, name, value)
        elif name in items:
            items[name].append(value)
        else:
            _put(given, name, items.setdefault(name, [value]))
    for name, texts in items.items():
        is_json = len(texts) == 1 and texts[0].lstrip().startswith("[")
        given[name] = texts[0] if is_json else texts
    return given


def flag_of(name: str) -> str:
    """An input as a flag: `max_results` is `--max-results`."""
    return f"--{_flag_name(name)}"


def write_input(name: str, declared: Input, options: Collection[str]) -> str:
    """How an input is written on a command line, for a reader; pflow's own `options` keep their names."""
    flag = flag_of(name)
    if declared.type == "boolean":
        off = f"--no-{_flag_name(name)}"
        return f"{name}=true|false" if {flag, off} & {*options} else f"{flag} / {off}"
    metavar = _METAVARS.get(declared.type, "VALUE")
    return f"{name}={metavar}" if flag in options else f"{flag} {metavar}"


def setting_of(name: str, declared: Input) -> str:
    """The setting that fills a secret input; "" where there cannot be one."""
    key = name.upper()
    return key if declared.secret and is_credential(key) else ""


def find_input(inputs: Mapping[str, Input], flag: str) -> tuple[str, bool] | None:
    """The input that a flag such as `--max-results` names, and whether it is `--no-…` of a boolean one."""
    if not flag.startswith("--"):
        return None
    written = flag[2:]
    for name in inputs:
        if name == written:
            return name, False
    for name in inputs:
        if _flag_name(name) == _flag_name(written):
            return name, False
    for name, declared in inputs.items():
        if declared.type == "boolean" and f"no-{_flag_name(name)}" == _flag_name(written):
            return name, True
    return None


def _flag_name(name: str) -> str:
    from pflow.pipeline.flag import flag_name  # lazy: many inputs are given as `name=value`

    return flag_name(name)


def _refuse(inputs: Mapping[str, Input], flag: str, workflow: str, options: Collection[str]) -> tuple[str, bool]:
    """Raise an error for a flag that means nothing."""
    flags = [flag_of(name) for name in inputs if flag_of(name) not in options]
    near = did_you_mean(flag, [*flags, *options])
    have = f"its inputs are {', '.join(f'`{name}`' for name in flags)}" if flags else "it takes no flags"
    shown = shorten(workflow)
    raise UsageError(
        f"`{shown}` has no input `{shorten(flag)}`, and pflow no such option",
        suggestions=[near or have, f"`pflow run {shown} --help` shows what it takes"],
    )


def _put(given: dict[str, object], name: str, value: object) -> None:
    if name in given:
        raise UsageError(f"input `{shorten(name)}` is given twice")
    given[name] = value
