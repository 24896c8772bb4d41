"""A later release, with other sources, goes on where an earlier one stopped."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pflow as package
from pflow.core.document.parse import Parsed, parse_value
from pflow.core.file.home import Home
from pflow.execution.compiler import Load, compile_plan
from pflow.registry.registry import Registry
from tests.cli.conftest import Pflow, Said
from tests.homes.conftest import Recorded
from tests.homes.record import BATCH


class Release:
    """A copy of pflow in which every built-in node's source has one comment more."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._nodes = folder / "pflow" / "nodes"
        shutil.copytree(Path(package.__file__).parent, folder / "pflow", ignore=shutil.ignore_patterns("__pycache__"))
        for source in self._nodes.rglob("*.py"):
            source.write_text(f"{source.read_text()}\n# a comment of the later release\n")

    def raise_version(self, file: str, class_line: str) -> None:
        """Let a node be one whose results differ from those of before."""
        source = self._nodes / file
        text = source.read_text()
        assert class_line in text
        source.write_text(text.replace(class_line, f"{class_line}\n    version = 2\n", 1))

    def __call__(self, *words: str) -> Said:
        done = subprocess.run(
            [sys.executable, "-m", "pflow", *words],
            env={**os.environ, "PYTHONPATH": str(self._folder)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        return Said(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def later(tmp_path: Path) -> Release:
    return Release(tmp_path / "later")


def fail_at_two(pflow: Pflow) -> str:
    """Run the batch until its third item fails, and let what failed work from then on."""
    Path("batch.json").write_text(json.dumps(BATCH))
    Path("closed").touch()
    failed = pflow("run", "batch.json", "--json")
    Path("closed").unlink()
    Path("effects").unlink()
    return str(failed.json["checkpoint"]["run_id"])


def test_half_a_batch_goes_on_in_a_release_whose_sources_differ(pflow: Pflow, later: Release) -> None:
    run_id = fail_at_two(pflow)
    assert later("runs", "resume", run_id).code == 0
    assert Path("effects").read_text().split() == ["two", "three", "four", "after-batch"]


def test_an_edit_reuses_steps_in_a_release_whose_sources_differ(pflow: Pflow, later: Release) -> None:
    run_id = fail_at_two(pflow)
    Path("edited.json").write_text(json.dumps({**BATCH, "nodes": BATCH["nodes"][:2]}))
    edited = later("runs", "resume", run_id, "--with", "edited.json", "--json")
    assert edited.json["data"]["reused"] == ["words"]
    assert Path("effects").read_text().split() == ["two", "three", "four"]


def test_a_recorded_home_goes_on_in_a_release_whose_sources_differ(recorded: Recorded, later: Release) -> None:
    assert later("runs", "resume", recorded.runs["batch"]).code == 0
    assert recorded.effects == ["two", "three", "four", "after-batch"]


def test_a_node_whose_version_is_raised_runs_again(recorded: Recorded, later: Release) -> None:
    later.raise_version("shell.py", 'name = "shell"')
    assert later("runs", "resume", recorded.runs["batch"]).code == 0
    assert recorded.effects == ["zero", "one", "two", "three", "four", "after-batch"]


DEFINED_BY_0_1_0 = {
    "plain": "24c965c53a79f5a9a39cccbcb880afe0d0283833",
    "each": "5a3d3ee1fb32c272d1be97282ad8e434b6b2e69d",
    "listed": "3eccae93b252dc24146d0beeef02d12f915edb19",
    "mapped": "a63869ae0acb258430f8c6601de7cf89ce0579a4",
    "child": "250e5b480c6b25a443096e0e45ff29c09a771123",
}
"""What 0.1.0 recorded as the definitions of the nodes below; a node's id is no part of it."""


def test_batches_mappings_and_children_are_known_as_0_1_0_recorded_them(tmp_path: Path) -> None:
    shell = {"type": "shell", "params": {"command": "true"}}
    document = {
        "inputs": {"names": {"type": "array"}},
        "nodes": [
            {"id": "plain", "type": "echo", "params": {"text": "it's", "n": 1}},
            {
                "id": "each",
                "type": "shell",
                "params": {"command": "echo ${who}"},
                "batch": {"items": "${names}", "as": "who", "concurrency": 4, "on_error": "continue"},
            },
            {
                "id": "listed",
                "type": "shell",
                "params": {"command": "true", "stdin": "x"},
                "batch": {"items": [{"b": 1, "a": [True, None, 1.5]}]},
            },
            {"id": "mapped", **shell},
            {"id": "child", "type": "workflow", "params": {"workflow": {"nodes": [{"id": "x", "type": "echo"}]}}},
        ],
        "mappings": {
            "mapped": {"input_mappings": {"stdin": "text"}, "output_mappings": {"stdout": "said"}},
            "plain": {"output_mappings": {"text": "té"}},
        },
    }

    def load(wanted: object) -> tuple[Parsed, Load]:
        return parse_value(wanted), load

    plan, _ = compile_plan(parse_value(document), Registry.load(Home(tmp_path)), load)
    assert plan is not None
    for node in plan.nodes:
        assert node.former is not None
        assert DEFINED_BY_0_1_0[node.id] in node.former()
        assert node.definition not in node.former()
