"""Whatever is given as a document, the answer is a document or issues with places: never another exception."""

import random
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.document import parse
from pflow.core.document.parse import Parsed, parse_text, parse_value, read_file
from pflow.core.error_text import render_issues

CORPUS = Path(__file__).parent / "corpus"
BROKEN = sorted((CORPUS / "broken").iterdir())
VALID = sorted((CORPUS / "valid").iterdir())
KNOWN_CODES = set(re.findall(r"^([a-z-]+)  ", parse.__doc__, re.MULTILINE))
MIB = 1 << 20


def check(parsed: Parsed, *, text: bool = True) -> Parsed:
    """What holds of every answer: a document or issues, known codes, places inside the text, one-line messages."""
    assert parsed.document is not None or parsed.issues
    for issue in parsed.issues:
        assert issue.code in KNOWN_CODES
        assert issue.message.isprintable()
        placed = text and issue.code not in ("too-large", "too-many")
        assert (issue.line >= 1) == (issue.column >= 1)
        assert issue.line >= placed
    shown = render_issues(parsed.issues, parsed.places, source="x.json")
    assert all(line.isprintable() for line in shown.splitlines())
    if parsed.document is not None:
        orjson.dumps(parsed.document.raw)
    return parsed


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.name)
def test_a_broken_document_is_reported_by_its_code(path: Path) -> None:
    parsed = check(read_file(path))
    assert path.name.partition(".")[0] in {issue.code for issue in parsed.issues}
    assert parsed.issues[0].line >= 1


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.name)
def test_a_valid_document_has_no_issues_and_survives_saving(path: Path) -> None:
    parsed = check(read_file(path))
    assert parsed.issues == () and parsed.document is not None
    saved = orjson.dumps(parsed.document.raw)
    again = parse_text(saved)
    assert again.issues == () and again.document is not None
    assert again.document == parsed.document
    assert orjson.dumps(again.document.raw) == saved


def test_the_table_of_codes_is_complete_and_has_no_others() -> None:
    calls = re.compile(r"(?:\.add|\.stop|_refuse|code=)\(?\s*\"([a-z-]+)\"")
    folder = Path(parse.__file__).parent
    names = [
        "parse",
        "position",
        "json_text",
        "yaml_text",
        "plain_copy",
        "fields",
        "build",
        "edges",
        "inputs_outputs",
        "requirement",
        "state_key",
    ]
    used = {code for name in names for code in calls.findall((folder / f"{name}.py").read_text())}
    assert used == KNOWN_CODES


@pytest.mark.parametrize("name", ["everything.json", "wrapper.json", "plain-words.yaml", "aliases.yaml"])
def test_a_document_cut_at_any_byte_is_answered(name: str) -> None:
    data = (CORPUS / "valid" / name).read_bytes()
    suffix = Path(name).suffix
    for end in range(len(data)):
        parsed = check(parse_text(data[:end], suffix=suffix))
        if suffix == ".json" and data[end:].strip():
            assert [issue.code for issue in parsed.issues] == ["syntax"]


def mutants(data: bytes, count: int, seed: int) -> list[bytes]:
    """Documents with bytes replaced, inserted, removed, repeated and swapped."""
    chance = random.Random(seed)
    pieces = [b"{", b"}", b"[", b"]", b'"', b":", b",", b"\\", b"\0", b"\xff", b"\xc3", b"\n", b"\t", b"&a ", b"*a"]
    pieces += [b"!!x ", b"- ", b"? ", b"| ", b"<<: ", b"1e999", b"null", b"\xe2\x80\xae", b"\x1b[2J", b"${", b"%", b"@"]
    made = []
    for _ in range(count):
        changed = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(changed) + 1)
            to = min(len(changed), at + chance.randint(0, 12))
            match chance.randrange(4):
                case 0:
                    changed[at:at] = chance.choice(pieces)
                case 1:
                    del changed[at:to]
                case 2:
                    changed[at:to] = chance.choice(pieces)
                case 3:
                    changed[at:at] = changed[at:to] * 3
        made.append(bytes(changed))
    return made


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.name)
def test_mutated_documents_are_answered(path: Path) -> None:
    for data in mutants(path.read_bytes(), 150, seed=len(path.name)):
        check(parse_text(data, suffix=path.suffix))


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "the document is empty"),
        (b" \r\n\t", "the document is empty"),
        (b"\xef\xbb\xbf{}", "the text begins with a byte order mark"),
        ('{"nodes": []}'.encode("utf-16"), "the text is UTF-16 or UTF-32, not UTF-8"),
        ('{"nodes": []}'.encode("utf-16-le"), "the text is UTF-16 or UTF-32, not UTF-8"),
        ('{"nodes": []}'.encode("utf-16-be"), "the text is UTF-16 or UTF-32, not UTF-8"),
        ('{"nodes": []}'.encode("utf-32-be"), "the text is UTF-16 or UTF-32, not UTF-8"),
        ("name: größe".encode("latin-1"), "the byte 0xf6 is not UTF-8"),
        ("\ufeffnodes: []", "the text begins with a byte order mark"),
        ('{"a": "\ud800"}', "half a surrogate pair is not Unicode text"),
    ],
)
def test_text_in_another_encoding_is_a_syntax_issue_with_a_place(data: bytes | str, problem: str) -> None:
    parsed = check(parse_text(data))
    (issue,) = parsed.issues
    assert (issue.code, issue.message) == ("syntax", problem)
    assert issue.line == 1


def test_the_place_of_a_wrong_byte_counts_characters() -> None:
    (issue,) = parse_text('{"ä": "ö",\n "ü": "'.encode() + b'\xe9"}').issues
    assert (issue.line, issue.column) == (2, 8)


@pytest.mark.parametrize("size", [MIB + 1, 10 * MIB])
@pytest.mark.parametrize("kind", [bytes, str])
def test_more_than_a_mebibyte_is_refused(size: int, kind: type[Any]) -> None:
    text = '{"nodes": [{"id": "a", "params": {"x": "' + "x" * size + '"}}]}'
    parsed = check(parse_text(text.encode() if kind is bytes else text))
    assert [issue.code for issue in parsed.issues] == ["too-large"]
    assert "1 MiB" in parsed.issues[0].message


def test_the_limit_counts_bytes_not_characters() -> None:
    text = '{"nodes": [{"id": "a"}], "name": "' + "ö" * (MIB // 2) + '"}'
    assert [issue.code for issue in parse_text(text).issues] == ["too-large"]
    assert [issue.code for issue in parse_value(orjson.loads(text)).issues] == ["too-large"]


@pytest.mark.parametrize(
    "params",
    [
        pytest.param(lambda: {"x": "x" * (10 * MIB)}, id="long string"),
        pytest.param(lambda: {f"k{index}": 1 for index in range(1_000_000)}, id="many keys"),
        pytest.param(lambda: {"x": [0] * (2 * MIB)}, id="long array"),
    ],
)
def test_a_large_inline_document_is_refused(params: Callable[[], dict[str, Any]]) -> None:
    parsed = check(parse_value({"nodes": [{"id": "a", "params": params()}]}), text=False)
    assert [issue.code for issue in parsed.issues] == ["too-large"]
    assert parsed.document is None


def test_an_inline_document_that_contains_itself_is_refused() -> None:
    deep: Any = []
    deep.append(deep)
    wide: Any = []
    wide += [wide] * 10
    for value in (deep, wide):
        parsed = check(parse_value({"nodes": [{"id": "a", "params": {"x": value}}]}), text=False)
        assert {issue.code for issue in parsed.issues} & {"too-deep", "too-large"}


def test_a_document_at_the_limit_stays_readable_with_the_edges_that_an_earlier_release_added() -> None:
    nodes = [{"id": f"n{index:05}{'x' * 58}", "description": ""} for index in range(10_000)]
    text = orjson.dumps({"nodes": nodes})
    text = orjson.dumps({"nodes": nodes, "name": "x" * (MIB - len(text) - 10)})
    assert len(text) == MIB
    parsed = parse_text(text)
    assert parsed.issues == () and parsed.document is not None
    assert parse_value(parsed.document.raw).document == parsed.document
    ids = [node["id"] for node in nodes]
    recorded = {**parsed.document.raw, "edges": [{"from": a, "to": b} for a, b in pairwise(ids)]}
    assert len(orjson.dumps(recorded)) > 2 * MIB
    reread = parse_value(recorded)
    assert reread.issues == () and reread.document is not None and reread.document.mode == "complete"


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (float("nan"), "bad-number"),
        (float("inf"), "bad-number"),
        (1 << 64, "bad-number"),
        (-(1 << 63) - 1, "bad-number"),
        pytest.param(10**5000, "bad-number", id="long integer"),
        ("\ud800", "bad-text"),
        ({"\udfff": 1}, "bad-text"),
        ({1: 2}, "bad-key"),
        ({None: 2}, "bad-key"),
        (b"bytes", "bad-value"),
        ({1, 2}, "bad-value"),
        (object(), "bad-value"),
    ],
)
def test_python_values_that_json_does_not_have_are_reported(value: object, code: str) -> None:
    parsed = check(parse_value({"nodes": [{"id": "a", "params": {"x": value}}]}), text=False)
    assert [issue.code for issue in parsed.issues] == [code]


@pytest.mark.parametrize("number", [0, 2**53 + 1, 2**63, 2**64 - 1, -(2**63), 1e308, 5e-324, -0.0, 0.1])
@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_numbers_are_kept_exactly(number: float | int, suffix: str) -> None:
    text = f'{{"nodes": [{{"id": "a", "params": {{"x": {number!r}}}}}]}}'
    document = parse_text(text, suffix=suffix).document
    assert document is not None
    found = document.nodes[0].params["x"]
    assert repr(found) == repr(number)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)
WORDS = st.sampled_from(["a", "b", "c", "a b", "__x", "", "default", "error", "data", "0.1.0", "${a.x}", "string", "x"])
FIELDS = st.sampled_from(
    [
        "nodes",
        "edges",
        "inputs",
        "outputs",
        "mappings",
        "start_node",
        "ir_version",
        "name",
        "id",
        "type",
        "params",
        "batch",
        "retry",
        "timeout",
        "limit",
        "repeatable",
        "max_visits",
        "until",
        "items",
        "as",
        "concurrency",
        "on_error",
        "attempts",
        "wait",
        "backoff",
        "from",
        "to",
        "action",
        "required",
        "default",
        "secret",
        "source",
        "input_mappings",
        "output_mappings",
        "mcp_metadata",
        "server_id",
        "tool_name",
        "title",
        "Node",
        "a",
        "b",
    ]
)
NEARLY = st.recursive(
    WORDS | st.integers(-1, 3) | st.booleans() | st.none() | st.just(0.5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=5),
    max_leaves=25,
)
NODE = st.fixed_dictionaries({"id": WORDS | NEARLY}, optional={"type": NEARLY, "params": NEARLY, "batch": NEARLY})
NEARLY_DOCUMENT = st.fixed_dictionaries(
    {"nodes": st.lists(NODE | NEARLY, max_size=4) | NEARLY},
    optional={
        "edges": st.lists(st.fixed_dictionaries({"from": WORDS, "to": WORDS}, optional={"action": WORDS})) | NEARLY,
        "inputs": st.dictionaries(WORDS, NEARLY) | NEARLY,
        "outputs": st.dictionaries(WORDS, NEARLY),
        "mappings": st.dictionaries(WORDS, NEARLY),
        "start_node": WORDS,
    },
)


@given(JSON | NEARLY | NEARLY_DOCUMENT)
def test_any_value_is_answered(value: object) -> None:
    check(parse_value(value), text=False)


@given(NEARLY_DOCUMENT)
def test_text_and_value_are_judged_alike(value: dict[str, Any]) -> None:
    inline, json_text = parse_value(value), parse_text(orjson.dumps(value))
    assert sorted((i.code, i.path, i.message) for i in inline.issues) == sorted(
        (i.code, i.path, i.message) for i in json_text.issues
    )
    assert inline.document == json_text.document
    yaml_text = parse_text(orjson.dumps(value), suffix=".yaml")
    assert yaml_text.document == json_text.document
    assert [(i.code, i.path, i.line, i.column) for i in yaml_text.issues] == [
        (i.code, i.path, i.line, i.column) for i in json_text.issues
    ]


@given(st.binary(max_size=200) | st.text(max_size=200), st.sampled_from(["", ".json", ".yaml"]))
def test_any_text_is_answered(text: bytes | str, suffix: str) -> None:
    check(parse_text(text, suffix=suffix))


@given(st.text(alphabet="ab:-[]{},&*!|>'\"#?%@` \n\t0", max_size=60))
def test_any_yaml_is_answered(text: str) -> None:
    check(parse_text(text, suffix=".yaml"))


NAMES = st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True)
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=15,
)


@given(st.lists(NAMES, min_size=1, max_size=6, unique=True), PLAIN, st.booleans())
def test_what_is_normalised_reads_back_the_same(ids: list[str], params: object, data: bool) -> None:
    value: dict[str, object] = {"nodes": [{"id": name, "params": {"x": params}} for name in ids]}
    if data:
        value["edges"] = "data"
    first = check(parse_value(value), text=False)
    assert first.issues == () and first.document is not None
    saved = orjson.dumps(first.document.raw)
    for again in (parse_text(saved), parse_value(first.document.raw)):
        assert again.issues == () and again.document is not None
        assert again.document == first.document
        assert orjson.dumps(again.document.raw) == saved
