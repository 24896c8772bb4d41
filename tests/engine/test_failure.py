"""When a failed attempt is followed by another, and after how long."""

from __future__ import annotations

import pytest

from pflow.core.document.document import Retry
from pflow.core.errors import SecurityError, StepError, UnresolvedError
from pflow.engine.failure import LONGEST_WAIT, retry_wait


@pytest.mark.parametrize(
    ("attempt", "error", "expected"),
    [
        (1, StepError("x"), 2.0),
        (2, StepError("x"), 6.0),
        (3, StepError("x"), None),
        (1, StepError("x", details={"retry_after": 30}), 30),
        (1, StepError("x", details={"retry_after": 1}), 2.0),
        (1, StepError("x", details={"retry_after": 10**9}), LONGEST_WAIT),
        (1, StepError("x", details={"retry_after": "soon"}), 2.0),
        (1, ValueError("x"), 2.0),
        (1, SecurityError("x"), None),
        (1, UnresolvedError("x"), None),
    ],
)
def test_the_wait_grows_and_a_server_that_names_one_is_believed(
    attempt: int, error: Exception, expected: float | None
) -> None:
    assert retry_wait(Retry(attempts=3, wait=2.0, backoff=3.0), attempt, error) == expected


def test_a_wait_grows_to_an_hour_and_a_longer_one_that_is_declared_is_kept() -> None:
    long, longer = Retry(attempts=3, wait=3000, backoff=3.0), Retry(attempts=3, wait=7200, backoff=2.0)
    assert retry_wait(long, 2, StepError("x")) == LONGEST_WAIT
    assert [retry_wait(longer, attempt, StepError("x")) for attempt in (1, 2)] == [7200, 7200]


def test_without_a_retry_the_first_failure_is_final() -> None:
    assert retry_wait(None, 1, StepError("x")) is None
