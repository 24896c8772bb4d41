"""One JSON object on disk: no update is lost, and a damaged file is set aside, not forgotten."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from pflow.core.errors import CorruptError, StorageError
from pflow.core.file.state_file import StateFile
from tests.core.file.forking import together


def test_an_update_sees_what_the_last_one_wrote(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    assert StateFile(path).update(lambda content: {**content, "a": 1}) == {"a": 1}
    assert StateFile(path).update(lambda content: {**content, "b": 2}) == {"a": 1, "b": 2}
    assert orjson.loads(path.read_bytes()) == {"a": 1, "b": 2}


def test_an_update_that_changes_nothing_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    StateFile(path).update(lambda content: {"a": 1})
    before = path.stat()
    StateFile(path).update(lambda content: content)
    assert path.stat().st_ino == before.st_ino


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'"x"', b"\xff\xfe", b"\x80\x04}", b"{}garbage", b"null"])
def test_a_corrupt_file_is_set_aside_and_then_raised_or_replaced(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(CorruptError) as caught:
        StateFile(path).update(lambda found: {**found, "a": 1})
    aside = Path(str(caught.value.details["aside"]))
    assert aside.read_bytes() == content
    assert not path.exists()
    assert aside.name in caught.value.message

    path.write_bytes(content)
    assert StateFile(path, on_damage=lambda _: {}).update(lambda found: {**found, "a": 1}) == {"a": 1}
    assert len(list(tmp_path.glob("x.json.corrupt-*"))) == 2


def test_eight_processes_lose_no_update(tmp_path: Path) -> None:
    path = tmp_path / "h" / "x.json"

    def work(index: int) -> object:
        for number in range(25):
            StateFile(path).update(lambda content: {**content, f"{index}-{number}": True})
        return "done"

    assert together(8, work) == ["done"] * 8
    assert len(orjson.loads(path.read_bytes())) == 200


def test_the_lock_is_let_go_when_an_update_raises(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        StateFile(tmp_path / "x").update(lambda content: {"a": 1 / 0})
    assert StateFile(tmp_path / "x").update(lambda content: {"a": 1}) == {"a": 1}


def test_what_is_still_whole_of_a_damaged_object_can_be_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b'{"servers": [], "a": 1}')
    file = StateFile(
        path, is_valid=lambda content: content["servers"] != [], on_damage=lambda damage: {"a": damage.rest["a"]}
    )
    assert file.last_aside() == ""
    assert file.read() == {"a": 1}
    assert (tmp_path / file.last_aside()).read_bytes() == b'{"servers": [], "a": 1}'
    assert file.read() is None


def test_a_file_of_a_later_version_is_neither_read_nor_changed(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b'{"version": 2}')
    file = StateFile(path, version=1)
    for call in (file.read, lambda: file.update(dict)):
        with pytest.raises(StorageError, match="`x.json` has version `2`; this pflow knows version 1"):
            call()
    assert path.read_bytes() == b'{"version": 2}'
