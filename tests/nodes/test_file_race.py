"""Another process swaps a directory for a link while steps work in it: nothing lands, or is read, behind the link."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pflow.core.file.home import Home
from pflow.execution.outcome import Outcome
from pflow.workspace import Workspace

CANARY = "canary-5c1f0e7a"
ATTEMPTS = 200
"""Of each change; without the protection one of the first few dozen succeeds."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux swaps two names at once")


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder; `~` is its parent. `d` is a folder of ours, `e` a link to `~/.ssh`."""
    work = tmp_path / "work"
    (work / "d").mkdir(parents=True)
    (tmp_path / ".ssh").mkdir()
    (work / "e").symlink_to(tmp_path / ".ssh")
    monkeypatch.chdir(work)
    return work


@contextmanager
def swapping(first: str, second: str) -> Iterator[None]:
    """Have a process swap two names while the body runs."""
    swap = str(Path(__file__).with_name("swap.py"))
    command = [sys.executable, swap, first, second]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if not process.stdout.readline():
            process.wait()
            pytest.skip("this file system cannot swap two names at once")
        try:
            yield
        finally:
            process.stdin.close()
            process.wait()


def batch(home: Path, kind: str, **params: object) -> Outcome:
    """Run one step for every attempt; those that fail are not the matter."""
    given = {name.removesuffix("_"): value for name, value in params.items()}
    items = {"items": list(range(ATTEMPTS)), "on_error": "continue", "max_failed": "100%", "concurrency": 4}
    with Workspace(Home(home)) as workspace:
        return workspace.run({"nodes": [{"id": "step", "type": kind, "params": given, "batch": items}]})


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        ("write-file", {"path": "d/authorized_keys", "content": CANARY}),
        ("write-file", {"path": "d/authorized_keys", "content": CANARY, "append": True}),
        ("write-file", {"path": "d/new/authorized_keys", "content": CANARY}),
        ("copy-file", {"from": "ours", "to": "d/authorized_keys"}),
    ],
)
def test_nothing_is_written_behind_a_link_that_is_swapped_in(
    work: Path, home: Path, tmp_path: Path, kind: str, params: dict[str, object]
) -> None:
    (work / "ours").write_text(CANARY)
    with swapping("d", "e"):
        outcome = batch(home, kind, **params)
    assert list((tmp_path / ".ssh").iterdir()) == []
    assert outcome.outputs


@pytest.mark.slow
def test_nothing_is_moved_or_deleted_behind_a_link_that_is_swapped_in(work: Path, home: Path, tmp_path: Path) -> None:
    (tmp_path / ".ssh/known").write_text(CANARY)
    (work / "d/known").write_text("ours")
    (work / "ours").write_text("x")
    with swapping("d", "e"):
        batch(home, "delete-file", path="d/known")
        batch(home, "move-file", from_="d/known", to="mine")
        batch(home, "move-file", from_="ours", to="d/moved")
    assert [file.name for file in (tmp_path / ".ssh").iterdir()] == ["known"]
    assert (tmp_path / ".ssh/known").read_text() == CANARY


@pytest.mark.slow
def test_nothing_is_read_behind_a_link_that_is_swapped_in(work: Path, home: Path, tmp_path: Path) -> None:
    (tmp_path / ".ssh/known").write_text(CANARY)
    (work / "d/known").write_text("ours")
    with swapping("d", "e"):
        read = batch(home, "read-file", path="d/known")
        batch(home, "copy-file", from_="d/known", to="copy")
        swapped_copy = (work / "copy").read_text() if (work / "copy").exists() else ""
    assert CANARY not in str(read.outputs)
    assert CANARY not in swapped_copy


@pytest.mark.slow
def test_nothing_is_read_or_written_through_a_file_that_is_swapped_for_a_link(
    work: Path, home: Path, tmp_path: Path
) -> None:
    (tmp_path / ".ssh/known").write_text(CANARY)
    (work / "file").write_text("ours")
    (work / "link").symlink_to(tmp_path / ".ssh/known")
    with swapping("file", "link"):
        read = batch(home, "read-file", path="file")
        batch(home, "write-file", path="file", content="x", append=True)
        batch(home, "write-file", path="file", content="x")
    assert CANARY not in str(read.outputs)
    assert (tmp_path / ".ssh/known").read_text() == CANARY
