"""Plans for tests: a document and node classes in, a plan and an executor over the in-memory journal out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pflow.core.document.parse import Parsed, parse_value
from pflow.core.errors import NotFoundError
from pflow.core.interface import Field, Interface
from pflow.engine.binding import bind_inputs
from pflow.engine.executor import Executor
from pflow.engine.plan import Plan
from pflow.engine.ports import Services
from pflow.engine.result import RunResult
from pflow.execution.compiler import compile_plan
from pflow.testing import MemoryJournal


class Kind:
    """A node type made of a class; `purity`, `reads` and `actions` come from its attributes."""

    def __init__(self, node_class: type) -> None:
        self._class = node_class
        self.is_user = not getattr(node_class, "trusted", False)
        self.node_hash = node_class.__name__
        self.program = ""
        self.tool = None
        self.interface = Interface(
            open_params=True,
            open_outputs=True,
            purity=getattr(node_class, "purity", "impure"),
            reads=tuple(Field(name=name) for name in getattr(node_class, "reads", ())),
            actions=getattr(node_class, "actions", ("default", "error")),
        )

    def make(self) -> object:
        return self._class()


class Kinds(dict[str, Kind]):
    """Node types by name."""

    def get(self, name: str) -> Kind:  # type: ignore[override]
        if name not in self:
            raise NotFoundError(name)
        return self[name]

    def names(self) -> list[str]:
        return list(self)


class Workflow:
    """The `workflow` type, which the engine runs itself."""


def plan_of(document: Mapping[str, Any], **classes: type) -> Plan:
    kinds: Any = Kinds({name.replace("_", "-"): Kind(cls) for name, cls in {**classes, "workflow": Workflow}.items()})

    def load(wanted: object) -> tuple[Parsed, Any]:
        if isinstance(wanted, str):
            raise NotFoundError(wanted)
        return parse_value(wanted), load

    plan, issues = compile_plan(parse_value(document), kinds, load)
    assert plan is not None, [issue.as_dict() for issue in issues]
    return plan


def executor_over(journal: MemoryJournal, home: Path = Path("/nonexistent"), **options: Any) -> Executor:
    return Executor(journal, Services(home=home, settings={}), **options)


def run_plan(plan: Plan, params: Mapping[str, object] | None = None, **options: Any) -> RunResult:
    seed = options.pop("seed", None)
    journal = options.pop("journal", None) or MemoryJournal()

    async def go() -> RunResult:
        executor = executor_over(journal, **options)
        try:
            return await executor.run(plan, bind_inputs(plan, params or {}), seed=seed)
        finally:
            executor.close()

    return asyncio.run(go())
