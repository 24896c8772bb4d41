"""A line of nodes and flags becomes a document, or says what to write instead."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.interface import Field, Interface
from pflow.pipeline.pipeline import Pipeline, is_pipeline, parse_pipeline

requirement = pytest.mark.requirement

SEARCH = Interface(
    reads=(
        Field(name="query", type="string", description="What to find", required=True),
        Field(name="language", type="string"),
    ),
    params=(
        Field(name="max_results", type="integer"),
        Field(name="exact", type="boolean"),
        Field(name="labels", type="array", schema={"type": "array", "items": {"type": "string"}}),
        Field(name="filter", type="object|string"),
    ),
    outputs=(Field(name="search_results", type="array"),),
)
SUMMARISE = Interface(
    reads=(Field(name="text", type="array|string", required=True),), outputs=(Field(name="summary", type="string"),)
)
SEND = Interface(
    params=(
        Field(name="message", type="string", required=True),
        Field(name="channel", type="string", required=True),
    ),
    outputs=(Field(name="ok", type="boolean"),),
)
WRITE = Interface(
    params=(Field(name="path", type="string", required=True), Field(name="content", type="any", required=True)),
    outputs=(Field(name="path", type="string"), Field(name="size", type="integer")),
)
READ = Interface(
    params=(Field(name="path", type="string", required=True),),
    outputs=(Field(name="content", type="string"), Field(name="path", type="string")),
)
SHELL = Interface(
    params=(Field(name="command", type="string", required=True, slot="shell"), Field(name="stdin", type="any")),
    outputs=(Field(name="stdout", type="string"), Field(name="exit_code", type="integer")),
)
ECHO = Interface(open_params=True, echo_params=True)
COUNT = Interface(params=(Field(name="number", type="number", required=True),))
TYPES = {
    "search": SEARCH,
    "summarise": SUMMARISE,
    "send": SEND,
    "write": WRITE,
    "read": READ,
    "shell": SHELL,
    "echo": ECHO,
    "count": COUNT,
}


def parse(words: Any, **more: Any) -> Pipeline:
    return parse_pipeline(words, TYPES.get, names=TYPES, **more)


def nodes(words: Any, **more: Any) -> dict[str, Any]:
    """The nodes of a pipeline without issues: their params by id."""
    found = parse(words, **more)
    assert found.issues == ()
    listed: Any = found.document["nodes"]
    return {node["id"]: node["params"] for node in listed}


def messages(words: Any, **more: Any) -> list[str]:
    return [issue.message for issue in parse(words, **more).issues]


@requirement("security:1-6", "security:6.3-2")
def test_a_flag_that_names_a_parameter_is_configuration_of_its_type() -> None:
    words = ["search", "--query=x", "--max-results=20", "--exact", "--filter", '{"a": 1}', "--labels=a", "--labels=b"]
    assert nodes(words)["search"] == {
        "max_results": 20,
        "exact": True,
        "filter": {"a": 1},
        "labels": ["a", "b"],
    }
    assert nodes(["search", "--query=x", "--max_results", "-3", "--exact=no", "--filter=open"])["search"] == {
        "max_results": -3,
        "exact": False,
        "filter": "open",
    }
    assert nodes(["search", "--query=x", '--labels=["a"]', "--exact", "false"])["search"] == {
        "labels": ["a"],
        "exact": False,
    }


@requirement("security:1-6", "security:6.3-1", "security:8.3-3")
def test_a_flag_that_names_a_store_key_is_data() -> None:
    document: Any = parse(["search", "--query=bugs", "--language", "python"]).document
    assert document["nodes"] == [{"id": "search", "type": "search", "params": {}}]
    assert document["inputs"]["query"] == {
        "type": "string",
        "required": False,
        "default": "bugs",
        "description": "What to find",
    }
    assert document["inputs"]["language"]["default"] == "python"
    assert "mappings" not in document


def test_the_same_data_key_for_two_nodes_stays_apart() -> None:
    document: Any = parse("search --query=a >> search --query=b").document
    assert {name: declared["default"] for name, declared in document["inputs"].items()} == {
        "query": "a",
        "search_2_query": "b",
    }
    assert document["mappings"] == {"search_2": {"input_mappings": {"query": "search_2_query"}}}


@requirement("security:6.3-4")
def test_nodes_are_connected_in_order_with_ids_of_their_own() -> None:
    document: Any = parse("echo --x=1 >> echo --x=2 >> echo --x=3").document
    assert [node["id"] for node in document["nodes"]] == ["echo", "echo_2", "echo_3"]
    assert document["edges"] == [{"from": "echo", "to": "echo_2"}, {"from": "echo_2", "to": "echo_3"}]
    assert document["name"] == "echo >> echo >> echo"


def test_the_words_of_a_shell_and_a_text_mean_the_same() -> None:
    words = ["shell", "--command=echo 'a b'", ">>", "write", "--path", "x y"]
    text = "shell --command=\"echo 'a b'\" >> write --path 'x y'"
    assert parse(words) == parse(text)
    assert nodes(words)["shell"] == {"command": "echo 'a b'"}


@pytest.mark.parametrize(
    ("words", "is_one"),
    [
        (["a", ">>", "b"], True),
        (["a >> b"], True),
        (["a >> b", "--json"], True),
        (["a>>b"], False),
        (["a", "x=1 >> 2"], False),
        (["a"], False),
        ([], False),
    ],
)
def test_a_pipeline_is_told_by_its_connector(words: list[Any], is_one: bool) -> None:
    assert is_pipeline(words) is is_one


def test_a_required_parameter_takes_the_output_of_its_name() -> None:
    assert nodes("echo --message=hi --channel=dev >> send")["send"] == {
        "message": "${echo.message}",
        "channel": "${echo.channel}",
    }


def test_a_required_parameter_takes_the_main_output_where_the_type_fits() -> None:
    assert nodes("shell --command=ls >> write --path=x")["write"] == {"path": "x", "content": "${shell.stdout}"}
    assert parse("shell --command=ls >> write --path=x").notes == ("`write` takes `content` from `${shell.stdout}`",)
    assert messages("shell --command=ls >> count") == ["`count` needs `--number` (number)"]


def test_a_name_further_up_is_found_when_nothing_nearer_fits() -> None:
    words = "echo --channel=dev --x=1 >> shell --command=ls >> send"
    assert nodes(words)["send"] == {"message": "${shell.stdout}", "channel": "${echo.channel}"}


def test_one_value_does_not_fill_two_places() -> None:
    assert messages("shell --command=ls >> send") == ["`send` needs `--channel` (string)"]


def test_a_filter_reads_what_comes_before_it() -> None:
    assert nodes("read --path=x >> shell --command=rev")["shell"] == {
        "command": "rev",
        "stdin": "${read.content}",
    }
    explicit = nodes("read --path=x >> shell --command='echo ${read.path}'")["shell"]
    assert explicit == {"command": "echo ${read.path}"}


def test_what_flows_by_never_becomes_a_command_or_an_address() -> None:
    assert messages("read --path=x >> shell") == ["`shell` needs `--command` (string)"]
    assert messages("echo --command=ls >> shell") == ["`shell` needs `--command` (string)"]
    assert messages("shell --command=ls >> read") == ["`read` needs `--path` (string)"]
    assert messages("shell", stdin="ls") == ["`shell` needs `--command` (string)"]


@requirement("security:8.2-3")
def test_keys_that_do_not_align_are_mapped() -> None:
    found = parse("search --query=bugs >> summarise >> send --channel=dev")
    document: Any = found.document
    assert found.issues == ()
    assert document["mappings"] == {"summarise": {"input_mappings": {"text": "search_results"}}}
    assert document["nodes"][2]["params"] == {"channel": "dev", "message": "${summarise.summary}"}
    assert found.notes[0] == "`summarise` reads `search_results` of `search` as `text`"


@requirement("security:6.3-3")
def test_stdin_goes_to_the_natural_input_of_the_first_node() -> None:
    found = parse("search --language=python >> summarise", stdin="TODO comments")
    document: Any = found.document
    assert found.inputs == {"stdin": "TODO comments"}
    assert document["inputs"]["stdin"]["type"] == "string"
    assert document["nodes"][0]["params"] == {"query": "${stdin}"}
    assert nodes("shell --command=rev", stdin="x")["shell"]["stdin"] == "${stdin}"
    assert nodes("write --path=x", stdin="x")["write"]["content"] == "${stdin}"
    assert nodes("read", stdin="x")["read"]["path"] == "${stdin}"


def test_stdin_is_read_only_where_it_has_a_place() -> None:
    def never() -> str:
        raise AssertionError("stdin was read")

    assert parse("read --path=x", stdin=never).issues == ()
    assert parse("shell --command=x --stdin=y", stdin=never).inputs == {}
    assert parse("shell --command=x", stdin=lambda: "").inputs == {}
    assert parse("shell --command=x", stdin=lambda: "y").inputs == {"stdin": "y"}


def test_options_of_the_caller_count_where_the_node_has_no_such_flag() -> None:
    found = parse("shell --command=ls --json --svg a.svg --exact=1", options={"json": False, "svg": True})
    assert found.options == ("--json", "--svg", "a.svg")
    assert [issue.message for issue in found.issues] == ["`shell` has no flag `--exact`"]
    assert parse("echo --json", options={"json": False}).options == ("--json",)
    assert nodes("echo --json=1", options={"json": False})["echo"] == {"json": "1"}


def test_everything_wrong_is_reported_at_once() -> None:
    found = parse("search --qery=x --max-results=many >> serch >> shell ls --command")
    assert [(issue.code, issue.message) for issue in found.issues] == [
        ("unknown-flag", "`search` has no flag `--qery`"),
        ("wrong-type", "`--max-results` must be an integer, not `many`, in `search`"),
        ("unknown-node-type", "there is no node type `serch`"),
        ("stray-word", "`ls` after `shell` is not a flag"),
        ("missing-value", "`--command` of `shell` needs a value (string)"),
    ]
    assert found.issues[0].hint == "did you mean `--query`?"
    assert found.issues[0].known[:2] == ("--max-results (integer)", "--exact (boolean)")
    assert found.issues[2].hint == "did you mean `search`?"
    assert found.issues[3].hint == "write `--command='ls'`"


@pytest.mark.parametrize("words", ["", ">>", "echo >>", ">> echo", "echo >> >> echo"])
def test_a_missing_node_is_reported_once(words: str) -> None:
    assert messages(words) == ["there is no node on one side of `>>`"]


@pytest.mark.parametrize(("text", "what"), [("echo --x='a", "a quote is not closed"), ("echo a\\", "a lone `\\`")])
def test_text_that_cannot_be_split_says_where(text: str, what: str) -> None:
    assert any(what in message for message in messages(text))


@given(st.text(st.characters(exclude_categories=["Cs"])).filter(lambda text: "${" not in text))
def test_text_reaches_the_document_byte_by_byte(value: str) -> None:
    assert nodes(["shell", f"--command={value}"])["shell"]["command"] == value
    assert nodes(["echo", f"--x={value}"])["echo"]["x"] == value


WORDS = st.sampled_from(
    [">>", "echo", "shell", "send", "search", "--x", "--x=1", "--command", "--query=q", "--exact", "--", "-", "a", "="]
)


@given(st.lists(WORDS | st.text(max_size=8), max_size=12), st.none() | st.text(max_size=5))
def test_any_words_give_a_document_or_issues(words: list[Any], stdin: str | None) -> None:
    for form in (words, " ".join(words)):
        found = parse(form, stdin=stdin)
        json.dumps(found.document)
        listed: Any = found.document["nodes"]
        ids = [node["id"] for node in listed]
        assert len(ids) == len(set(ids))
        if not found.issues:
            assert len(ids) >= 1
