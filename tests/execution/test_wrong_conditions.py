"""Conditions as newcomers and models write them first: what a hint says to write, taken literally, is valid."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pflow.core.document.issue import Issue
from pflow.core.file.home import Home
from pflow.workspace import Workspace

DOCUMENT = """
inputs:
  status: {type: string}
  count: {type: integer}
  total: {type: number}
  flag: {type: boolean}
  order: {type: object}
  names: {type: array}
nodes:
  - {id: list, type: list-files, params: {path: .}}
  - {id: my-step, type: echo, params: {x: 1}}
  - {id: route, type: switch, params: {cases: {Open: "count > 1"}}}
  - id: say
    type: echo
    when: CONDITION
    params: {text: hello}
"""

CONDITIONS: list[tuple[str, str, str, str]] = [
    # what is wrong, the code, what the hint says to write, and the condition with that in place
    ("status = 'open'", "expression", "status == 'open'", ""),
    ("status === 'open'", "expression", "status == 'open'", ""),
    ("status !== 'open'", "expression", "status != 'open'", ""),
    ("status <> 'open'", "expression", "status != 'open'", ""),
    ("status == 'open' and count > 1", "expression", "status == 'open' && count > 1", ""),
    ("status == 'open' or status == 'new'", "expression", "status == 'open' || status == 'new'", ""),
    ("status == 'open' or 'new'", "expression", "status in ['open', 'new']", ""),
    ("status == 'open' || 'new'", "expression-type", "status in ['open', 'new']", ""),
    ("not flag", "expression", "!flag", ""),
    ("not status == 'open'", "expression", "!(status == 'open')", ""),
    ("!status == 'open'", "expression-type", "status != 'open'", ""),
    ("status not in ['a', 'b']", "expression", "!(status in ['a', 'b'])", ""),
    ("!status in ['a', 'b']", "expression", "!(status in ['a', 'b'])", ""),
    ("len(names) > 0", "expression", "size(names) > 0", ""),
    ("names.length > 0", "unknown-field", "size(names)", "size(names) > 0"),
    ("list.files.length() > 0", "expression", "size(list.files) > 0", ""),
    ("names | length > 0", "expression", "size(names) > 0", ""),
    ("${count} > 1", "expression", "count > 1", ""),
    ("${{ count > 1 }}", "expression", "count > 1", ""),
    ("{{ count }} > 1", "expression", "count > 1", ""),
    ("'${status}' == 'open'", "misplaced-template", "status", "status == 'open'"),
    ("${order.note:-none} == 'x'", "expression", "(has(order.note) ? order.note : 'none') == 'x'", ""),
    ("if count > 1:", "expression", "count > 1", ""),
    ("order.note is None", "expression", "order.note == null", ""),
    ("order.note is not None", "expression", "order.note != null", ""),
    ("order.note == undefined", "expression", "order.note == null", ""),
    ("order.note is defined", "expression", "has(order.note)", ""),
    ("exists(order.note)", "expression", "has(order.note)", ""),
    ("order?.note == 'x'", "expression", "has(order.note) && order.note == 'x'", ""),
    ("order.note ?? false", "expression", "has(order.note) ? order.note : false", ""),
    ("order.get('note', 0) > 1", "expression", "('note' in order ? order['note'] : 0) > 1", ""),
    ("flag if count > 1 else false", "expression", "count > 1 ? flag : false", ""),
    ("'n' + count == 'n1'", "expression-type", "'n' + string(count)", "'n' + string(count) == 'n1'"),
    ("f'n{count}' == 'n1'", "expression", "'n' + string(count) == 'n1'", ""),
    ("[n for n in names if n == 'x'] != []", "expression", "names.filter(n, n == 'x') != []", ""),
    ("any(n == 'x' for n in names)", "expression", "names.exists(n, n == 'x')", ""),
    ("names.some(n => n == 'x')", "expression", "names.exists(n, n == 'x')", ""),
    ("names.filter(n => n == 'x') != []", "expression", "names.filter(n, n == 'x') != []", ""),
    ("names.includes('x')", "expression", "'x' in names", ""),
    ("status.includes('x')", "expression", "status.contains('x')", ""),
    ("names.contains('x')", "expression-type", "'x' in names", ""),
    ("'op' in status", "expression-type", "status.contains('op')", ""),
    ("status in 'open new'", "expression-type", "status in ['open', 'new']", ""),
    ("status contains 'op'", "expression", "status.contains('op')", ""),
    ("status.startswith('o')", "expression", "status.startsWith('o')", ""),
    ("status.toLowerCase() == 'open'", "expression", "status.lowerAscii() == 'open'", ""),
    ("status.match(/^v[0-9]+$/)", "expression", "status.matches(r'^v[0-9]+$')", ""),
    ("/^v[0-9]+$/.test(status)", "expression", "status.matches(r'^v[0-9]+$')", ""),
    ("status =~ /open/i", "expression", "status.matches(r'(?i)open')", ""),
    ("status == /open/", "expression", "status.matches(r'open')", ""),
    ("flag == True", "expression", "flag == true", ""),
    ("flag == 'true'", "expression-type", "flag == true", ""),
    ("'true'", "expression-type", "true", ""),
    ("yes", "unknown-name", "true", ""),
    ("status", "expression-type", "status != ''", ""),
    ("count", "expression-type", "count != 0", ""),
    ("names", "expression-type", "size(names) > 0", ""),
    ("flag && count", "expression-type", "count != 0", "flag && count != 0"),
    ("status == open", "unknown-name", "'open'", "status == 'open'"),
    ("status == “open”", "expression", 'status == "open"', ""),
    ("count == '1'", "expression-type", "count == 1", ""),
    ("status > 5", "expression-type", "int(status) > 5", ""),
    ("total % 2 == 0", "expression-type", "int(total) % 2", "int(total) % 2 == 0"),
    ("count => 1", "expression", "count >= 1", ""),
    ("count =< 1", "expression", "count <= 1", ""),
    ("1 < count < 5", "expression", "1 < count && count < 5", ""),
    ("count between 1 and 5", "expression", "count >= 1 && count <= 5", ""),
    ("status eq 'open'", "expression", "status == 'open'", ""),
    ("count > 1 && (flag", "expression", "count > 1 && (flag)", ""),
    ("count > 1;", "expression", "count > 1", ""),
    ("list.file == []", "unknown-field", "list.files", "list.files == []"),
    ("lst.files == []", "unknown-name", "list", "list.files == []"),
    ("Status == 'open'", "unknown-name", "status", "status == 'open'"),
    ("list.outputs.files == []", "unknown-field", "list.files", "list.files == []"),
    ("inputs.count > 1", "unknown-name", "count", "count > 1"),
    ("my-step.x == 1", "unknown-name", 'steps["my-step"]', 'steps["my-step"].x == 1'),
    ("route.case == 'open'", "never-true", "Open", "route.case == 'Open'"),
    ("has(names[0])", "expression", "size(names) > 0", ""),
    ("has(order)", "expression", "order != null", ""),
    ("max(count, 3) > 3", "expression", "[count, 3].max() > 3", ""),
]

A = "nodes:\n  - {id: a, type: let, params: {n: size('abc')}}\n"
B = "  - {id: b, type: echo, on: {default: end}}\n  - {id: c, type: echo}\n"
EDGES = "edges:\n"
C = "  - {from: a, to: c, when: a.n > 1}\n"
ELSE = "  - {from: a, to: b, when: else}\n"

DOCUMENTS: dict[str, tuple[str, str, str, str]] = {
    # the document, the code, a part of the hint, and the document that it leads to
    "if": (
        A + "  - {id: b, type: echo, if: a.n > 1}\n",
        "unknown-field",
        "did you mean `when`?",
        A + "  - {id: b, type: echo, when: a.n > 1}\n",
    ),
    "else twice": (
        A + B + EDGES + C + ELSE + "  - {from: a, to: c, when: else}\n",
        "mixed-edges",
        "move it to the end",
        A + B + EDGES + C + "  - {from: a, to: c, when: a.n > 0}\n" + ELSE,
    ),
    "else first": (A + B + EDGES + ELSE + C, "mixed-edges", "move it to the end", A + B + EDGES + C + ELSE),
    "else alone": (
        A + "  - {id: b, type: echo}\n" + EDGES + ELSE,
        "mixed-edges",
        "leave out `when`",
        A + "  - {id: b, type: echo}\n" + EDGES + "  - {from: a, to: b}\n",
    ),
    "else spelled default": (
        A + B + EDGES + C + "  - {from: a, to: b, when: default}\n",
        "unknown-name",
        "`when: else`",
        A + B + EDGES + C + ELSE,
    ),
    "only edge": (
        A + "  - {id: b, type: echo}\n" + EDGES + "  - {from: a, to: b, when: a.n > 1}\n",
        "no-else",
        "add an edge with `when: else`, which may lead to `end`",
        A
        + "  - {id: b, type: echo}\n"
        + EDGES
        + "  - {from: a, to: b, when: a.n > 1}\n  - {from: a, to: end, when: else}\n",
    ),
    "some without when": (
        A + B + EDGES + C + "  - {from: a, to: b}\n",
        "mixed-edges",
        "write `when: else` here",
        A + B + EDGES + C + ELSE,
    ),
    "list of conditions": (
        A + "  - {id: b, type: echo, when: [a.n > 1, a.n < 5]}\n",
        "wrong-type",
        "`a.n > 1 && a.n < 5`",
        A + "  - {id: b, type: echo, when: a.n > 1 && a.n < 5}\n",
    ),
    "list of cases": (
        A + "  - {id: b, type: switch, params: {cases: [{when: a.n > 9, name: big}]}}\n",
        "expression",
        "`{big: n > 9, small: n > 0}`",
        A + "  - {id: b, type: switch, params: {cases: {big: a.n > 9}}}\n",
    ),
    "template in a case": (
        A + "  - {id: b, type: switch, params: {cases: {big: '${a.n} > 9'}}}\n",
        "expression",
        "`a.n > 9`",
        A + "  - {id: b, type: switch, params: {cases: {big: 'a.n > 9'}}}\n",
    ),
    "half of the cases": (
        A
        + "  - {id: s, type: switch, params: {cases: {big: a.n > 9, small: a.n > 1}}, on: {big: end}}\n"
        + "  - {id: b, type: echo}\n",
        "missing-edge",
        "`on: {small: …}`: a node, `next` or `end`",
        A
        + "  - {id: s, type: switch, params: {cases: {big: a.n > 9, small: a.n > 1}}, on: {big: end, small: next}}\n"
        + "  - {id: b, type: echo}\n",
    ),
    "ways by true and false": (
        A + "  - {id: s, type: let, params: {ok: a.n > 1}, on: {'true': c, default: b}}\n" + B,
        "unknown-action",
        "`edges: [{from: …, to: …, when:",
        A + "  - {id: s, type: let, params: {ok: a.n > 1}}\n" + B + EDGES + "  - {from: s, to: c, when: s.ok}\n",
    ),
    "condition of a filter": (
        A + "  - {id: b, type: filter, params: {items: [1, 2], condition: item > 1}}\n",
        "unknown-param",
        "did you mean `where`?",
        A + "  - {id: b, type: filter, params: {items: [1, 2], where: item > 1}}\n",
    ),
    "filter of a batch": (
        A + "  - {id: b, type: echo, batch: {items: [1, 2], filter: item > 1}}\n",
        "unknown-field",
        "did you mean `where`?",
        A + "  - {id: b, type: echo, batch: {items: [1, 2], where: item > 1}}\n",
    ),
    "item without a batch": (
        A + "  - {id: b, type: echo, when: item > 1}\n",
        "unknown-name",
        "in a batch, in its `where`",
        A + "  - {id: b, type: echo, batch: {items: [1, 2], where: item > 1}}\n",
    ),
    "text in a map": (
        A + "  - {id: b, type: map, params: {items: [1, 2], to: {state: open, n: item}}}\n",
        "unknown-name",
        "`'open'`",
        A + "  - {id: b, type: map, params: {items: [1, 2], to: {state: \"'open'\", n: item}}}\n",
    ),
    "template text in a map": (
        A + "  - {id: b, type: map, params: {items: [1, 2], to: 'n${item}'}}\n",
        "expression",
        "`'n' + string(item)`",
        A + "  - {id: b, type: map, params: {items: [1, 2], to: \"'n' + string(item)\"}}\n",
    ),
    "let that uses itself": (
        A + "  - {id: b, type: let, params: {x: a.n, y: x + 1}}\n",
        "unknown-name",
        "in a `let` step before this one",
        A + "  - {id: p, type: let, params: {x: a.n}}\n  - {id: b, type: let, params: {y: p.x + 1}}\n",
    ),
    "a node that comes later": (
        A + "  - {id: b, type: echo, when: c.x > 1}\n  - {id: c, type: echo, params: {x: 1}}\n",
        "unknown-name",
        "move it up",
        A + "  - {id: c, type: echo, params: {x: 1}}\n  - {id: b, type: echo, when: c.x > 0}\n",
    ),
    "computing in a template": (
        A + "  - {id: b, type: echo, params: {x: '${a.n + 1}'}}\n",
        "template",
        "in a `let` step",
        A + "  - {id: m, type: let, params: {n: a.n + 1}}\n  - {id: b, type: echo, params: {x: '${m.n}'}}\n",
    ),
    "quotes in YAML": (
        A + "  - id: b\n    type: echo\n    when: 'x' == 'y'\n",
        "syntax",
        "put the whole value in quotes",
        A + "  - id: b\n    type: echo\n    when: \"'x' == 'y'\"\n",
    ),
    "a choice in YAML": (
        A + "  - {id: b, type: echo, when: a.n > 1 ? true : false}\n",
        "syntax",
        "put the whole value in quotes",
        A + '  - {id: b, type: echo, when: "a.n > 1 ? true : false"}\n',
    ),
    "a tag in YAML": (
        A + "  - id: b\n    type: echo\n    when: !has(a.n)\n",
        "yaml-feature",
        "put the whole value in quotes",
        A + '  - id: b\n    type: echo\n    when: "!has(a.n)"\n',
    ),
}


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as opened:
        yield opened


def issues(workspace: Workspace, condition: str) -> tuple[Issue, ...]:
    quoted = "'" + condition.replace("'", "''") + "'"
    return workspace.check(DOCUMENT.replace("CONDITION", quoted)).issues


@pytest.mark.parametrize(("wrong", "code", "write", "right"), CONDITIONS)
def test_a_condition_written_as_the_hint_says_is_valid(
    workspace: Workspace, wrong: str, code: str, write: str, right: str
) -> None:
    found = issues(workspace, wrong)
    assert code in {issue.code for issue in found}
    assert any(f"`{write}`" in str(issue.hint) for issue in found), found
    assert issues(workspace, right or write) == ()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_mended_as_the_hint_says_is_valid(workspace: Workspace, name: str) -> None:
    wrong, code, hint, right = DOCUMENTS[name]
    found = [issue for issue in workspace.check(wrong).issues if issue.code == code]
    assert found
    assert any(hint in str(issue.hint) for issue in found), found
    assert workspace.check(right).issues == ()
