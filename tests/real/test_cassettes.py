"""The three tasks as tests: recorded over real servers, then played where there are neither servers nor a network."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.tasks import raw
from pflow.core.file.home import Home
from pflow.workspace.testing.result import CaseResult
from pflow.workspace.workspace import Workspace
from tests.conventions.source import ROOT
from tests.real.program import Program

pytestmark = [pytest.mark.needs("mcp-servers"), pytest.mark.slow]

CALLS = {"changelog": 22, "revenue": 5, "triage": 102}
READ = {
    "changelog": {"log.result", "show.result", "write.content"},
    "revenue": {"tiers.content", "orders.result", "write.content"},
    "triage": {"list.content", "read.content", "write.content"},
}
"""What outputs depend on: what templates and code read of each call. The other outputs of a tool say the same again."""


@pytest.fixture(scope="module")
def recorded(fresh: Program, synced: Any, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with each task's document, test file and cassette, made by the commands that a person types."""
    made = tmp_path_factory.mktemp("recorded")
    for task in raw.TASKS:
        document = made / f"{task}.yaml"
        shutil.copy(ROOT / "examples" / "tasks" / f"{task}.yaml", document)
        answer = fresh("run", str(document), f"folder={folder}")
        run = answer["data"]["run_id"]
        fresh("runs", "show", run, "--as-test", "as recorded", "--file", str(made / f"{task}.test.yaml"))
        (made / f"{task}.test.yaml").write_text(
            re.sub(r"workflow: .*", f"workflow: {task}.yaml", (made / f"{task}.test.yaml").read_text())
        )
    return made


@pytest.fixture
def tests(recorded: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of them that a test may change."""
    made = tmp_path / "tests"
    shutil.copytree(recorded, made)
    yield made


@pytest.mark.needs("strace")
def test_the_tasks_pass_without_servers_or_a_network_and_nothing_is_tried(tests: Path, tmp_path: Path) -> None:
    log = tmp_path / "strace.log"
    traced = ["strace", "-f", "-s", "300", "-e", "trace=execve,connect,sendto", "-o", str(log)]
    words = [sys.executable, "-m", "pflow", "test", "--strict", "--json"]
    env = {**os.environ, "HOME": str(tmp_path), "PFLOW_HOME": str(tmp_path / "empty")}
    away = ["unshare", "-n"] if _can_unshare() else []
    done = subprocess.run(
        [*away, *traced, *words], cwd=tests, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if "ptrace" in done.stderr and done.returncode:
        pytest.skip("strace may not trace here: " + done.stderr.splitlines()[0])
    assert done.returncode == 0, done.stdout + done.stderr
    files = json.loads(done.stdout)["data"]["files"]
    counts = {Path(file["file"]).name.partition(".")[0]: file["tests"][0]["calls"] for file in files}
    assert counts == {task: {"replayed": count, "stubbed": 0, "live": 0} for task, count in CALLS.items()}
    lines = log.read_text().splitlines()
    started = [line for line in lines if "execve(" in line and "= 0" in line]
    own = [line for line in started if "code/__pycache__/worker" in line or "code/worker.py" in line]
    guardian = [line for line in started if "\\ntrap ''" in line]
    assert len(started) == 1 + len(own) + len(guardian), started
    assert [line for line in lines if "AF_INET" in line] == []


def _can_unshare() -> bool:
    tried = subprocess.run(["unshare", "-n", "true"], capture_output=True)
    return tried.returncode == 0


def play(tests: Path, tmp_path: Path, task: str) -> CaseResult:
    with Workspace(Home(tmp_path / "empty")) as workspace:
        [case] = workspace.tests.run(tests / f"{task}.test.yaml").cases
        return case


def mutations(tape: Path) -> Iterator[tuple[str, str, str]]:
    """Every output of every call: the step, the output, and the text of the cassette with another value there."""
    lines = tape.read_text().splitlines()
    for number, line in enumerate(lines):
        call = json.loads(line)
        for name in call.get("outputs") or {} if "key" in call else {}:
            changed = {**call, "outputs": {**call["outputs"], name: "another value"}}
            yield call["step"], name, "\n".join([*lines[:number], json.dumps(changed), *lines[number + 1 :], ""])


@pytest.mark.parametrize("task", ["changelog", "revenue", "triage"])
def test_every_recorded_value_that_an_output_depends_on_fails_the_test_and_is_named(
    tests: Path, tmp_path: Path, task: str
) -> None:
    tape = tests / f"{task}.as-recorded.cassette.jsonl"
    kept = tape.read_text()
    seen: set[str] = set()
    for step, name, text in mutations(tape):
        value = f"{step.partition('[')[0]}.{name}"
        seen.add(value)
        tape.write_text(text)
        case = play(tests, tmp_path, task)
        if value in READ[task]:
            assert case.outcome == "failed", (step, name)
            assert case.cause.first == f"{step}.{name}"
        else:
            assert case.outcome == "passed", (step, name)
    tape.write_text(kept)
    assert READ[task] <= seen
    assert play(tests, tmp_path, task).outcome == "passed"


@pytest.mark.parametrize(
    ("task", "before", "after", "named"),
    [
        ("triage", '\\"sev\\": 3', '\\"sev\\": 1', "read"),
        ("revenue", '\\"customer-001\\": \\"', '\\"customer-001\\": \\"x', "tiers"),
        ("changelog", "Date: 2", "Date: 3", "log"),
    ],
)
def test_a_single_character_that_matters_is_enough(
    tests: Path, tmp_path: Path, task: str, before: str, after: str, named: str
) -> None:
    tape = tests / f"{task}.as-recorded.cassette.jsonl"
    text = tape.read_text()
    assert before in text
    tape.write_text(text.replace(before, after, 1))
    case = play(tests, tmp_path, task)
    assert case.outcome == "failed"
    assert case.cause.first.startswith(named)


def test_a_cassette_whose_tool_has_changed_is_stale_until_that_tool_is_called_again(
    tests: Path, fresh: Program, synced: Any
) -> None:
    tape = tests / "revenue.as-recorded.cassette.jsonl"
    head, _, rest = tape.read_text().partition("\n")
    header = json.loads(head)
    name = "mcp-sqlite-list-tables"
    header["tools"][name] = "0" * 64
    [param] = header["definitions"][name]["interface"]["params"] or [None]
    assert param is None
    header["definitions"][name]["interface"]["params"] = [{"name": "pattern", "type": "string", "required": True}]
    tape.write_text(json.dumps(header) + "\n" + rest)
    file = str(tests / "revenue.test.yaml")
    [case] = fresh("test", file, code=2)["data"]["files"][0]["tests"]
    assert case["outcome"] == "wrong"
    assert f"is stale: `{name}` has changed since" in case["error"]["message"]
    assert "pattern" in case["error"]["message"]
    assert "--record new" in case["error"]["suggestions"][0]
    [case] = fresh("test", file, "--record", "new")["data"]["files"][0]["tests"]
    assert case["calls"] == {"replayed": 4, "stubbed": 0, "live": 1}
    [case] = fresh("test", file)["data"]["files"][0]["tests"]
    assert case["calls"] == {"replayed": 5, "stubbed": 0, "live": 0}
