"""A tool's result, whatever the server's habits, is one value, its fields and its files."""

import base64
import hashlib
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.errors import SecurityError, ServerError, StepError
from pflow.mcp.call.tool_result import MOST_BYTES, MOST_FILES, Reading, read_result, save_file


def read(
    result: dict[str, Any],
    *,
    tool: str = "get",
    tools: tuple[str, str] = ("get", "put"),
    save: Callable[..., Any] | None = None,
) -> Reading:
    return read_result(result, server="shop", tool=tool, tools=tools, save=save or keep)


def keep(data: bytes, mime_type: str) -> dict[str, Any]:
    return {"path": f"/kept/{len(data)}", "mime_type": mime_type, "size": len(data)}


def text(*texts: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": item} for item in texts], **more}


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    ("result", "value"),
    [
        (text("hello"), "hello"),
        (text("hello", isError=False), "hello"),
        (text("hello", isError=None, structuredContent=None), "hello"),
        (text(""), ""),
        (text("a", "b"), "a\nb"),
        (text('{"a": 1}'), {"a": 1}),
        (text(" \n[1, 2] "), [1, 2]),
        (text('{"a": 1}', '{"a": 2}'), [{"a": 1}, {"a": 2}]),
        (text('{"a": 1}', "and more"), '{"a": 1}\nand more'),
        (text("5"), "5"),
        (text("true"), "true"),
        (text('"quoted"'), '"quoted"'),
        (text("{broken"), "{broken"),
        (text("[1, 2] and so on"), "[1, 2] and so on"),
        (text('{"result": 5}'), 5),
        (text('{"result": null}'), None),
        (text('{"result": 5, "more": 6}'), {"result": 5, "more": 6}),
        (text('{"a": NaN}'), '{"a": NaN}'),
        (text('{"a": "\\ud800"}'), '{"a": "\\ud800"}'),
        (text('{"a": 18446744073709551615}'), {"a": 18446744073709551615}),
        (text('{"a": 18446744073709551616}'), '{"a": 18446744073709551616}'),
        (text('{"a": -9223372036854775808}'), {"a": -9223372036854775808}),
        (text('{"a": -9223372036854775809}'), '{"a": -9223372036854775809}'),
        (text("[\n18446744073709551616\n]"), "[\n18446744073709551616\n]"),
        (text('{"a": 0.12345678901234567890123}'), {"a": 0.12345678901234568}),
        (text('{"a": ' + "9" * 5000 + "}"), '{"a": ' + "9" * 5000 + "}"),
        (text('{"id": "123456789012345678901234567890"}'), {"id": "123456789012345678901234567890"}),
        (text("[" * 300 + "]" * 300), "[" * 300 + "]" * 300),
        ({"content": [], "structuredContent": {"a": [1]}}, {"a": [1]}),
        (text("said", structuredContent={"a": 1}), {"a": 1}),
        (text("said", structuredContent={"result": [1]}), [1]),
        (text("said", structuredContent=[1, 2]), [1, 2]),
        (text("said", structuredContent={}), {}),
        (text("said", structuredContent=0), 0),
        ({}, None),
        ({"content": None}, None),
        ({"content": []}, None),
    ],
)
def test_the_value_is_what_the_tool_meant(result: dict[str, Any], value: object) -> None:
    assert read(result).value == value


@pytest.mark.requirement("security:6.1-4")
def test_the_fields_are_those_of_the_structured_content_before_it_is_unwrapped() -> None:
    assert read(text("x", structuredContent={"result": 1})) == Reading(value=1, fields={"result": 1}, files=())
    assert read(text('{"result": 1}')) == Reading(value=1, fields={}, files=())
    assert read(text("x", structuredContent=[1])).fields == {}


@pytest.mark.parametrize("kind", ["image", "audio"])
def test_an_image_or_sound_is_kept_and_referred_to(kind: str) -> None:
    reading = read({"content": [{"type": kind, "data": b64(b"\x00\xff"), "mimeType": "Image/PNG; q=1"}]})
    reference = {"type": kind, "path": "/kept/2", "mime_type": "image/png", "size": 2}
    assert reading == Reading(value=reference, fields={}, files=(reference,))


def test_text_beside_files_is_the_value() -> None:
    reading = read({"content": [{"type": "image", "data": "AAAA"}, {"type": "text", "text": "a cat"}]})
    assert reading.value == "a cat"
    assert [file["mime_type"] for file in reading.files] == ["application/octet-stream"]


def test_several_files_without_text_are_a_list() -> None:
    block = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    reading = read({"content": [block, block]})
    assert reading.value == list(reading.files)
    assert len(reading.files) == 2


def test_an_embedded_blob_is_kept_with_its_uri() -> None:
    resource = {"uri": "demo://x", "mimeType": "application/pdf", "blob": "AAAA"}
    reading = read({"content": [{"type": "resource", "resource": resource}]})
    assert reading.value == {
        "type": "resource",
        "uri": "demo://x",
        "path": "/kept/3",
        "mime_type": "application/pdf",
        "size": 3,
    }


def test_an_embedded_text_is_text() -> None:
    block = {"type": "resource", "resource": {"uri": "demo://x", "text": '{"a": 1}'}}
    assert read({"content": [block]}) == Reading(value={"a": 1}, fields={}, files=())
    assert read({"content": [{"type": "text", "text": "see:"}, block]}).value == 'see:\n{"a": 1}'


def test_a_linked_resource_is_named_and_never_read() -> None:
    link = {"type": "resource_link", "uri": "file:///etc/passwd", "name": "p", "mimeType": "text/plain", "_meta": {}}
    reading = read({"content": [link]}, save=None)
    assert reading.value == {
        "type": "resource_link",
        "uri": "file:///etc/passwd",
        "name": "p",
        "mime_type": "text/plain",
    }
    assert reading.files == (reading.value,)


def test_a_block_of_a_kind_that_is_not_known_is_kept_as_it_is() -> None:
    block = {"type": "hologram", "depth": 3}
    assert read({"content": [block]}) == Reading(value=block, fields={}, files=(block,))


@pytest.mark.requirement("client:edge-2")
@pytest.mark.parametrize(
    ("result", "cause"),
    [
        ({"isError": "yes"}, "its `isError` is neither true nor false"),
        ({"isError": 1}, "its `isError` is neither true nor false"),
        ({"content": "text"}, "its content is not a list"),
        ({"content": {"type": "text"}}, "its content is not a list"),
        ({"content": ["text"]}, "block 0 of its content is not an object with a type"),
        ({"content": [{"text": "x"}]}, "block 0 of its content is not an object with a type"),
        ({"content": [{"type": "text", "text": "x"}, {"type": "text"}]}, "block 1 of its content has no text"),
        ({"content": [{"type": "image"}]}, "block 0 of its content (image) has no data"),
        ({"content": [{"type": "image", "data": "A"}]}, "block 0 of its content (image) is not base64: "),
        ({"content": [{"type": "image", "data": "AA\nAA"}]}, "block 0 of its content (image) is not base64: "),
        (
            {"content": [{"type": "audio", "data": "data:audio/wav;base64,AAAA"}]},
            "block 0 of its content (audio) is not",
        ),
        ({"content": [{"type": "image", "data": "é"}]}, "block 0 of its content (image) is not base64: "),
        ({"content": [{"type": "resource"}]}, "block 0 of its content (resource) has no data"),
        (
            {"content": [{"type": "resource", "resource": {"uri": "x"}}]},
            "block 0 of its content (resource) has no data",
        ),
        ({"content": [{"type": "resource_link"}]}, "block 0 of its content (resource_link) has no uri"),
        ({"content": [{"type": "image", "data": ""}] * (MOST_FILES + 1)}, "it holds more than 1,000 files"),
    ],
)
def test_a_result_that_makes_no_sense_is_an_invalid_response(result: dict[str, Any], cause: str) -> None:
    with pytest.raises(ServerError) as caught:
        read(result)
    assert caught.value.message == "Invalid JSON response from server"
    assert str(caught.value.details["cause"]).startswith(cause)
    assert caught.value.details["tool"] == "get"


def test_more_bytes_than_a_result_may_hold_are_refused_before_they_are_decoded() -> None:
    half = "A" * (MOST_BYTES // 6 * 4 + 8)
    with pytest.raises(ServerError) as caught:
        read({"content": [{"type": "image", "data": half}, {"type": "image", "data": half}]})
    assert caught.value.details["cause"] == (
        "block 1 of its content (image) goes beyond the 67,108,864 bytes that a result may hold"
    )


def test_a_file_is_private_and_named_by_its_content(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    save = save_file(folder)
    data = b"\x89PNG"
    reading = read(
        {"content": [{"type": "image", "data": b64(data), "mimeType": "image/png", "name": "../../evil.sh"}]}, save=save
    )
    digest = hashlib.sha256(data).hexdigest()
    path = folder / f"{digest[:32]}.png"
    assert reading.value == {
        "type": "image",
        "path": str(path),
        "mime_type": "image/png",
        "size": 4,
        "sha256": digest,
    }
    assert path.read_bytes() == data
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_same_content_twice_is_one_file_that_is_written_once(tmp_path: Path) -> None:
    save = save_file(tmp_path / "files")
    first = save(b"same", "text/plain")
    written = (tmp_path / "files").stat().st_mtime_ns, [p.stat().st_ino for p in (tmp_path / "files").iterdir()]
    assert save(b"same", "text/plain") == first
    assert written == (
        (tmp_path / "files").stat().st_mtime_ns,
        [p.stat().st_ino for p in (tmp_path / "files").iterdir()],
    )


@pytest.mark.parametrize("damage", [b"", b"other", b"longer than it was"])
def test_a_file_that_was_changed_is_written_again(tmp_path: Path, damage: bytes) -> None:
    save = save_file(tmp_path)
    path = tmp_path / str(save(b"right", "text/plain")["path"])
    path.write_bytes(damage)
    save(b"right", "text/plain")
    assert path.read_bytes() == b"right"


def test_a_link_where_the_file_should_be_is_not_followed(tmp_path: Path) -> None:
    save = save_file(tmp_path / "files")
    path = tmp_path / str(save(b"right", "text/plain")["path"])
    path.unlink()
    (tmp_path / "mine").write_bytes(b"mine")
    path.symlink_to(tmp_path / "mine")
    with pytest.raises(SecurityError):
        save(b"right", "text/plain")
    assert (tmp_path / "mine").read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("mime_type", "ending"), [("image/jpeg", ".jpg"), ("application/x-sh", ".bin"), ("", ".bin"), ("../x", ".bin")]
)
def test_the_ending_of_a_file_comes_from_our_own_table(tmp_path: Path, mime_type: str, ending: str) -> None:
    block = {"type": "image", "data": "AAAA", "mimeType": mime_type}
    reference: Any = read({"content": [block]}, save=save_file(tmp_path)).value
    assert reference["path"].endswith(ending)
    assert "/" not in reference["path"].removeprefix(f"{tmp_path}/")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KINDS = st.sampled_from(["text", "image", "audio", "resource", "resource_link", "hologram"])
KEYS = st.sampled_from(["text", "data", "uri", "mimeType", "resource", "blob", "name", "annotations"])
WORDS = st.text(max_size=20) | st.sampled_from(
    ["AAAA", '{"result": [1]}', "Unknown tool: get", "Error: 429", "{", "[1]"]
)
BLOCKS = st.dictionaries(KEYS, WORDS | JSON, max_size=4).flatmap(
    lambda block: st.one_of(KINDS, JSON).map(lambda kind: {**block, "type": kind})
)
RESULTS = st.fixed_dictionaries(
    {},
    optional={
        "content": st.lists(BLOCKS | JSON, max_size=4) | JSON,
        "structuredContent": JSON,
        "isError": st.booleans() | JSON,
        "_meta": JSON,
    },
) | st.dictionaries(st.text(max_size=8), JSON, max_size=3)


@given(RESULTS, st.sampled_from(["get", "", "a b", "(", "{name}"]))
def test_whatever_a_server_gives_is_read_or_refused(result: dict[str, Any], tool: str) -> None:
    try:
        reading = read(result, tool=tool)
    except StepError as error:
        assert error.message
        orjson.dumps(error.details)
        assert result.get("isError") is not False or isinstance(error, ServerError)
    else:
        assert result.get("isError") in (None, False)
        assert all(isinstance(file, dict) and "type" in file for file in reading.files)


@given(JSON)
def test_structured_content_reads_the_same_with_and_without_the_text_that_repeats_it(value: object) -> None:
    if value is None:
        return
    alone = read({"structuredContent": value})
    beside = read({"structuredContent": value, "content": [{"type": "text", "text": "repeated"}]})
    assert repr(alone.value) == repr(beside.value)
