"""What running tests gives, as values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pflow.core.cassette.cassette import Recorded
from pflow.core.document.position import Places
from pflow.core.errors import PflowError, SecurityError
from pflow.core.frozen import Frozen
from pflow.execution.replay.coverage import Coverage
from pflow.execution.replay.expectation import Cause, Finding, params_difference
from pflow.execution.replay.player import Unrecorded

CaseOutcome = Literal["passed", "failed", "wrong"]
"""How a test went. A `wrong` one could not be run as it is written: its `error` says why."""

Recording = Literal["none", "new", "all"]
"""What is recorded: nothing, calls that are not in the cassette, or all of them."""


class CaseResult(Frozen):
    """How a test went. `unused` are recordings that nobody asked for, `drift` is how live outputs differ from them.

    `recorded` is the cassette that was written, and `updated` says that expected outputs were.
    """

    name: str
    outcome: CaseOutcome
    findings: tuple[Finding, ...] = ()
    unrecorded: tuple[Unrecorded, ...] = ()
    cause: Cause = Cause()
    replayed: int = 0
    stubbed: int = 0
    live: int = 0
    ms: float = 0.0
    unused: tuple[Recorded, ...] = ()
    drift: tuple[str, ...] = ()
    changes: tuple[Finding, ...] = ()
    recorded: str = ""
    updated: bool = False
    error: PflowError | None = None
    outputs: Mapping[str, object] = {}

    def as_json(self) -> dict[str, object]:
        """The result for programs."""
        shown: dict[str, object] = {
            "name": self.name,
            "outcome": self.outcome,
            "calls": {"replayed": self.replayed, "stubbed": self.stubbed, "live": self.live},
            "ms": self.ms,
        }
        if self.findings:
            shown["findings"] = [_finding(one) for one in self.findings]
        if self.cause.first:
            shown["first_difference"] = {"step": self.cause.first, "then": list(self.cause.after)}
        if self.unrecorded:
            shown["unrecorded"] = [unrecorded_json(one) for one in self.unrecorded]
        if self.unused:
            shown["unused"] = [{"step": call.step, "type": call.type} for call in self.unused]
        if self.drift or self.changes:
            shown["drift"] = {"shape": list(self.drift), "values": [_finding(one) for one in self.changes]}
        if self.recorded:
            shown["recorded"] = self.recorded
        if self.updated:
            shown["updated"] = True
        if self.error is not None:
            shown["error"] = self.error.as_dict()
        return shown


class SuiteResult(Frozen):
    """How the tests of a file went. If it could not be used at all, `error` says why; `places` has its text."""

    file: Path
    workflow: str = ""
    cases: tuple[CaseResult, ...] = ()
    coverage: Coverage | None = None
    error: PflowError | None = None
    places: Places | None = None
    source: str = ""

    def as_json(self) -> dict[str, object]:
        """The result for programs."""
        shown: dict[str, object] = {
            "file": str(self.file),
            "workflow": self.workflow,
            "tests": [case.as_json() for case in self.cases],
        }
        if self.coverage is not None:
            shown["coverage"] = {
                "percent": round(self.coverage.percent, 1),
                "missed_nodes": list(self.coverage.missed_nodes),
                "missed_edges": list(self.coverage.missed_edges),
            }
        if self.error is not None:
            shown["error"] = self.error.as_dict()
        return shown

    @property
    def exit_code(self) -> int:
        """0 if all passed, 1 if a test failed, 2 if something is wrong with the tests, 3 if it was refused."""
        errors = [self.error, *(case.error for case in self.cases)]
        if any(isinstance(error, SecurityError) for error in errors):
            return 3
        if any(error is not None for error in errors):
            return 2
        return 1 if any(case.outcome == "failed" for case in self.cases) else 0


def _finding(one: Finding) -> dict[str, object]:
    shown: dict[str, object] = {"where": one.where}
    if one.message:
        shown["message"] = one.message
    if one.has_values:
        shown |= {"expected": one.expected} if one.is_missing != "expected" else {}
        shown |= {"actual": one.actual} if one.is_missing != "actual" else {}
    return shown


def unrecorded_json(one: Unrecorded) -> dict[str, object]:
    """A call that was not recorded, for programs."""
    near = None
    if one.nearest is not None:
        near = {"step": one.nearest.step, "differs": [_finding(part) for part in param_changes(one)]}
    return {"step": one.step, "type": one.type, "params": dict(one.params), "nearest": near}


def param_changes(one: Unrecorded) -> list[Finding]:
    """In which params a call differs from the nearest one that was recorded."""
    return list(params_difference(one))
