"""Rewrites what other languages would say as an expression of this one: a guess, which is shown if it can be parsed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from pflow.core.expression.spelling import CONSTANTS

_STRING = re.compile(r"(?:\b[rR])?(?:'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")")
_FORMATTED = re.compile(r"\b[fF](?:'([^'\\\n]*)'|\"([^\"\\\n]*)\")")
_CURLY = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "≤": "<=", "≥": ">=", "≠": "!=", "×": "*", "–": "-"})
_PATTERN = re.compile(r"(?<![\w)\]\s/])(\s*)/((?:[^/\\\n ]|\\.)(?:[^/\\\n]|\\.){0,200})/(i?)(?![\w/])")

_EQUAL = re.compile(r"={1,3}(?=\s*/[^/\s])")
_MIXED = re.compile(r"\w\$\{[\w.]+\}|\$\{[\w.]+\}\w")
_PATH = r"[A-Za-z_][\w.]*(?:\[\w+\])?(?:\.\w+)*"
_TEXT = r"\x00\d+\x00"
_VALUE = rf"(?:{_PATH}(?:\([^()]*\))?|{_TEXT}|\d[\w.]*|\[[^\[\]]*\]|\([^()]*\))"
"""A value that is short enough to be moved as a whole; a string has become its number between two NULs."""

_ONE = re.compile(_VALUE)

_FUNCTIONS = {"len": "size", "length": "size", "str": "string", "String": "string", "float": "double"} | {
    "Number": "double",
    "parseInt": "int",
    "parseFloat": "double",
    "Boolean": "bool",
    "defined": "has",
    "isset": "has",
    "exists": "has",
}
_METHODS = {"lower": "lowerAscii", "toLowerCase": "lowerAscii", "upper": "upperAscii", "toUpperCase": "upperAscii"} | {
    "strip": "trim",
    "startswith": "startsWith",
    "starts_with": "startsWith",
    "endswith": "endsWith",
    "ends_with": "endsWith",
    "match": "matches",
    "test": "matches",
    "search": "matches",
    "replaceAll": "replace",
    "some": "exists",
    "any": "exists",
    "every": "all",
    "select": "filter",
    "unique": "distinct",
    "uniq": "distinct",
    "flat": "flatten",
}
_AROUND = {"length": "size", "len": "size", "count": "size", "toString": "string"}
"""Methods that are functions here."""

_FILTERS = {"length": "size(X)", "count": "size(X)", "size": "size(X)", "int": "int(X)", "string": "string(X)"} | {
    "lower": "X.lowerAscii()",
    "upper": "X.upperAscii()",
    "trim": "X.trim()",
    "first": "X.first()",
    "last": "X.last()",
    "sum": "X.sum()",
    "unique": "X.distinct()",
}
"""Filters of templates of other tools, behind a `|`."""

_COMPARED = {
    "eq": "==",
    "equals": "==",
    "ne": "!=",
    "gt": ">",
    "lt": "<",
    "gte": ">=",
    "ge": ">=",
    "lte": "<=",
    "le": "<=",
}
_WORDS = {"contains": "contains", "matches": "matches", "startswith": "startsWith", "endswith": "endsWith"}


def _named(table: Mapping[str, str], before: str = "", behind: str = "") -> Callable[[re.Match[str]], str]:
    return lambda found: f"{before}{table[found[1]]}{behind}"


def _comprehension(found: re.Match[str]) -> str:
    """`[E for v in L if C]` as a chain of macros."""
    result, variable, items, condition = (part.strip() if part else "" for part in found.groups())
    chain = f"{items}.filter({variable}, {condition})" if condition else items
    return chain if result == variable else f"{chain}.map({variable}, {result})"


def _generator(found: re.Match[str]) -> str:
    """`any(E for v in L)` and its like."""
    name, body, variable, items = (part.strip() for part in found.groups())
    if name in ("any", "all"):
        return f"{items}.{'exists' if name == 'any' else 'all'}({variable}, {body})"
    return f"{items}.map({variable}, {body}).{name}()" if body != variable else f"{items}.{name}()"


def _negated(found: re.Match[str]) -> str:
    """`not x == 1` is about the whole comparison."""
    inner = found[1].strip()
    return f"!{inner}" if _ONE.fullmatch(inner) else f"!({inner})"


def _choice(found: re.Match[str], condition: str, value: str, other: str) -> str:
    """A choice in place of what was found, in brackets unless that is everything."""
    choice = f"{condition} ? {value} : {other}"
    return choice if found[0].strip() == found.string.strip() else f"({choice})"


def _default(found: re.Match[str]) -> str:
    path = found[1].replace("?.", ".")
    return _choice(found, f"has({path})" if "." in path else f"{path} != null", path, found[2])


def _template_default(found: re.Match[str]) -> str:
    """`${x.y:-none}`: the text of a default is a string here, unless it is a number or a constant."""
    other = found[2].strip()
    is_plain = re.fullmatch(r"-?\d+(?:\.\d+)?|true|false|null|\x00\d+\x00|\[\]", other)
    path = found[1]
    ask = f"has({path})" if "." in path else f"{path} != null"
    return _choice(found, ask, path, other if is_plain else f"'{other}'")


def _one_of(found: re.Match[str]) -> str:
    """`x == 'a' || 'b'`."""
    return f"{found[1]} in [{', '.join(re.findall(_TEXT, found[2]))}]"


def _got(found: re.Match[str]) -> str:
    """`x.get('key', other)`."""
    return _choice(found, f"{found[2]} in {found[1]}", f"{found[1]}[{found[2]}]", found[3])


def _safe(found: re.Match[str]) -> str:
    """`x?.y == 1`: it asks first."""
    path = found[1].replace("?.", ".")
    return f"has({path}) && {path} {found[2]} {found[3]}" if found[2] else _choice(found, f"has({path})", path, "null")


def _element(name: str) -> Callable[[re.Match[str]], str]:
    """`max(a, b)` and `max(x)` behind a list."""
    return lambda found: f"{found[1]}.{name}()" if _ONE.fullmatch(found[1]) else f"[{found[1]}].{name}()"


def _filtered(found: re.Match[str]) -> str:
    return _FILTERS[found[2]].replace("X", found[1])


def _any(names: Mapping[str, str]) -> str:
    return "|".join(sorted(names, key=len, reverse=True))


_RULES: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\$?\{\{\s*(.*?)\s*\}\}|\{%\s*(?:if\s)?\s*(.*?)\s*%\}", lambda found: found[1] or found[2] or ""),
        (r"\$\{([\w.\[\]]+):-([^{}]*)\}", _template_default),
        (r"\$\{([^{}:]*)\}", r"\1"),
        (r"\$([A-Za-z_])", r"\1"),
        (r"===", "=="),
        (r"!==", "!="),
        (r"<>", "!="),
        (r"=<", "<="),
        (r"=~", " matches "),
        (r"(?<![=!<>])=(?![=>~])", "=="),
        (r";\s*$", ""),
        (rf"({_VALUE})\s+between\s+({_VALUE})\s+and\s+({_VALUE})", r"\1 >= \2 && \1 <= \3"),
        (rf"(?<=[\w\])\x00])\s+({_any(_COMPARED)})\s+(?=[\w\[(\x00])", _named(_COMPARED, " ", " ")),
        (rf"({_VALUE})\s+is\s+not\s+defined\b", r"!has(\1)"),
        (rf"({_VALUE})\s+is\s+defined\b", r"has(\1)"),
        (r"\bis\s+not\b", "!="),
        (r"\bis\b", "=="),
        (rf"\b({_any(CONSTANTS)})\b", _named(CONSTANTS)),
        (r"\b(?:and|AND)\b|(?<!&)&(?!&)", "&&"),
        (rf"({_VALUE})\s*\|\s*({_any(_FILTERS)})\b(?!\()", _filtered),
        (r"\b(?:or|OR)\b|(?<!\|)\|(?!\|)", "||"),
        (rf"({_PATH})\s*==\s*({_TEXT}(?:\s*\|\|\s*{_TEXT})+)(?!\s*[.=<>!+])", _one_of),
        (rf"({_VALUE})\s+not\s+in\s+({_VALUE})", r"!(\1 in \2)"),
        (rf"!\s*({_PATH})\s+in\s+({_VALUE})", r"!(\1 in \2)"),
        (rf"\[([^\[\]]*?)\sfor\s+(\w+)\s+in\s+({_VALUE})(?:\s+if\s([^\[\]]*))?\]", _comprehension),
        (rf"\b(any|all|sum|min|max)\(\[?(.*?)\sfor\s+(\w+)\s+in\s+({_VALUE})\]?\)", _generator),
        (r"\(\s*\(?\s*(\w+)\s*\)?\s*=>\s*", r"(\1, "),
        (r"=>", ">="),
        (r"\blambda\s+(\w+)\s*:\s*", r"\1, "),
        (rf"\bfilter\((\w+, [^()]*), ({_VALUE})\)", r"\2.filter(\1)"),
        (r"\.find\((\w+, [^()]*)\)", r".filter(\1).first()"),
        (rf"(?<![.\w])({_any(_FUNCTIONS)})(?=\()", _named(_FUNCTIONS)),
        (rf"({_VALUE})\.({_any(_AROUND)})\(\)", lambda found: f"{_AROUND[found[2]]}({found[1]})"),
        (rf"({_PATH})\.is_?[eE]mpty\(\)", r"size(\1) == 0"),
        (rf"\.({_any(_METHODS)})(?=\()", _named(_METHODS, ".")),
        (rf"(\x00\d+\x00)\.matches\(({_VALUE})\)", r"\2.matches(\1)"),
        (rf"({_VALUE})\s+({_any(_WORDS)})\s+(\x00\d+\x00)", lambda found: f"{found[1]}.{_WORDS[found[2]]}({found[3]})"),
        (rf"({_PATH})\.(?:has|hasOwnProperty|has_key)\((\x00\d+\x00)\)", r"\2 in \1"),
        (rf"({_PATH})\.get\((\x00\d+\x00),\s*({_VALUE})\)", _got),
        (rf"({_PATH})\.get\((\x00\d+\x00)\)", r"\1[\2]"),
        (rf"({_PATH})\.(?:append|push)\(({_VALUE})\)", r"\1 + [\2]"),
        (rf"({_PATH})\.concat\(({_VALUE})\)", r"\1 + \2"),
        (rf"(?<![.\w])sorted\(({_PATH})\)|({_PATH})\.sort\(\)", lambda f: f"{f[1] or f[2]}.sortBy(i, i)"),
        (rf"(?<![.\w])set\(({_PATH})\)", r"\1.distinct()"),
        (rf"(?<![.\w])reversed\(({_PATH})\)", r"\1.reverse()"),
        (rf"(?<![.\w])sum\(({_VALUE})\)", r"\1.sum()"),
        (r"(?<![.\w])min\(((?:[^()]|\([^()]*\))*)\)", _element("min")),
        (r"(?<![.\w])max\(((?:[^()]|\([^()]*\))*)\)", _element("max")),
        (r"(?<![.\w])(?:lower)\(([^()]*)\)", r"\1.lowerAscii()"),
        (r"(?<![.\w])(?:upper)\(([^()]*)\)", r"\1.upperAscii()"),
        (rf"({_VALUE})\s*(<=?)\s*({_VALUE})\s*(<=?)\s*({_VALUE})", r"\1 \2 \3 && \3 \4 \5"),
        (rf"({_VALUE})\s*==\s*({_VALUE})\s*==\s*({_VALUE})", r"\1 == \2 && \2 == \3"),
        (rf"({_PATH}(?:\?\.\w+)*)\s*\?\?\s*({_VALUE})", _default),
        (rf"({_PATH}(?:\?\.\w+)+)(?:\s*([<>!=]=|[<>])\s*({_VALUE}))?", _safe),
        (r"(?<![&|(])\bnot\b\s*([^&|?]+?)(?=\s*(?:&&|\|\||\?|$))", _negated),
        (r"\bnot\b\s+", "!"),
        (r"^\s*if\s+(.*?):?\s*$", r"\1"),
        (r"^(.+?)\s+if\s+(.+?)\s+else\s+(.+)$", r"\2 ? \1 : \3"),
        (r"^\s*if\s*\((.*)\)\s*$", r"\1"),
    )
)


_INCLUDES = re.compile(rf"({_PATH})\.(?:includes?|indexOf)\(({_VALUE})\)(?:\s*(?:>=\s*0|>\s*-1|!=\s*-1))?")


def respellings(text: str) -> tuple[str, ...]:
    """The text with the spellings of other languages replaced, wherever that is clear; it may still be wrong.

    There are two where it depends on the type of a value: first for a string, then for a list.
    """
    strings: list[str] = []

    def keep(string: str) -> str:
        strings.append(string)
        return f"\x00{len(strings) - 1}\x00"

    if "\x00" in text:
        return ()
    if _MIXED.search(text) and "'" not in text:
        return (_summed(re.split(r"(\$\{[^{}]*\})", text), lambda part: f"'{part}'"),)
    masked = _FORMATTED.sub(lambda found: _joined(found, keep), text.translate(_CURLY))
    masked = _STRING.sub(lambda found: keep(found[0]), masked)
    masked = _EQUAL.sub("=~", masked)
    masked = _PATTERN.sub(lambda found: found[1] + keep(_quoted(found[2], found[3])), masked)
    for pattern, replacement in _RULES:
        masked = pattern.sub(replacement, masked)
    masked += ")" * min(max(masked.count("(") - masked.count(")"), 0), 9)
    both = [_INCLUDES.sub(form, masked) for form in (r"\1.contains(\2)", r"\2 in \1")]
    return tuple(
        re.sub(r"\x00(\d+)\x00", lambda found: strings[int(found[1])], one).strip() for one in dict.fromkeys(both)
    )


def _joined(found: re.Match[str], keep: Callable[[str], str]) -> str:
    """`f'{x} items'` as a sum of strings."""
    text = found[1] if found[1] is not None else found[2]
    quote = found[0][-1]
    return _summed(re.split(r"(\{[^{}]*\})", text), lambda part: keep(quote + part + quote)) or keep(quote * 2)


def _summed(parts: list[str], as_string: Callable[[str], str]) -> str:
    """Text with values in `{…}` or `${…}` as a sum of strings."""
    values = [f"string({part.strip('${}')})" if part[0] in "${" else as_string(part) for part in parts if part]
    return " + ".join(values)


def _quoted(pattern: str, flag: str) -> str:
    """What stood between slashes, as a raw string."""
    plain = ("(?i)" if flag else "") + pattern.replace("\\/", "/")
    return f'r"{plain}"' if "'" in plain else f"r'{plain}'"
