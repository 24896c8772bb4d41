"""Who lives and who does not."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pflow.adapters.lease import Lease, is_alive, sweep_leases
from pflow.core.errors import SecurityError
from tests.core.file.forking import in_child, killed_while, together


def test_a_lease_lives_until_it_is_released(tmp_path: Path) -> None:
    lease = Lease(tmp_path / "owners")
    path = tmp_path / "owners" / f"{lease.owner}.lock"
    assert is_alive(tmp_path / "owners", lease.owner)
    assert in_child(lambda: is_alive(tmp_path / "owners", lease.owner)) is True
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    lease.release()
    assert not is_alive(tmp_path / "owners", lease.owner)
    assert not path.exists()


def test_the_lease_of_a_killed_process_is_dead_at_once_and_its_file_goes(tmp_path: Path) -> None:
    def work(ready: Callable[..., Any]) -> None:
        Lease(tmp_path)
        ready()

    names: list[str] = []

    def look() -> None:
        names.extend(path.stem for path in tmp_path.iterdir())
        assert is_alive(tmp_path, names[0])

    killed_while(work, look)
    assert not is_alive(tmp_path, names[0])
    assert list(tmp_path.iterdir()) == []


def test_a_stopped_process_is_not_a_dead_one(tmp_path: Path) -> None:
    def work(ready: Callable[..., Any]) -> None:
        Lease(tmp_path)
        ready()

    def look() -> None:
        owner = next(tmp_path.iterdir()).stem
        pid = int(holder(tmp_path / f"{owner}.lock"))
        os.kill(pid, signal.SIGSTOP)
        assert is_alive(tmp_path, owner)

    killed_while(work, look)


def holder(path: Path) -> str:
    """The process that holds a lock, as the kernel lists it."""
    inode = path.stat().st_ino
    with open("/proc/locks") as locks:
        return next(line.split()[4] for line in locks if line.split()[5].endswith(f":{inode}"))


def test_looking_at_the_same_moment_gives_everybody_the_same_answer(tmp_path: Path) -> None:
    lease = Lease(tmp_path / "owners")

    def work(index: int) -> object:
        return [is_alive(tmp_path / "owners", lease.owner) for _ in range(50)]

    assert together(4, work) == [[True] * 50] * 4
    dead = "0" * 32

    def look_at_dead(index: int) -> object:
        (tmp_path / "owners" / f"{dead}.lock").touch()
        return [is_alive(tmp_path / "owners", dead) for _ in range(50)]

    assert together(4, look_at_dead) == [[False] * 50] * 4
    lease.release()


def test_leases_taken_and_swept_at_the_same_moment_all_hold(tmp_path: Path) -> None:
    def work(index: int) -> object:
        for _ in range(20):
            lease = Lease(tmp_path)  # sweeps the others' on the way
            assert is_alive(tmp_path, lease.owner)
            lease.release()
        return "done"

    assert together(6, work) == ["done"] * 6
    assert list(tmp_path.iterdir()) == []


def test_a_new_lease_sweeps_the_files_of_the_dead_and_nothing_else(tmp_path: Path) -> None:
    living = Lease(tmp_path)
    (tmp_path / f"{'a' * 32}.lock").touch()
    (tmp_path / "notes.txt").touch()
    (tmp_path / "UPPER.lock").touch()
    lease = Lease(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{living.owner}.lock",
        f"{lease.owner}.lock",
        "notes.txt",
        "UPPER.lock",
    }
    living.release()
    lease.release()
    sweep_leases(tmp_path / "missing")


@pytest.mark.parametrize("owner", [None, 5, "", "../x", "x" * 32, "a" * 31, "A" * 32, "a" * 32 + "/"])
def test_what_is_no_owner_is_not_alive(tmp_path: Path, owner: int | str | None) -> None:
    assert not is_alive(tmp_path, owner)


def test_a_link_in_place_of_a_lease_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("kept")
    (tmp_path / f"{'a' * 32}.lock").symlink_to(tmp_path / "target")
    assert not is_alive(tmp_path, "a" * 32)
    assert (tmp_path / "target").read_text() == "kept"
    (tmp_path / "owners").symlink_to("/tmp")
    with pytest.raises(SecurityError):
        Lease(tmp_path / "owners")
