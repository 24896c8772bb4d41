"""Issues and errors as people read them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from pflow.core.document.issue import Issue
from pflow.core.document.parse import parse_text, parse_value
from pflow.core.error_text import render_error, render_issues
from pflow.core.errors import DocumentError, NotFoundError, StepError
from pflow.core.printable import escape


def shown(text: Any, source: str = "flow.json") -> str:
    parsed = parse_text(text) if isinstance(text, str) else parse_value(text)
    return render_issues(parsed.issues, parsed.places, source=source)


def test_an_issue_in_text_shows_what_is_known_the_line_a_caret_and_the_way_out() -> None:
    text = '{\n  "nodes": [\n    {"id": "fetch", "max_visits": "30"},\n    {"id": "save", "parms": {}}\n  ]\n}'
    assert shown(text) == snapshot("""\
error: `max_visits` must be an integer, not the string `30`
  at: nodes[0].max_visits = "30" (flow.json:3:35)
  3 |     {"id": "fetch", "max_visits": "30"},
    |                                   ^

hint: write 30 without quotes

error: a node has no field `parms`
  it has: id, type, params, when, on, batch, retry, timeout, limit, repeatable, approve, max_visits, description, \
version, mcp_metadata
  at: nodes[1].parms (flow.json:4:20)
  4 |     {"id": "save", "parms": {}}
    |                    ^

hint: did you mean `params`?\
""")


def test_an_issue_of_an_inline_document_shows_the_value() -> None:
    assert shown({"nodes": [{"id": "a"}], "start_node": "b"}, source="") == snapshot("""\
error: `start_node` names the node `b`, which does not exist
  known: a
  at: start_node = "b"\
""")


def test_malformed_json_shows_position_line_and_caret() -> None:
    assert shown('{"nodes": [\n  {"id": "a"},\n]}') == snapshot("""\
error: this is not valid JSON: trailing comma is not allowed
  at: flow.json:2:14
  2 |   {"id": "a"},
    |              ^

hint: remove the comma before the closing bracket\
""")


def test_malformed_yaml_shows_position_line_and_caret() -> None:
    assert shown("nodes:\n  - id: a\n    description: one: two\n", source="flow.yaml") == snapshot("""\
error: this is not valid YAML: mapping values are not allowed in this context
  at: flow.yaml:3:21
  3 |     description: one: two
    |                     ^

hint: put a value that contains `: ` in quotes\
""")


def test_a_long_line_is_cut_around_the_caret() -> None:
    lines = shown(
        '{"nodes": [{"id": "a", "params": {"x": "' + "y" * 500 + '"}, "tipe": "' + "z" * 500 + '"}]}'
    ).splitlines()
    excerpt, caret = lines[3:5]
    assert len(excerpt) < 120
    assert excerpt[caret.index("^") :].startswith('"tipe"')


def test_the_caret_stands_right_behind_escaped_characters() -> None:
    excerpt, caret = shown('{"nodes": [{"id": "a", "description": "\\u001b\u202e\u200b", "tipe": "x"}]}').splitlines()[
        3:5
    ]
    assert "\u202e" not in excerpt
    assert excerpt[caret.index("^") :].startswith('"tipe"')


def test_hostile_text_is_shown_escaped() -> None:
    text = shown({"nodes": [{"id": "\x1b[2J\u202eevil\n"}], "\x1b]0;x\x07": 1})
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "`\\x1b[2J\\u202eevil\\n` cannot be the id of a node" in text


def test_long_lists_of_known_words_are_cut() -> None:
    known = tuple(f"name{index}" for index in range(1000))
    text = render_issues([Issue(code="x", message="no", known=known)])
    assert text.endswith("name23, … and 976 more")


def test_an_error_shows_message_details_and_hints() -> None:
    error = StepError(
        "the request failed",
        details={"status": 404, "url": "http://x/\x1b[0m", "body": {"a": [1]}, "tried": ["a", "b"]},
        suggestions=["check the address", "see `pflow trace latest`"],
    )
    assert render_error(error) == snapshot("""\
error: the request failed
  status: 404
  url: "http://x/\\x1b[0m"
  body: {"a":[1]}
  tried: a, b

hint: check the address
hint: see `pflow trace latest`\
""")


def test_an_error_without_details_is_one_line() -> None:
    assert render_error(NotFoundError("there is no workflow `x`")) == "error: there is no workflow `x`"


def test_the_error_of_a_document_shows_its_issues() -> None:
    parsed = parse_text('{"nodes": [{"id": "a"}], "nam": "x"}')
    error = DocumentError("the document has an issue", issues=parsed.issues, suggestions=["see the docs"])
    assert render_error(error, parsed.places, source="a.json") == snapshot("""\
error: the document has no field `nam`
  it has: ir_version, name, description, metadata, requires, inputs, outputs, nodes, edges, state, start_node, on_failure, finally, timeout, budget, mappings
  at: nam = "x" (a.json:1:26)
  1 | {"nodes": [{"id": "a"}], "nam": "x"}
    |                          ^

hint: did you mean `name`?

hint: see the docs\
""")  # noqa: E501
    assert render_error(error).startswith("error: the document has no field `nam`")


def test_details_that_json_cannot_hold_are_shown_too() -> None:
    shown = render_error(StepError("no", details={"a": float("nan"), "b": {1: b"x"}, "c": 10**30, "d": object}))
    assert shown.count("\n") == 4


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("plain ÄÖ 漢字 😀", "plain ÄÖ 漢字 😀"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\x1b[31mred\x9b", "\\x1b[31mred\\x9b"),
        ("\u202e\u2066\u200b\ufeff\u2028", "\\u202e\\u2066\\u200b\\ufeff\\u2028"),
        ("\u3164\u2800", "\\u3164\\u2800"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("\0", "\\x00"),
    ],
)
def test_the_invisible_is_made_visible(text: str, escaped: str) -> None:
    assert escape(text) == escaped


@given(st.text(st.characters(exclude_categories=[])))
def test_escaped_text_is_one_printable_line_and_stays_so(text: str) -> None:
    escaped = escape(text)
    assert escaped.isprintable()
    assert escape(escaped) == escaped
