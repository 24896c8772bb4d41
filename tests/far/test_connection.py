"""What a program holds of a place while it has it open, and no longer."""

from __future__ import annotations

import threading

import pytest

from pflow.adapters.temporal.connection import THREAD
from tests.far.conftest import Far
from tests.robust.world import until

pytestmark = pytest.mark.needs("postgres", "temporal")


def test_a_closed_workspace_has_let_go_of_its_connection(far: Far) -> None:
    far.worker()
    with far.workspace() as workspace:
        workspace.detach(workspace.begin({"nodes": [{"id": "a", "type": "echo"}]}))
        assert workspace.place_schedules.list() == []
        assert connections() == 1, "one for runs and schedules"
    until(lambda: connections() == 0, "no connection")


def connections() -> int:
    return sum(thread.name == THREAD for thread in threading.enumerate())
