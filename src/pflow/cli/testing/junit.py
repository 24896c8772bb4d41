"""Results of tests as JUnit XML, for programs that collect them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from pflow.core.printable import escape as printable

if TYPE_CHECKING:
    from pflow.workspace.testing.result import CaseResult, SuiteResult


def junit_text(suites: Sequence[SuiteResult], details: dict[int, str]) -> str:
    """The XML of all results; `details` has what is told of a test or a file, by its identity."""
    cases = [case for suite in suites for case in suite.cases]
    failed = sum(case.outcome == "failed" for case in cases)
    wrong = sum(case.outcome == "wrong" for case in cases) + sum(suite.error is not None for suite in suites)
    head = f'tests="{len(cases)}" failures="{failed}" errors="{wrong}"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="pflow" {head}>']
    for suite in suites:
        lines += _suite(suite, details)
    return "\n".join([*lines, "</testsuites>", ""])


def _suite(suite: SuiteResult, details: dict[int, str]) -> list[str]:
    failed = sum(case.outcome == "failed" for case in suite.cases)
    wrong = sum(case.outcome == "wrong" for case in suite.cases) + (suite.error is not None)
    count = len(suite.cases) + (suite.error is not None)
    seconds = sum(case.ms for case in suite.cases) / 1000
    name = _attribute(str(suite.file))
    lines = [f'  <testsuite name={name} tests="{count}" failures="{failed}" errors="{wrong}" time="{seconds:.3f}">']
    if suite.coverage is not None:
        found = suite.coverage
        properties = {
            "coverage": f"{found.percent:.1f}",
            "nodes": f"{len(found.nodes) - len(found.missed_nodes)}/{len(found.nodes)}",
            "edges": f"{len(found.edges) - len(found.missed_edges)}/{len(found.edges)}",
        }
        lines += ["    <properties>"]
        lines += [f'      <property name="{key}" value="{value}"/>' for key, value in properties.items()]
        lines += ["    </properties>"]
    for case in suite.cases:
        lines += _case(suite, case, details)
    if suite.error is not None:
        lines += [f'    <testcase classname={name} name="the file itself">']
        lines += [*_problem("error", suite.error.message, details.get(id(suite), "")), "    </testcase>"]
    return [*lines, "  </testsuite>"]


def _case(suite: SuiteResult, case: CaseResult, details: dict[int, str]) -> list[str]:
    start = f"    <testcase classname={_attribute(str(suite.file))} name={_attribute(case.name)}"
    start += f' time="{case.ms / 1000:.3f}"'
    if case.outcome == "passed":
        return [f"{start}/>"]
    kind = "failure" if case.outcome == "failed" else "error"
    first = case.findings[0].where if case.findings else "" if case.error is None else case.error.message
    return [f"{start}>", *_problem(kind, first or "unused recordings", details.get(id(case), "")), "    </testcase>"]


def _problem(kind: str, message: str, text: str) -> list[str]:
    shown = "\n".join(printable(line) for line in text.split("\n"))
    return [f"      <{kind} message={_attribute(message)}>{escape(shown)}</{kind}>"]


def _attribute(text: str) -> str:
    return quoteattr(printable(text))
