"""What checking lets pass does not fail in a run for a reason that was known before it."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.execution.random_document import DocumentMaker, inputs
from tests.quick import examples

ALLOWED = (
    "by zero",
    "outside the range of 64-bit integers",
    "so there is no `",
    "none of the conditions on the edges of",
    "infinite or not a number",
    "more than 1,000,000 steps",
    "too large",
)
"""Failures that only values decide: what divides, what overflows, what is beyond the end of a list."""


def run_checked(workspace: Workspace, seed: int) -> bool:
    """Run a random document, if checking finds nothing in it. Returns whether it did run."""
    random = Random(seed)
    document = DocumentMaker(random).document()
    checked = workspace.check(document)
    if checked.errors or any(issue.code == "maybe-absent" for issue in checked.warnings):
        return False
    outcome = workspace.run(document, inputs(random))
    message = str(outcome.error["message"]) if outcome.error else ""
    assert outcome.status == "completed" or any(allowed in message for allowed in ALLOWED), (seed, message, document)
    return True


def test_what_passes_checking_fails_in_no_run_by_types_names_or_absence(home: Path) -> None:
    with Workspace(Home(home)) as workspace:

        @given(seed=st.integers(0, 2**32))
        @settings(max_examples=examples(250))
        def runs(seed: int) -> None:
            run_checked(workspace, seed)

        runs()


def test_many_of_the_random_documents_pass_checking_and_some_do_not(home: Path) -> None:
    with Workspace(Home(home)) as workspace:
        passed = [run_checked(workspace, seed) for seed in range(100)]
    assert 20 < sum(passed) < 90


@pytest.mark.slow
def test_five_thousand_documents_that_pass_checking_fail_in_no_run_by_what_was_known(home: Path) -> None:
    with Workspace(Home(home)) as workspace:
        for seed in range(100_000, 105_000):
            run_checked(workspace, seed)
