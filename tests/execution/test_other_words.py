"""Authors who write what other tools taught them get the right spelling in the first answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pflow.core.file.home import Home
from pflow.core.other_words import FIELDS, TYPE_HINTS, TYPES
from pflow.workspace import Workspace

ORDER = '`"edges": "data"` takes it from the templates'
NEXT = "`on: {default: NODE}`"
CHOICE = "the guide on `branching`"

DOCUMENTS: list[tuple[str, str]] = [
    ("steps: [{id: a, type: echo}]", "did you mean `nodes`?"),
    ("tasks: [{id: a, type: echo}]", "did you mean `nodes`?"),
    ("jobs: [{id: a, type: echo}]", "did you mean `nodes`?"),
    ("nodes: [{id: a, type: echo}]\nparameters: {x: {type: string}}", "did you mean `inputs`?"),
    ("nodes: [{id: a, type: echo}]\nvariables: {x: {type: string}}", "did you mean `inputs`?"),
    ("nodes: [{id: a, type: echo}]\ninputs: {x: string}", 'write {"type": "string"}'),
    ("nodes: [{id: a, node: echo}]", "did you mean `type`?"),
    ("nodes: [{id: a, uses: echo}]", "did you mean `type`?"),
    ("nodes: [{name: a, type: echo}]", "did you mean `id`?"),
    ("nodes: [{id: a, type: echo, with: {x: 1}}]", "did you mean `params`?"),
    ("nodes: [{id: a, type: echo, args: {x: 1}}]", "did you mean `params`?"),
    ("nodes: [{id: a, type: bash, params: {command: ls}}]", "did you mean `shell`?"),
    ("nodes: [{id: a, type: python, params: {code: result = 1}}]", "did you mean `code`?"),
    ("nodes: [{id: a, type: fetch, params: {url: 'https://x.y'}}]", "did you mean `http`?"),
    ("nodes: [{id: a, type: print, params: {x: 1}}]", "did you mean `echo`?"),
    ("nodes: [{id: a, type: if}]", CHOICE),
    ("nodes: [{id: a, type: router}]", CHOICE),
    ("nodes: [{id: a, type: set, params: {x: 1}}]", "did you mean `let`?"),
    ("nodes: [{id: a, type: raise}]", "did you mean `fail`?"),
    ("nodes: [{id: a, type: sleep, params: {seconds: 5}}]", "did you mean `wait`?"),
    ("nodes: [{id: a, type: openai, params: {prompt: hi}}]", "did you mean `llm`?"),
    ("nodes: [{id: a, type: foreach}]", "`batch` on a node runs it once per item"),
    ("nodes: [{id: a, type: parallel}]", "several edges from one node run in parallel"),
    ("nodes: [{id: a, type: mcp-git-git-log}]", "pflow mcp sync"),
    ("nodes: [{id: a, type: echo, next: b}, {id: b, type: echo}]", NEXT),
    ("nodes: [{id: a, type: echo, then: b}, {id: b, type: echo}]", NEXT),
    ("nodes: [{id: a, type: echo, goto: b}, {id: b, type: echo}]", NEXT),
    ("nodes: [{id: a, type: echo}, {id: b, type: echo, after: [a]}]", ORDER),
    ("nodes: [{id: a, type: echo}, {id: b, type: echo, needs: [a]}]", ORDER),
    ("nodes: [{id: a, type: echo}, {id: b, type: echo, depends_on: a}]", ORDER),
    ("nodes: [{id: a, type: echo, if: x}]", "did you mean `when`?"),
    ("nodes: [{id: a, type: echo, unless: x}]", CHOICE),
    ("nodes: [{id: a, type: shell, run: ls}]", '"command"'),
    ("nodes: [{id: a, type: echo, foreach: [1, 2]}]", "did you mean `batch`?"),
    ("nodes: [{id: a, type: echo, retries: 3}]", "did you mean `retry`?"),
    ("nodes: [{id: a, type: echo, continue_on_error: true}]", "`on: {error: next}`"),
    ("nodes: [{id: a, type: echo, batch: {over: [1]}}]", "did you mean `items`?"),
    ("nodes: [{id: a, type: echo}]\nedges: [{source: a, target: a}]", "did you mean `from`?"),
    ("nodes: [{id: a, type: echo}]\nedges: [{from: a, to: end, if: x}]", "did you mean `when`?"),
    ("nodes: [{id: a, type: http, url: 'https://x.y'}]", "put it into `params`"),
]


TEMPLATES: list[tuple[str, str, str]] = [
    ("echo", "x: '${inputs.name}'", "write `${name}`"),
    ("echo", "x: '${params.name}'", "write `${name}`"),
    ("echo", "x: '${steps.first.outputs.y}'", "write `${first.y}`"),
    ("echo", "x: '${nodes.first.y}'", "write `${first.y}`"),
    ("echo", "x: '${env.HOME}'", "declare an input `home`"),
    ("echo", "x: '${secrets.TOKEN}'", "declare an input `token`"),
    ("shell", "command: 'for f in *; do echo ${f}; done'", "a variable of the shell is written `$f`"),
    ("echo", "x: '{{ name }}'", "write `${name}` for the value"),
    ("echo", "x: '{{ inputs.name }}'", "write `${name}` for the value"),
    ("echo", "x: '{{steps.first.y}}'", "write `${first.y}` for the value"),
    ("echo", "x: $name", "write `${name}` for the value"),
    ("echo", "x: $first.y", "write `${first.y}` for the value"),
    ("echo", "x: first.y", "write `${first.y}` for the value"),
    ("code", "{code: result = 1, inputs: {files: $first.y}}", "write `${first.y}` for the value"),
]


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as opened:
        yield opened


@pytest.mark.parametrize(("text", "hint"), DOCUMENTS)
def test_the_first_answer_has_the_right_spelling(workspace: Workspace, text: str, hint: str) -> None:
    issues = workspace.check(f"{text}\n").issues
    assert any(hint in str(issue.hint) for issue in issues), issues


@pytest.mark.parametrize(("kind", "params", "hint"), TEMPLATES)
def test_a_name_in_the_syntax_of_another_tool_gets_the_right_one(
    workspace: Workspace, kind: str, params: str, hint: str
) -> None:
    text = (
        "inputs: {name: {type: string}}\n"
        "nodes:\n"
        "  - {id: first, type: echo, params: {y: 1}}\n"
        f"  - {{id: last, type: {kind}, params: {params if params.startswith('{') else f'{{{params}}}'}}}\n"
    )
    issues = workspace.check(text).issues
    assert any(hint in str(issue.hint) for issue in issues), issues


def test_the_source_of_an_output_in_another_syntax_is_noticed(workspace: Workspace) -> None:
    text = "nodes: [{id: n, type: code, params: {code: result = 1}}]\noutputs: {x: {source: n.result}}\n"
    [issue] = workspace.check(text).issues
    assert (issue.severity, issue.hint) == ("warning", "write `${n.result}` for the value")


def test_an_output_may_be_its_template(workspace: Workspace) -> None:
    text = "nodes: [{id: n, type: echo, params: {x: 1}}]\noutputs: {x: '${n.x}'}\n"
    assert workspace.check(text).issues == ()
    assert workspace.run(text).outputs == {"x": 1}
    [issue] = workspace.check(text.replace("'${n.x}'", "n.x")).errors
    assert issue.hint == 'write {"source": "${node.output}"}'


@pytest.mark.parametrize("text", ["$HOME", "$5", "name", "first", "example.com", "a.first.y", "$$name", "v1.name"])
def test_ordinary_text_is_left_alone(workspace: Workspace, text: str) -> None:
    document = {
        "inputs": {"name": {"type": "string"}},
        "nodes": [{"id": "first", "type": "echo", "params": {"x": text}}],
    }
    assert workspace.check(document).issues == ()


def test_a_word_has_one_meaning() -> None:
    words = [word for words in TYPES.values() for word in words]
    assert sorted(set(words) & set(TYPE_HINTS)) == []
    assert len(words) == len(set(words))


def test_hints_name_only_what_exists(workspace: Workspace) -> None:
    assert set(TYPES) <= {entry.name for entry in workspace.node_types()}
    known = set()
    for document in (
        {"?": 1},
        {"nodes": [{"id": "a", "?": 1, "batch": {"?": 1}, "retry": {"?": 1}}], "edges": [{"?": 1}]},
    ):
        for issue in workspace.check(document).issues:
            known |= set(issue.known)
    nested = {"server_id", "source", "required", "cases"}
    waiting = {field.name for name in ("ask", "wait") for field in workspace.node_type(name).interface.params}
    assert set(FIELDS) <= known | nested | waiting
