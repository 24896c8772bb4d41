"""Runs of a place that go on in another way than they began: failed items, forks, doubts that are settled."""

from __future__ import annotations

import pytest

from tests.far.conftest import Far

pytestmark = pytest.mark.needs("postgres", "temporal")


def test_items_that_failed_run_again_at_the_place(far: Far) -> None:
    far.worker()
    code = "import pathlib\nif n == 2 and not pathlib.Path(flag).exists():\n    raise ValueError('two')\nresult = n"
    params = {"code": code, "inputs": {"n": "${item}", "flag": str(far.scene.folder / "mended")}}
    batch = {"items": [1, 2, 3], "on_error": "continue"}
    document = far.scene.write({"id": "each", "type": "code", "params": params, "batch": batch})
    said = far.pflow("run", document, "--on", "dev", "--json")
    assert said.code == 0, said
    assert [one and one["result"] for one in said.json["data"]["outputs"]["results"]] == [1, None, 3]
    far.scene.folder.joinpath("mended").touch()
    run_id = said.json["data"]["run_id"]
    again = far.pflow("runs", "resume", run_id, "--failed-items", "--on", "dev", "--json")
    assert again.code == 0, again
    assert [one and one["result"] for one in again.json["data"]["outputs"]["results"]] == [1, 2, 3]


def test_a_fork_goes_on_from_a_step_at_the_place(far: Far) -> None:
    far.worker()
    document = far.scene.write(far.scene.mark("a"), far.scene.mark("b"))
    said = far.pflow("run", document, "--on", "dev", "--json")
    forked = far.pflow("runs", "fork", said.json["data"]["run_id"], "--from", "b", "--on", "dev", "--json")
    assert forked.code == 0, forked
    assert far.scene.did() == ["a", "b", "b"]
