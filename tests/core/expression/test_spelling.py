"""What is written out of habit from other languages is refused where it stands, with the right spelling."""

from __future__ import annotations

import pytest

from pflow.core.errors import ExpressionError
from pflow.core.expression.parser import parse

WRONG = [
    ("x = 1", 3, "write `x == 1`"),
    ("x === 1", 3, "write `x == 1`"),
    ("x !== 1", 3, "write `x != 1`"),
    ("x <> 1", 3, "write `x != 1`"),
    ("x and y", 3, "write `x && y`"),
    ("x or y", 3, "write `x || y`"),
    ("not x", 1, "write `!x`"),
    ("not (x == 1)", 1, "write `!(x == 1)`"),
    ("x & y", 3, "write `x && y`"),
    ("x | y", 3, "write `x || y`"),
    ("len(x) > 1", 1, "write `size(x) > 1`"),
    ("x.includes('a')", 3, "x.contains("),
    ("x.lower() == 'a'", 3, "write `x.lowerAscii() == 'a'`"),
    ("x.upper() == 'A'", 3, "write `x.upperAscii() == 'A'`"),
    ("x.strip() == ''", 3, "write `x.trim() == ''`"),
    ("x.toLowerCase()", 3, "write `x.lowerAscii()`"),
    ("x is None", 3, "`x == null`"),
    ("x is not None", 3, "`x != null`"),
    ("x == None", 6, "write `x == null`"),
    ("x == True", 6, "write `x == true`"),
    ("x == False", 6, "write `x == false`"),
    ("x == undefined", 6, "write `x == null`"),
    ("a if c else b", 3, "write `c ? a : b`"),
    ("${x} == 1", 1, "write `x == 1`"),
    ("size(${x.items}) > ${n}", 6, "write `size(x.items) > n`"),
    ("x == 'abc", 6, "end it with `'`"),
    ("x == 'abc\"", 6, "end it with the quote that it begins with: `'`"),
    ("x == 'it's'", 10, "for a quote inside a string"),
    ("x ?? y", 3, "write `x != null ? x : y`"),
    ("x?.y", 2, "write `has(x.y) ? x.y : null`"),
    ("!x in y", 1, "write `!(x in y)`"),
    ("x not in y", 3, "write `!(x in y)`"),
    ("i++", 2, "write `x + 1`"),
    ("i += 1", 3, "write `x + 1`"),
    ("a == b == c", 8, "write `a == b && b == c`"),
    ("1 < x < 5", 7, "write `1 < x && x < 5`"),
    ("f'{x} items'", 1, "write `string(x) + ' items'`"),
    ("b'abc'", 1, "there are no bytes"),
    ("5u", 1, "write `5`"),
    ("1_000", 1, "write `1000`"),
    ("x.matches(/a+/)", 11, "write `x.matches(r'a+')`"),
    ("items.filter(i => i.open)", 16, "items.filter(i, i.open)"),
    ("[i.name for i in items]", 9, "items.map(i, i.name)"),
    ("x // 2", 3, "there are no comments"),
    ("x ** 2", 3, "there is no operator for powers"),
    ("x == “a”", 6, 'write `x == "a"`'),
    ("x ≥ 1", 3, "write `x >= 1`"),
    ("sum(items)", 1, "write `items.sum()`"),
    ("max(a, b)", 1, "write `[a, b].max()`"),
    ("x.int()", 3, "write `int(x)`"),
    ("x.starsWith('a')", 3, "did you mean `startsWith`?"),
    ("sise(x)", 1, "did you mean `size`?"),
    ("now() > x", 1, "timestamp(run.started_at)"),
    ("has(x)", 1, "write `has(steps.x)`"),
    ("loop.x", 1, 'write `steps["loop"]`'),
    ("{a: 1}", 2, 'write `"a": …`'),
    ("{1: 2}", 2, "put the key in quotes"),
    ("'\\d+'", 2, "put an `r` before the string"),
    ("x.matches('(a')", 11, "write `\\(`"),
    ("x.matches('(?=a)')", 11, "two `matches`"),
    ("x.matches('a\\\\1')", 11, "no back-references"),
    ("x; y", 2, "leave the `;` out"),
    ("x y", 3, "write an operator between two values"),
    ("c ? 1", 6, "`condition ? value : other`"),
    ("(x", 3, "write `(x)`"),
    ("${", 1, "without `${` and `}`"),
    ("", 1, "write a condition"),
    ("x.k == 'a' or 'b'", 12, "write `x.k in ['a', 'b']`"),
    ("${x.y:-none} == 'a'", 1, "write `(has(x.y) ? x.y : 'none') == 'a'`"),
    ("x = 'a and b' and y", 3, "write `x == 'a and b' && y`"),
    ("not x.a == 1", 1, "write `!(x.a == 1)`"),
    ("x.get('a', 0) > 1", 3, "write `('a' in x ? x['a'] : 0) > 1`"),
    ("items.some(i => i == 1)", 14, "write `items.exists(i, i == 1)`"),
    ("any(i.open for i in x.items)", 1, "write `x.items.exists(i, i.open)`"),
    ("/^v\\d+$/.test(x.name)", 2, "write `x.name.matches(r'^v\\d+$')`"),
    ("x.name =~ /a+/i", 8, "write `x.name.matches(r'(?i)a+')`"),
    ("{{ x.y }} == 'a'", 8, "write `x.y == 'a'`"),
    ("x.y is defined", 5, "write `has(x.y)`"),
    ("x.items | length > 3", 9, "write `size(x.items) > 3`"),
    ("if x == 1:", 1, "write `x == 1`"),
    ("x contains 'a'", 3, "write `x.contains('a')`"),
    ("sum(i.n for i in x.items)", 1, "write `x.items.map(i, i.n).sum()`"),
    ("x?.y == 1", 2, "write `has(x.y) && x.y == 1`"),
    ("max(x.items)", 1, "write `x.items.max()`"),
    ("[i for i in items if i.open and i.n > 1]", 4, "write `items.filter(i, i.open && i.n > 1)`"),
    ("filter(lambda i: i.open, items)", 1, "write `items.filter(i, i.open)`"),
]


@pytest.mark.parametrize(("text", "column", "hint"), WRONG)
def test_a_foreign_spelling_is_refused_with_the_right_one(text: str, column: int, hint: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    error = caught.value
    assert (error.code, error.line, error.column) == ("expression", 1, column), error.message
    assert any(hint in one for one in error.suggestions), (error.message, error.suggestions)


def test_an_error_names_its_line() -> None:
    with pytest.raises(ExpressionError) as caught:
        parse("size(x) > 1\n  && y = 2\n  && z")
    assert (caught.value.line, caught.value.column) == (2, 8)


@pytest.mark.parametrize(
    "text",
    [
        "x in [1, 2]",
        "!(x in y)",
        "--x",
        "!!x",
        "(a < b) == c",
        "a ? b : c ? d : e",
        "x.length",
        "x.`content-type`",
        "has(x['content-type'])",
        "steps['my-id'].x",
        "x.import",
        "'''it's'''",
        "[1, 2,]",
    ],
)
def test_what_looks_odd_and_is_right_is_accepted(text: str) -> None:
    parse(text)


def test_a_long_text_gets_its_answer_at_once_and_without_itself() -> None:
    for text in ("x and " * 600 + "x", "(" * 2000, "[" * 2000, "x.y?." * 700, "not " * 900, "a if " * 700, "/a" * 1500):
        with pytest.raises(ExpressionError) as caught:
            parse(text)
        assert all(len(hint) < 500 for hint in caught.value.suggestions)
