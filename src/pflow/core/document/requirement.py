"""Reads `requires`: what a document needs beyond its nodes. Whether it is there is checked elsewhere."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from pflow.core.document.document import Requirements
from pflow.core.document.fields import Fields, label, wrong_type
from pflow.core.document.position import Path
from pflow.core.printable import shorten

_REQUIRES = dict.fromkeys(("pflow", "servers", "settings", "programs"))
_SERVER = dict.fromkeys(("command", "args", "env", "url", "headers", "transport"))

_CLAUSE = re.compile(r"(>=|<=|==|!=|~=|>|<)\s*([0-9]{1,9}(?:\.[0-9]{1,9}){0,4})")
_SETTING = re.compile(r"[A-Z][A-Z0-9_]{0,127}")
_PROGRAM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,99}")
_MOST = 100
"""Names of one kind."""

Clause = tuple[str, tuple[int, ...]]


def read_requires(top: Fields) -> Requirements | None:
    """What `requires` says; None without one."""
    given = top.values.get("requires")
    if given is None:
        return None
    if not isinstance(given, dict):
        wrong_type(top.issues, ("requires",), "an object", given, 'write {"programs": ["…"], "settings": ["…"]}')
        return None
    fields = Fields(top.issues, given, ("requires",), _REQUIRES, what="`requires`")
    return Requirements(
        pflow=_version(fields),
        servers=_servers(fields),
        settings=_names(
            fields, "settings", _SETTING, "a setting", "write it like an environment variable: `GITHUB_TOKEN`"
        ),
        programs=_names(
            fields, "programs", _PROGRAM, "a program", "write the name that a shell finds it by, such as `jq`"
        ),
    )


def read_specifier(text: str) -> tuple[Clause, ...] | None:
    """The clauses of a version specifier such as `>=0.2,<1`; None if it is not one."""
    clauses: list[Clause] = []
    for part in text.split(","):
        found = _CLAUSE.fullmatch(part.strip())
        if found is None or (found[1] == "~=" and "." not in found[2]):
            return None
        clauses.append((found[1], tuple(int(number) for number in found[2].split("."))))
    return tuple(clauses)


def fits_version(specifier: str, version: str) -> bool:
    """Whether a version is one that a specifier allows. Only its numbers count: `0.3.0.dev1` counts as `0.3.0`."""
    numbers = re.match(r"[0-9]+(?:\.[0-9]+)*", version)
    ours = tuple(int(number) for number in numbers[0].split(".")) if numbers else ()
    return all(_fits(ours, operator, wanted) for operator, wanted in read_specifier(specifier) or ())


def _fits(ours: tuple[int, ...], operator: str, wanted: tuple[int, ...]) -> bool:
    size = max(len(ours), len(wanted))
    have, want = (numbers + (0,) * (size - len(numbers)) for numbers in (ours, wanted))
    match operator:
        case ">=":
            return have >= want
        case "<=":
            return have <= want
        case ">":
            return have > want
        case "<":
            return have < want
        case "==":
            return have == want
        case "!=":
            return have != want
    return have >= want and have[: len(wanted) - 1] == wanted[:-1]


def _version(fields: Fields) -> str:
    text = fields.text("pflow")
    if text and read_specifier(text) is None:
        fields.issues.add(
            "bad-version",
            f"`pflow` cannot be `{shorten(text)}`",
            (*fields.path, "pflow"),
            known=(">=", "<=", "==", "!=", "~=", ">", "<"),
            hint='write a comparison with a version, several joined by commas: ">=0.2,<1"',
        )
        return ""
    return text


def _names(fields: Fields, name: str, form: re.Pattern[str], what: str, hint: str) -> tuple[str, ...]:
    """An array of names, each once."""
    path: Path = (*fields.path, name)
    found: list[str] = []
    for index, value in enumerate(_array(fields, name, path)):
        if not isinstance(value, str):
            wrong_type(fields.issues, (*path, index), "a string", value)
        elif not form.fullmatch(value):
            fields.issues.add("bad-name", f"`{shorten(value)}` cannot be the name of {what}", (*path, index), hint=hint)
        elif value not in found:
            found.append(value)
    return tuple(found)


def _array(fields: Fields, name: str, path: Path) -> list[object]:
    value = fields.values.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        hint = f'write ["{shorten(value)}"]' if isinstance(value, str) else ""
        wrong_type(fields.issues, path, "an array of names", value, hint)
        return []
    if len(value) > _MOST:
        fields.issues.add("too-many", f"{label(path)} has {len(value):,} names; at most {_MOST} are allowed", path)
        return []
    return value


def _servers(top: Fields) -> dict[str, Mapping[str, object]]:
    """Each server's fields as `mcp-servers.json` has them."""
    found: dict[str, Mapping[str, object]] = {}
    servers = top.mapping("servers")
    path: Path = (*top.path, "servers")
    if len(servers) > _MOST:
        top.issues.add("too-many", f"`servers` has {len(servers):,} servers; at most {_MOST} are allowed", path)
        return found
    for name, value in servers.items():
        where: Path = (*path, name)
        if not isinstance(value, dict):
            hint = f'write {{"command": "{shorten(value)}"}}' if isinstance(value, str) else ""
            wrong_type(top.issues, where, "an object", value, hint)
            continue
        fields = Fields(top.issues, value, where, _SERVER, what="a required server")
        if (value.get("command") is None) == (value.get("url") is None):
            message = f"the required server `{shorten(name)}` needs either a `command` or a `url`"
            top.issues.add("missing-field", message, where, hint="give one of the two")
            continue
        found[name] = _server(fields)
    return found


def _server(fields: Fields) -> dict[str, object]:
    words = [*_words(fields, "command"), *_words(fields, "args", split=False)]
    read: dict[str, object] = {"command": words[0], "args": words[1:]} if words else {}
    for name in ("url", "transport"):
        if text := fields.text(name):
            read[name] = text
    for name in ("env", "headers"):
        if pairs := _pairs(fields, name):
            read[name] = pairs
    return read


def _words(fields: Fields, name: str, *, split: bool = True) -> list[str]:
    """The words of a command: an array of them, or a string that is split as a shell would."""
    value = fields.values.get(name)
    path: Path = (*fields.path, name)
    if value is None:
        return []
    if isinstance(value, str) and split:
        try:
            words = shlex.split(value)
        except ValueError as error:
            fields.issues.add("bad-value", f"`{name}` cannot be split into words: {error}", path)
            return []
        if not words:
            fields.issues.add("missing-field", f"`{name}` is empty", path, hint=f"fill in `{name}`")
        return words
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        wrong_type(fields.issues, path, "a string or an array of strings" if split else "an array of strings", value)
        return []
    if split and not (value and value[0]):
        fields.issues.add("missing-field", f"`{name}` is empty", path, hint=f"fill in `{name}`")
        return []
    return [word for word in value if isinstance(word, str)]


def _pairs(fields: Fields, name: str) -> dict[str, str]:
    """Variables or headers by name; an array of names stands for the variables of the same names."""
    value = fields.values.get(name)
    path: Path = (*fields.path, name)
    if isinstance(value, list) and name == "env" and all(isinstance(each, str) for each in value):
        return {str(each): f"${{{each}}}" for each in value}
    if value is not None and not isinstance(value, dict):
        wanted = "an object, or an array of names" if name == "env" else "an object"
        wrong_type(fields.issues, path, wanted, value)
        return {}
    pairs: dict[str, str] = {}
    for key, text in (value or {}).items():
        if isinstance(text, str):
            pairs[key] = text
        else:
            wrong_type(fields.issues, (*path, key), "a string", text)
    return pairs
