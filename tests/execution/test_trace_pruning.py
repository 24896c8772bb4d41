"""Old traces are deleted now and then, by the runs that write new ones."""

from __future__ import annotations

import os
import time
from binascii import crc32
from itertools import count
from pathlib import Path

from pflow.execution.trace import prune_traces

DAY = 86_400
LOOKS = next(name for n in count() if crc32((name := f"workflow-trace-{n}.json").encode()) % 64 == 0)
"""The name of a trace whose run looks at all others; most runs do not."""


def keep_traces(folder: Path, *days: float) -> list[str]:
    """Traces of that age."""
    names = [f"workflow-trace-old-{n:03}.json" for n in range(len(days))]
    for name, old in zip(names, days, strict=True):
        (folder / name).write_bytes(b"x" * 1000)
        os.utime(folder / name, (time.time() - old * DAY,) * 2)
    return names


def prune(folder: Path, *, keep: str = LOOKS, max_mb: float = 500) -> list[str]:
    return sorted(prune_traces(folder, keep_days=30, max_mb=max_mb, keep=keep, now=time.time))


def test_traces_that_are_too_old_are_deleted(tmp_path: Path) -> None:
    names = keep_traces(tmp_path, *[31] * 3, *[29] * 120)
    assert prune(tmp_path) == names[:3]
    assert not (tmp_path / names[0]).exists()
    assert (tmp_path / names[3]).exists()


def test_the_oldest_traces_are_deleted_when_all_take_too_much_room(tmp_path: Path) -> None:
    names = keep_traces(tmp_path, *(day / 10 for day in range(120, 0, -1)))
    assert prune(tmp_path, max_mb=110_000 / (1 << 20)) == names[:10]


def test_few_traces_are_left_alone(tmp_path: Path) -> None:
    keep_traces(tmp_path, *[31] * 99)
    assert prune(tmp_path) == []


def test_most_runs_do_not_look(tmp_path: Path) -> None:
    keep_traces(tmp_path, *[31] * 120)
    assert prune(tmp_path, keep=LOOKS.replace(".json", "-.json")) == []


def test_nobody_looks_again_at_once(tmp_path: Path) -> None:
    names = keep_traces(tmp_path, *[31] * 120)
    assert prune(tmp_path) == names
    names = keep_traces(tmp_path, *[31] * 120)
    assert prune(tmp_path) == []
    os.utime(tmp_path / ".pruned", (time.time() - 61,) * 2)
    assert prune(tmp_path) == names


def test_a_clock_that_was_set_back_keeps_nobody_from_looking(tmp_path: Path) -> None:
    names = keep_traces(tmp_path, *[31] * 120)
    (tmp_path / ".pruned").touch()
    os.utime(tmp_path / ".pruned", (time.time() + DAY,) * 2)
    assert prune(tmp_path) == names
