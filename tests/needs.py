"""Tests that cannot run here: what they need is installed, and a skip is told from a hole in the check."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

import dev_needs

TRUE_REASONS = (
    "finds processes in /proc",
    "memory is read from /proc",
    "mounting a small file system needs root on Linux",
    "needs a second file system",
    "needs a terminal",
    "only root can give files away",
    "only root can install packages",
    "places differ",
    "processes can be seen in /proc only",
    "root may write anything",
    "strace may not trace here",
    "the folders are those of Linux",
    "threads are counted by /proc",
    "Windows has named pipes",
)
"""How the reasons of skips begin that nothing on this machine could be installed against."""


def names_of(item: pytest.Item) -> list[str]:
    """What a test needs."""
    return [name for mark in item.iter_markers("needs") for name in mark.args]


class Needs:
    """Installs what the selected tests need, and decides about each that lacks something."""

    def __init__(self) -> None:
        self.mode = os.environ.get(dev_needs.MODE, "")
        self.reasons: dict[str, str] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if not self.mode or session.config.option.collectonly:
            return
        names = {name for item in session.items for name in names_of(item)}
        run = os.environ.get("PYTEST_XDIST_TESTRUNUID", f"process {os.getpid()}")
        self.reasons = dev_needs.ensure(names, session=run)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        for name in dev_needs.missing(names_of(item)):
            reason = self.reasons.get(name) or "`python3 dev.py test` installs it"
            pytest.skip(f"needs {name}, which is not installed: {reason}")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if self.mode == "strict" and report.skipped and not hasattr(report, "wasxfail"):
            reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
            if not reason.removeprefix("Skipped: ").startswith(TRUE_REASONS):
                report.outcome = "failed"
                report.longrepr = f"{report.nodeid} was not run. {reason}"
        return report
