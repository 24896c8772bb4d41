"""What a template gives is compared with what its place takes; what converts without loss is converted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pflow.core.document.issue import Issue
from pflow.core.file.home import Home
from pflow.execution.begin import begin_run
from pflow.execution.check import check_source
from pflow.execution.wiring import Wiring
from pflow.execution.workflow_source import find_source
from pflow.workspace import Workspace
from tests.cli.conftest import Pflow, pflow, registry_file, write

__all__ = ["pflow", "registry_file", "write"]

INPUTS: dict[str, Any] = {
    "s": {"type": "string"},
    "n": {"type": "integer"},
    "f": {"type": "number"},
    "b": {"type": "boolean"},
    "a": {"type": "array"},
    "o": {"type": "object"},
    "any": {},
    "maybe": {"type": "string", "required": False},
}
VALUES: dict[str, Any] = {"s": "x", "n": 7, "f": 2.0, "b": True, "a": [1], "o": {"k": 1}, "any": None}


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as opened:
        yield opened


def node(kind: str, node_id: str = "x", **params: Any) -> dict[str, Any]:
    return {"id": node_id, "type": kind, "params": params}


def document(*nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"inputs": INPUTS, "nodes": list(nodes), **more}


def issues_of(workspace: Workspace, *nodes: dict[str, Any], **more: Any) -> list[Issue]:
    return list(workspace.check(document(*nodes, **more)).issues)


def said(issues: list[Issue]) -> list[tuple[str, str]]:
    return [(issue.severity, issue.path) for issue in issues]


def test_every_line_of_a_document_of_wrong_types_is_reported(workspace: Workspace) -> None:
    checked = workspace.check(
        {
            "inputs": {"s": {"type": "string"}, "a": {"type": "array"}},
            "nodes": [
                node("git-log", "g", limit="${s}", files="${s}"),
                node("http", "h", url="https://x.y", timeout="${a}", headers="${s}"),
                {**node("echo", "b", x="${item}"), "batch": {"items": "${s}"}},
                node("read-file", "r", path="${g.count}"),
            ],
        }
    )
    assert [(issue.severity, issue.path, issue.hint) for issue in checked.issues] == [
        ("error", "nodes[0].params.limit", "declare input `s` as `integer`"),
        ("error", "nodes[0].params.files", "declare input `s` as `array`"),
        (
            "error",
            "nodes[1].params.timeout",
            'to run the node once per item, give it `batch: {items: "${a}"}` and write `${item}`; `${a[0]}` is the '
            "first one",
        ),
        ("error", "nodes[1].params.headers", "declare input `s` as `object`"),
        ("error", "nodes[2].batch.items", "declare input `s` as `array`"),
        ("warning", "nodes[3].params.path", "name what was meant, or leave it if the text is"),
    ]
    assert checked.issues[0].message == "parameter `limit` of node `g` (git-log) must be integer, but `${s}` is string"


def test_the_text_of_a_program_as_items_is_refused_with_the_way_to_parse_it(workspace: Workspace) -> None:
    [issue] = issues_of(
        workspace,
        node("shell", "sh", command="echo [1]"),
        {**node("echo", "each", x="${item}"), "batch": {"items": "${sh.stdout}"}},
    )
    assert issue.message == "`items` of batch node `each` must be an array, but `${sh.stdout}` is string"
    assert "a `parse` step with `text: ${sh.stdout}` first" in issue.hint and "`as: lines`" in issue.hint
    parsed = node("parse", "p", text="${sh.stdout}")
    outcome = workspace.run(
        {
            "nodes": [
                node("shell", "sh", command="echo [1]"),
                parsed,
                {**node("echo", "b", x="${item}"), "batch": {"items": "${p.value}"}},
            ]
        }
    )
    assert outcome.outputs["results"] == [{"x": 1}]


@pytest.mark.parametrize(
    ("given", "kind", "param", "verdict"),
    [
        ("${n}", "read-file", "path", "warning"),
        ("${f}", "read-file", "path", "warning"),
        ("${b}", "read-file", "path", "warning"),
        ("${a}", "read-file", "path", "error"),
        ("${o}", "read-file", "path", "error"),
        ("${any}", "read-file", "path", ""),
        ("x ${a}", "read-file", "path", ""),
        ("${f}", "git-log", "limit", "warning"),
        ("${b}", "git-log", "limit", "error"),
        ("${o}", "git-log", "limit", "error"),
        ("1${n}", "git-log", "limit", ""),
        ("${n} commits", "git-log", "limit", "error"),
        ("${s}", "git-log", "include_files", "error"),
        ("${n}", "git-log", "include_files", "error"),
        ("no ${s}", "git-log", "include_files", "error"),
        ("${n}", "git-log", "timeout", ""),
        ("${o}", "git-log", "files", "error"),
        ("${s},${s}", "git-log", "files", "error"),
        (["${n}"], "git-log", "files", "warning"),
        (["${a}"], "git-log", "files", "error"),
        (["a", 5], "git-log", "files", "error"),
        (["a", "${s}", None], "git-log", "files", "error"),
        ("${maybe}", "git-log", "files", "warning"),
        ("${a[0]}", "git-log", "limit", ""),
        ("${o.k}", "git-log", "limit", ""),
        ("${o.k:-none}", "git-log", "limit", "warning"),
        ("${o.k:-5}", "git-log", "limit", ""),
        ("${o.k:-[]}", "git-log", "files", ""),
        ("${n}", "http", "auth", "warning"),
        ("${a}", "http", "auth", "error"),
    ],
)
def test_a_declared_input_in_a_param(workspace: Workspace, given: object, kind: str, param: str, verdict: str) -> None:
    params: dict[str, Any] = {"url": "https://example.com"} if kind == "http" else {}
    params[param] = given
    found = issues_of(workspace, node(kind, **params))
    assert [issue.severity for issue in found if issue.path.startswith(f"nodes[0].params.{param}")] == (
        [verdict] if verdict else []
    )


def test_outputs_of_nodes_batches_and_echoes_have_types(workspace: Workspace) -> None:
    before = [
        node("list-files", "find"),
        {**node("read-file", "each", path="${item}"), "batch": {"items": "${find.files}"}},
        node("echo", "pass", text="${s}", list="${find.files}", whole="${each.count}"),
        node("git-log", "log"),
    ]
    wrong = {
        "a": ("git-log", {"limit": "${find.files}"}),
        "b": ("git-log", {"files": "${each.count}"}),
        "c": ("read-file", {"path": "${each.results}"}),
        "d": ("git-log", {"include_files": "${each.results[0].size}"}),
        "e": ("git-log", {"files": "${pass.text}"}),
        "f": ("read-file", {"path": "${pass.list}"}),
        "g": ("read-file", {"path": "${log}"}),
        "h": ("git-log", {"files": "${log.commits[0].sha}"}),
        "i": ("read-file", {"path": "${commits}"}),
    }
    for kind, params in wrong.values():
        [issue] = issues_of(workspace, *before, node(kind, **params))
        assert (issue.code, issue.severity) == ("wrong-type", "error"), (params, issue)
    right = {
        "limit": "${pass.whole}",
        "files": "${pass.list}",
        "since": "${log.commits[0].date}",
        "until": "${pass.text}",
    }
    assert issues_of(workspace, *before, node("git-log", **right)) == []
    [issue] = issues_of(workspace, *before, node("git-log", files="${log.commits}"))
    assert (issue.severity, issue.message) == (
        "warning",
        "parameter `files` of node `x` (git-log) takes an array of string, "
        "but the elements of `${log.commits}` are object",
    )


@pytest.mark.parametrize(
    ("items", "param", "verdict"),
    [
        ([1, 2], {"path": "${item}"}, "warning"),
        ([{"p": "x"}], {"path": "${item}"}, "error"),
        ([{"p": "x"}], {"path": "${item.p}"}, ""),
        ([["x"]], {"path": "${item}"}, "error"),
        (["x", ["y"]], {"path": "${item}"}, ""),
        (["7", "8"], {"path": "x", "max_size": "${item}"}, ""),
        (["seven"], {"path": "x", "max_size": "${item}"}, "error"),
        (["x"], {"path": "x", "max_size": "${item_index}"}, ""),
        (["${a}"], {"path": "${item}"}, "error"),
        (["${a}", "x"], {"path": "${item}"}, ""),
        ("${a}", {"path": "${item}"}, ""),
        ("${o}", {"path": "${item.key}"}, ""),
    ],
)
def test_the_items_of_a_batch_have_the_type_of_its_elements(
    workspace: Workspace, items: object, param: dict[str, Any], verdict: str
) -> None:
    found = issues_of(workspace, {**node("read-file", **param), "batch": {"items": items}})
    assert [issue.severity for issue in found] == ([verdict] if verdict else [])


def test_sub_workflows_take_and_give_types(workspace: Workspace) -> None:
    inner = {
        "inputs": {"count": {"type": "integer"}, "names": {"type": "array", "default": []}},
        "nodes": [node("list-files", "find"), node("code", "c", code="result = 1")],
        "outputs": {
            "files": {"source": "${find.files}"},
            "claimed": {"type": "string", "source": "${c.result}"},
            "number": {"source": 5},
        },
    }

    def child(**inputs: Any) -> dict[str, Any]:
        return node("workflow", "w", workflow=inner, inputs=inputs)

    assert said(issues_of(workspace, child(count="${s}"))) == [("error", "nodes[0].params.inputs.count")]
    assert said(issues_of(workspace, child(count="${n}", names="${o}"))) == [("error", "nodes[0].params.inputs.names")]
    assert said(issues_of(workspace, child(count="seven"))) == [("error", "nodes[0].params.inputs.count")]
    assert issues_of(workspace, child(count=7.0, names=["${s}"])) == []
    right = child(count=1)
    assert said(issues_of(workspace, right, node("read-file", path="${w.files}"))) == [
        ("error", "nodes[1].params.path")
    ]
    assert said(issues_of(workspace, right, node("git-log", files="${w.number}"))) == [
        ("error", "nodes[1].params.files")
    ]
    # Nothing makes sure of a type that an output only declares.
    claimed = issues_of(workspace, right, node("git-log", files="${w.claimed}"))
    assert said(claimed) == [("warning", "nodes[1].params.files")]
    many = {**child(count="${item}"), "batch": {"items": [1]}}
    assert said(issues_of(workspace, many, node("read-file", path="${w.results[0].files}"))) == [
        ("error", "nodes[1].params.path")
    ]


def test_a_sub_workflow_gets_converted_inputs(workspace: Workspace) -> None:
    inner = {
        "inputs": {"count": {"type": "integer"}, "name": {"type": "string"}},
        "nodes": [node("echo", "e", count="${count}", name="${name}")],
    }
    outcome = workspace.run(
        {
            "nodes": [
                node("shell", "sh", command="echo 12"),
                node("workflow", "w", workflow=inner, inputs={"count": "${sh.stdout}", "name": "${sh.exit_code}"}),
            ]
        }
    )
    assert outcome.outputs == {"count": 12, "name": "0"}


def test_mappings_and_natural_keys_are_compared_as_well(workspace: Workspace) -> None:
    nodes = (node("git-log", "g"), node("read-file", "r"))
    mapped = {"r": {"input_mappings": {"path": "commits"}}}
    [issue] = issues_of(workspace, *nodes, mappings=mapped)
    assert (issue.severity, issue.path) == ("error", "nodes[1]")
    assert issue.message == "parameter `path` of node `r` (read-file) must be string, but `${commits}` is array"
    renamed = {"g": {"output_mappings": {"commits": "history"}}}
    [issue] = issues_of(workspace, nodes[0], node("read-file", "r", path="${history}"), mappings=renamed)
    assert issue.code == "wrong-type"


def test_the_declared_type_of_an_output_is_compared_with_its_source(workspace: Workspace) -> None:
    outputs = {
        "a": {"type": "array", "source": "${g.count}"},
        "b": {"type": "integer", "source": "${g.count}"},
        "c": {"type": "integer", "source": "n: ${g.count}"},
        "d": {"type": "number", "source": "${g.count}"},
        "e": {"type": "string", "source": "${any}"},
        "count": {"type": "string"},
    }
    found = issues_of(workspace, node("git-log", "g"), outputs=outputs)
    assert said(found) == [
        ("warning", "outputs.a.source"),
        ("warning", "outputs.c.source"),
        ("warning", "outputs.count.type"),
    ]
    assert found[0].message == "output `a` is declared as array, but its source gives integer"


def test_what_converts_without_loss_is_converted_for_every_node(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "7").write_text("seven")
    outcome = workspace.run(
        {
            "nodes": [
                node("code", "c", code="result = {'seven': 7, 'folder': folder}", inputs={"folder": str(tmp_path)}),
                node("shell", "sh", command="echo ' 100 '"),
                node(
                    "shell", "name", command="cat ${c.result.seven}", cwd="${c.result.folder}", timeout="${sh.stdout}"
                ),
                node("write-file", "w", path=f"{tmp_path}/out", content="x", encoding="${c.result.absent:-utf-8}"),
                node("read-file", "r", path=f"{tmp_path}/out", max_size="${sh.stdout}"),
            ],
            "outputs": {"text": {"source": "${name.stdout}"}, "read": {"source": "${r.content}"}},
        }
    )
    assert outcome.outputs == {"text": "seven", "read": "x"}, outcome


@pytest.mark.parametrize("text", ["many", "1_000", "0x10", "١٢", "1e999", "", "7 8", "99999999999999999999999", "nan"])
def test_text_that_is_not_a_duration_is_refused_by_the_step_and_nothing_happens(
    workspace: Workspace, text: str, tmp_path: Path
) -> None:
    outcome = workspace.run(
        {
            "nodes": [
                node("code", "c", code="result = text", inputs={"text": text}),
                node("shell", "sh", command=f"touch {tmp_path}/made", timeout="${c.result}"),
            ]
        }
    )
    assert outcome.error is not None and "`timeout` must be a duration" in str(outcome.error["message"]), outcome
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("text", ["many", "1_000", "0x10", "١٢", "1e999", "", "7 8", "99999999999999999999999", "nan"])
def test_text_that_is_not_a_number_is_refused_by_the_step(workspace: Workspace, text: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    outcome = workspace.run(
        {
            "nodes": [
                node("code", "c", code="result = text", inputs={"text": text}),
                node("read-file", path=f"{tmp_path}/file", max_size="${c.result}"),
            ]
        }
    )
    assert outcome.error is not None and "`max_size` must be" in str(outcome.error["message"]), outcome


def test_a_value_that_a_constant_passes_on_is_known(workspace: Workspace) -> None:
    passed = node("echo", "pass", inner={"text": "${s}", "list": ["${n}", "x"]}, word="abc", five="5")
    wrong: list[dict[str, Any]] = [
        {"files": "${pass.inner.text}"},
        {"files": "${pass.word}"},
        {"limit": "${pass.word}"},
        {"since": "${pass.inner.list}"},
        {"since": "${pass.inner}"},
    ]
    for params in wrong:
        [issue] = issues_of(workspace, passed, node("git-log", **params))
        assert (issue.code, issue.severity) == ("wrong-type", "error"), params
    right = node("git-log", limit="${pass.five}", since="${pass.word}", until="${pass.inner.list[1]}")
    assert issues_of(workspace, passed, right) == []


def test_a_whole_address_must_be_text(workspace: Workspace) -> None:
    assert said(issues_of(workspace, node("http", url="${a}"))) == [("error", "nodes[0].params.url")]
    assert issues_of(workspace, node("http", url="${s}")) == []
    assert issues_of(workspace, node("http", url="https://example.com/${n}?q=${a}")) == []


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        ("opne", "error"),
        ("open", ""),
        ("", ""),
        (None, ""),
        ("${s}", ""),
        ("${o.k:-opne}", "warning"),
        ("${item}", "error"),
    ],
)
def test_a_param_of_few_words_takes_no_other(workspace: Workspace, state: object, verdict: str) -> None:
    listing = {**node("github-list-issues", repo="a/b", state=state), "batch": {"items": ["opne", "colsed"]}}
    found = issues_of(workspace, listing)
    assert [issue.severity for issue in found] == ([verdict] if verdict else [])
    assert all("must be `open` or `closed` or `all`" in issue.message for issue in found)


PERSONAL = """
from typing import Annotated, Literal

from pocketflow import Node


class Mine(Node):
    \"\"\"Give back what came.\"\"\"

    class Params:
        number: Annotated[int, "A number"] = 0
        names: Annotated[list[str], "Names"] = []
        mode: Annotated[Literal["a", "b"], "One of two"] = "a"

    class Outputs:
        number: Annotated[int, "What came"]

    def post(self, shared, prep_res, exec_res):
        number = self.params["number"]
        shared["number"] = len(number) if isinstance(number, list) else number
"""


def test_a_persons_own_node_may_take_more_than_it_says(pflow: Pflow, home: Path) -> None:
    (home / "nodes").mkdir()
    (home / "nodes" / "mine.py").write_text(PERSONAL)
    assert pflow("registry", "scan").code == 0
    with Workspace(Home(home)) as workspace:
        wrong = node("mine", number="${a}", names=["x", 5], mode="c")
        found = issues_of(workspace, wrong, node("git-log", "g", files="${x.number}"))
        assert said(found) == [
            ("warning", "nodes[0].params.names[1]"),
            ("warning", "nodes[0].params.mode"),
            ("warning", "nodes[0].params.number"),
            ("warning", "nodes[1].params.files"),
        ]
        assert workspace.run(document(wrong), VALUES).outputs == {"number": 1}
        text = node("shell", "sh", command="echo 5")
        assert workspace.run({"nodes": [text, node("mine", number="${sh.stdout}")]}).outputs == {"number": 5}


RECORDED: dict[str, Any] = {
    "inputs": {"size": {"type": "string"}},
    "nodes": [
        node("shell", "gate", command="test -e opened"),
        node("read-file", "read", path="opened", max_size="${size}"),
    ],
}


def begun_before(home: Path, workflow: dict[str, Any], **params: object) -> str:
    """A run that began before this check was there, and failed."""
    with closing(Wiring(Home(home))) as wiring:
        checked = check_source(wiring, find_source(workflow, wiring.home), recorded=True)
        assert checked.warnings
        outcome = begin_run(wiring, checked, params).wait()
    assert not outcome.success
    return outcome.run_id


def test_a_check_that_came_later_warns_a_resume_and_refuses_a_new_run(pflow: Pflow, home: Path) -> None:
    run = begun_before(home, RECORDED, size="5")
    Path("opened").write_text("done")
    text = json.dumps(RECORDED)
    assert pflow("run", "-", "size=5", stdin=text).code == 2
    assert pflow("runs", "resume", run, "--with", "-", stdin=text.replace("test -e", "test -f")).code == 2
    resumed = pflow("runs", "resume", run)
    assert (resumed.code, resumed.out) == (0, "done\n")
    assert (
        "warning: parameter `max_size` of node `read` (read-file) must be integer, but `${size}` is string"
        in resumed.err
    )


def test_the_recorded_document_can_be_given_again_for_a_resume(pflow: Pflow, home: Path) -> None:
    run = begun_before(home, RECORDED, size="5")
    Path("opened").write_text("done")
    resumed = pflow("runs", "resume", run, "size=6", "--with", "-", stdin=json.dumps(RECORDED))
    assert (resumed.code, resumed.out) == (0, "done\n")


def test_the_workflows_inside_of_a_recorded_one_are_recorded_as_well(pflow: Pflow, home: Path) -> None:
    outer = {"nodes": [node("workflow", "w", workflow=RECORDED, inputs={"size": "5"})]}
    run = begun_before(home, outer)
    Path("opened").touch()
    assert pflow("runs", "resume", run).code == 0
