"""Documents of steps that cost nothing by themselves, and what running them costs: the engine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pflow.core.document.parse import Parsed, parse_value
from pflow.core.errors import NotFoundError
from pflow.core.file.home import Home
from pflow.engine.plan import Plan
from pflow.engine.ports import Journal
from pflow.execution.compiler import Load, compile_plan
from pflow.execution.wiring import Wiring

NODES = '''
"""Steps that cost nothing, so that only the engine is measured."""
import asyncio
from pocketflow import AsyncNode, Node

class NothingNode(AsyncNode):
    """Does nothing."""

class BlockingNothingNode(Node):
    """Does nothing, in a thread."""

class WaitNode(AsyncNode):
    """Waits.

    Interface:
    - Params: seconds: float - how long
    """
    async def exec_async(self, prep_res):
        await asyncio.sleep(self.params["seconds"])

class MegabyteNode(AsyncNode):
    """Makes a new value of a megabyte.

    Interface:
    - Params: seed: int - which one
    - Writes: shared["value"]: str - the value
    """
    async def post_async(self, shared, prep_res, exec_res):
        shared["value"] = f"{self.params['seed']:08}" * 125_000
'''


@dataclass(frozen=True, slots=True)
class Cost:
    """What running took: on the clock, and of the processor."""

    wall: float
    cpu: float


class Bench:
    """A home with those steps, and its journal: by default the one that people have."""

    def __init__(self, home: Path, journal: Journal | None = None) -> None:
        self.place = make_home(home)
        self._wiring = Wiring(self.place, journal=journal) if journal else Wiring(self.place)

    def plan(self, document: Mapping[str, object]) -> Plan:
        """Check a document."""
        plan, issues = compile_plan(parse_value(document), self._wiring.registry, no_workflow)
        assert plan is not None, issues
        return plan

    def cost(self, plan: Plan, *, runs: int = 1) -> Cost:
        """Run a plan to its end, or so many times at once."""
        return asyncio.run(self._cost(plan, runs))

    async def _cost(self, plan: Plan, runs: int) -> Cost:
        executor = self._wiring.executor(None, use_cache=False)
        wall, cpu = time.perf_counter(), time.process_time()
        results = await asyncio.gather(*(executor.run(plan, {}) for _ in range(runs)))
        cost = Cost(time.perf_counter() - wall, time.process_time() - cpu)
        executor.close()
        assert all(result.status == "completed" for result in results), results[0].error
        return cost


def make_home(home: Path) -> Home:
    """A home that has the steps among its own nodes."""
    place = Home(home / ".pflow")
    place.nodes.mkdir(parents=True)
    (place.nodes / "steps.py").write_text(NODES)
    return place


def no_workflow(name: object) -> tuple[Parsed, Load]:
    """These documents contain no others."""
    raise NotFoundError(f"there is no workflow `{name}`")


def chain(kind: str, count: int, params: Mapping[str, object] | None = None, **fields: object) -> dict[str, object]:
    """One step after another."""
    node = {"type": kind, "params": dict(params or {}), **fields}
    return {"nodes": [{"id": f"s{index}", **node} for index in range(count)]}
