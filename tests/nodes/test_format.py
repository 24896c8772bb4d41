"""The `format` node: a value as JSON, CSV or a Markdown table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pflow.core.file.home import Home
from pflow.workspace import Workspace


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as opened:
        yield opened


ROWS = [{"name": "a|b", "n": 1}, {"name": 'say "hi",\nthen go', "tags": ["x"], "n": None}]


@pytest.mark.parametrize(
    ("value", "params", "text"),
    [
        ({"a": [1, None]}, {}, '{"a":[1,null]}'),
        ({"a": 1}, {"indent": True}, '{\n  "a": 1\n}'),
        (ROWS, {"as": "csv"}, 'name,n,tags\na|b,1,\n"say ""hi"",\nthen go",,"[""x""]"\n'),
        (ROWS[:1], {"as": "csv", "header": False, "delimiter": ";"}, "a|b;1\n"),
        ([["a", 1], ["=1+1", True]], {"as": "csv"}, "a,1\n=1+1,true\n"),
        ([], {"as": "csv"}, ""),
        (
            ROWS,
            {"as": "markdown"},
            '| name | n | tags |\n| --- | --- | --- |\n| a\\|b | 1 |  |\n| say "hi",<br>then go |  | ["x"] |\n',
        ),
        ([["a", "b"], [1]], {"as": "markdown"}, "| a | b |\n| --- | --- |\n| 1 |  |\n"),
        ([], {"as": "markdown"}, ""),
    ],
)
def test_a_value_becomes_text(workspace: Workspace, value: object, params: dict[str, object], text: str) -> None:
    outcome = workspace.run({"nodes": [{"id": "f", "type": "format", "params": {"value": value, **params}}]})
    assert outcome.raise_for_status().outputs == {"text": text}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"a": 1}, "`value` must be an array of objects or of arrays, not an object"),
        ("[]", "`value` must be an array of objects or of arrays, not a string"),
        ([{"a": 1}, [1]], "`value[0]` is an object; the rows must be all objects or all arrays"),
        ([1], "`value[0]` is an integer; the rows must be all objects or all arrays"),
    ],
)
def test_what_is_not_a_table_is_refused(workspace: Workspace, value: object, said: str) -> None:
    outcome = workspace.run({"nodes": [{"id": "f", "type": "format", "params": {"value": value, "as": "csv"}}]})
    assert outcome.error is not None and outcome.error["message"] == said


def test_what_was_parsed_can_be_formatted_again(workspace: Workspace) -> None:
    document = {
        "inputs": {"text": {"type": "string"}},
        "nodes": [
            {"id": "rows", "type": "parse", "params": {"text": "${text}", "as": "csv"}},
            {"id": "out", "type": "format", "params": {"value": "${rows.value}", "as": "csv"}},
        ],
    }
    text = 'a,b\n1,"x\ny"\n'
    assert workspace.run(document, {"text": text}).outputs == {"text": text}
