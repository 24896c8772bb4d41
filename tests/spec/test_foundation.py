"""What the founding documents ask of documents, runs and nodes, shown through the workspace and the command line."""

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pocketflow
import pytest

from pflow.core.errors import DocumentError, InputError
from pflow.core.file.home import Home
from pflow.engine.store import NodeAwareSharedStore
from pflow.execution.null_output import NullOutput
from pflow.execution.workflow_execution import execute_workflow
from pflow.workspace import Workspace

requirement = pytest.mark.requirement

NODES = '''
from pocketflow import AsyncNode, Node
from pflow import flow_safe

class SearchNode(Node):
    """Search.

    Interface:
    - Reads: shared["query"]: str - what to look for
    - Writes: shared["found"]: str - what was found
    - Params: limit: int (default 10) - at most so many
    """
    def prep(self, shared):
        return shared["query"], self.params.get("limit", 10)
    def exec(self, prep_res):
        query, limit = prep_res
        return f"{query}:{limit}"
    def post(self, shared, prep_res, exec_res):
        shared["found"] = exec_res
        return "default"

class CountedNode(Node):
    """Counts its executions in a file.

    Interface:
    - Params: path: str - the file
    - Writes: shared["text"]: str - always the same
    """
    def exec(self, prep_res):
        with open(self.params["path"], "a") as file:
            file.write("x")
    def post(self, shared, prep_res, exec_res):
        shared["text"] = "same"

@flow_safe
class PureCountedNode(CountedNode):
    """The same, said to have no side effects.

    Interface:
    - Params: path: str - the file
    - Params: salt: str (default "") - tells calls apart
    - Writes: shared["text"]: str - always the same
    """

class PickyNode(Node):
    """Fails with the action it is told, until a file says it may not.

    Interface:
    - Params: action: str - which action
    - Params: path: str - the file whose existence makes it succeed
    - Writes: shared["text"]: str - a word
    - Actions: default, rate_limited, auth_failed, resource_missing, timeout, error
    """
    def exec(self, prep_res):
        import os
        from pflow.core.errors import StepError
        if not os.path.exists(self.params["path"]):
            raise StepError("not yet", action=self.params["action"])
    def post(self, shared, prep_res, exec_res):
        shared["text"] = "fine"

class TouchNode(Node):
    """Makes a file.

    Interface:
    - Params: path: str - the file
    """
    def exec(self, prep_res):
        open(self.params["path"], "w").close()
'''


@pytest.fixture
def ws(home: Path) -> Iterator[Workspace]:
    (home / "nodes").mkdir(parents=True, mode=0o700)
    (home / "nodes" / "mine.py").write_text(NODES)
    with Workspace(Home(home)) as workspace:
        yield workspace


def pflow(*args: str, stdin: str = "", code: int = 0) -> str:
    """Standard output of a pflow command; it must end with the given code."""
    done = subprocess.run(
        [sys.executable, "-m", "pflow", *args], input=stdin, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def outputs(ws: Workspace, document: dict[str, Any], **inputs: object) -> dict[str, Any]:
    outcome = ws.run(document, inputs)
    assert outcome.success, outcome.error
    return dict(outcome.outputs)


def echo(name: str, **params: object) -> dict[str, object]:
    return {"id": name, "type": "echo", "params": params}


# ---- documents


@requirement("paths:format-3", "paths:resolve-3")
def test_an_inline_document_runs_and_is_not_kept(ws: Workspace, home: Path) -> None:
    assert outputs(ws, {"nodes": [echo("a", text="hi")], "outputs": {"text": {"source": "${a.text}"}}}) == {
        "text": "hi"
    }
    assert [path for path in home.rglob("*workflows/*") if path.is_file()] == []
    assert ws.workflows(drafts=True) == []


@requirement("server5:require-3")
def test_a_workflow_declares_what_it_takes_and_gives(ws: Workspace) -> None:
    document = {
        "inputs": {"who": {"type": "string", "description": "a name"}, "times": {"type": "integer", "default": 2}},
        "nodes": [echo("a", text="${who} ${times}")],
        "outputs": {"text": {"type": "string", "source": "${a.text}"}},
    }
    described = ws.describe(document)
    assert described.inputs == {
        "who": {"type": "string", "required": True, "description": "a name"},
        "times": {"type": "integer", "required": False, "description": "", "default": 2},
    }
    assert outputs(ws, document, who="Ada") == {"text": "Ada 2"}


@requirement("security:8.1-6")
def test_a_node_may_carry_its_version(ws: Workspace) -> None:
    assert ws.check({"nodes": [{**echo("a", text="x"), "version": "1.0.0"}]}).issues == ()


@requirement("security:8.2-2")
def test_what_a_node_reads_must_come_from_somewhere(ws: Workspace) -> None:
    issues = ws.check({"nodes": [echo("a", text="x"), {"id": "b", "type": "search"}]}).issues
    assert [(issue.path, "`query`" in issue.message) for issue in issues] == [("nodes[1]", True)]


@requirement("security:8.2-3")
def test_where_names_do_not_align_a_mapping_is_suggested(ws: Workspace) -> None:
    document = {
        "inputs": {"search_query": {"type": "string"}},
        "nodes": [{"id": "find", "type": "search"}],
    }
    (issue,) = ws.check(document).issues
    assert "input_mappings" in issue.hint
    assert "search_query" in issue.hint


@requirement("security:8.2-4")
def test_an_edge_for_an_action_that_never_comes_is_an_issue(ws: Workspace) -> None:
    document = {
        "nodes": [{"id": "a", "type": "http", "params": {"url": "http://127.0.0.1/"}}, echo("b", text="x")],
        "edges": [{"from": "a", "to": "b"}, {"from": "a", "to": "b", "action": "rate_limitd"}],
    }
    (issue,) = ws.check(document).issues
    assert issue.code == "unknown-action"
    assert "rate_limited" in issue.hint


@requirement("server13:workflow_validate-1")
def test_validating_executes_nothing(ws: Workspace, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    document = tmp_path / "touch.json"
    document.write_text(json.dumps({"nodes": [{"id": "t", "type": "touch", "params": {"path": str(mark)}}]}))
    pflow("validate", str(document))
    assert not mark.exists()
    pflow("run", str(document))
    assert mark.exists()


# ---- PocketFlow


@requirement("security:3-1", "security:3-2", "security:8.3-2", "security:8.3-3")
def test_a_pocketflow_node_runs_as_a_step_unchanged(ws: Workspace) -> None:
    document = {
        "inputs": {"query": {"type": "string"}},
        "nodes": [{"id": "find", "type": "search", "params": {"limit": 3}}],
        "outputs": {"found": {}},
    }
    assert outputs(ws, document, query="bugs") == {"found": "bugs:3"}


class Lower(pocketflow.Node):
    def prep(self, shared: Any) -> Any:
        return shared["text"]

    def exec(self, prep_res: Any) -> Any:
        return prep_res.lower()

    def post(self, shared: Any, prep_res: Any, exec_res: Any) -> None:
        shared["text"] = exec_res


class Twice(Lower):
    def exec(self, prep_res: Any) -> Any:
        return prep_res * 2


class Upper(Lower):
    def exec(self, prep_res: Any) -> Any:
        return prep_res.upper()

    def post(self, shared: Any, prep_res: Any, exec_res: Any) -> Any:
        shared["text"] = exec_res
        return "short" if len(exec_res) < 4 else "default"


@requirement("security:3-3")
@pytest.mark.parametrize(("text", "result"), [("ab", "abab"), ("abcd", "ABCDABCD")])
def test_a_python_composition_runs_on_the_same_engine(ws: Workspace, text: str, result: str) -> None:
    start, twice = Upper(), Twice()
    start >> twice
    start - "short" >> Lower() >> twice
    shared: dict[str, object] = {"text": text}
    assert ws.run_flow(start, shared).success
    assert shared["text"] == result
    assert ws.runs()[0].status == "completed"


@requirement("security:3-4")
def test_pocketflow_itself_is_not_changed() -> None:
    code = (
        "import pocketflow, inspect\n"
        "def seen():\n"
        "    return {(c.__name__, n): id(v) for c in vars(pocketflow).values() if inspect.isclass(c)"
        " for n, v in vars(c).items() if inspect.isfunction(v)}\n"
        "before = seen()\n"
        "from pflow.workspace import Workspace\n"
        "from pflow.core.file.home import Home\n"
        "import os, pathlib\n"
        "with Workspace(Home(pathlib.Path(os.environ['PFLOW_HOME']))) as ws:\n"
        "    ws.run({'nodes': [{'id': 'a', 'type': 'echo', 'params': {'x': 1}}]})\n"
        "assert before and seen() == before\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert inspect.getsourcefile(pocketflow) == pocketflow.__file__


# ---- mappings


@requirement("security:6.2-4", "security:6.2-3")
def test_the_proxy_translates_keys_both_ways() -> None:
    shared = {"search_terms": "x", "other": 1}
    store = NodeAwareSharedStore(shared, input_mappings={"query": "search_terms"}, output_mappings={"found": "matches"})
    store["found"] = store["query"] + "!"
    store["plain"] = store["other"]
    assert shared == {"search_terms": "x", "other": 1, "matches": "x!", "plain": 1}


@requirement("security:1-7", "security:6.2-1", "security:6.2-2", "security:8.3-4", "security:10.3-1", "security:12.2-4")
def test_mappings_fit_a_node_into_flows_with_other_names(ws: Workspace) -> None:
    def document(source: str, target: str) -> dict[str, Any]:
        return {
            "inputs": {source: {"type": "string"}},
            "nodes": [{"id": "find", "type": "search"}, echo("after", text=f"${{{target}}}")],
            "mappings": {"find": {"input_mappings": {"query": source}, "output_mappings": {"found": target}}},
            "outputs": {"text": {"source": "${after.text}"}},
        }

    assert outputs(ws, document("search_terms", "raw_code_data"), search_terms="bugs") == {"text": "bugs:10"}
    assert outputs(ws, document("topic", "matches"), topic="cats") == {"text": "cats:10"}


# ---- the command line


@requirement("security:1-6", "security:6.3-1", "security:6.3-2")
def test_a_flag_is_data_for_a_key_and_configuration_for_a_param(ws: Workspace) -> None:
    assert json.loads(pflow("search", "--query=bugs", "--limit=3", "--json"))["data"]["outputs"]["found"] == "bugs:3"


@requirement("security:6.3-3", "security:6.3-4")
def test_a_pipeline_chains_nodes_and_starts_from_stdin(ws: Workspace) -> None:
    shown = pflow("search >> echo --text='<${found}>'", "--json", stdin="todo")
    assert json.loads(shown)["data"]["outputs"]["text"] == "<todo:10>"


@requirement("security:4.3-5")
def test_validating_the_registry_finds_nodes_that_cannot_load(ws: Workspace, home: Path) -> None:
    pflow("registry", "validate", "--all")
    (home / "nodes" / "broken.py").write_text(
        "from pocketflow import Node\nimport nowhere_to_be_found\nclass BadNode(Node):\n    'Bad.'\n"
    )
    assert "bad" in pflow("registry", "validate", "--all", "--json", code=1)


# ---- error edges


@requirement("security:7.2-1", "security:7.2-3")
@pytest.mark.parametrize("action", ["rate_limited", "auth_failed", "resource_missing", "timeout", "error"])
def test_a_failure_follows_the_edge_of_its_action_and_the_flow_goes_on(
    ws: Workspace, tmp_path: Path, action: str
) -> None:
    document = {
        "nodes": [
            {"id": "try", "type": "picky", "params": {"action": action, "path": str(tmp_path / "none")}},
            echo("wrong", text="wrong"),
            echo("right", text="handled"),
        ],
        "edges": [{"from": "try", "to": "wrong"}, {"from": "try", "to": "right", "action": action}],
        "outputs": {"text": {"source": "${right.text}"}},
    }
    assert outputs(ws, document) == {"text": "handled"}


@requirement("security:7.2-2")
def test_an_error_edge_can_lead_back_to_the_failed_node(ws: Workspace, tmp_path: Path) -> None:
    path = str(tmp_path / "token")
    document = {
        "nodes": [
            {"id": "try", "type": "picky", "params": {"action": "auth_failed", "path": path}},
            {"id": "refresh", "type": "touch", "params": {"path": path}},
            echo("done", text="${try.text}"),
        ],
        "edges": [
            {"from": "try", "to": "done"},
            {"from": "try", "to": "refresh", "action": "auth_failed"},
            {"from": "refresh", "to": "try"},
        ],
        "outputs": {"text": {"source": "${done.text}"}},
    }
    assert outputs(ws, document) == {"text": "fine"}


# ---- purity and cache


def counted(kind: str, path: Path, **params: object) -> dict[str, Any]:
    return {"nodes": [{"id": "c", "type": kind, "params": {"path": str(path), **params}}]}


@requirement("security:9.1-2", "security:9.2-4")
def test_a_node_that_promised_nothing_always_runs(ws: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "count"
    for _ in range(3):
        outputs(ws, counted("counted", path))
    assert path.read_text() == "xxx"


@requirement("security:9.2-3")
def test_a_pure_node_runs_once_per_code_params_and_inputs(ws: Workspace, home: Path, tmp_path: Path) -> None:
    path = tmp_path / "count"
    for _ in range(3):
        outputs(ws, counted("pure-counted", path))
    assert path.read_text() == "x"
    outputs(ws, counted("pure-counted", path, salt="other"))
    assert path.read_text() == "xx"
    (home / "nodes" / "mine.py").write_text(NODES + "\n# another version\n")
    with Workspace(Home(home)) as later:
        outputs(later, counted("pure-counted", path))
    assert path.read_text() == "xxx"


# ---- failures, checkpoints, traces


def failing(tmp_path: Path) -> dict[str, Any]:
    return {
        "nodes": [
            echo("init", text="ready"),
            {"id": "fetch", "type": "picky", "params": {"action": "error", "path": str(tmp_path / "none")}},
            echo("last", text="${fetch.text}"),
        ],
        "outputs": {"text": {"source": "${last.text}"}},
    }


@requirement(
    "server5:rule-10", "server5:error-4", "server5:state-3", "server5:test-24", "server5:nfr-3", "server13:response-3"
)
def test_a_failed_run_returns_its_checkpoint(ws: Workspace, tmp_path: Path) -> None:
    envelope = json.loads(json.dumps(ws.run(failing(tmp_path)).envelope()))
    assert envelope["success"] is False
    assert envelope["error"]["type"] == "execution"
    assert envelope["error"]["node"] == "fetch"
    assert envelope["checkpoint"]["completed_nodes"] == ["init"]
    assert envelope["checkpoint"]["failed_node"] == "fetch"


@requirement("server5:state-4")
def test_a_run_resumes_from_its_checkpoint_with_a_fixed_document(ws: Workspace, tmp_path: Path) -> None:
    outcome = ws.run(failing(tmp_path))
    fixed = failing(tmp_path)
    fixed["nodes"][1] = echo("fetch", text="fixed")
    resumed = ws.resume(outcome.run_id, edited=fixed)
    assert resumed.outputs == {"text": "fixed"}
    assert resumed.reused == ("init",)


@requirement("server5:edge-5", "server5:error-3", "server5:test-23")
def test_missing_inputs_are_named_all_together(ws: Workspace) -> None:
    document = {
        "inputs": {"api_key": {"type": "string"}, "city": {"type": "string"}},
        "nodes": [echo("a", text="${api_key} ${city}")],
    }
    with pytest.raises(InputError) as caught:
        ws.run(document)
    assert caught.value.code == "template_error"
    assert "`api_key`" in caught.value.message
    assert "`city`" in caught.value.message


@requirement("server13:workflow_execute-4")
def test_every_run_leaves_a_trace(ws: Workspace, home: Path, tmp_path: Path) -> None:
    documents = (counted("counted", tmp_path / "c"), failing(tmp_path))
    kept = [Path(str(ws.run(document).trace_path)) for document in documents]
    assert sorted(kept) == sorted((home / "debug").glob("workflow-trace-*.json"))
    assert all(json.loads(path.read_bytes()) for path in kept)


@requirement("server5:constraint-6", "server5:nfr-4", "server5:test-25")
def test_a_secret_input_is_nowhere_in_what_is_kept_or_shown(ws: Workspace, home: Path, tmp_path: Path) -> None:
    secret = "s3cr3t-value-of-the-token"
    document = {
        "inputs": {"token": {"type": "string", "secret": True}},
        "nodes": [echo("a", text="Bearer ${token}"), *failing(tmp_path)["nodes"][1:]],
    }
    path = tmp_path / "document.json"
    path.write_text(json.dumps(document))
    done = subprocess.run(
        [sys.executable, "-m", "pflow", "run", str(path), f"token={secret}", "--json"],
        capture_output=True,
        timeout=60,
        env={**os.environ, "PFLOW_HOME": str(home)},
    )
    assert done.returncode == 1
    kept = {file: file.read_bytes() for file in home.rglob("*") if file.is_file()}
    assert any(b"Bearer" in content for content in kept.values())
    assert [file for file, content in kept.items() if secret.encode() in content] == []
    assert secret.encode() not in done.stdout + done.stderr


# ---- the service function


@requirement("server5:require-1", "server5:test-11")
def test_executing_with_null_output_is_silent(ws: Workspace, home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    outcome = execute_workflow(
        workflow_ir={"inputs": {"n": {"type": "integer"}}, "nodes": [echo("a", n="${n}")], "outputs": {"n": {}}},
        execution_params={"n": 3},
        output=NullOutput(),
        enable_repair=False,
    )
    assert (outcome.success, outcome.outputs) == (True, {"n": 3})
    assert capfd.readouterr() == ("", "")


@requirement("server5:test-12")
def test_without_repair_a_failure_stays_a_failure(ws: Workspace, tmp_path: Path) -> None:
    outcome = execute_workflow(failing(tmp_path), output=NullOutput(), enable_repair=False)
    assert (outcome.status, outcome.failed_node, outcome.notices) == ("failed", "fetch", ())
    with pytest.raises(DocumentError):
        execute_workflow({"nodes": [{"id": "a", "type": "no-such-type"}]}, enable_repair=False)


@requirement("server5:impact-3")
def test_a_saved_workflow_counts_its_runs_and_their_duration(ws: Workspace) -> None:
    ws.save({"nodes": [echo("a", text="x")]}, "counted-one")
    outcome = ws.run("counted-one")
    assert outcome.duration_ms > 0
    statistics = ws.describe("counted-one").statistics
    assert statistics is not None and statistics.runs == 1


# ---- registry and library


@requirement("server5:require-5")
def test_the_registry_gives_a_nodes_metadata(ws: Workspace) -> None:
    interface = ws.node_type("search").interface
    assert interface.description == "Search."
    assert [(field.name, field.type, field.description) for field in interface.reads] == [
        ("query", "string", "what to look for")
    ]
    assert [field.name for field in interface.outputs] == ["found"]
    assert [(field.name, field.default) for field in interface.params] == [("limit", 10)]


@requirement("server5:impact-1")
def test_the_library_can_be_searched(ws: Workspace) -> None:
    ws.save({"nodes": [echo("a", text="x")]}, "pr-analyzer", "Looks at pull requests")
    ws.save({"nodes": [echo("a", text="x")]}, "other", "Something else")
    assert [found.name for found in ws.workflows("pull")] == ["pr-analyzer"]


@requirement("server5:impact-2")
def test_drafts_have_a_manager_of_their_own(ws: Workspace) -> None:
    ws.save({"nodes": [echo("a", text="x")]}, "sketch", draft=True)
    assert ws.workflows() == []
    assert [found.name for found in ws.workflows(drafts=True)] == ["sketch"]
