"""Makes what tests expect what there is: outputs that differ are written into the test file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pflow.core.file.atomic import write_atomic
from pflow.core.suite.edit import replace_values
from pflow.core.suite.match import mismatches
from pflow.core.suite.suite import Case
from pflow.workspace.testing.result import CaseResult


def update_outputs(file: Path, results: Sequence[CaseResult], cases: Sequence[Case]) -> list[CaseResult]:
    """Write outputs that are not as expected; a test that then has nothing else against it has passed."""
    by_name = {case.name: case for case in cases}
    changes: dict[tuple[str | int, ...], object] = {}
    updated: list[CaseResult] = []
    for result in results:
        expected = by_name[result.name].expected.outputs
        given = result.outputs if result.outcome == "failed" and not result.unrecorded else {}
        new = {
            name: given[name]
            for name, value in expected.items()
            if name in given and next(mismatches(value, given[name]), None) is not None
        }
        changes |= {("tests", result.name, "expect", "outputs", name): value for name, value in new.items()}
        if new:
            left = tuple(one for one in result.findings if not one.where.startswith("outputs"))
            result = result._replace(findings=left, updated=True, outcome="failed" if left else "passed")
        updated.append(result)
    if changes:
        text = file.read_text(encoding="utf-8")
        write_atomic(file, replace_values(text, changes).encode())
    return updated
