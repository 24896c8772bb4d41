"""Tools of any name become node types that are valid, distinct, stable and can be read back."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.mcp.server.tool_name import MAX_PART, name_tools, parse_node_type, sanitise

RAW = st.text(st.characters(), max_size=40) | st.text("aA_- é🦊", max_size=6)
SERVER = st.from_regex(r"[a-c]{1,2}(-[a-c]{1,2})?", fullmatch=True)


@pytest.mark.requirement("client:rule-5", "client:test-10")
@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("create-issue", "create-issue"),
        ("createIssue", "create-issue"),
        ("create_issue", "create-issue"),
        ("Create Issue", "create-issue"),
        ("getHTTPResponse", "get-http-response"),
        ("git_log", "git-log"),
        ("v2Search3D", "v2-search3-d"),
        ("tool with spaces", "tool-with-spaces"),
        ("ns.tool/sub:x", "ns-tool-sub-x"),
        ("Ünïcode", "unicode"),
        ("--x--", "x"),
        ("🦊", "tool"),
        ("", "tool"),
        ("\x1b[31mred\u202e", "31mred"),
    ],
)
def test_a_name_keeps_its_words_and_loses_the_rest(raw: str, name: str) -> None:
    assert sanitise(raw, default="tool") == name


@pytest.mark.requirement("client:constraint-2")
@given(st.lists(RAW, max_size=8), SERVER, st.lists(SERVER, max_size=3))
def test_every_tool_has_a_valid_node_type_of_its_own(tools: list[Any], server: str, others: list[Any]) -> None:
    named = name_tools(server, tools, [server, *others])
    assert named.node_types.keys() == set(tools)
    assert len(set(named.node_types.values())) == len(set(tools))
    for node_type in named.node_types.values():
        assert re.fullmatch(rf"mcp-{server}-[a-z0-9](?:[a-z0-9-]*[a-z0-9])?", node_type)
        assert len(node_type) <= len(f"mcp-{server}-") + MAX_PART


@given(st.lists(RAW, unique=True, max_size=8), st.randoms())
def test_names_do_not_depend_on_the_order_of_the_tools(tools: list[Any], random: Random) -> None:
    shuffled = random.sample(tools, len(tools))
    assert dict(name_tools("s", tools).node_types) == dict(name_tools("s", shuffled).node_types)


@given(st.lists(RAW, max_size=8))
def test_one_server_alone_reads_back_as_itself(tools: list[Any]) -> None:
    for node_type in name_tools("git-hub", tools).node_types.values():
        parsed = parse_node_type(node_type, ["git", "git-hub"])
        assert parsed is not None
        assert parsed[0] == "git-hub"
        assert f"mcp-git-hub-{parsed[1]}" == node_type


def test_tools_that_collide_all_get_a_mark_and_a_warning() -> None:
    named = name_tools("gh", ["createIssue", "create_issue", "list"])
    assert dict(named.node_types) == {
        "createIssue": "mcp-gh-create-issue-706a5e",
        "create_issue": "mcp-gh-create-issue-e748d9",
        "list": "mcp-gh-list",
    }
    assert named.warnings == (
        "2 tools of server `gh` have names that become `create-issue`: `createIssue` is `mcp-gh-create-issue-706a5e`, "
        "`create_issue` is `mcp-gh-create-issue-e748d9`",
    )


def test_a_tool_that_is_named_like_another_ones_mark_is_still_its_own() -> None:
    taken = name_tools("gh", ["a_b", "a b"]).node_types["a b"].removeprefix("mcp-gh-")
    named = name_tools("gh", ["a_b", "a b", taken])
    assert len(set(named.node_types.values())) == 3


def test_very_long_names_are_cut_and_told_apart() -> None:
    one, other = "x" * 10_000, "x" * 9_999 + "y"
    named = name_tools("s", [one, other])
    assert named.node_types[one] != named.node_types[other]
    assert not named.warnings
    assert all(len(name) <= 70 for name in named.node_types.values())


def test_a_tool_that_is_listed_twice_is_one_tool() -> None:
    named = name_tools("s", ["a", "a"])
    assert dict(named.node_types) == {"a": "mcp-s-a"}
    assert named.warnings == ("server `s` lists the tool `a` more than once",)


@pytest.mark.requirement("client:edge-6")
def test_the_same_tool_of_two_servers_is_told_apart_by_the_server() -> None:
    servers = ["git", "git-hub"]
    assert name_tools("git", ["search"], servers).node_types["search"] == "mcp-git-search"
    assert name_tools("git-hub", ["search"], servers).node_types["search"] == "mcp-git-hub-search"
    assert name_tools("git-hub", ["search"], servers).warnings == ()


def test_a_name_that_means_a_tool_of_a_longer_server_gets_a_mark() -> None:
    named = name_tools("git", ["hub_search", "log"], ["git", "git-hub"])
    assert dict(named.node_types) == {"hub_search": "mcp-git-hub-search-279aae", "log": "mcp-git-log"}
    assert named.warnings == (
        "tool `hub_search` of server `git` is `mcp-git-hub-search-279aae`: "
        "`mcp-git-hub-search` means a tool of another server",
    )


@pytest.mark.requirement("client:test-15")
def test_a_node_type_reads_back_by_the_longest_configured_server() -> None:
    assert parse_node_type("mcp-github-create-issue", ["github"]) == ("github", "create-issue")
    assert parse_node_type("mcp-git-hub-search", ["git", "git-hub"]) == ("git-hub", "search")
    assert parse_node_type("mcp-git-log", ["git", "git-log"]) == ("git", "log")
    assert parse_node_type("mcp-gitlab-log", ["git"]) is None
    assert parse_node_type("mcp-git-", ["git"]) is None
    assert parse_node_type("github-create-issue", ["github"]) is None
