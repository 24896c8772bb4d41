"""Test files of workflows as pytest sees them: a file, and an item for each test; failures are shown as elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pflow.cli.testing.text import case_details, case_line
from pflow.core.error_text import render_error, render_issues
from pflow.core.errors import PflowError
from pflow.core.suite.read import read_suite
from pflow.workspace import Workspace
from pflow.workspace.testing.suite_run import Choice

if TYPE_CHECKING:
    from _pytest._code.code import TerminalRepr, TracebackStyle


class SuiteFile(pytest.File):
    """One test file. What is wrong with it is an error of collecting it."""

    def collect(self) -> Iterator[SuiteItem]:
        """Its tests, in their order."""
        try:
            read = read_suite(self.path)
        except PflowError as error:
            raise self.CollectError(render_error(error)) from None
        if read.issues:
            raise self.CollectError(render_issues(read.issues, read.places, source=str(self.path)))
        for case in read.suite.cases:
            yield SuiteItem.from_parent(self, name=case.name)


class SuiteItem(pytest.Item):
    """One test."""

    def runtest(self) -> None:
        """Play it."""
        with Workspace.open(project=self.path.parent) as workspace:
            result = workspace.tests.run(self.path, Choice(name=self.name))
        if result.error is not None:
            raise NotAsExpected(render_error(result.error, result.places, source=result.source))
        for case in result.cases:
            if case.outcome != "passed":
                raise NotAsExpected("\n".join([case_line(case), *case_details(result, case, strict=False)]))

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: TracebackStyle | None = None
    ) -> str | TerminalRepr:
        """What differs, without the frames that led to it."""
        if isinstance(excinfo.value, NotAsExpected):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        """What a failure is headed with."""
        return self.path, 0, f"{self.path.name}: {self.name}"


class NotAsExpected(Exception):
    """A test of a workflow that has failed; the message is what a person is shown."""
