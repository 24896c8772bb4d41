"""`pflow state --on PLACE`: what workflows keep at a place, which the workers there read and change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.far.conftest import Far

pytestmark = pytest.mark.needs("postgres", "temporal")


def test_what_is_kept_at_a_place_is_changed_by_hand_and_by_workers(far: Far, tmp_path: Path) -> None:
    far.worker()
    counts = "far-counts.json"
    document = {
        "name": "far-counts",
        "state": {"count": {"type": "integer", "default": 0}},
        "nodes": [
            {
                "id": "next",
                "type": "code",
                "params": {"code": "result: int = n + 1", "inputs": {"n": "${state.count}"}},
            },
            {"id": "keep", "type": "state-set", "params": {"count": "${next.result}"}},
        ],
    }
    (tmp_path / counts).write_text(json.dumps(document))
    said = far.pflow("state", "set", counts, "count", "41", "--on", "dev")
    assert (said.code, said.out) == (0, "count = 41\n"), said
    assert far.pflow("run", counts, "--on", "dev").code == 0
    there = far.pflow("state", "get", counts, "count", "--on", "dev")
    assert there.out == "42\n", there
    assert far.pflow("state", "get", counts, "count").out == "0\n", "the state of the home is another one"
    listed = far.pflow("state", "list", "--on", "dev", "--json").json["data"]["workflows"]
    assert "far-counts" in [one["workflow"] for one in listed]
    versions = far.pflow("state", "history", counts, "count", "--on", "dev", "--json").json["data"]["versions"]
    assert [one["value"] for one in versions] == [42, 41]
    assert far.pflow("state", "unset", counts, "--all", "--on", "dev").code == 0
    assert far.pflow("state", "get", counts, "count", "--on", "dev").out == "0\n"
