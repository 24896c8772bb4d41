"""Arguments are checked against a tool's input schema before the call; a hostile schema costs only its own tool."""

import datetime
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.errors import ServerError
from pflow.mcp.call.argument import ArgumentCheck

ISSUE = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "minLength": 3, "maxLength": 10},
        "state": {"enum": ["open", "closed"]},
        "labels": {"type": "array", "items": {"type": "string"}, "maxItems": 2, "uniqueItems": True},
        "count": {"type": "integer", "minimum": 3, "exclusiveMaximum": 9, "multipleOf": 2},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "owner": {
            "anyOf": [
                {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
                {"type": "null"},
            ]
        },
        "kind": {"const": "bug"},
        "slug": {"type": "string", "pattern": "^[a-z]+$"},
        "repo": {"$ref": "#/$defs/Repo"},
        "never": False,
    },
    "required": ["title"],
    "additionalProperties": False,
    "$defs": {
        "Repo": {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
            "additionalProperties": False,
        }
    },
}


def check(schema: Any) -> ArgumentCheck:
    return ArgumentCheck(schema, server="hub", tool="make")


def refused(schema: Any) -> str:
    """Why a schema cannot be used."""
    with pytest.raises(ServerError) as caught:
        check(schema)
    start = "tool `make` of server `hub` has an input schema that cannot be used: "
    assert caught.value.message.startswith(start)
    assert caught.value.details == {"server": "hub", "tool": "make"}
    assert caught.value.suggestions
    return caught.value.message.removeprefix(start)


def nested(depth: int, value: Any) -> Any:
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "arguments",
    [
        {"title": "abc"},
        {"title": "abc", "state": "open", "labels": ["a"], "count": 4, "note": None, "owner": {"id": 1}, "kind": "bug"},
        {"title": "abc", "repo": {"name": "x"}, "slug": "x"},
    ],
)
def test_arguments_that_fit_have_no_problems(arguments: dict[str, Any]) -> None:
    assert check(ISSUE).problems(arguments) == []


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"title": 5}, "`title` must be string, not integer"),
        ({"title": True}, "`title` must be string, not boolean"),
        ({"title": "a"}, "`title` must have `3` characters or more"),
        ({"title": "a" * 11}, "`title` must have `10` characters or fewer"),
        ({"state": "opne"}, "`state` must be `open` or `closed`"),
        ({"labels": "a"}, "`labels` must be array, not string"),
        ({"labels": ["a", 5]}, "`labels[1]` must be string, not integer"),
        ({"labels": ["a", "b", "c"]}, "`labels` must have `2` items or fewer"),
        ({"labels": ["a", "a"]}, "`labels` has the same item twice"),
        ({"count": 2}, "`count` must be at least `3`"),
        ({"count": 10}, "`count` must be less than `9`"),
        ({"count": 5}, "`count` must be a multiple of `2`"),
        ({"count": 4.5}, "`count` must be integer, not number"),
        ({"note": 5}, "`note` must be string or null, not integer"),
        ({"owner": {}}, "`owner` fits none of its alternatives; for one of them, `owner.id` is missing"),
        ({"owner": 5}, "`owner` must be object or null, not integer"),
        ({"kind": "idea"}, "`kind` must be `bug`"),
        ({"slug": "A1"}, "`slug` does not match the pattern `^[a-z]+$`"),
        ({"repo": {}}, "`repo.name` is missing"),
        ({"repo": {"name": "x", "nam": 1}}, "`repo.nam` is not known; did you mean `repo.name`?"),
        ({"never": 1}, "`never` may not be given"),
        ({"titel": "x"}, "`titel` is not known; did you mean `title`?"),
        ({"unrelated": "x"}, "`unrelated` is not known"),
        ({"\x1b[2J": "x"}, "`\\x1b[2J` is not known"),
    ],
)
def test_a_problem_names_the_argument_and_what_is_wrong(more: dict[str, Any], problem: str) -> None:
    assert problem in check(ISSUE).problems({"title": "abc", **more})


@pytest.mark.requirement("security:5.1-1")
def test_a_missing_argument_is_named_with_the_one_that_may_have_been_meant() -> None:
    loose = {"type": "object", "properties": {"title": {"type": "string"}, "body": {}}, "required": ["title", "body"]}
    assert check(loose).problems({"titel": "x"}) == [
        "`title` is missing; did you mean it by `titel`?",
        "`body` is missing",
    ]
    assert check(loose).problems({}) == ["`title` is missing", "`body` is missing"]


def test_all_problems_are_told_at_once() -> None:
    found = check(ISSUE).problems({"titel": 1, "state": "opne", "labels": [1], "repo": {"nmae": 1}})
    assert sorted(found[:2]) == [
        "`titel` is not known; did you mean `title`?",
        "`title` is missing; did you mean it by `titel`?",
    ]
    assert sorted(found[2:]) == [
        "`labels[0]` must be string, not integer",
        "`repo.name` is missing; did you mean it by `repo.nmae`?",
        "`repo.nmae` is not known; did you mean `repo.name`?",
        "`state` must be `open` or `closed`",
    ]


def test_a_tool_that_takes_nothing_says_what_it_was_given() -> None:
    for schema in ({"additionalProperties": False}, {"properties": {}, "additionalProperties": False}):
        assert check(schema).problems({"a": 1, "b": 2}) == ["`a` is not known", "`b` is not known"]


def test_the_problems_of_alternatives_are_those_of_the_likeliest() -> None:
    schema = {
        "oneOf": [
            {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a", "b", "c"]},
            {"properties": {"a": {"type": "string"}}, "required": ["a"]},
        ]
    }
    assert check(schema).problems({"b": 1}) == [
        "the set of arguments fits none of its alternatives; for one of them, `a` is missing"
    ]
    both = {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert check(both).problems({"a": 1, "b": 1}) == ["the set of arguments fits more than one of its alternatives"]


def test_values_are_never_repeated_and_problems_are_not_endless() -> None:
    secret = "s3cret" * 1000
    problems = check({"additionalProperties": {"type": "integer"}}).problems({f"p{n}": secret for n in range(3)})
    assert problems == [f"`p{n}` must be integer, not string" for n in range(3)]
    many = check({"additionalProperties": False}).problems({f"p{n}": 1 for n in range(80)})
    assert len(many) == 51
    assert many[-1] == "… and 30 more"
    long = check({"additionalProperties": False}).problems({"n" * 5000: 1})
    assert len(long[0]) < 200
    options = check({"properties": {"a": {"enum": ["x" * 500, *range(100)]}}}).problems({"a": "y"})
    assert len(options[0]) < 300
    assert options[0].endswith(" and 89 more")


@pytest.mark.parametrize(
    "arguments", [{"a": "\ud800"}, {"a": 10**30}, {1: 2}, {"a": b"bytes"}, {"a": {1}}, nested(300, 1)]
)
def test_arguments_that_cannot_be_sent_are_a_problem(arguments: dict[Any, Any]) -> None:
    (problem,) = check({"type": "object"}).problems(arguments)
    assert problem.startswith("the arguments cannot be sent as JSON: ")


def test_a_value_that_the_validator_does_not_know_is_a_problem() -> None:
    (problem,) = check({"properties": {"a": {"type": "string"}}}).problems({"a": datetime.date(2026, 1, 2)})
    assert problem == "the arguments cannot be sent as JSON: Unsupported type: 'date'"


@pytest.mark.parametrize(
    ("schema", "wrong"),
    [
        ({}, None),
        ({"type": ["object", "null"]}, None),
        (
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "properties": {"a": {"items": [{"type": "string"}]}},
            },
            [5],
        ),
        (
            {"$schema": "https://json-schema.org/draft/2020-12/schema", "properties": {"a": {"prefixItems": [False]}}},
            [5],
        ),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"a": {"type": "string"}}}, 5),
        ({"$schema": "https://example.org/my-own", "properties": {"a": {"type": "string"}}}, 5),
        ({"properties": {"a": {"items": [{"type": "string"}]}}}, [5]),
        ({"properties": {"a": {"minimum": 5, "exclusiveMinimum": True}}}, 5),
        ({"properties": {"a": {"$ref": "#/definitions/x"}}, "definitions": {"x": {"type": "string"}}}, 5),
        ({"properties": {"a": {"$ref": "#here"}}, "$defs": {"x": {"$anchor": "here", "type": "string"}}}, 5),
        (
            {
                "$id": "https://x.org/s",
                "properties": {"a": {"$ref": "https://x.org/s#/$defs/x"}},
                "$defs": {"x": False},
            },
            5,
        ),
        ({"properties": {"a": {"$ref": "#/$defs/x~1y%20z"}}, "$defs": {"x/y z": {"type": "string"}}}, 5),
        ({"properties": {"a": {"$ref": "#"}}, "additionalProperties": False}, {"b": 1}),
        ({"allOf": [{"properties": {"b": {}}}], "unevaluatedProperties": False}, 5),
    ],
)
def test_schemas_of_every_dialect_are_understood(schema: dict[str, Any], wrong: object) -> None:
    checked = check(schema)
    assert checked.problems({}) == []
    if wrong is not None:
        assert checked.problems({"a": wrong}) != []


def test_formats_are_left_to_the_server() -> None:
    for dialect in ("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"):
        schema = {"$schema": dialect, "properties": {"a": {"format": "email"}}}
        assert check(schema).problems({"a": "no address"}) == []


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (None, "it is not an object"),
        ([], "it is not an object"),
        (True, "it is not an object"),
        ("{}", "it is not an object"),
        ({"type": "array"}, "it describes something other than an object"),
        ({"properties": {"a": {"type": "strin"}}}, '"strin" is not valid under any of the schemas'),
        ({"properties": None}, 'null is not of type "object"'),
        ({"x": {1, 2}}, "it is not JSON: "),
        (nested(300, {}), "it is not JSON: Recursion limit reached"),
        ({"description": "x" * (5 << 20)}, "it has 5,242,898 bytes, and may have 1,048,576"),
        ({"properties": {f"p{n}": {} for n in range(10_000)}}, "it has more than 5,000 subschemas"),
        ({"properties": {f"p{n}": {"pattern": "x"} for n in range(300)}}, "it has more than 200 patterns"),
        ({"$ref": "#"}, "it refers to itself without end"),
        ({"allOf": [{"not": {"$ref": "#"}}]}, "it refers to itself without end"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}}, "it refers to itself without end"),
        ({"$ref": "#/$defs/a"}, "it refers to `#/$defs/a`, which it does not have"),
        ({"$ref": "#/required/7", "required": ["a"]}, "it refers to `#/required/7`, which it does not have"),
        ({"$ref": "#nowhere"}, "it refers to `#nowhere`, which it does not have"),
        (
            {"$ref": "#a", "default": {"$anchor": "a"}, "$defs": {"x": {"$anchor": "a"}}},
            "it refers to `#a`, which it does not have",
        ),
        ({"properties": {"a": {"$id": "other"}}}, "it has another schema within it, `other`"),
        ({"patternProperties": {"^(?!x)": {}}}, '"^(?!x)" is not a "regex"'),
    ],
)
def test_a_schema_that_cannot_be_used_says_why(schema: object, why: str) -> None:
    assert refused(schema).startswith(why)


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any attempt to reach the network from Python fails the test."""

    def forbid(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("tried to connect")

    monkeypatch.setattr(socket.socket, "connect", forbid)
    monkeypatch.setattr(urllib.request, "urlopen", forbid)


@pytest.mark.parametrize("key", ["$ref", "$dynamicRef"])
@pytest.mark.parametrize("place", ["http://{}/x", "https://{}/x#/y", "file://{}", "../{}", "//{}/x", "x.json"])
def test_nothing_outside_a_schema_is_ever_fetched(tmp_path: Path, offline: None, key: str, place: str) -> None:
    outside = tmp_path / "schema.json"
    outside.write_text('{"type": "string"}')
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        address = f"127.0.0.1:{server.getsockname()[1]}"
        target = place.format(outside if "file" in place else address)
        assert "which is not part of it" in refused({"properties": {"a": {key: target}}})
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_pattern_that_needs_backtracking_is_left_to_the_server() -> None:
    checked = check({"properties": {"a": {"pattern": "^(?!x)"}, "b": {"pattern": "^b"}}, "required": ["a"]})
    assert checked.problems({"a": "x", "b": "c"}) == ["`b` does not match the pattern `^b`"]


def shared(levels: int) -> dict[str, Any]:
    """A schema whose subschemas are few, and whose alternatives are 2 to the power of `levels`."""
    defs = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": {**defs, f"d{levels}": {"type": "string"}}}


def chained(length: int, end: dict[str, Any]) -> dict[str, Any]:
    defs = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(length)}
    return {"$ref": "#/$defs/d0", "$defs": {**defs, f"d{length}": end}}


def branching() -> dict[str, Any]:
    """A schema that contains itself twice, so that each level of a value doubles the work."""
    node = {"properties": {"a": {"anyOf": [{"$ref": "#/$defs/n"}] * 2}}, "additionalProperties": False}
    return {"$ref": "#/$defs/n", "$defs": {"n": node}}


def unevaluated(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"properties": {"a": {"type": "string"}}}
    for _ in range(levels):
        schema = {"anyOf": [schema], "unevaluatedProperties": False}
    return schema


GENERAL = ["the arguments do not fit the tool's input schema"]


@pytest.mark.parametrize(
    ("schema", "arguments", "problems"),
    [
        (shared(3), {"a": 1}, None),
        (shared(14), {"a": 1}, GENERAL),
        (shared(60), {"a": 1}, []),
        (branching(), nested(14, {"z": 1}), GENERAL),
        (branching(), nested(150, {"z": 1}), []),
        (unevaluated(20), {"b": 1}, []),
        (chained(150, {"type": "integer"}), {}, ["the set of arguments must be integer, not object"]),
        (
            chained(150, {"properties": {"a": {"$ref": "#/$defs/d0"}}, "additionalProperties": False}),
            nested(250, {"z": 1}),
            [],
        ),
        (
            {"properties": {"a": {"items": {"type": "integer"}}}},
            {"a": ["x"] * 300_000},
            ["`a[0]` must be integer, not string"],
        ),
        ({"properties": {"a": {"pattern": "(a|aa|b){259}x"}}}, {"a": "ab" * 1_000_000}, []),
        (
            {"properties": {"a": {"pattern": "^(a+)+$"}}},
            {"a": "a" * 5_000 + "b"},
            ["`a` does not match the pattern `^(a+)+$`"],
        ),
        ({"properties": {"a": {"pattern": "(a{1000}){1000}"}}}, {"a": "b"}, []),
        ({"required": [f"p{n}" for n in range(50_000)]}, {"a": 1}, GENERAL),
    ],
    ids=range(13),
)
def test_a_hostile_schema_neither_hangs_nor_crashes(
    schema: dict[str, Any], arguments: dict[str, Any], problems: list[Any] | None
) -> None:
    # Unbounded, each of them takes minutes, gigabytes, or the process.
    found = check(schema).problems(arguments)
    assert found == problems if problems is not None else found


@pytest.mark.parametrize("length", [1_000, 2_500])
def test_a_long_chain_of_references_is_refused(length: int) -> None:
    assert refused(chained(length, {})) == "it has more than 200 subschemas within each other"


def test_what_would_overflow_the_stack_of_a_validator_is_not_tried() -> None:
    code = """
from pflow.mcp.call.argument import ArgumentCheck
length = 1500
defs = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(length)}
defs[f"d{length}"] = {"properties": {"a": {"$ref": "#/$defs/d0"}}, "additionalProperties": False}
check = ArgumentCheck({"$ref": "#/$defs/d0", "$defs": defs}, server="s", tool="t")
value = {"z": 1}
for _ in range(250):
    value = {"a": value}
assert check.problems(value) == []
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_schema_that_was_given_stays_as_it_is() -> None:
    schema = {"$schema": "https://example.org/my-own", "properties": {"a": {"pattern": "^(?!x)"}}}
    check(schema)
    assert schema == {"$schema": "https://example.org/my-own", "properties": {"a": {"pattern": "^(?!x)"}}}


NAMES = st.sampled_from(["a", "b", "c"])
SCHEMAS = st.recursive(
    st.booleans()
    | st.builds(lambda kind: {"type": kind}, st.sampled_from(["string", "integer", "object", "array", "null"]))
    | st.builds(lambda name: {"$ref": f"#/$defs/{name}"}, NAMES)
    | st.just({"$ref": "#"}),
    lambda inner: st.one_of(
        st.builds(lambda p: {"properties": p}, st.dictionaries(NAMES, inner, max_size=3)),
        st.builds(lambda i: {"items": i}, inner),
        st.builds(lambda i: {"not": i}, inner),
        st.builds(
            lambda k, i: {k: i}, st.sampled_from(["anyOf", "allOf", "oneOf"]), st.lists(inner, min_size=1, max_size=3)
        ),
        st.builds(lambda i, r: {"additionalProperties": i, "required": r}, inner, st.lists(NAMES, unique=True)),
        st.builds(lambda i, j: {"allOf": [i], "unevaluatedProperties": j}, inner, inner),
    ),
    max_leaves=8,
)
VALUES = st.recursive(
    st.none() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(NAMES, SCHEMAS, max_size=3), st.dictionaries(NAMES, SCHEMAS, max_size=3), VALUES)
def test_any_schema_is_usable_or_refused_and_agrees_with_the_validator(
    defs: dict[str, Any], properties: dict[str, Any], value: object
) -> None:
    import jsonschema_rs

    schema = {"type": "object", "properties": properties, "$defs": defs}
    try:
        checked = check(schema)
    except ServerError:
        return
    arguments = {"a": value, "b": value}
    problems = checked.problems(arguments)
    assert bool(problems) == (not jsonschema_rs.validator_for(schema).is_valid(arguments))
    assert all(isinstance(problem, str) and problem for problem in problems)


@given(
    st.dictionaries(st.text(max_size=5), st.recursive(VALUES, lambda inner: st.lists(inner, max_size=3)), max_size=4)
)
def test_anything_for_a_schema_is_usable_or_refused(schema: dict[str, Any]) -> None:
    try:
        check(schema).problems({"a": 1})
    except ServerError as error:
        assert "cannot be used" in error.message
