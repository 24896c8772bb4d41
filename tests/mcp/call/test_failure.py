"""A tool that fails does so with the server's words, the edge it takes, and what to do next."""

from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.errors import ReplyError, ServerError, StepError
from pflow.mcp.call.tool_result import read_failure, read_result, unknown_tool
from pflow.mcp.protocol.rpc_reply import read_reply

TOOLS = ("create_issue", "list_issues", "close_issue")


def fail(*texts: str, tool: str = "create_issue", **more: Any) -> StepError:
    """The error that a result with these texts becomes."""
    result = {"content": [{"type": "text", "text": text} for text in texts], "isError": True, **more}
    with pytest.raises(StepError) as caught:
        read_result(result, server="hub", tool=tool, tools=TOOLS, save=unexpected)
    return caught.value


def unexpected(data: bytes, mime_type: str) -> NoReturn:
    raise AssertionError("a failure has no files")


def reply(code: int, message: str, data: Any = None, *, tool: str = "create_issue") -> ReplyError | ServerError:
    """The error that a JSON-RPC error becomes."""
    error = {"code": code, "message": message, **({"data": data} if data is not None else {})}
    raised = read_reply({"jsonrpc": "2.0", "id": 1, "error": error}, "tools/call", dict)
    assert isinstance(raised, ReplyError)
    return read_failure(raised, server="hub", tool=tool, tools=TOOLS)


@pytest.mark.requirement("security:7.1-2")
def test_a_failure_says_what_the_server_said() -> None:
    error = fail("the cat is\n  on the keyboard")
    assert error.message == "tool `create_issue` of server `hub` failed: the cat is on the keyboard"
    assert error.action == "error"
    assert error.details == {
        "server": "hub",
        "tool": "create_issue",
        "server_says": "the cat is\n  on the keyboard",
    }


def test_a_failure_without_words_says_so() -> None:
    assert fail().message == "tool `create_issue` of server `hub` failed and does not say why"


def test_a_failure_is_one_whatever_else_the_result_holds() -> None:
    error = fail("no", structuredContent={"fine": True})
    assert error.message.endswith("failed: no")
    broken = [{"type": "image", "data": "!"}, 5, {"type": "text", "text": "no"}]
    with pytest.raises(StepError, match="failed: no"):
        read_result({"isError": True, "content": broken}, server="hub", tool="x", tools=(), save=unexpected)
    with pytest.raises(StepError, match="does not say why"):
        read_result({"isError": True, "content": 5}, server="hub", tool="x", tools=(), save=unexpected)


def test_a_failure_with_structured_content_alone_says_that() -> None:
    error = fail(structuredContent={"code": 404, "why": "gone fishing"})
    assert error.message.endswith('failed: {"code":404,"why":"gone fishing"}')
    assert error.action == "resource_missing"


def test_long_and_hostile_words_are_shortened_and_made_visible() -> None:
    error = fail("\x1b[2J" + "x" * 100_000)
    assert len(error.message) < 400
    assert "\\x1b[2J" in error.message
    assert len(str(error.details["server_says"])) <= 4_096


@pytest.mark.requirement("security:7.1-1", "security:5.1-4")
@pytest.mark.parametrize(
    ("said", "action"),
    [
        ("GitHub API error: 403 rate limit exceeded", "rate_limited"),
        ("429 Too Many Requests", "rate_limited"),
        ("429", "rate_limited"),
        ("Request failed with status code 429", "rate_limited"),
        ('{"error": {"code": 429, "message": "slow down"}}', "rate_limited"),
        ("RESOURCE_EXHAUSTED: Quota exceeded for metric", "rate_limited"),
        ("HTTP 401", "auth_failed"),
        ("HTTP/1.1 403 Forbidden", "auth_failed"),
        ("Bad credentials", "auth_failed"),
        ("Error: Invalid API key provided", "auth_failed"),
        ("the access token has expired", "auth_failed"),
        ('{"status": "401", "message": "who are you?"}', "auth_failed"),
        ("ENOENT: no such file or directory, open '/x'", "resource_missing"),
        ("Client error '404 Not Found' for url 'https://example.org'", "resource_missing"),
        ("Database error: no such table: users", "resource_missing"),
        ("User does not exist", "resource_missing"),
        ("FileNotFoundError: [Errno 2]", "resource_missing"),
        ("The request timed out after 30 s", "timeout"),
        ("connect ETIMEDOUT 10.0.0.1:443", "timeout"),
        ("httpx.ReadTimeout", "timeout"),
        ("504 Gateway Timeout", "timeout"),
        ("Error 500: internal server error", "error"),
        ("getaddrinfo EAI_AGAIN api.example.org", "error"),
        ("Error: 404 items processed, then the disk was full", "error"),
        ("query returned 404 rows and then crashed", "error"),
        ("Issue #404 could not be updated", "error"),
        ("the port is 4041", "error"),
        ("expected at most 401,000 characters", "error"),
        ("/bin/sh: command not found", "error"),
        ("Invalid value for `timeout`", "error"),
        ("Invalid value for `token_count`", "error"),
        ("Access denied - path outside allowed directories: /etc/passwd", "error"),
        ("MCP error -32602: Input validation error", "error"),
    ],
)
def test_the_words_of_a_failure_pick_its_edge(said: str, action: str) -> None:
    error = fail(said)
    assert error.action == action
    assert error.details["server_says"] == said
    assert " ".join(said.split()) in error.message


@pytest.mark.requirement("security:7.3-4")
@pytest.mark.parametrize(
    ("said", "wait"),
    [
        ("429: retry after 60 seconds", 60),
        ("rate limit exceeded. Please try again in 2 minutes.", 120),
        ("rate limited, wait for 250 ms", 0.25),
        ("Too many requests (Retry-After: 7)", 7),
        ('{"error": {"code": 429, "retry_after": 1.5}}', 1.5),
        ('{"error": {"code": 429, "retryAfterMs": "1500"}}', 1.5),
        ("429: resets in 1 hour", 3600),
        ("429: retry after 99999999", None),
        ('{"retry_after": -5}', None),
        ('{"retry_after": true}', None),
        ("429: retry after lunch", None),
    ],
)
def test_a_stated_wait_is_known_to_whoever_retries(said: str, wait: float | int | None) -> None:
    error = fail(said)
    assert error.details.get("retry_after") == wait
    assert ("; it may be tried again in" in error.message) == (wait is not None)


@pytest.mark.requirement("security:7.3-4", "security:7.3-5")
def test_what_to_do_next_fits_the_failure() -> None:
    assert fail("rate limit exceeded").suggestions == (
        "give the step a `retry` with a `wait`, or an edge for `rate_limited`",
    )
    assert fail("401 Unauthorized").suggestions == (
        "check the token or key that server `hub` is configured with, and what it may do",
    )
    assert fail("boom").suggestions == ()


NOT_FOUND = "Tool create_issue not found on server hub"


@pytest.mark.requirement("client:edge-3")
@pytest.mark.parametrize(
    "said",
    [
        "Unknown tool: create_issue",
        "Error: Unknown tool: create_issue",
        "MCP error -32602: Tool create_issue not found",
        "Error executing tool create_issue: Unknown tool: create_issue",
        "ValueError: Unknown tool: 'create_issue'",
        "Tool 'create_issue' not found. Available tools: a, b",
        '{"error": "Unknown tool: create_issue"}',
        '{"error": {"code": -32601, "message": "Tool `create_issue` does not exist"}}',
        "No tool named create_issue",
        "  tool not found:\n  create_issue ",
    ],
)
@pytest.mark.parametrize("flagged", [True, False])
def test_every_way_to_deny_a_tool_in_a_result_reads_the_same(said: str, flagged: bool) -> None:
    result = {"content": [{"type": "text", "text": said}], "isError": flagged}
    with pytest.raises(ServerError) as caught:
        read_result(result, server="hub", tool="create_issue", tools=TOOLS, save=unexpected)
    assert caught.value.message == NOT_FOUND
    assert str(caught.value.details["server_says"]).strip() == said.strip()


@pytest.mark.requirement("client:edge-3")
@pytest.mark.parametrize(
    ("code", "said"),
    [
        (-32601, "Unknown tool: create_issue"),
        (-32602, "Unknown tool: create_issue"),
        (-32602, "MCP error -32602: Tool create_issue not found"),
        (-32603, "Tool 'create_issue' not found"),
        (-32603, "Unknown tool"),
        (-32000, "Tool not found"),
    ],
)
def test_every_way_to_deny_a_tool_in_an_error_reads_the_same(code: int, said: str) -> None:
    error = reply(code, said)
    assert (error.message, error.action) == (NOT_FOUND, "error")
    assert error.suggestions[-1] == "pflow mcp sync hub"


@pytest.mark.parametrize(
    "said",
    [
        "Unknown tool: delete_issue",
        "Unknown tool",
        "The manual says:\n\nUnknown tool: create_issue",
        "the log has `Unknown tool: create_issue` in line 5",
        "Tool create_issue not found in the shed, so it was bought",
        "create_issue: the file was not found",
        "Unknown tool: create_issue_again",
        '{"error": "the disk is full"}',
        '["Unknown tool: create_issue"]',
        '{"error": "Unknown tool: create_issue", "a": 1, "b": 2, "c": 3, "d": 4}',
    ],
)
def test_a_result_that_merely_speaks_of_tools_is_a_result(said: str) -> None:
    result = {"content": [{"type": "text", "text": said}], "isError": False}
    assert read_result(result, server="hub", tool="create_issue", tools=TOOLS, save=unexpected).value


def test_an_unknown_tool_comes_with_the_ones_it_may_have_meant() -> None:
    error = unknown_tool("hub", "create_isue", TOOLS)
    assert error.message == "Tool create_isue not found on server hub"
    assert error.suggestions == ("did you mean `create_issue`?", "pflow mcp sync hub")


def test_a_tool_that_vanished_is_not_suggested_itself() -> None:
    assert unknown_tool("hub", "zzz", ("zzz",)).suggestions == ("pflow mcp sync hub",)


@pytest.mark.requirement("client:error-3", "client:rule-10")
def test_other_errors_keep_the_readable_message_of_their_number() -> None:
    assert reply(-32601, "Method not found").message == "Method not found"
    assert reply(-32602, "Invalid params").message == "Invalid params"
    error = reply(-32602, "`title` is required")
    assert error.message == "Invalid params: `title` is required"
    assert isinstance(error, ReplyError)
    assert (error.number, error.action) == (-32602, "error")
    assert error.details == {
        "server": "hub",
        "tool": "create_issue",
        "method": "tools/call",
        "code": -32602,
        "server_says": "`title` is required",
    }


@pytest.mark.parametrize(
    ("code", "said", "data", "action"),
    [
        (-32603, "Unauthorized", None, "auth_failed"),
        (-32042, "open this page first", {"elicitations": []}, "auth_failed"),
        (-32002, "Resource not found", None, "resource_missing"),
        (-32001, "Request timed out", None, "timeout"),
        (429, "slow down", None, "rate_limited"),
        (-32000, "upstream failed", {"status": 404}, "resource_missing"),
        (-32000, "upstream failed", {"error": {"statusCode": "429"}}, "rate_limited"),
        (-32000, "upstream failed", None, "error"),
        (-32000, "upstream failed", "HTTP 401", "auth_failed"),
    ],
)
def test_the_number_or_the_data_of_an_error_picks_its_edge(code: int, said: str, data: object, action: str) -> None:
    assert reply(code, said, data).action == action


def test_a_wait_in_the_data_of_an_error_is_known_to_whoever_retries() -> None:
    error = reply(-32000, "slow down", {"status": 429, "retryAfter": 12})
    assert error.details["retry_after"] == 12
    assert error.message.endswith("slow down; it may be tried again in 12 s")


HOSTILE = [
    "error:" * 1300,
    "error executing tool " + ":error" * 1200,
    "error" * 1600,
    "Tool x not found" + " (" * 3000,
    "unknown tool " + " " * 7000,
    "mcp " * 2000,
    "token a b c " * 600,
    "retry after " * 600,
    "wait" + " " * 900,
    "timeout" * 1100,
    "not" * 2600,
]


@pytest.mark.parametrize("said", HOSTILE, ids=range(len(HOSTILE)))
def test_no_words_take_long_to_read(said: str) -> None:
    # With backtracking gone wrong one of them takes minutes.
    assert fail(said, tool="x").action
    assert reply(-32603, said, tool="x").action


@given(st.text(max_size=200), st.text(max_size=40), st.integers(), st.none() | st.text(max_size=100))
def test_whatever_a_server_says_becomes_an_error(said: str, tool: str, number: int, data: str | None) -> None:
    details = {"server_says": said, **({"data": data} if data else {})}
    read = read_failure(ReplyError("it failed", number=number, details=details), server="hub", tool=tool, tools=TOOLS)
    assert read.message
    assert read.action in ("error", "rate_limited", "auth_failed", "resource_missing", "timeout")
