"""The clock of deadlines and schedules, and the file that tests set it by."""

import time
from pathlib import Path

import pytest

from pflow.core.clock import now
from pflow.core.errors import UsageError


def test_without_the_variable_it_is_the_clock_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PFLOW_NOW", raising=False)
    before = time.time()
    assert before <= now() <= time.time()


@pytest.mark.parametrize(
    "text", ["1793525400", "1793525400.0\n", "2026-11-01T05:30:00Z", "2026-11-01T07:30:00+02:00", " 2026-11-01T05:30Z "]
)
def test_the_file_says_seconds_or_a_moment(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "now"
    file.write_text(text)
    monkeypatch.setenv("PFLOW_NOW", str(file))
    expected = 1793525400.0 if "T" not in text else 1793511000.0
    assert now() == expected


def test_the_file_is_read_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "now"
    monkeypatch.setenv("PFLOW_NOW", str(file))
    seen = []
    for moment in (100, 200, 150):
        file.write_text(str(moment))
        seen.append(now())
    assert seen == [100.0, 200.0, 150.0]


@pytest.mark.parametrize("text", ["", "soon", "2026-11-01", "2026-11-01T05:30:00", "nan", "inf"])
def test_anything_else_is_refused(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "now"
    file.write_text(text)
    monkeypatch.setenv("PFLOW_NOW", str(file))
    with pytest.raises(UsageError) as caught:
        now()
    assert str(file) in caught.value.message


def test_a_file_that_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PFLOW_NOW", str(tmp_path / "absent"))
    with pytest.raises(UsageError):
        now()
