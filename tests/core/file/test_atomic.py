"""Files that are never half-written, lost or confused with something else."""

from __future__ import annotations

import errno
import os
import resource
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from pflow.core.errors import NotFoundError, SecurityError, StorageError
from pflow.core.file.atomic import (
    locked,
    make_folder,
    make_private,
    read_private,
    remove,
    set_aside,
    sweep_temps,
    write_atomic,
)
from pflow.core.file.lock import hold_lock, open_lock
from pflow.core.file.state_file import StateFile
from tests.core.file.faults import ERRNOS, Faulty, failing, kill
from tests.core.file.forking import in_child, killed_while, together

LIMIT = 1 << 20


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# Writing


def test_a_written_file_holds_the_bytes_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "home" / "deep" / "x.json"
    write_atomic(path, b"one")
    write_atomic(path, b"two")
    assert path.read_bytes() == b"two"
    assert mode(path) == 0o600
    assert mode(tmp_path / "home") == mode(path.parent) == 0o700
    assert files(path.parent) == {"x.json"}


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o027])
def test_permissions_do_not_depend_on_the_umask(tmp_path: Path, umask: int) -> None:
    def work() -> object:
        os.umask(umask)
        StateFile(tmp_path / "h" / "x.json").update(lambda content: {**content, "a": 1})
        return [mode(tmp_path / "h"), *sorted(mode(path) for path in (tmp_path / "h").iterdir())]

    assert in_child(work) == [0o700, 0o600, 0o600]


def test_empty_and_large_contents_are_written_whole(tmp_path: Path) -> None:
    for data in (b"", b"x" * 5_000_000):
        write_atomic(tmp_path / "x", data)
        assert read_private(tmp_path / "x", 10_000_000) == data


def call_counts() -> list[int]:
    return list(range(1, 40))


@pytest.mark.parametrize("code", ERRNOS, ids=errno.errorcode.get)
def test_a_write_that_fails_anywhere_leaves_the_old_content_or_the_new(tmp_path: Path, code: int) -> None:
    reached = 0
    for nth in call_counts():
        path = tmp_path / str(nth) / "x.json"
        path.parent.mkdir()
        path.write_bytes(b"old")
        calls = Faulty(nth, failing(code))
        try:
            write_atomic(path, b"new content", calls=calls)
        except StorageError as error:
            assert str(path) in error.message
            assert error.suggestions
            assert path.read_bytes() in (b"old", b"new content")
        else:
            assert path.read_bytes() == b"new content", "never reported as stored if it was not"
        reached += calls.reached
        assert files(path.parent) == {"x.json"}
    assert reached == 8  # open, write, fsync, close, replace; of the folder: open, fsync, close


@pytest.mark.parametrize("code", ERRNOS, ids=errno.errorcode.get)
def test_a_first_write_that_fails_leaves_nothing_or_the_file(tmp_path: Path, code: int) -> None:
    for nth in call_counts():
        path = tmp_path / str(nth) / "deep" / "x.json"
        calls = Faulty(nth, failing(code))
        try:
            write_atomic(path, b"new content", calls=calls)
        except StorageError:
            assert not path.exists() or path.read_bytes() == b"new content"
        else:
            assert path.read_bytes() == b"new content"


def test_a_write_that_is_killed_anywhere_leaves_the_old_content_or_the_new(tmp_path: Path) -> None:
    outcomes = set()
    for nth in call_counts():
        path = tmp_path / str(nth) / "x.json"
        path.parent.mkdir()
        path.write_bytes(b"old")

        def work(path: Path = path, nth: int = nth) -> object:
            calls = Faulty(nth, kill)
            write_atomic(path, b"new content", calls=calls)
            return calls.reached

        result = in_child(work)
        assert path.read_bytes() in (b"old", b"new content")
        outcomes.add((result, path.read_bytes()))
        write_atomic(path, b"next")
        assert path.read_bytes() == b"next"
        if result is False:
            break
    assert outcomes == {("killed", b"old"), ("killed", b"new content"), (False, b"new content")}


def test_a_disk_that_is_really_full_is_named_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_atomic(path, b"old")

    def work() -> object:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        with pytest.raises(StorageError) as caught:
            write_atomic(path, b"x" * 5000)
        assert str(path) in caught.value.message
        return caught.value.suggestions[0]

    assert in_child(work) == "free some space, or set PFLOW_HOME to a directory on another disk"
    assert path.read_bytes() == b"old"
    assert files(tmp_path) == {"x.json"}


def test_a_folder_without_permission_is_named(unwritable: Path) -> None:
    def work() -> object:
        assert read_private(unwritable / "x.json", LIMIT) == b"{}"
        with pytest.raises(StorageError) as caught:
            write_atomic(unwritable / "x.json", b"new")
        with pytest.raises(StorageError):
            StateFile(unwritable / "x.json").update(lambda content: {"a": 1})
        with pytest.raises(StorageError):
            make_folder(unwritable / "new")
        with pytest.raises(StorageError):
            remove(unwritable / "x.json")
        with pytest.raises(StorageError):
            set_aside(unwritable / "x.json")
        return caught.value.message

    assert in_child(work, unprivileged=True) == f"cannot write `{unwritable}/x.json`: permission denied"
    assert (unwritable / "x.json").read_bytes() == b"{}"


# Links and other things that are no files


def plant(kind: str, path: Path, outside: Path) -> None:
    if kind == "link":
        path.symlink_to(outside)
    elif kind == "dangling link":
        path.symlink_to(outside.with_name("nowhere"))
    elif kind == "hard link":
        path.hardlink_to(outside)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to(path.name)
    else:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))


KINDS = ["link", "dangling link", "hard link", "pipe", "folder", "loop", "socket"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_of_its_own_is_neither_read_nor_written(tmp_path: Path, kind: str) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b'{"secret": 1}')
    folder = tmp_path / "h"
    folder.mkdir()
    plant(kind, folder / "x.json", outside)
    for attempt in (
        lambda: read_private(folder / "x.json", LIMIT),
        lambda: write_atomic(folder / "x.json", b"new"),
        lambda: StateFile(folder / "x.json").update(lambda content: {"a": 1}),
    ):
        with pytest.raises((SecurityError, NotFoundError) if kind == "dangling link" else SecurityError) as caught:
            attempt()
        assert str(tmp_path) not in caught.value.message
    assert outside.read_bytes() == b'{"secret": 1}'
    assert not outside.with_name("nowhere").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_a_lock_that_is_no_file_is_refused(tmp_path: Path, kind: str) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"kept")
    plant(kind, tmp_path / ".x.lock", outside)
    if kind == "hard link":
        with locked(tmp_path / "x"):
            pass  # nothing is ever written to a lock
    else:
        with pytest.raises((SecurityError, StorageError)):
            with locked(tmp_path / "x"):
                pass
    assert outside.read_bytes() == b"kept"


def test_a_folder_may_be_a_link_to_one_that_is_ours_alone(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir(mode=0o700)
    (tmp_path / "lib").symlink_to(real)
    write_atomic(tmp_path / "lib" / "x", b"1")
    assert (real / "x").read_bytes() == b"1"
    real.chmod(0o777)
    with pytest.raises(SecurityError, match="can be changed by every user"):
        write_atomic(tmp_path / "lib" / "x", b"2")
    assert (real / "x").read_bytes() == b"1"


def test_a_folder_that_is_a_dangling_link_or_a_file_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "lib").symlink_to(tmp_path / "nowhere")
    (tmp_path / "file").write_bytes(b"")
    for folder in ("lib", "file"):
        with pytest.raises(StorageError):
            write_atomic(tmp_path / folder / "x", b"1")
    assert not (tmp_path / "nowhere").exists()


# Reading


def test_a_file_over_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"12345")
    assert read_private(tmp_path / "x", 5) == b"12345"
    with pytest.raises(StorageError, match="larger than 4 bytes"):
        read_private(tmp_path / "x", 4)


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        read_private(tmp_path / "x", LIMIT)
    with pytest.raises(NotFoundError):
        remove(tmp_path / "x")


def test_an_endless_device_is_refused_at_once() -> None:
    with pytest.raises(SecurityError):
        read_private(Path("/dev/zero"), LIMIT)


def test_permissions_of_others_are_taken_away_once(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"")
    (tmp_path / "x").chmod(0o644)
    assert make_private(tmp_path / "x") is True
    assert mode(tmp_path / "x") == 0o600
    assert make_private(tmp_path / "x") is False
    assert make_private(tmp_path / "missing") is False


# Temporary files


def test_only_our_own_old_temporary_files_are_swept(tmp_path: Path) -> None:
    ours = tmp_path / ".x.json.0123456789abcdef.tmp"
    fresh = tmp_path / ".x.json.fedcba9876543210.tmp"
    others = [".x.tmp", "x.0123456789abcdef.tmp", ".x.0123456789ABCDEF.tmp", ".x.json.0123.tmp", "a.tmp", ".x.lock"]
    for path in [ours, *(tmp_path / name for name in others)]:
        path.write_bytes(b"")
        os.utime(path, (0, 0))
    fresh.write_bytes(b"")
    write_atomic(tmp_path / "y", b"")
    assert files(tmp_path) == {fresh.name, "y", *others}


def test_a_sweep_looks_at_a_bounded_number_of_files(tmp_path: Path) -> None:
    for number in range(20):
        path = tmp_path / f".x.{number:016x}.tmp"
        path.write_bytes(b"")
        os.utime(path, (0, 0))
    sweep_temps(tmp_path, limit=5)
    assert len(files(tmp_path)) == 15
    sweep_temps(tmp_path / "missing")


# Setting aside


def test_a_corrupt_file_is_moved_to_a_name_of_its_own(tmp_path: Path) -> None:
    asides = set()
    for content in (b"one", b"two", b"three"):
        (tmp_path / "x.json").write_bytes(content)
        aside = set_aside(tmp_path / "x.json")
        assert aside.read_bytes() == content
        asides.add(aside.name)
    assert len(asides) == 3
    assert files(tmp_path) == asides
    assert all(name.startswith("x.json.corrupt-2") for name in asides)


@pytest.mark.parametrize("nth", range(1, 7))
def test_setting_aside_never_loses_the_file(tmp_path: Path, nth: int) -> None:
    (tmp_path / "x.json").write_bytes(b"content")
    try:
        set_aside(tmp_path / "x.json", calls=Faulty(nth, failing(errno.EIO)))
    except StorageError:
        pass
    assert [path.read_bytes() for path in tmp_path.iterdir() if path.stat().st_size] == [b"content"]


# Locks


def test_readers_see_whole_files_while_others_write(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_atomic(path, orjson.dumps({"n": 0, "pad": ""}))

    def work(index: int) -> object:
        for number in range(150):
            if index < 2:
                write_atomic(path, orjson.dumps({"n": number, "pad": "x" * (number * 100)}))
            else:
                found = orjson.loads(read_private(path, LIMIT))
                assert len(found["pad"]) == found["n"] * 100
        return "done"

    assert together(4, work) == ["done"] * 4


def test_a_lock_keeps_out_everybody_else_even_of_the_same_process(tmp_path: Path) -> None:
    lock = tmp_path / ".x.lock"

    def is_free() -> bool:
        fd = open_lock(lock)
        try:
            return hold_lock(fd, lock, wait=False)
        finally:
            os.close(fd)

    with locked(tmp_path / "x"):
        assert not is_free()
        assert in_child(is_free) is False
    assert is_free()


def test_the_lock_of_a_killed_process_is_free_at_once(tmp_path: Path) -> None:
    def work(ready: Callable[..., Any]) -> None:
        with locked(tmp_path / "x"):
            ready()

    killed_while(work, lambda: None)
    with locked(tmp_path / "x"):
        pass


def test_of_files_that_were_set_aside_the_newest_few_are_kept(tmp_path: Path) -> None:
    made = []
    for number in range(12):
        (tmp_path / "x.json").write_text(str(number))
        made.append(set_aside(tmp_path / "x.json"))
    (tmp_path / "x.json.corrupt-20200101-000000").write_text("old")
    (tmp_path / "x.json.corrupt-20200101-000000-wal").write_text("old")
    (tmp_path / "x.json.corrupt-mine").write_text("not ours")
    (tmp_path / "other.json.corrupt-20200101-000000").write_text("other")
    (tmp_path / "x.json").write_text("last")
    last = set_aside(tmp_path / "x.json")
    kept = {path.name for path in tmp_path.iterdir()} - {path.name for path in made} - {last.name}
    assert kept == {"x.json.corrupt-mine", "other.json.corrupt-20200101-000000"}
    assert last.read_text() == "last"
    assert sorted(path.read_text() for path in made if path.exists()) == ["10", "11", "7", "8", "9"]
