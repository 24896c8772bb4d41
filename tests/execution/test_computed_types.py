"""What steps compute has the types of their expressions, for templates and for expressions after them."""

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


COMPUTED = """
inputs: {n: {type: integer}, list: {type: array}, word: {type: string}}
nodes:
  - {id: v, type: let, params: {x: "{'a': n, 'b': [n]}", n: "n + 1", t: "n > 1 ? 'a' : word", any: "list[0]"}}
  - {id: rows, type: map, params: {items: "${list}", to: {id: "item_index + n", deep: {t: "string(item)"}}}}
  - {id: kept, type: filter, params: {items: "${rows.items}", where: "item.id > 1"}}
  - {id: route, type: switch, params: {cases: {big: "n > 1", small: "n < 0"}}}
  - {id: each, type: let, batch: {items: "${kept.items}"}, params: {t: "item.deep.t + '!'", n: "item.id"}}
  - {id: last, type: TYPE, params: PARAMS}
"""


@pytest.mark.parametrize(
    ("kind", "params", "code", "words"),
    [
        ("let", "v.n > 'a'", "expression-type", "cannot compare an integer with a string"),
        ("let", "v.x.typo", "unknown-field", "`v.x` has no field `typo`"),
        ("let", "v.x.b[0] + 'a'", "expression-type", "an integer and a string"),
        ("let", "v.nope", "unknown-field", "`v` has no field `nope`"),
        ("let", "v.t + 1", "expression-type", "a string and an integer"),
        ("let", "rows.items.map(i, i.ids)", "unknown-field", "`i` has no field `ids`"),
        ("let", "kept.items[0].deep.t > 3", "expression-type", "cannot compare a string with an integer"),
        ("let", "kept.dropped == 'a'", "expression-type", "never equals"),
        ("let", "each.results[0].n == 'a'", "expression-type", "never equals"),
        ("let", "route.case == 'bigg'", "never-true", "`route.case` is never `bigg`"),
        ("echo", "${v.x.typo}", "unknown-path", "is object and has no `typo`"),
        ("echo", "${v.n.typo}", "unknown-path", "is integer and has no `typo`"),
        ("echo", "${kept.items[0].deep.u}", "unknown-path", "at `[0].deep` is object and has no `u`"),
    ],
)
def test_a_wrong_use_of_what_was_computed_is_found(
    workspace: Workspace, kind: str, params: str, code: str, words: str
) -> None:
    [issue] = workspace.check(COMPUTED.replace("TYPE", kind).replace("PARAMS", f'{{x: "{params}"}}')).issues
    assert issue.code == code and words in issue.message


def test_the_items_of_a_batch_and_of_a_filter_have_the_types_that_were_computed(workspace: Workspace) -> None:
    text = COMPUTED.replace("TYPE", "echo").replace("PARAMS", "{x: 1}")
    [issue] = workspace.check(text.replace('batch: {items: "${kept.items}"}', 'batch: {items: "${v.n}"}')).errors
    assert (issue.code, issue.path) == ("wrong-type", "nodes[4].batch.items")
    [issue] = workspace.check(text.replace('where: "item.id > 1"', 'where: "item.di > 1"')).issues
    assert (issue.code, issue.path) == ("unknown-field", "nodes[2].params.where")
    [issue] = workspace.check(text.replace("item.deep.t + '!'", "item.deep.t + 1")).issues
    assert (issue.code, issue.path) == ("expression-type", "nodes[4].params.t")


def test_what_nobody_knows_is_left_to_the_run(workspace: Workspace) -> None:
    for use in ("v.any.x.y > 3", "v.any + 1", "kept.items[0].id + v.n", "route.case == 'else'", "v.x.b + [1]"):
        assert workspace.check(COMPUTED.replace("TYPE", "let").replace("PARAMS", f'{{x: "{use}"}}')).issues == ()


def test_a_long_chain_of_computed_values_is_checked(workspace: Workspace) -> None:
    nodes = [{"id": "n0", "type": "let", "params": {"x": "1"}}]
    nodes += [{"id": f"n{at}", "type": "let", "params": {"x": f"n{at - 1}.x + 1"}} for at in range(1, 1_000)]
    backwards = list(reversed(nodes))
    for document in ({"nodes": nodes}, {"nodes": backwards, "edges": "data"}):
        assert workspace.check(document).issues == ()
    nodes.append({"id": "last", "type": "let", "params": {"x": "n999.x + 'a'"}})
    [issue] = workspace.check({"nodes": nodes}).issues
    assert issue.code == "expression-type"
