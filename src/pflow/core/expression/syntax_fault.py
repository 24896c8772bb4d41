"""The faults of text that is not an expression: which token, and what to write instead."""

from __future__ import annotations

from pflow.core.expression.fault import Fault
from pflow.core.expression.function import FUNCTIONS, MACROS
from pflow.core.expression.lexer import Token
from pflow.core.expression.spelling import function_hint, method_hint
from pflow.core.expression.tree import Node, Path
from pflow.core.printable import shorten
from pflow.core.suggest import did_you_mean


def no_operand(token: Token) -> Fault:
    """The fault for a token where a value should begin."""
    if token.kind == "end":
        return Fault("syntax", "the expression ends where a value is missing", at=token.at)
    hint = ""
    if token.kind == "/":
        hint = "a pattern is a string: `text.matches('a+')`"
    elif token.kind in ("=", "==", ">"):
        hint = "an operator stands between two values, and is written without spaces inside"
    elif token.kind == "quoted":
        hint = "strings stand in `'` or `\"`; in backquotes, only the name of a field behind a `.`"
    elif token.kind == "in":
        hint = 'write `steps["in"]` for a node of that name'
    return Fault("syntax", f"a value is missing before `{shorten(token.text)}`", hint, at=token.at)


def unknown_function(name: Token) -> Fault:
    """The fault for a call of a function that there is not, or that is written behind a value."""
    text = name.text
    if text in FUNCTIONS or text in MACROS:
        inner = "i, …" if text in MACROS else ", ".join("…" for _ in FUNCTIONS[text].takes[1 : FUNCTIONS[text].fewest])
        receiver = "[a, b]" if text in ("min", "max") else "x"
        return Fault("syntax", f"`{text}` is written behind a value", f"write `{receiver}.{text}({inner})`", at=name.at)
    known = [one for one, function in FUNCTIONS.items() if function.is_function]
    hint = function_hint(text) or did_you_mean(text, [*known, "has"]) or method_hint(text)
    return Fault("syntax", f"there is no function `{shorten(text)}`", hint or _all_of(known), at=name.at)


def unknown_method(name: Token) -> Fault:
    """The fault for a function behind a value that there is not, or that is written before it."""
    if name.text in FUNCTIONS:
        return Fault("syntax", f"`{name.text}` is a function", f"write `{name.text}(x)`", at=name.at)
    known = [*(one for one, function in FUNCTIONS.items() if function.is_method), *MACROS]
    hint = method_hint(name.text) or did_you_mean(name.text, known) or function_hint(name.text)
    return Fault("syntax", f"there is no function `{shorten(name.text)}`", hint or _all_of(known), at=name.at)


def not_a_field(name: Token, target: Node | None) -> Fault:
    """The fault for `has` of something other than a field."""
    hint = "write `has(x.field)`; for an element of a list `size(x) > 0`"
    if isinstance(target, Path) and target.keys:
        hint = f"write `size({target.text_to(len(target.keys) - 1)}) > {target.keys[-1]}`"
    elif isinstance(target, Path):
        own = target.name
        hint = f"write `has(steps.{own})` for a node, `has({own}.field)` for a field, `{own} != null` for an input"
    return Fault("syntax", "`has` takes the path of one field", hint, at=name.at)


def wrong_count(name: str, least: int, most: int) -> str:
    """The message about a call with too few or too many arguments."""
    count = str(least) if least == most else f"{least} or {most}"
    return f"`{name}` takes {count} argument{'' if count == '1' else 's'} here"


def _all_of(names: list[str]) -> str:
    return f"there are: {', '.join(f'`{name}`' for name in sorted(names))}"
