"""Reads `state`: the values that a workflow keeps between runs, and the name under which it keeps them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import orjson

from pflow.core.document.document import StateKey
from pflow.core.document.fields import Fields, check_name, show_value, wrong_type
from pflow.core.document.inputs_outputs import read_type
from pflow.core.document.position import Issues, Path
from pflow.core.file.file_name import MAX_NAME, is_name
from pflow.core.json_type import TYPES, fits, with_article
from pflow.core.printable import shorten
from pflow.core.suggest import did_you_mean

MOST_KEYS = 100
"""Values that one document keeps."""

MOST_BYTES = 64 << 10
"""Of JSON, for one value."""

SCOPE = "scope"
"""The key that names where the state is kept, and is not a value."""

_KEY = dict.fromkeys(("type", "default", "description", "merge", "keep", "commit"))
_MERGES: Mapping[str, tuple[str, ...]] = {
    "add": ("integer", "number"),
    "max": ("integer", "number", "string"),
    "union": ("array", "object"),
}
"""How values can be merged, and which types that suits."""

_MOST_KEPT = 100_000


def read_state(top: Fields, names: Collection[str]) -> tuple[dict[str, StateKey], str]:
    """The declared values by name, and the scope, "" if there is none. `names` are those of inputs and nodes."""
    issues, declared = top.issues, top.mapping("state")
    path: Path = ("state",)
    if "state" in names:
        message = "the document declares `state`, which is also the name of an input or the id of a node"
        issues.add("name-clash", message, path, key=True, hint="rename the input or the node")
    if len(declared) - (SCOPE in declared) > MOST_KEYS:
        message = f"`state` has {len(declared):,} values; at most {MOST_KEYS} are allowed"
        issues.add("too-many", message, path, hint="keep an object that holds several of them")
    keys = {name: _read_key(issues, name, value) for name, value in declared.items() if name != SCOPE}
    return keys, _read_scope(issues, declared.get(SCOPE))


def _read_scope(issues: Issues, value: object) -> str:
    path: Path = ("state", SCOPE)
    if value is None:
        return ""
    if not isinstance(value, str):
        hint = "`scope` names where the state is kept; give a value that is kept another name"
        wrong_type(issues, path, "a string", value, hint if isinstance(value, dict) else "")
    elif not is_name(value):
        hint = f"up to {MAX_NAME} letters, digits, `-`, `_` and `.`, as the names of saved workflows have"
        issues.add("bad-name", f"`{shorten(value)}` cannot be the scope of state", path, hint=hint)
    else:
        return value
    return ""


def _read_key(issues: Issues, name: str, value: object) -> StateKey:
    path: Path = ("state", name)
    check_name(issues, name, path, "the name of a value in `state`", key=True)
    if not isinstance(value, dict):
        known = isinstance(value, str) and value in TYPES
        wrong_type(issues, path, "an object", value, f'write {{"type": "{value}"}}' if known else "")
        return StateKey()
    fields = Fields(issues, value, path, _KEY, what="a value in `state`")
    kind = read_type(fields)
    _check_default(issues, name, kind, value.get("default"))
    merge = _read_merge(fields, name, kind)
    if value.get("keep") is not None and value.get("merge") != "union":
        message = "`keep` counts the elements of a `union`; other values have none"
        issues.add("unexpected-field", message, (*path, "keep"), key=True, hint='add "merge": "union"')
    return StateKey(
        type=kind,
        default=value.get("default"),
        description=fields.text("description"),
        merge=merge,
        keep=fields.integer("keep", StateKey.keep, 1, _MOST_KEPT),
        commit=fields.choice("commit", ("end", "step"), "end"),
    )


def _check_default(issues: Issues, name: str, kind: str, default: object) -> None:
    path: Path = ("state", name, "default")
    if default is None:
        return
    if not fits(default, kind):
        message = f"the default of `{shorten(name)}` must be {with_article(kind)}, not {show_value(default)}"
        issues.add("bad-default", message, path, hint="change the default or the type")
    elif len(orjson.dumps(default)) > MOST_BYTES:
        message = f"the default of `{shorten(name)}` is larger than {MOST_BYTES >> 10} kB"
        issues.add("bad-default", message, path, hint="keep less, or keep it in a file")


def _read_merge(fields: Fields, name: str, kind: str) -> str:
    if fields.values.get("merge") is None:
        return ""
    path: Path = (*fields.path, "merge")
    merge = fields.text("merge", "?")
    if merge not in _MERGES:
        if merge != "?":
            hint = did_you_mean(merge, _MERGES) or "leave it out to let the later value replace the earlier one"
            message = f"`merge` cannot be `{shorten(merge)}`"
            fields.issues.add("bad-choice", message, path, known=tuple(_MERGES), hint=hint)
        return ""
    suited = _MERGES[merge]
    if kind not in suited:
        message = f"`{merge}` merges {_plural(suited)}, and `{shorten(name)}` is {_said(kind)}"
        hint = f'write {{"type": "{suited[0]}"}}' if kind == "any" else _other_merge(kind)
        fields.issues.add("bad-merge", message, path, hint=hint)
        return ""
    return merge


def _other_merge(kind: str) -> str:
    fitting = [merge for merge, kinds in _MERGES.items() if kind in kinds]
    return f"use `{fitting[0]}`, or another type" if fitting else "leave `merge` out"


def _plural(kinds: tuple[str, ...]) -> str:
    words = [f"{kind}s" for kind in kinds]
    return " and ".join(words) if len(words) < 3 else f"{', '.join(words[:-1])} and {words[-1]}"


def _said(kind: str) -> str:
    return "of any type" if kind == "any" else with_article(kind)
