"""What people and models write out of habit from other languages, and how pflow's expressions say it."""

from __future__ import annotations

import re

from pflow.core.printable import shorten

FOREIGN_MARKS = ("//", "++", "**", "??", "!==", "<>", "+=", "-=", "*=", "%=", "?.")
"""Marks of other languages that begin with a mark of this one."""

_MARKS = {
    "===": "write `==`",
    "!==": "write `!=`",
    "==": "compare two values at a time: `a == b && b == c`",
    "=>": "a macro names its variable first: `items.filter(i, i.open)`",
    "=": "write `==` to compare; an expression cannot assign",
    "<>": "write `!=`",
    "&": "write `&&`",
    "|": "write `||`",
    "//": "there are no comments; division is `/`, and between integers it drops the remainder",
    "++": "an expression cannot change a value; write `x + 1`",
    "+=": "an expression cannot change a value; write `x + 1`",
    "-=": "an expression cannot change a value; write `x - 1`",
    "*=": "an expression cannot change a value; write `x * 2`",
    "%=": "an expression cannot change a value; write `x % 2`",
    "**": "there is no operator for powers; write `x * x`",
    "??": "write `has(x.y) ? x.y : other`",
    "?.": "write `has(x.y) ? x.y : other`; behind `?`, a number begins with a digit: `0.5`",
    "^": "there are no operators on bits",
    "~": "there are no operators on bits; for a pattern write `text.matches('a+')`",
    ";": "an expression is one value; leave the `;` out",
    "@": "a name begins with a letter or `_`",
    "#": "there are no comments; leave this out",
    "\\": "a backslash belongs into a string",
}
_PREFIXED = re.compile(r"([A-Za-z]+)[\"']")
_NUMBER = re.compile(r"[0-9][\w.]*", re.ASCII)
_WORD = re.compile(r"\w+")


def foreign_text(text: str, at: int) -> tuple[str, str]:
    """What is wrong where no token begins, and what to write."""
    if text[at] == "$":
        return "`${…}` belongs into templates, not into expressions", "write the name alone, without `${` and `}`"
    if text[at] in "'\"`":
        return f"the string that begins with `{text[at]}` does not end", _quote_hint(text, at)
    if prefixed := _PREFIXED.match(text, at):
        return f"`{prefixed[1]}` before a string means nothing here", _prefix_hint(prefixed[1])
    if number := _NUMBER.match(text, at):
        return f"`{shorten(number[0])}` is not a number", _number_hint(number[0])
    for mark, hint in _MARKS.items():
        if text.startswith(mark, at):
            return f"`{mark}` is not an operator of expressions", hint
    word = _WORD.match(text, at)
    if word:
        return f"`{shorten(word[0])}` is not a name", "names have the letters a to z, digits and `_`; others: `x['…']`"
    return f"`{shorten(text[at])}` means nothing here", _look_alike(text[at])


def _quote_hint(text: str, at: int) -> str:
    quote = text[at]
    other = "'" if quote == '"' else '"'
    if quote == "`":
        return "strings stand in `'` or `\"`"
    if text.startswith(quote * 3, at):
        return f"end it with `{quote * 3}`"
    if text.count(quote, at) == 1 and text.count(other, at) % 2:
        return f"end it with the quote that it begins with: `{quote}`"
    if quote in text[at + 1 :]:
        return f"write `\\{quote}` for a quote inside a string, or begin and end the string with `{other}`"
    return f"end it with `{quote}`"


def _prefix_hint(prefix: str) -> str:
    if prefix in "fF":
        return "join strings with `+`: `'Hello ' + name`, and `string(x)` for other values"
    if prefix.lower() in ("b", "rb", "br"):
        return "there are no bytes; leave the prefix out"
    return "write `\\'` for a quote inside a string, or an operator between two values"


def _number_hint(word: str) -> str:
    if word[-1] in "uU":
        return f"there are no unsigned numbers; write `{word[:-1]}`"
    if "_" in word:
        return f"write `{word.replace('_', '')}`"
    return "a name begins with a letter; a string stands in quotes"


def _look_alike(letter: str) -> str:
    if letter in "‘’‚“”„«»":
        return "strings stand in straight quotes: `'` or `\"`"
    return {"≤": "write `<=`", "≥": "write `>=`", "≠": "write `!=`", "–": "write `-`", "×": "write `*`"}.get(letter, "")


WORDS = {
    "and": "write `&&`",
    "or": "write `||`",
    "not": "write `!x`",
    "is": "write `==`: `x == null`",
    "if": "write `condition ? value : other`",
    "else": "write `condition ? value : other`",
    "for": "write `items.map(i, i.name)`",
    "AND": "write `&&`",
    "OR": "write `||`",
    "NOT": "write `!x`",
    "instanceof": "types are not compared in expressions",
    "typeof": "types are not compared in expressions",
    "lambda": "a macro names its variable first: `items.filter(i, i.open)`",
    "matches": "write `text.matches('a+')`",
    "contains": "write `text.contains('a')`, or `'a' in list`",
    "like": "write `text.matches('a.*')`",
}
"""Words that stand where an operator is expected."""

CONSTANTS = {
    "None": "null",
    "True": "true",
    "False": "false",
    "nil": "null",
    "undefined": "null",
    "NULL": "null",
    "TRUE": "true",
    "FALSE": "false",
}

_MEMBER = "write `x.contains('part')` for a string, `part in x` for a list"
_FUNCTIONS = {
    "len": "write `size(x)`",
    "length": "write `size(x)`",
    "count": "write `size(x)`",
    "str": "write `string(x)`",
    "String": "write `string(x)`",
    "float": "write `double(x)`",
    "number": "write `double(x)`",
    "Number": "write `double(x)`",
    "parseInt": "write `int(x)`",
    "parseFloat": "write `double(x)`",
    "Boolean": "write `bool(x)`",
    "date": "write `timestamp(x)`",
    "Date": "write `timestamp(x)`",
    "now": "there is no clock in expressions, so that a step can be repeated; use `timestamp(run.started_at)`",
    "sorted": "write `x.sortBy(i, i)`",
    "set": "write `x.distinct()`",
    "any": "write `x.exists(i, i > 0)`",
    "defined": "write `has(x.y)`",
    "exists": "write `has(x.y)`, or `items.exists(i, i > 0)`",
    "isset": "write `has(x.y)`",
    "hasattr": "write `has(x.y)`",
    "coalesce": "write `has(x.y) ? x.y : other`",
    "default": "write `has(x.y) ? x.y : other`",
    "range": "there are no ranges; write the list: `[0, 1, 2]`",
    "type": "types are not compared in expressions",
    "isinstance": "types are not compared in expressions",
    "uint": "there are no unsigned numbers; write `int(x)`",
    "bytes": "there are no bytes",
    "join": "write `list.join(', ')`",
    "lower": "write `text.lowerAscii()`",
    "upper": "write `text.upperAscii()`",
    "reversed": "write `x.reverse()`",
    "regex": "write `text.matches('a+')`",
    "not": "write `!x`",
    "if": "write `condition ? value : other`",
    "always": "leave the condition out; to go on after a failure write `on: {error: next}` on the node before",
    "success": "leave the condition out: what follows a failure does not run",
    "failure": "write `on: {error: NODE}` on the node that may fail",
}
_METHODS = {
    "length": "write `size(x)`",
    "len": "write `size(x)`",
    "count": "write `size(x)`",
    "includes": _MEMBER,
    "include": _MEMBER,
    "has": "write `has(x.key)`",
    "hasOwnProperty": "write `has(x.key)`",
    "get": "write `has(x.key) ? x.key : other`",
    "lower": "write `x.lowerAscii()`",
    "toLowerCase": "write `x.lowerAscii()`",
    "upper": "write `x.upperAscii()`",
    "toUpperCase": "write `x.upperAscii()`",
    "strip": "write `x.trim()`",
    "startswith": "write `x.startsWith('a')`",
    "starts_with": "write `x.startsWith('a')`",
    "endswith": "write `x.endsWith('a')`",
    "ends_with": "write `x.endsWith('a')`",
    "toString": "write `string(x)`",
    "match": "write `x.matches('a+')`",
    "test": "write `x.matches('a+')`",
    "search": "write `x.matches('a+')`",
    "replaceAll": "write `x.replace('a', 'b')`; it replaces all",
    "some": "write `x.exists(i, i > 0)`",
    "any": "write `x.exists(i, i > 0)`",
    "every": "write `x.all(i, i > 0)`",
    "find": "write `x.filter(i, i > 0).first()`",
    "select": "write `x.filter(i, i > 0)`",
    "where": "write `x.filter(i, i > 0)`",
    "sort": "write `x.sortBy(i, i)`",
    "sorted": "write `x.sortBy(i, i)`",
    "uniq": "write `x.distinct()`",
    "unique": "write `x.distinct()`",
    "concat": "write `x + y`",
    "append": "write `x + [y]`",
    "push": "write `x + [y]`",
    "flat": "write `x.flatten()`",
    "keys": "write `x.map(key, key)`",
    "values": "write `x.map(key, x[key])`",
    "items": "write `x.map(key, x[key])`",
    "format": "join strings with `+`: `'Hello ' + name`",
    "index": "write `part in x`",
    "at": "write `x[0]`",
    "substring": "write `x.matches('^a')`, `x.startsWith('a')` or `x.split('-')[0]`",
    "indexOf": _MEMBER,
    "isEmpty": "write `size(x) == 0`",
    "empty": "write `size(x) == 0`",
    "max": "write `[a, b].max()`",
    "min": "write `[a, b].min()`",
}
_FIELDS = {"length": "size(x)", "len": "size(x)", "size": "size(x)", "count": "size(x)"}


def function_hint(name: str) -> str:
    """How to say what a function of another language does; "" where nothing is known."""
    return _FUNCTIONS.get(name, "")


def method_hint(name: str) -> str:
    """How to say what a method of another language does; "" where nothing is known."""
    return _METHODS.get(name, "")


def field_hint(name: str, of: str) -> str:
    """How to say what a property of a string or list is in another language, for a value that is written `of`."""
    return f"write `{_FIELDS[name].replace('x', of)}`" if name in _FIELDS else ""
