"""Results of tests as text for people: a line for each test, and for one that fails, what to look at first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from pflow.core.error_text import render_error
from pflow.core.printable import escape, shorten

if TYPE_CHECKING:
    from pflow.execution.replay.expectation import Finding
    from pflow.execution.replay.player import Unrecorded
    from pflow.workspace.testing.result import CaseResult, SuiteResult

_LONGEST_VALUE = 200
_MOST_LISTED = 8
_INDENT = "    "


def case_line(case: CaseResult) -> str:
    """How a test went, on one line."""
    mark = "✓" if case.outcome == "passed" else "✗"
    calls = f"{case.replayed} call{'s' * (case.replayed != 1)} replayed, {case.live} live"
    stubbed = f", {case.stubbed} stubbed" if case.stubbed else ""
    if case.outcome == "wrong":
        return f"{mark} {escape(case.name)}"
    return f"{mark} {escape(case.name)}  {calls}{stubbed}, {case.ms:.0f} ms"


def case_details(suite: SuiteResult, case: CaseResult, *, strict: bool) -> list[str]:
    """What to know of a test beside that: what differs, where it began to, and what was written."""
    lines: list[str] = []
    if case.error is not None:
        lines += render_error(case.error, suite.places, source=suite.source).split("\n")
    missed = {one.step: one for one in case.unrecorded}
    for finding in case.findings[:_MOST_LISTED]:
        lines += _finding(finding)
        if finding.where in missed:
            lines += [f"  {line}" for line in nearest_lines(missed[finding.where])]
    if len(case.findings) > _MOST_LISTED:
        lines.append(f"… and {len(case.findings) - _MOST_LISTED} more")
    if case.cause.first:
        lines.append(f"first differs from the recorded run: {escape(case.cause.first)}")
        if case.cause.after:
            lines.append(f"then: {_listed(case.cause.after)}")
    if case.unused and (strict or case.outcome == "passed"):
        names = [f"{call.step} ({call.type})" for call in case.unused]
        lines.append(f"{'error: ' if strict else ''}recorded and not asked for: {_listed(names)}")
    lines += [f"drift of shape: outputs.{escape(one)}" for one in case.drift]
    told = {finding.where for finding in case.findings[:_MOST_LISTED]}
    for change in [one for one in case.changes if one.where not in told][:_MOST_LISTED]:
        lines += [line.replace("expected", "recorded", 1) for line in _finding(change)]
    if case.recorded:
        lines.append(f"recorded to {escape(case.recorded)}")
    if case.updated:
        lines.append("expectations updated")
    return [f"{_INDENT}{line}" if line else "" for line in lines]


def _finding(one: Finding) -> list[str]:
    where, message = escape(one.where), escape(one.message)
    if not one.has_values:
        return [f"{where}: {message}" if not message.startswith(f"`{where}`") else message]
    lines = [f"{where}: {message}" if message else where]
    return [
        *lines,
        f"  expected {'nothing' if one.is_missing == 'expected' else value_text(one.expected)}",
        f"  got      {'nothing' if one.is_missing == 'actual' else value_text(one.actual)}",
    ]


def nearest_lines(missed: Unrecorded) -> list[str]:
    """The recorded call that is nearest to one that was not recorded, and what differs."""
    from pflow.workspace.testing.result import param_changes  # lazy: only for calls that were not recorded

    if missed.nearest is None:
        return [f"no call of {escape(missed.type)} was recorded; it asks {value_text(dict(missed.params))}"]
    lines = [f"the nearest recorded call is that of `{escape(missed.nearest.step)}`; it differs in"]
    parts = [line for one in param_changes(missed)[:_MOST_LISTED] for line in _finding(one)]
    return [*lines, *(f"  {line}".replace("  expected", "  recorded", 1) for line in parts)] if parts else lines[:0]


def coverage_lines(suite: SuiteResult) -> list[str]:
    """How much of a workflow its tests go through, and what they do not reach."""
    found = suite.coverage
    if found is None:
        return []
    nodes, edges = len(found.nodes), len(found.edges)
    lines = [
        f"coverage {found.percent:.0f} %: {nodes - len(found.missed_nodes)} of {nodes} nodes, "
        f"{edges - len(found.missed_edges)} of {edges} edges"
    ]
    if found.missed_nodes:
        lines.append(f"  nodes not reached: {_listed(found.missed_nodes)}")
    if found.missed_edges:
        lines.append(f"  edges not taken: {_listed(found.missed_edges)}")
    return lines


def value_text(value: object) -> str:
    """A value on one line."""
    return shorten(orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode(), _LONGEST_VALUE)


def _listed(names: object) -> str:
    found = [escape(str(name)) for name in names] if isinstance(names, list | tuple) else []
    more = f", … {len(found) - _MOST_LISTED} more" if len(found) > _MOST_LISTED else ""
    return ", ".join(found[:_MOST_LISTED]) + more
