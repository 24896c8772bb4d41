"""Whoever drives a run for a time looks before each effect whether it is still theirs, and lets go if it may not be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pflow.core.errors import InDoubtError
from pflow.core.file.home import Home
from pflow.workspace import Workspace

STEPS = [{"id": name, "type": "shell", "params": {"command": f"echo {name} >> did"}} for name in ("a", "b", "c")]
EACH = {
    "id": "each",
    "type": "shell",
    "batch": {"items": ["a", "b", "c"], "as": "name", "concurrency": 1},
    "params": {"command": "echo ${name} >> did"},
}
TRIES = {
    "id": "tries",
    "type": "shell",
    "params": {"command": "echo a >> did; exit 1"},
    "repeatable": True,
    "retry": {"attempts": 5, "wait": 0},
}


def held_for(looks: int) -> Callable[[], bool]:
    """A lease that is over after so many looks at it."""
    left = iter([True] * looks)
    return lambda: next(left, False)


@pytest.mark.parametrize("nodes", [STEPS, [EACH], [TRIES]], ids=["steps", "items", "attempts"])
def test_no_effect_begins_once_the_lease_may_be_over(
    nodes: list[dict[str, Any]], home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Workspace(Home(home), holds=held_for(1)) as workspace:
        outcome = workspace.run(json.dumps({"nodes": nodes}))
    assert outcome.status == "stopped"
    assert (tmp_path / "did").read_text().split() == ["a"]


def test_what_was_let_go_is_in_doubt_for_whoever_goes_on(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Workspace(Home(home), holds=held_for(1)) as workspace:
        run_id = workspace.run(json.dumps({"nodes": STEPS})).run_id
    with Workspace(Home(home)) as workspace:
        with pytest.raises(InDoubtError) as raised:
            workspace.resume(run_id)
        assert raised.value.details["steps"] == ["b"]
        workspace.again.settle(run_id, ["b"], "rerun")
        assert workspace.resume(run_id).status == "completed"
    assert (tmp_path / "did").read_text().split() == ["a", "b", "c"]
