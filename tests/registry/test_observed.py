"""What calls teach lasts, is shared between processes, holds no data, and never gets in the way of a run."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pflow.core.file.home import Home
from pflow.registry import observed as module
from pflow.registry.observed import MOST_CALLS, Observed
from pflow.registry.schema_inference import infer
from tests.quick import examples

LOG = "mcp-git-git-log"
HASH = "sha256:" + "0" * 64
OTHER = "sha256:" + "1" * 64


@pytest.fixture
def place(home: Path) -> Home:
    return Home(home)


def teach(place: Home, *values: object, node_type: str = LOG, manifest_hash: str = HASH) -> Observed:
    observed = Observed(place)
    for value in values:
        observed.record(node_type, manifest_hash, value)
    observed.flush()
    return observed


def learnt(place: Home, node_type: str = LOG, manifest_hash: str = HASH) -> Any:
    return Observed(place).schema(node_type, manifest_hash)


def test_what_calls_teach_is_known_before_it_is_written_and_lasts(place: Home) -> None:
    observed = Observed(place)
    observed.record(LOG, HASH, {"commits": [{"sha": "a"}]})
    observed.record(LOG, HASH, {"commits": []})
    expected = (infer({"commits": [{"sha": "a"}]}), 2)
    assert observed.schema(LOG, HASH) == expected
    assert not place.observed.exists()
    observed.flush()
    assert observed.schema(LOG, HASH) == expected
    assert learnt(place) == expected
    assert observed.notices == []


def test_an_answer_is_the_same_object_until_something_is_learnt(place: Home) -> None:
    observed = teach(place, "text")
    first = observed.schema(LOG, HASH)
    assert observed.schema(LOG, HASH) is first
    observed.record(LOG, HASH, {"a": 1})
    assert observed.schema(LOG, HASH) == ({**infer({"a": 1}), "type": ["object", "string"]}, 2)


def test_another_definition_begins_anew(place: Home) -> None:
    teach(place, {"a": 1}, {"a": 2})
    assert learnt(place, manifest_hash=OTHER) is None
    teach(place, {"b": 1}, manifest_hash=OTHER)
    assert learnt(place) is None
    assert learnt(place, manifest_hash=OTHER) == (infer({"b": 1}), 1)


def test_a_definition_that_changes_between_two_calls_counts_from_then_on(place: Home) -> None:
    observed = Observed(place)
    observed.record(LOG, HASH, {"a": 1})
    observed.record(LOG, OTHER, {"b": 1})
    assert observed.schema(LOG, HASH) is None
    assert observed.schema(LOG, OTHER) == (infer({"b": 1}), 1)


def test_two_that_learn_at_once_lose_nothing(place: Home) -> None:
    first, second = Observed(place), Observed(place)
    assert first.schema(LOG, HASH) is None
    first.record(LOG, HASH, {"a": 1})
    second.record(LOG, HASH, {"b": 1})
    second.record("mcp-git-git-show", HASH, "text")
    first.flush()
    second.flush()
    both = Observed(place)
    both.record("x", HASH, 1)
    schema, calls = learnt(place)
    assert (sorted(schema["properties"]), schema["required"], calls) == (["a", "b"], [], 2)
    assert learnt(place, "mcp-git-git-show") == (infer("text"), 1)
    assert first.schema(LOG, HASH) == (infer({"a": 1}), 1), "until it flushes again"
    first.record(LOG, HASH, {"a": 1})
    first.flush()
    assert first.schema(LOG, HASH) == (schema, 3)


def test_processes_that_write_at_the_same_time_lose_nothing(place: Home) -> None:
    code = """
import sys
from pathlib import Path
from pflow.core.file.home import Home
from pflow.registry.observed import Observed
for n in range(10):
    observed = Observed(Home(Path(sys.argv[1])))
    observed.record("tool", "h", {"by-" + sys.argv[2]: n})
    observed.flush()
    assert not observed.notices
"""
    started = [subprocess.Popen([sys.executable, "-c", code, str(place.root), letter]) for letter in "abcd"]
    assert [process.wait(60) for process in started] == [0] * 4
    schema, calls = learnt(place, "tool", "h")
    assert (sorted(schema["properties"]), calls) == (["by-a", "by-b", "by-c", "by-d"], 40)


def test_the_file_is_for_its_owner_alone(place: Home) -> None:
    teach(place, 1)
    assert stat.S_IMODE(place.observed.stat().st_mode) == 0o600


def test_nothing_new_writes_nothing(place: Home) -> None:
    Observed(place).flush()
    assert not place.root.exists()
    observed = teach(place, *[{"a": 1}] * (MOST_CALLS + 5))
    before = place.observed.stat().st_ino
    for again in (observed, Observed(place)):
        again.record(LOG, HASH, {"a": 2})
        again.flush()
        assert place.observed.stat().st_ino == before
        assert again.schema(LOG, HASH) == (infer({"a": 1}), MOST_CALLS)
    teach(place, {"b": 1})
    assert sorted(learnt(place)[0]["properties"]) == ["a", "b"]


SECRETS = [
    "ada@example.org",
    "3f2b8c1e-9d4a-4c53-8e55-0f6a1b2c3d4e",
    "/home/ada/diary.txt",
    "2026-11-16",
    "AKIA7ABCDEFGH",
]


def test_only_names_and_types_are_written_from_the_first_call_on(place: Home) -> None:
    value = {
        "token": "s3cr3t-value",
        "count": 41_999,
        "people": {secret: {"secret_value": secret} for secret in SECRETS},
        "nested": [{"by_day": {"2026-11-16": ["diary"]}}],
    }
    teach(place, value)
    text = place.observed.read_text()
    assert "token" in text and "by_day" in text
    for private in [*SECRETS, "s3cr3t", "41999", "diary", "secret_value"]:
        assert private not in text


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"a": 1} x'])
def test_a_damaged_file_is_set_aside_and_begun_anew(place: Home, content: bytes) -> None:
    place.root.mkdir()
    place.observed.write_bytes(content)
    observed = Observed(place)
    assert observed.schema(LOG, HASH) is None
    [aside] = place.root.glob("mcp-observed.json.corrupt-*")
    assert aside.read_bytes() == content
    assert observed.notices == [
        f"`mcp-observed.json` was damaged; it was set aside as `{aside.name}`. "
        "The shapes of tools' results are learned again"
    ]
    teach(place, 1)
    assert learnt(place) == ({"type": "integer"}, 1)


@pytest.mark.parametrize(
    "entry",
    [
        None,
        [],
        {},
        {"manifest_hash": HASH},
        {"manifest_hash": HASH, "calls": True, "schema": {}},
        {"manifest_hash": HASH, "calls": -1, "schema": {}},
        {"manifest_hash": HASH, "calls": 10**9, "schema": {}},
        {"manifest_hash": HASH, "calls": 1, "schema": {"type": "object", "properties": 5}},
        {"manifest_hash": HASH, "calls": 1, "schema": {"$ref": "http://localhost/"}},
        {"manifest_hash": [], "calls": 1, "schema": {}},
    ],
)
def test_an_entry_that_nobody_wrote_like_this_does_not_count(place: Home, entry: object) -> None:
    teach(place, "text", node_type="other")
    data = orjson.loads(place.observed.read_bytes())
    place.observed.write_bytes(orjson.dumps({**data, LOG: entry}))
    assert learnt(place) is None
    assert learnt(place, "other") == (infer("text"), 1)
    teach(place, [1])
    assert learnt(place) == (infer([1]), 1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(50))
@given(st.recursive(st.none() | st.integers() | st.text(), lambda i: st.lists(i) | st.dictionaries(st.text(), i)))
def test_any_json_can_stand_in_the_file(place: Home, schema: object) -> None:
    place.root.mkdir(exist_ok=True)
    try:
        written = orjson.dumps({LOG: {"manifest_hash": HASH, "calls": 1, "schema": schema}})
    except TypeError:
        return
    place.observed.write_bytes(written)
    teach(place, {"a": [1]})
    assert learnt(place) is not None


def test_a_link_in_the_place_of_the_file_is_not_followed(place: Home, tmp_path: Path) -> None:
    place.root.mkdir()
    (tmp_path / "target").write_text("{}")
    place.observed.symlink_to(tmp_path / "target")
    observed = teach(place, {"a": 1})
    assert (tmp_path / "target").read_text() == "{}"
    assert len(observed.notices) == 1 and "were not saved" in observed.notices[0]
    assert observed.schema(LOG, HASH) == (infer({"a": 1}), 1), "still known to this process"


def test_a_home_that_cannot_be_made_is_a_notice(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    observed = teach(Home(tmp_path / "file" / "home"), 1)
    assert len(observed.notices) == 1 and "were not saved" in observed.notices[0]


def test_a_schema_that_would_take_too_much_room_keeps_its_upper_part(place: Home) -> None:
    names = [f"name_{a}{b}" for a in "abcdefghij" for b in "abcdefghij"]
    value = {"top": {name: {n: [] for n in names[:40]} if i % 2 else i for i, name in enumerate(names)}, "side": 1}
    teach(place, value)
    assert place.observed.stat().st_size < 33_000
    schema, _ = learnt(place)
    assert sorted(schema["properties"]) == ["side", "top"]
    assert schema["properties"]["side"] == {"type": "integer"}
    assert schema["properties"]["top"]["properties"]["name_ab"] == {}
    teach(place, value)
    assert learnt(place) == (schema, 2)


def test_of_too_many_tools_those_untouched_longest_go(place: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_TOOLS", 3)
    for name in ("a", "b", "c", "a", "d"):
        teach(place, 1, node_type=name)
    assert [name for name in "abcd" if learnt(place, name)] == ["a", "c", "d"]
    monkeypatch.setattr(module, "_MOST_BYTES_IN_ALL", 200)
    teach(place, 1, node_type="e")
    assert [name for name in "abcde" if learnt(place, name)] == ["e"]
