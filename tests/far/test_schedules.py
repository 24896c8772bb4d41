"""Schedules of a place: Temporal fires them, and each due time is one run of the journal, whoever records it."""

from __future__ import annotations

import asyncio
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client, ScheduleBackfill, ScheduleOverlapPolicy

from tests.far.conftest import Far
from tests.robust.world import until

pytestmark = pytest.mark.needs("postgres", "temporal")


def save(far: Far, *nodes: dict[str, Any], name: str = "note", **fields: Any) -> None:
    """Save a workflow in the home of the person, which workers need not have."""
    said = far.pflow("workflow", "save", far.scene.write(*nodes, file=f"{name}.json", **fields), name)
    assert said.code == 0, said


def add(far: Far, *words: str, workflow: str = "note", when: str = "0 7 * * *") -> dict[str, Any]:
    said = far.pflow("schedule", "add", workflow, when, *words, "--tz", "UTC", "--on", "dev", "--json")
    assert said.code == 0, said
    return dict(said.json["data"])


def schedule_id(far: Far, name: str = "note") -> str:
    with far.workspace() as workspace:
        return f"pflow-schedule/{workspace.setting('on.dev.queue').value}/{name}"


def fire(far: Far, moment: datetime, name: str = "note", times: int = 1, overlap: int = 4) -> None:
    """Let a schedule be due at a moment, as Temporal does it after an outage."""

    async def backfill() -> None:
        address, _, namespace = far.cluster.temporal.address.partition("/")
        client = await Client.connect(address, namespace=namespace)
        handle = client.get_schedule_handle(schedule_id(far, name))
        span = ScheduleBackfill(
            start_at=moment - timedelta(seconds=30),
            end_at=moment + timedelta(seconds=30),
            overlap=ScheduleOverlapPolicy(overlap),
        )
        for _ in range(times):
            await handle.backfill(span)

    asyncio.run(backfill())


def ended(far: Far, count: int) -> list[str]:
    """Wait for so many runs to have ended; how."""
    over = ("completed", "failed", "stopped", "cancelled")
    until(lambda: sum(info.state in over for info in mine(far)) >= count, f"{count} runs")
    return [info.state for info in mine(far)]


def mine(far: Far) -> list[Any]:
    """The runs that the schedules of this test started."""
    names = {"note", "alarm"}
    with far.workspace() as workspace:
        infos = [info for info in workspace.runs(1000) if info.workflow in names]
        found = workspace.scheduled(info.run_id for info in infos)
    return [info for info in infos if info.run_id in found and info.started_at >= far.scene.began_at - 1]


SEVEN = datetime(2026, 12, 24, 7, tzinfo=UTC)


def test_a_due_time_is_one_run_however_often_it_is_fired(far: Far) -> None:
    worker = far.worker()
    save(far, far.scene.mark("a"))
    add(far)
    fire(far, SEVEN, times=2)
    assert ended(far, 1) == ["completed"]
    fire(far, SEVEN)
    until(lambda: far.pflow("schedule", "list", "--on", "dev", "--json").json["data"]["schedules"][0]["last"], "it")
    shown = far.pflow("schedule", "list", "--on", "dev", "--json").json["data"]["schedules"][0]
    assert shown["last"]["state"] == "completed"
    assert shown["last"]["run_id"].startswith("20261224-070000-")
    assert far.scene.did() == ["a"]
    listed = far.pflow("runs", "list", "--on", "dev", "--json").json["data"]["runs"]
    assert {run["schedule"] for run in listed if run["run_id"] == shown["last"]["run_id"]} == {"note"}
    assert shown["last"]["run_id"] in worker.said
