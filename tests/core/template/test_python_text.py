"""Source code in documents, checked without running it."""

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.template.python_text import check_code, source_lines


def test_good_code_has_no_findings() -> None:
    assert check_code("import os\nresult = [x for x in range(3)]\n") == []
    assert check_code("") == []


@pytest.mark.parametrize(
    ("code", "finding"),
    [
        ("x = 1\ny = = 2", (2, 5, "invalid syntax")),
        ("def f(:\n  pass", (1, 7, "invalid syntax")),
        ("if x:\nresult = 1", (2, 1, "expected an indented block after 'if' statement on line 1")),
        ("return 3", (1, 1, "'return' outside function. Assign to `result` instead of returning")),
        (
            "result = ${fetch.response.items[0].title}",
            (
                1,
                10,
                "invalid syntax. Templates do not apply inside code: pass `${fetch.response.items[0].title}` through "
                '`inputs`, as {"title": "${fetch.response.items[0].title}"}, and write `title`',
            ),
        ),
        (
            "result = ${items[0]} +",
            (
                1,
                10,
                "invalid syntax. Templates do not apply inside code: pass `${items[0]}` through "
                '`inputs`, as {"items": "${items[0]}"}, and write `items`',
            ),
        ),
    ],
)
def test_a_mistake_is_found_with_its_place_and_a_way_out(code: str, finding: tuple[int, int, str]) -> None:
    assert check_code(code) == [finding]


def test_templates_in_good_code_are_none_of_our_business() -> None:
    assert check_code('result = "cost: ${price}"') == []


@pytest.mark.parametrize(
    "code",
    ["x = '\0'", "(" * 5000 + ")" * 5000, "-" * 200_000 + "1", "x = " + "9" * 5000, "a" + ".a" * 100_000, "\ud800"],
    ids=["nul", "parentheses", "signs", "digits", "attributes", "surrogate"],
)
def test_hostile_code_becomes_a_finding(code: str) -> None:
    found = check_code(code)
    assert len(found) == 1
    line, column, message = found[0]
    assert line >= 1
    assert column >= 1
    assert message


def test_a_warning_is_no_finding_and_is_not_shown() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check_code(r"x = '\d'; y = (1 is 1)") == []


@given(st.text(max_size=200))
def test_any_text_can_be_checked(code: str) -> None:
    for line, column, message in check_code(code):
        assert line >= 1
        assert column >= 1
        assert message


@given(st.text(alphabet="ab\n\r\x0c\x0b\u2028\x85", max_size=40))
def test_lines_are_counted_as_python_does(text: str) -> None:
    code = f"'''{text}'''\nraise ValueError"
    assert source_lines(code)[-1] == "raise ValueError"
    try:
        exec(compile(code, "<code>", "exec"))
    except ValueError as error:
        assert error.__traceback__ is not None
        assert error.__traceback__.tb_next is not None
        assert error.__traceback__.tb_next.tb_lineno == len(source_lines(code))
