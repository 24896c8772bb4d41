"""Reading a document from a file: only regular files, only small ones, and never waiting."""

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pflow.core.document.parse import read_file
from pflow.core.errors import NotFoundError, StorageError

MIB = 1 << 20
GOOD = b'{"nodes": [{"id": "a"}]}'


def test_the_suffix_of_the_file_decides_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text("{nodes: [{id: a}]}")
    (tmp_path / "a.JSON").write_text("nodes: [{id: a}]")
    document = read_file(tmp_path / "a.yml").document
    assert document is not None and document.nodes[0].id == "a"
    assert [i.code for i in read_file(tmp_path / "a.JSON").issues] == ["syntax"]


def test_a_file_of_one_mebibyte_is_read_and_one_byte_more_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(GOOD.ljust(MIB))
    assert read_file(path).issues == ()
    path.write_bytes(GOOD.ljust(MIB + 1))
    parsed = read_file(path)
    assert [i.code for i in parsed.issues] == ["too-large"]
    assert parsed.document is None


def test_a_huge_file_is_refused_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert [i.code for i in read_file(path).issues] == ["too-large"]


@pytest.mark.parametrize("name", ["missing.json", "missing/a.json", "a\0b.json"])
def test_a_file_that_is_not_there_is_not_found(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        read_file(tmp_path / name)
    assert "\0" not in caught.value.message


def test_a_file_below_a_file_is_not_found(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(GOOD)
    with pytest.raises(NotFoundError):
        read_file(tmp_path / "a/b.json")


def make_directory(path: Path) -> None:
    path.mkdir()


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def make_loop(path: Path) -> None:
    path.symlink_to(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


@pytest.mark.parametrize("make", [make_directory, make_fifo, make_device, make_loop, make_socket])
def test_what_is_no_regular_file_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path.relative_to(tmp_path) / "x.json"
    make(path)
    with pytest.raises(StorageError) as caught:
        read_file(path)
    assert "x.json" in caught.value.message


def test_a_name_that_is_too_long_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(StorageError) as caught:
        read_file(tmp_path / ("x" * 5000))
    assert len(caught.value.message) < 300


def test_reading_leaves_no_file_open(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(GOOD)
    (tmp_path / "dir").mkdir()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        read_file(tmp_path / "a.json")
        with pytest.raises(StorageError):
            read_file(tmp_path / "dir")
    assert len(os.listdir("/proc/self/fd")) == before
