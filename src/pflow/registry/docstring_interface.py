"""The interface that a node's docstring declares, in lines such as `- Reads: shared["query"]: str - text`."""

from __future__ import annotations

import ast
import inspect
import re

from pflow.registry import annotation_type as type_text

_KINDS = {
    "reads": "reads",
    "inputs": "reads",
    "writes": "outputs",
    "outputs": "outputs",
    "params": "params",
    "parameters": "params",
    "actions": "actions",
}
_HEADING = re.compile(r"\s*interface\s*:?\s*$", re.IGNORECASE)
_ITEM = re.compile(rf"(\s*)(?:[-*•]\s*)?({'|'.join(_KINDS)})\s*:\s*(.*)$", re.IGNORECASE)
_BULLET = re.compile(r"\s*[-*•]\s+(.*)$")
_SHARED = re.compile(r"""shared\s*\[\s*(["'])([^"'\n]+)\1\s*\]""")
_NAME = re.compile(r"[\s,]*(?:and\s+)?[`\"']?([A-Za-z_][\w-]*)[`\"']?")
_TYPE = re.compile(r"\s*:\s*([A-Za-z_][\w.]*(?:\[[^\]]*\]+)?(?:\s*\|\s*[A-Za-z_][\w.]*(?:\[[^\]]*\]+)?)*)")
_GROUP = re.compile(r"\s*\(([^()]*)\)")
_PROSE = re.compile(r"\s*(?:[-–—:#]+)\s*(.*)$", re.DOTALL)
_LAST_GROUP = re.compile(r"\s*\(([^()]*)\)\s*\.?$")
_DEFAULT = re.compile(r"defaults?(?:\s+to)?\s*[:=]?\s*(.+)$", re.IGNORECASE)

_ARGUMENTS = re.compile(r"(Args|Arguments|Parameters|Params|Returns)\s*:\s*$")
_ARGUMENT = re.compile(r"\*{0,2}(\w+)\s*(?:\([^()]*\))?\s*:\s*(.*)$")
_FIELD = re.compile(r":(?:param(?:\s+[\w.\[\], |]+)?\s+(\w+)|(returns?))\s*:\s*(.*)$")

RETURNS = "return"
"""The key of what a docstring says about the result; no parameter can have that name."""

_WORDS = {"true": True, "false": False, "null": None, "none": None}


def description(docstring: str) -> str:
    """The first paragraph: what the node does."""
    lines: list[str] = []
    for line in inspect.cleandoc(docstring).splitlines():
        if not line.strip() or _HEADING.match(line):
            break
        lines.append(line.strip())
    return " ".join(lines)


def declared(docstring: str) -> dict[str, list[object]] | None:
    """What the `Interface:` part lists as `params`, `reads`, `outputs` and `actions`; None without one."""
    lines = inspect.cleandoc(docstring).splitlines()
    start = next((index for index, line in enumerate(lines) if _HEADING.match(line)), None)
    if start is None:
        return None
    found: dict[str, list[object]] = {}
    for kind, text in _items(lines[start + 1 :]):
        entries = found.setdefault(kind, [])
        if kind == "actions":
            entries.extend(_actions(text))
        else:
            entries.extend(_fields(kind, text))
    return found


def argument_texts(docstring: str) -> dict[str, str]:
    """What a function's docstring says of its parameters: in an `Args:` section, or as `:param name:`."""
    texts: dict[str, str] = {}
    section, indent, name = "", 0, ""
    for line in inspect.cleandoc(docstring).splitlines():
        text, depth = line.strip(), len(line) - len(line.lstrip())
        if not text:
            name = ""
        elif heading := _ARGUMENTS.match(line):
            section, indent, name = heading[1], 0, ""
        elif field := _FIELD.match(text):
            section, indent, name = "", depth, field[1] or RETURNS
            texts[name] = field[3].strip()
        elif section and not depth:
            section = name = ""
        elif section == "Returns":
            texts[RETURNS] = f"{texts.get(RETURNS, '')} {text}".strip()
        elif section and (not indent or depth == indent) and (argument := _ARGUMENT.match(text)):
            indent, name = depth, argument[1]
            texts[name] = argument[2].strip()
        elif name and depth > indent:
            texts[name] = f"{texts[name]} {text}".strip()
    return {name: text for name, text in texts.items() if text}


def _items(lines: list[str]) -> list[tuple[str, str]]:
    """Each declaration as its kind and text, continuation lines joined on."""
    items: list[tuple[str, str]] = []
    indent, blank, listing = 0, False, False
    for line in lines:
        if not line.strip():
            blank = True
            continue
        head = _ITEM.match(line)
        bullet = _BULLET.match(line)
        inside = len(line) - len(line.lstrip()) > indent
        if head and not (inside and items):
            kind = _KINDS[head[2].lower()]
            indent, listing = len(head[1]), not head[3].strip()
            items.append((kind, head[3].strip()))
        elif not items or (blank and not bullet) or (not inside and not bullet):
            if items or blank:
                break
        elif bullet and listing:
            items.append((items[-1][0], bullet[1].strip()))
        elif bullet is None:
            kind, text = items[-1]
            items[-1] = (kind, f"{text} {line.strip()}")
        blank = False
    return [(kind, text) for kind, text in items if text]


def _actions(text: str) -> list[object]:
    words = _GROUP.sub("", text).split(",")
    names = [re.match(r"[\s`\"']*([A-Za-z_][\w-]*)", word) for word in words]
    return [name[1] for name in names if name]


def _fields(kind: str, text: str) -> list[object]:
    keys = list(_SHARED.finditer(text))
    if keys:
        ends = [key.start() for key in keys[1:]] + [len(text)]
        return [_field(kind, key[2], text[key.end() : end])[0] for key, end in zip(keys, ends, strict=True)]
    fields: list[object] = []
    while name := _NAME.match(text):
        field, text = _field(kind, name[1], text[name.end() :])
        fields.append(field)
        if not text.lstrip().startswith(","):
            break
    return fields


def _field(kind: str, name: str, text: str) -> tuple[dict[str, object], str]:
    """One field from what follows its name, and the text after it."""
    field: dict[str, object] = {"name": name}
    if kind == "reads":
        field["required"] = True
    if typed := _TYPE.match(text):
        known = type_text.parse(typed[1])
        if known is not None:
            _set_type(field, known)
            text = text[typed.end() :]
    while group := _GROUP.match(text):
        _apply(field, group[1])
        text = text[group.end() :]
    prose = _PROSE.match(text)
    if prose:
        words, text = prose[1].strip().rstrip(","), ""
        while (group := _LAST_GROUP.search(words)) and _apply(field, group[1]):
            words = words[: group.start()]
        if words.strip():
            field["description"] = words.strip()
    if kind == "outputs":
        field.pop("required", None)
        field.pop("default", None)
    elif not field.get("required"):
        field.pop("required", None)
    return field, text


def _apply(field: dict[str, object], remark: str) -> bool:
    """Take a remark in parentheses into the field; False if it is mere prose."""
    understood = False
    for part in _parts(remark):
        word = part.strip()
        if word.lower() in ("optional", "required"):
            field["required"] = word.lower() == "required"
        elif default := _DEFAULT.match(word):
            field["required"] = False
            field["default"] = value = _literal(default[1].strip())
            if "type" not in field and (kind := type_text.parse(type(value).__name__)):
                _set_type(field, kind)
        elif (known := type_text.parse(word)) is not None:
            _set_type(field, known)
        else:
            continue
        understood = True
    return understood


def _parts(remark: str) -> list[str]:
    """The remark split at its commas, except those of a default."""
    default = re.search(r"\bdefaults?\b", remark, re.IGNORECASE)
    if default is None:
        return remark.split(",")
    return [*remark[: default.start()].split(","), remark[default.start() :]]


def _set_type(field: dict[str, object], known: type_text.TypeText) -> None:
    field["type"] = known.name
    if known.schema is not None:
        field["schema"] = known.schema
    if known.optional:
        field["required"] = False


def _literal(text: str) -> object:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return text.strip("`")
    return value if isinstance(value, str | int | float | bool | list | dict | None) else text
