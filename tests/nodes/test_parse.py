"""The `parse` node: every format, what it refuses, and what checking knows of its value."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.errors import StepError
from pflow.core.file.home import Home
from pflow.nodes.data.literal import read_literal
from pflow.nodes.data.structure import read_json, read_yaml
from pflow.nodes.data.table import read_csv, write_csv
from pflow.registry.registry import Registry
from pflow.workspace import Workspace

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=20,
)


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as opened:
        yield opened


def parse(workspace: Workspace, text: str, kind: str, **params: object) -> object:
    outcome = workspace.run({"nodes": [{"id": "p", "type": "parse", "params": {"text": text, "as": kind, **params}}]})
    return outcome.raise_for_status().outputs["value"]


def refusal(workspace: Workspace, text: str, kind: str, **params: object) -> str:
    outcome = workspace.run({"nodes": [{"id": "p", "type": "parse", "params": {"text": text, "as": kind, **params}}]})
    assert outcome.error is not None
    return str(outcome.error["message"])


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("json", '\ufeff {"a": [1, 2.5, null]} ', {"a": [1, 2.5, None]}),
        ("yaml", "day: 2026-01-01\nok: yes\nn: 007\nx: &a [1]\ny: *a", {
            "day": "2026-01-01", "ok": "yes", "n": "007", "x": [1], "y": [1]}),
        ("jsonl", '{"a": 1}\r\n\n[2]\n', [{"a": 1}, [2]]),
        ("lines", "a\r\n\nb \u2028c\n", ["a", "", "b \u2028c"]),
        ("lines", "", []),
        ("lines", "a", ["a"]),
        ("csv", 'a,b\n1,"x, ""y""\nz"\n\n', [{"a": "1", "b": 'x, "y"\nz'}]),
        ("csv", "", []),
        ("csv", "a,b", []),
        ("literal", "{'a': (1, -2.5, None), 3: {'x', 'y'}, 'one': (1), 'none': ()}", {
            "a": [1, -2.5, None], "3": ["x", "y"], "one": 1, "none": []}),
        ("literal", r"['it\'s', u'\u00e9\x41\n', r'\d' 'more', True,]", ["it's", "éA\n", r"\dmore", True]),
    ],
)  # fmt: skip
def test_text_becomes_its_value(workspace: Workspace, kind: str, text: str, value: object) -> None:
    assert parse(workspace, text, kind) == value


def test_csv_without_a_header_is_rows_and_its_delimiter_can_be_named(workspace: Workspace) -> None:
    assert parse(workspace, "1;2\n3", "csv", header=False, delimiter=";") == [["1", "2"], ["3"]]
    assert parse(workspace, "a\tb\n1\t2", "csv", delimiter="\\t") == [{"a": "1", "b": "2"}]
    assert "one character" in refusal(workspace, "a", "csv", delimiter="::")


def test_a_regex_gives_the_named_groups_of_each_match(workspace: Workspace) -> None:
    found = parse(workspace, "a=1\nb=\n", "regex", pattern=r"^(?P<key>\w+)=(?P<value>\d)?$")
    assert found == [{"key": "a", "value": "1"}, {"key": "b", "value": None}]


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("json", '{"a": 1,\n "b": tru}', "line 2, column 7"),
        ("json", '{"a": 1, "a": 2}', "the key `a` stands twice"),
        ("json", "[NaN]", "at line 1, column 2"),
        ("json", "[1e999]", "cannot hold the number `1e999`"),
        ("json", "[18446744073709551616]", "does not fit into 64 bits"),
        ("json", "[" * 65 + "]" * 65, "nested more than 64 levels deep"),
        ("json", " \n", "`text` is empty"),
        ("yaml", "a: {b", "line 1, column 6"),
        ("yaml", "a: !!python/object:os.system x", "the tag"),
        ("yaml", "a: 1\na: 2", "the key `a` stands twice"),
        ("jsonl", '{"a": 1}\n{"a": }\n', "line 2, column 7"),
        ("csv", 'a,b\n1,"x\ny"\n3\n', "row 2 of the CSV (line 4) has 1 field, and the header has 2: `3`"),
        ("csv", "a,a\n", "the name `a` twice"),
        ("csv", "a,\n", "column 2 has no name"),
        ("csv", 'a\n"b', "in the row that begins at line 2"),
        ("literal", "{'a': nan}", "`nan` is a number that JSON does not have, at line 1, column 7"),
        ("literal", "[b'x']", "bytes cannot be held in JSON"),
        ("literal", "__import__('os').system('x')", "is not part of a literal"),
        ("literal", "[1 + 1]", "is not part of a literal"),
        ("literal", "[1", "`,` or `]` should stand here, not the end"),
        ("literal", "{'a': 1 'b'}", "`,` or `}` should stand here"),
        ("literal", "{(1, 2): 3}", "the keys of an object"),
        ("literal", "['a", "a string has no end"),
        ("literal", "[" * 100_000, "nested more than 64 levels deep"),
        ("literal", "-" * 100_000 + "1", "is not part of a literal"),
        ("literal", "9" * 5000, "cannot be held"),
        ("literal", r"'\ud800'", "not a Unicode character"),
        ("literal", "{'a': 1, 'a': 2}", "the key `a` stands twice"),
        ("literal", "", "`text` is empty"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(workspace: Workspace, kind: str, text: str, said: str) -> None:
    message = refusal(workspace, text, kind)
    assert said in message and len(message) < 400


def test_yaml_aliases_that_grow_without_end_are_refused(workspace: Workspace) -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
    )
    assert "once its aliases are written out" in refusal(workspace, bomb, "yaml")


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (r"(\w+)", "has no named groups"),
        (r"(?P<a>\w+", "is not a valid regular expression"),
        (r"(?P<a>x)(?P=a)", "uses back-references"),
        (r"(?P<a>(x))\2", "uses back-references"),
        (r"(?P<a>x)(?=y)", "uses looking ahead or behind"),
        (r"(?P<a>(?<!y)x)", "uses looking ahead or behind"),
        (r"(?P<a>x++)", "uses repetitions that never give back"),
        (r"(?P<a>(?>x))", "uses groups that never give back"),
        (r"(?P<a>x)?(?(a)y|z)", "uses conditions"),
        (r"(?P<a>((x{100}){100}){100})", "more than 5,000 parts"),
        (r"(?P<a>x)" + "y" * 1000, "at most 1,000 are allowed"),
        (None, "needs a `pattern`"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_found_when_checking(
    workspace: Workspace, pattern: str | None, said: str
) -> None:
    params = {"text": "x", "as": "regex", **({} if pattern is None else {"pattern": pattern})}
    [issue] = workspace.check({"nodes": [{"id": "p", "type": "parse", "params": params}]}).issues
    assert issue.code == "pattern" and said in issue.message and issue.severity == "error"


@pytest.mark.parametrize("pattern", [r"(?P<a>[(+]+)\)", r"(?P<a>(x{1,3})+)", r"(?P<a>\d+)(-\d+)?"])
def test_a_pattern_that_only_looks_slow_is_taken(workspace: Workspace, pattern: str) -> None:
    assert parse(workspace, "", "regex", pattern=pattern) in ([], [{"a": None}])


def test_a_pattern_that_repeats_repetitions_ends_at_once(workspace: Workspace) -> None:
    assert parse(workspace, "x" * 5000 + "z", "regex", pattern=r"(?P<a>(x+)+)y") == []
    assert parse(workspace, "x" * 50 + "y", "regex", pattern=r"(?P<a>(x+x+)+)y") == [{"a": "x" * 50}]
    assert parse(workspace, "a" * 20_000, "regex", pattern=r"(?P<a>\w+)=") == []


def test_checking_knows_the_value_of_a_format(workspace: Workspace) -> None:
    def paths(template: str, **params: object) -> list[str]:
        nodes = [
            {"id": "p", "type": "parse", "params": {"text": "x", **params}},
            {"id": "use", "type": "echo", "params": {"x": template}},
        ]
        return [issue.message for issue in workspace.check({"nodes": nodes}).issues]

    assert "has no `name`" in paths("${p.value[0].name}", **{"as": "lines"})[0]
    assert "has no `name`" in paths("${p.value.name}", **{"as": "csv"})[0]
    assert "has no `name`" in paths("${p.value[0].name}", **{"as": "csv", "header": False})[0]
    assert "has no `b`" in paths("${p.value[0].b}", **{"as": "regex", "pattern": "(?P<a>x)"})[0]
    assert not paths("${p.value[0].a}", **{"as": "regex", "pattern": "(?P<a>x)"})
    assert not paths("${p.value[0].name}", **{"as": "csv"})
    assert not paths("${p.value.rows[0].name}")


def test_a_param_of_another_format_is_warned_of(workspace: Workspace) -> None:
    params = {"text": "x", "as": "lines", "delimiter": ";"}
    [issue] = workspace.check({"nodes": [{"id": "p", "type": "parse", "params": params}]}).issues
    assert (issue.severity, issue.code, issue.hint) == ("warning", "no-effect", "it is for `as: csv`")


def test_a_path_into_text_is_told_of_parse_before_and_during_a_run(workspace: Workspace) -> None:
    shell = {"id": "sh", "type": "shell", "params": {"command": ["echo", '{"items": [1]}']}}
    use = {"id": "use", "type": "echo", "params": {"x": "${sh.stdout.items}"}}
    [issue] = workspace.check({"nodes": [shell, use]}).issues
    wanted = "if the text holds data, read it in a `parse` step with `text: ${sh.stdout}` first, and use its `value`"
    assert issue.hint == wanted
    hidden = {"id": "any", "type": "code", "params": {"code": "result = '{}'"}}
    outcome = workspace.run({"nodes": [hidden, {**use, "params": {"x": "${any.result.items}"}}]})
    assert outcome.error is not None and "`text: ${any.result}`" in str(outcome.error["suggestions"])


OWN = '''
from pocketflow import Node
class Parse(Node):
    """Mine."""
    name = "parse"
    class Outputs:
        mine: str
    def post(self, shared, prep_res, exec_res):
        shared["mine"] = "own"
class Shell(Node):
    """Not mine."""
    name = "shell"
'''


def test_a_node_of_ones_own_with_the_name_of_a_later_built_in_wins_with_a_notice(home: Path) -> None:
    (home / "nodes").mkdir(parents=True)
    (home / "nodes" / "own.py").write_text(OWN)
    with Workspace(Home(home)) as workspace:
        outcome = workspace.run({"nodes": [{"id": "p", "type": "parse"}]})
        assert outcome.outputs == {"mine": "own"}
    notices = Registry.load(Home(home)).notices
    assert "pflow: node type `parse` is left out; `own.py` has that name" in notices
    assert "`own.py`: node type `shell` is left out; a built-in node has that name" in notices


@given(JSON)
def test_json_and_yaml_and_literals_read_what_was_written(value: object) -> None:
    text = json.dumps(value)
    assert read_json(text) == value
    assert read_literal(repr(value)) == value
    if text.isascii() and "\\" not in text and "e" not in text:
        assert read_yaml(text) == value


@given(st.text(alphabet="[]{}(),:'\"\\ab1.-eNT ur\n"))
def test_a_literal_is_read_as_python_reads_it_or_refused(text: str) -> None:
    try:
        value = read_literal(text)
    except StepError:
        return
    try:
        wanted = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError):
        return  # such as an array as the item of a set
    assert json.dumps(value) == json.dumps(_plain(wanted))


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


@given(
    st.lists(
        st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1), min_size=1)
    )
)
def test_csv_reads_what_csv_wrote(rows: list[list[str]]) -> None:
    assert read_csv(write_csv(rows, header=True, delimiter=","), header=False, delimiter=",") == rows
