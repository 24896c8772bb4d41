"""Makes what tests expect what there is: outputs and counts that differ are written into the test file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pflow.core.file.author_file import write_file
from pflow.core.suite.edit import replace_values
from pflow.core.suite.match import mismatches
from pflow.core.suite.suite import Case
from pflow.workspace.testing.result import CaseResult

_COUNT = re.compile(r"calls\.(?P<type>.+)|steps\.(?P<step>.+)\.count")
"""Where findings stand that are about how often something happened."""

Changes = Mapping[tuple[str | int, ...], object]


def update_expected(file: Path, results: Sequence[CaseResult], cases: Sequence[Case]) -> list[CaseResult]:
    """Write what is not as expected; a test that then has nothing else against it has passed.

    A run that ended in another way than expected, or made calls that were not recorded, changes nothing.
    """
    by_name = {case.name: case for case in cases}
    changes: dict[tuple[str | int, ...], object] = {}
    updated: list[CaseResult] = []
    for result in results:
        found = {**_outputs(result, by_name[result.name]), **_counts(result)} if _is_usable(result) else {}
        changes |= {("tests", result.name, "expect", *path): value for path, value in found.items()}
        if found:
            left = tuple(
                one for one in result.findings if not (one.where.startswith("outputs") or _COUNT.fullmatch(one.where))
            )
            result = result._replace(findings=left, updated=True, outcome="failed" if left else "passed")
        updated.append(result)
    if changes:
        text = file.read_text(encoding="utf-8")
        write_file(file, replace_values(text, changes).encode())
    return updated


def _is_usable(result: CaseResult) -> bool:
    return (
        result.outcome == "failed"
        and not result.unrecorded
        and not any(one.where == "status" for one in result.findings)
    )


def _outputs(result: CaseResult, case: Case) -> Changes:
    given = result.outputs
    return {
        ("outputs", name): given[name]
        for name, value in case.expected.outputs.items()
        if name in given and next(mismatches(value, given[name]), None) is not None
    }


def _counts(result: CaseResult) -> Changes:
    found: dict[tuple[str | int, ...], object] = {}
    for one in result.findings:
        place = _COUNT.fullmatch(one.where)
        if place is not None and one.has_values:
            found[("calls", place["type"]) if place["type"] else ("steps", place["step"], "count")] = one.actual
    return found
