"""Servers over HTTP that misbehave: every call ends in a result, a typed error or a timeout, and shows no secret."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from pflow.core.errors import ReplyError, SecurityError, ServerError, ServerGone, StepTimeout
from pflow.mcp.protocol.session import Session
from tests.mcp.transport.kit import Kit, echo
from tests.mcp.transport.site import STAGES

LIMIT = 200_000
SECRET = "Bearer s3cret-t0ken"


def fail(kit: Kit, speaks: str, doing: str, *, timeout: float = 5.0, **options: Any) -> Any:
    """The error that the call of a tool ends with."""

    async def use(session: Session) -> Any:
        with pytest.raises((ServerError, StepTimeout, SecurityError)) as caught:
            await echo(session, timeout=timeout)
        return caught.value

    return kit.talk(speaks, doing, use, **{"limit": LIMIT, "headers": {"Authorization": SECRET}, **options})


# ---- answers that are no message


@pytest.mark.parametrize(
    ("doing", "type"), [("html", "text/html"), ("no-type", "none"), ("odd-type", "ÿþ"), ("odd-status", "text/plain")]
)
def test_an_answer_of_another_type_is_named(kit: Kit, era: str, doing: str, type: str) -> None:
    error = fail(kit, era, doing)
    assert error.message == "the MCP server answered with something other than JSON or events"
    assert error.details["type"] == type


@pytest.mark.parametrize("doing", ["empty", "junk", "number", "deep", "wrong-id", "string-id", "stream-of-nothing"])
def test_an_answer_without_the_reply_is_invalid(kit: Kit, era: str, doing: str) -> None:
    error = fail(kit, era, doing)
    assert type(error) is ServerError
    assert error.message == "Invalid JSON response from server"
    assert error.details["method"] == "tools/call"


@pytest.mark.parametrize("doing", ["long-number", "lone-surrogate"])
def test_values_that_json_cannot_hold_are_invalid(kit: Kit, era: str, doing: str) -> None:
    assert fail(kit, era, doing).message == "Invalid JSON response from server"


@pytest.mark.parametrize("doing", ["nothing", "no-content"])
def test_a_request_that_is_only_accepted_fails_at_once(kit: Kit, era: str, doing: str) -> None:
    assert "gives no answer" in fail(kit, era, doing).message


@pytest.mark.requirement("security:7.3-4", "security:7.3-5")
@pytest.mark.parametrize(
    ("doing", "action", "known"),
    [
        ("unauthorised", "auth_failed", {"status": 401, "server_says": "expired"}),
        ("forbidden", "auth_failed", {"status": 403}),
        ("too-many", "rate_limited", {"status": 429, "retry_after": 7.0}),
        ("too-many-until", "rate_limited", {"status": 429, "retry_after": 0.0}),
        ("too-many-odd", "rate_limited", {"status": 429}),
        ("error-503", "error", {"status": 503, "retry_after": 120.0}),
        ("error-500", "error", {"status": 500, "server_says": "database \\x1b[31mdown"}),
        ("status-999", "error", {"status": 999, "server_says": "x"}),
        ("no-method", "error", {"status": 405}),
    ],
)
def test_a_status_leads_to_its_action(kit: Kit, era: str, doing: str, action: str, known: dict[str, Any]) -> None:
    error = fail(kit, era, doing)
    assert type(error) is ServerError
    assert error.action == action
    assert error.details == {**known, "url": kit.site.url}
    if action == "auth_failed":
        assert error.suggestions == ("check the value of `Authorization`, which the server is configured with",)
    if action == "rate_limited":
        assert error.suggestions == (
            f"try again in {known['retry_after']:g} s" if len(known) > 1 else "try again later",
        )


def test_a_page_that_is_not_there_is_a_wrong_address_without_a_session(kit: Kit) -> None:
    error = fail(kit, "modern", "not-found")
    assert error.message.startswith("there is no MCP server at")
    assert "an older server may need the transport `sse`" in error.suggestions


def test_credentials_that_a_server_sends_back_are_not_shown(kit: Kit, era: str) -> None:
    error = fail(kit, era, "echoes-credentials")
    assert error.details["server_says"] == "bad token …"
    assert "s3cret" not in repr((error.message, error.details))


# ---- connections


@pytest.mark.parametrize("doing", ["hangs-up", "no-http", "half-head", "half-body", "half-stream", "bad-chunks"])
def test_an_exchange_that_breaks_off_says_so(kit: Kit, era: str, doing: str) -> None:
    error = fail(kit, era, doing)
    assert type(error) is ServerGone
    assert error.message == f"the exchange with the MCP server at `{kit.site.url}` broke off"


def test_headers_without_end_are_cut(kit: Kit, era: str) -> None:
    assert type(fail(kit, era, "endless-head")) is ServerGone


@pytest.mark.parametrize("doing", ["silence", "dribbled-head", "endless-hints", "endless-comments", "zipped-comments"])
def test_a_server_that_keeps_us_waiting_runs_out_of_time(kit: Kit, era: str, doing: str) -> None:
    assert type(fail(kit, era, doing, timeout=0.3)) is StepTimeout


@pytest.mark.parametrize("doing", ["endless-body", "gzip-bomb"])
def test_a_body_without_end_is_cut(kit: Kit, era: str, doing: str) -> None:
    assert fail(kit, era, doing).message == "the MCP server sent an answer of more than 200,000 bytes"


@pytest.mark.parametrize("doing", ["endless-event", "endless-line"])
def test_an_event_without_end_is_cut(kit: Kit, era: str, doing: str) -> None:
    assert fail(kit, era, doing).message == "the MCP server sent an event of more than 200,000 bytes"


def test_a_stream_of_too_much_is_cut(kit: Kit, era: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pflow.mcp.transport.http_wire.STREAM_LIMIT", 100_000)
    assert fail(kit, era, "endless-comments").message == "the MCP server sent a stream of more than 100,000 bytes"


def test_the_body_of_an_error_is_read_only_in_part(kit: Kit, era: str) -> None:
    error = fail(kit, era, "endless-error-body")
    assert len(error.details["server_says"]) == 500


def test_what_does_not_decompress_is_named(kit: Kit, era: str) -> None:
    assert "does not decompress" in fail(kit, era, "broken-gzip").message


def test_a_bomb_does_not_stop_everything_else(kit: Kit) -> None:
    async def use(session: Session) -> int:
        call = asyncio.create_task(echo(session, timeout=5.0))
        while "tools/call" not in kit.site.seen():
            await asyncio.sleep(0)
        turns = 0
        while not call.done():
            await asyncio.sleep(0)
            turns += 1
        with pytest.raises(ServerError):
            call.result()
        return turns

    assert kit.talk("modern", "gzip-bomb", use) > 16, "a turn for every MiB up to the limit"


@pytest.mark.parametrize(
    "doing", ["hangs-up", "half-body", "error-500", "junk", "endless-body", "silent-stream", "html"]
)
def test_one_failed_call_leaves_the_session_open(kit: Kit, era: str, doing: str) -> None:
    async def use(session: Session) -> list[object]:
        with pytest.raises((ServerError, StepTimeout)):
            await echo(session, timeout=0.3)
        assert session.is_open
        return [tool["name"] for tool in await session.list_tools()]

    assert kit.talk(era, doing, use, limit=LIMIT) == ["echo"]


# ---- stages


@pytest.mark.parametrize(
    "doing", ["html", "junk", "hangs-up", "not-found", "error-500", "endless-body", "stream-of-nothing", "wrong-id"]
)
def test_a_handshake_that_fails_leaves_nothing_behind(kit: Kit, doing: str) -> None:
    async def use(session: Session) -> None:
        raise AssertionError("it opened")

    with pytest.raises(ServerError):
        kit.talk("legacy", f"initialize:{doing}", use, limit=LIMIT)


@pytest.mark.parametrize("doing", ["silence", "dribbled-head", "silent-stream", "endless-comments"])
def test_a_handshake_that_does_not_end_runs_out_of_time(kit: Kit, doing: str) -> None:
    async def use(session: Session) -> None:
        raise AssertionError("it opened")

    with pytest.raises(StepTimeout):
        kit.talk("legacy", f"initialize:{doing}", use, timeout=0.4, probe=0.1)


def test_a_server_that_wants_credentials_says_so_when_we_connect(kit: Kit, era: str) -> None:
    async def use(session: Session) -> None:
        raise AssertionError("it opened")

    with pytest.raises(ServerError) as caught:
        kit.talk("legacy", "initialize:unauthorised", use)
    assert caught.value.action == "auth_failed"


@pytest.mark.parametrize("doing", ["error-500", "hangs-up", "html"])
def test_trouble_with_a_notification_is_no_trouble_for_a_call(kit: Kit, doing: str) -> None:
    assert kit.talk("legacy", f"initialized:{doing}", echo) == "hi"


def test_a_session_id_that_fits_no_header_is_not_used(kit: Kit) -> None:
    kit.talk("legacy", "initialize:odd-session", nothing_more)
    assert all("mcp-session-id" not in request.headers for request in kit.site.requests)


async def nothing_more(session: Session) -> None:
    with pytest.raises(ReplyError):
        await echo(session)


# ---- redirects


def test_a_redirect_within_the_server_is_followed_with_everything(kit: Kit, era: str) -> None:
    warnings: list[str] = []

    async def use(session: Session) -> list[str]:
        return [await echo(session), await echo(session)]

    options: dict[str, Any] = {"headers": {"Authorization": SECRET}, "warn": warnings.append}
    assert kit.talk(era, "moved", use, **options) == ["hi", "hi"]
    moved = [request for request in kit.site.requests if request.path == "/new"]
    assert [request.headers["authorization"] for request in moved] == [SECRET, SECRET]
    assert {request.rpc for request in moved} == {"tools/call"}
    new = kit.site.url.replace("/mcp", "/new")
    assert warnings == [f"`{kit.site.url}` redirects every request to `{new}`: use that as the URL of the server"]


def test_redirects_without_end_are_given_up(kit: Kit, era: str) -> None:
    assert "was redirected more than 5 times" in fail(kit, era, "moved-for-ever").message
    assert kit.site.seen().count("tools/call") == 6


def test_a_redirect_that_would_lose_the_request_is_refused(kit: Kit, era: str) -> None:
    error = fail(kit, era, "moved-by-301")
    assert "in a way that loses the request (301)" in error.message
    assert "/new`" in error.suggestions[0]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_origin_is_refused_and_nothing_is_sent_there(kit: Kit, era: str, status: int) -> None:
    given = {"Authorization": SECRET, "X-Api-Key": "k3y", "Cookie": "a=b"}
    memory = {"status": status}
    error = fail(kit, era, "moved-away", other="headers-back", headers=given, memory=memory)
    assert type(error) is SecurityError
    here, there = (site.url.removesuffix("/mcp") for site in (kit.site, kit.other))
    assert f"`{here}` redirects to another origin, `{there}`" in error.message
    assert kit.other.url in error.suggestions[0]
    assert kit.other.connections == 0


@pytest.mark.parametrize("stage", ["discover", "initialize", "initialized", "list", "get", "delete"])
def test_no_request_of_a_session_follows_a_redirect_to_another_origin(kit: Kit, stage: str) -> None:
    speaks = "modern" if stage == "discover" else "legacy"

    async def use(session: Session) -> None:
        await session.list_tools(timeout=5.0)

    with suppress(SecurityError):  # where the session cannot do without the answer
        kit.talk(speaks, f"{stage}:moved-away", use, headers={"Authorization": SECRET})
    assert [request for request in kit.site.requests if STAGES.get(request.rpc, request.method.lower()) == stage]
    assert kit.other.connections == 0


@pytest.mark.parametrize(
    "to", ["http://example.com/mcp", "file:///etc/passwd", "ftp://x/", "http://user:pw@127.0.0.1/"]
)
def test_a_redirect_to_what_is_not_safe_is_refused(kit: Kit, era: str, to: str) -> None:
    error = fail(kit, era, "moved-to", memory={"to": to})
    assert type(error) is SecurityError
