"""Sessions over Streamable HTTP with servers of both eras: what is sent, what is read, and how they end."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import httpx2
import pytest

from pflow.core.errors import (
    InputNeeded,
    ReplyError,
    SecurityError,
    ServerError,
    ServerGone,
    StepError,
    StepTimeout,
    UsageError,
)
from pflow.mcp.protocol.handshake import Peer
from pflow.mcp.protocol.session import Session
from pflow.mcp.transport.remote import connect_http
from pflow.mcp.transport.stdio import connect_stdio
from tests.mcp.transport.kit import DEADLINE, Kit, echo
from tests.mcp.transport.site import Site


async def nothing(session: Session) -> Peer:
    return session.peer


async def headers_of_a_call(session: Session, **arguments: Any) -> dict[str, Any]:
    result: Any = await session.call_tool("echo", arguments)
    headers: dict[str, Any] = json.loads(result["content"][0]["text"])
    return headers


# ---- eras


@pytest.mark.requirement("security:11-5")
def test_a_stateless_server_is_found_by_one_question(kit: Kit, style: str) -> None:
    peer = kit.talk("modern", "", nothing, style=style)
    assert (peer.version, peer.era, peer.name) == ("2026-07-28", "modern", "site")
    assert kit.site.seen() == ["server/discover"]


def test_an_older_server_shakes_hands_and_is_told_of_the_end(kit: Kit, style: str) -> None:
    assert kit.talk("legacy", "", echo, style=style) == "hi"
    assert kit.site.seen() == [
        *("server/discover", "initialize", "notifications/initialized", "tools/call", "DELETE"),
    ]
    assert kit.site.sessions == set()


@pytest.mark.parametrize(
    "answer",
    ["bad-request", "not-found", "no-method", "error-500", "html", "junk", "empty", "nothing", "hangs-up", "no-http"],
)
def test_whatever_else_answers_the_probe_means_a_handshake(kit: Kit, answer: str) -> None:
    assert kit.talk("legacy", f"discover:{answer}", echo) == "hi"
    assert kit.site.seen()[:2] == ["server/discover", "initialize"]


def test_a_silent_probe_means_a_handshake_too(kit: Kit) -> None:
    assert kit.talk("legacy", "discover:silence", echo, probe=0.05) == "hi"
    assert kit.site.cancelled.is_set()


def test_a_slow_site_gets_more_time_for_the_probe_than_a_process() -> None:
    http, stdio = connect_http.__kwdefaults__ or {}, connect_stdio.__kwdefaults__ or {}
    assert http["probe"] > stdio["probe"]


@pytest.mark.requirement("client:error-2")
@pytest.mark.parametrize("refused", [-32022, -32602])
def test_versions_that_nobody_shares_are_named(kit: Kit, refused: int) -> None:
    async def use(session: Session) -> None:
        raise AssertionError("it opened")

    with pytest.raises(ServerError) as caught:
        kit.talk("modern", "any:other-versions", use, memory={"code": refused})
    assert caught.value.message == "MCP protocol version not supported"
    assert ["2099-01-01"] in caught.value.details.values()


def test_a_known_era_needs_no_probe(kit: Kit, era: str) -> None:
    assert kit.talk(era, "", echo, era=era) == "hi"
    assert "server/discover" not in kit.site.seen()


def test_requests_wait_until_the_server_knows_that_the_handshake_is_over(kit: Kit) -> None:
    async def use(session: Session) -> None:
        await asyncio.gather(echo(session), echo(session), session.list_tools())

    kit.talk("legacy", "", use)
    assert kit.site.seen()[2] == "notifications/initialized"


# ---- what is sent


def test_a_stateless_request_says_in_headers_what_it_is(kit: Kit) -> None:
    headers = kit.talk("modern", "headers-back", headers_of_a_call)
    assert headers["mcp-protocol-version"] == "2026-07-28"
    assert (headers["mcp-method"], headers["mcp-name"]) == ("tools/call", "echo")
    assert headers["accept"] == "application/json, text/event-stream"
    assert headers["content-type"] == "application/json"
    assert "mcp-session-id" not in headers


def test_a_request_in_a_session_carries_its_id_and_version(kit: Kit) -> None:
    headers = kit.talk("legacy", "headers-back", headers_of_a_call)
    assert headers["mcp-protocol-version"] == "2025-11-25"
    assert headers["mcp-session-id"] == "s2"
    assert "mcp-method" not in headers
    first = kit.site.requests[1]
    assert first.rpc == "initialize"
    assert not {"mcp-protocol-version", "mcp-session-id"} & first.headers.keys()


def test_configured_headers_go_with_every_request_to_the_server(kit: Kit, era: str) -> None:
    headers = kit.talk(era, "headers-back", headers_of_a_call, headers={"Authorization": "Bearer s3cret", "X-Key": "ü"})
    assert headers["authorization"] == "Bearer s3cret"
    assert headers["x-key"].encode("latin-1").decode() == "ü"
    assert {request.headers.get("authorization") for request in kit.site.requests} == {"Bearer s3cret"}


def test_a_configured_header_cannot_replace_what_the_protocol_says(kit: Kit) -> None:
    given = {"Accept": "text/plain", "Mcp-Method": "x", "MCP-Protocol-Version": "1"}
    headers = kit.talk("modern", "headers-back", headers_of_a_call, headers=given)
    assert (headers["accept"], headers["mcp-method"]) == ("application/json, text/event-stream", "tools/call")


@pytest.mark.parametrize("value", ["a\nb", "a\r\nx: y", "a\0b", "\ud800"])
def test_a_header_that_would_break_the_request_is_refused_without_showing_it(kit: Kit, value: str) -> None:
    with pytest.raises(UsageError) as caught:
        kit.talk("modern", "", nothing, headers={"X-Key": f"s3cret{value}"})
    assert "`X-Key`" in caught.value.message
    assert "s3cret" not in repr(vars(caught.value))
    assert kit.site.requests == []


def test_an_auth_object_may_ask_more_than_once(kit: Kit, era: str) -> None:
    bodies = []

    class Twice(httpx2.Auth):
        async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
            request.headers["authorization"] = "old"
            answer = yield request
            if answer.status_code == 401:
                request.headers["authorization"] = "new"
                yield request
                bodies.append(await answer.aread())

    assert kit.talk(era, "", echo, auth=Twice()) == "hi"
    assert {request.headers["authorization"] for request in kit.site.requests} == {"old"}
    with pytest.raises(ServerError):
        kit.talk(era, "unauthorised", echo, auth=Twice())
    calls = [request.headers["authorization"] for request in kit.site.requests if request.rpc == "tools/call"]
    assert calls == ["old", "new"]
    assert bodies == [b'{"error":"invalid_token","error_description":"expired"}']


def test_a_login_that_fails_is_not_begun_again_for_the_handshake(kit: Kit) -> None:
    begun = []

    class Refused(httpx2.Auth):
        async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
            begun.append(request)
            if begun:
                raise StepError("they said no", action="auth_failed")
            yield request

    with pytest.raises(StepError, match="they said no"):
        kit.talk("modern", "", nothing, auth=Refused())
    assert (len(begun), kit.site.requests) == (1, [])


def test_a_login_that_does_not_suffice_is_told_from_a_missing_token(kit: Kit) -> None:
    for auth, advice in ((None, "`pflow mcp add NAME"), (httpx2.Auth(), "`pflow mcp login NAME`")):
        with pytest.raises(ServerError) as caught:
            kit.talk("legacy", "any:forbidden", nothing, auth=auth)
        assert advice in caught.value.suggestions[0]


def test_bad_credentials_are_told_without_a_handshake(kit: Kit, era: str) -> None:
    with pytest.raises(ServerError) as caught:
        kit.talk(era, "any:unauthorised", nothing)
    assert (caught.value.action, caught.value.details["status"]) == ("auth_failed", 401)
    assert kit.site.seen() == ["server/discover"]


def test_a_probe_that_is_not_allowed_means_a_handshake_and_explains_a_failed_one(kit: Kit) -> None:
    assert kit.talk("legacy", "discover:forbidden", echo) == "hi"
    with pytest.raises(ServerError) as caught:
        kit.talk("modern", "discover:forbidden", nothing)
    assert (caught.value.action, caught.value.details["status"]) == ("auth_failed", 403)
    assert kit.site.seen() == ["server/discover", "initialize"]


def test_a_cookie_is_kept_for_the_session(kit: Kit) -> None:
    async def use(session: Session) -> None:
        await session.list_tools()
        await echo(session)

    kit.talk("legacy", "list:sets-cookie", use)
    calls = [request for request in kit.site.requests if request.rpc == "tools/call"]
    assert calls[0].headers["cookie"] == "lb=7"


def test_arguments_that_a_tool_wants_in_headers_go_there(kit: Kit) -> None:
    warnings: list[str] = []

    async def use(session: Session) -> tuple[list[object], dict[str, Any]]:
        tools = await session.list_tools()
        return [tool["name"] for tool in tools], await headers_of_a_call(session, text="zwölf\n", place={"zone": True})

    names, headers = kit.talk("modern", "tools:wants-headers", use, warn=warnings.append)
    assert names == ["echo"]
    assert headers["mcp-param-text"] == "=?base64?enfDtmxmCg==?="
    assert headers["mcp-param-zone"] == "true"
    assert len(warnings) == 1 and "`bad`" in warnings[0]


def test_a_tool_that_was_never_listed_is_looked_up_when_it_wants_headers(kit: Kit) -> None:
    async def use(session: Session) -> dict[str, Any]:
        return await headers_of_a_call(session, text="hi")

    assert kit.talk("modern", "tools:wants-headers", use)["mcp-param-text"] == "hi"
    assert kit.site.seen() == ["server/discover", "tools/call", "tools/list", "tools/call"]


# ---- what is read


def test_a_hundred_calls_at_once_each_get_their_own_answer(kit: Kit, era: str, style: str) -> None:
    async def use(session: Session) -> list[str]:
        return await asyncio.gather(*(echo(session, str(number)) for number in range(100)))

    assert kit.talk(era, "", use, style=style) == [str(number) for number in range(100)]


def test_a_connection_is_used_again(kit: Kit, era: str, style: str) -> None:
    async def use(session: Session) -> None:
        for _ in range(10):
            await echo(session)

    kit.talk(era, "", use, style=style)
    assert kit.site.connections <= (2 if era == "legacy" else 1)


def test_progress_is_told(kit: Kit, era: str) -> None:
    steps = []

    async def use(session: Session) -> str:
        return await echo(session, progress=lambda *step: steps.append(step))

    assert kit.talk(era, "progress", use) == "hi"
    assert steps == [(1.0, None, ""), (2.0, None, ""), (3.0, None, "")]


def test_progress_keeps_a_slow_call_alive(kit: Kit, era: str) -> None:
    async def use(session: Session) -> str:
        return await echo(session, timeout=0.4)

    assert kit.talk(era, "slow-with-progress", use) == "hi"


def test_progress_does_not_keep_a_call_alive_for_ever(kit: Kit, era: str) -> None:
    async def use(session: Session) -> None:
        with pytest.raises(StepTimeout):
            await echo(session, timeout=0.2, cap=0.4)

    kit.talk(era, "endless-progress", use)


def test_a_server_may_ask_within_a_stream(kit: Kit) -> None:
    async def use(session: Session) -> Any:
        return json.loads(await echo(session))

    answers = kit.talk("legacy", "asks", use, roots=["file:///tmp"])
    assert answers == {
        "q0": {},
        "q1": {"roots": [{"uri": "file:///tmp"}]},
        "q2": {"action": "decline"},
        "q3": -32601,
    }


def test_a_question_within_a_stream_may_be_answered_later(kit: Kit) -> None:
    async def answer(requests: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(0)
        return dict.fromkeys(requests, {"action": "accept", "content": {}})

    async def use(session: Session) -> Any:
        return json.loads(await echo(session))["q2"]

    assert kit.talk("legacy", "asks", use, answer=answer) == {"action": "accept", "content": {}}


def test_a_stateless_server_that_asks_gets_no_answer(kit: Kit) -> None:
    async def use(session: Session) -> tuple[dict[str, Any], int]:
        return json.loads(await echo(session)), session.dropped["request"]

    assert kit.talk("modern", "asks", use) == ({}, 4)


def test_a_flood_of_questions_does_no_harm(kit: Kit) -> None:
    async def use(session: Session) -> tuple[str, int]:
        return await echo(session), session.dropped["request"]

    text, dropped = kit.talk("legacy", "asks-for-ever", use)
    assert text == "hi"
    assert dropped > 0


def test_a_change_of_the_tools_is_noticed(kit: Kit) -> None:
    async def use(session: Session) -> bool:
        await echo(session)
        return session.tools_changed

    assert kit.talk("legacy", "list-changed", use)


def test_a_server_that_needs_input_says_so(kit: Kit) -> None:
    async def use(session: Session) -> None:
        with pytest.raises(InputNeeded):
            await echo(session)

    kit.talk("modern", "input-required", use)


def test_a_stream_in_any_form_is_read(kit: Kit, era: str) -> None:
    async def use(session: Session) -> tuple[str, str, dict[str, Any]]:
        return await echo(session), await echo(session), dict(session.dropped)

    assert kit.talk(era, "odd-stream", use) == ("hi", "hi", {"event": 2})


@pytest.mark.parametrize("doing", ["no-blank-line", "twice", "stays-open", "gzipped", "batch", "stream-of-junk"])
def test_an_answer_in_an_odd_form_still_counts(kit: Kit, era: str, doing: str) -> None:
    async def use(session: Session) -> tuple[str, str]:
        return await echo(session, "one"), await echo(session, "two")

    assert kit.talk(era, doing, use) == ("one", "two")


# ---- the stream beside the requests


@pytest.mark.parametrize("doing", ["tells-of-changes", "tells-in-parts"])
def test_an_older_server_may_tell_of_changes_at_any_time(kit: Kit, doing: str) -> None:
    async def use(session: Session) -> str:
        while not session.tools_changed:
            await asyncio.sleep(0.001)
        return await echo(session)

    assert kit.talk("legacy", f"get:{doing}", use) == "hi"
    first = next(request for request in kit.site.requests if request.method == "GET")
    assert first.headers["mcp-session-id"] == "s2"


@pytest.mark.parametrize(
    "doing", ["silence", "hangs-up", "html", "error-500", "endless-event", "endless-comments", "no-http", "half-stream"]
)
def test_trouble_with_that_stream_is_no_trouble_for_calls(kit: Kit, doing: str) -> None:
    async def use(session: Session) -> tuple[list[str], bool]:
        while not any(request.listens for request in kit.site.requests):
            await asyncio.sleep(0.001)
        return [await echo(session) for _ in range(10)], session.is_open

    assert kit.talk("legacy", f"get:{doing}", use, limit=200_000) == (["hi"] * 10, True)


def test_a_stateless_server_is_not_listened_to(kit: Kit) -> None:
    kit.talk("modern", "", echo)
    assert not any(request.method == "GET" for request in kit.site.requests)


# ---- streams that break off


@pytest.mark.parametrize("doing", ["breaks-off", "ends-early"])
def test_a_stream_that_breaks_off_is_resumed(kit: Kit, doing: str) -> None:
    steps = []

    async def use(session: Session) -> str:
        return await echo(session, progress=lambda *step: steps.append(step))

    assert kit.talk("legacy", doing, use) == "hi"
    resumed = [request for request in kit.site.requests if request.method == "GET" and not request.listens]
    assert [request.headers["last-event-id"] for request in resumed] == ["e1", "e2"]
    assert {request.headers["mcp-session-id"] for request in resumed} == {"s2"}
    assert steps == [(1.0, None, "")]


@pytest.mark.parametrize(("doing", "gets"), [("breaks-off-for-good", 5), ("breaks-off-and-forgets", 1)])
def test_a_stream_that_cannot_be_resumed_is_given_up(kit: Kit, doing: str, gets: int) -> None:
    async def use(session: Session) -> str:
        with pytest.raises(ServerGone) as caught:
            await echo(session)
        return caught.value.message

    assert "could not be resumed" in kit.talk("legacy", doing, use)
    assert kit.site.seen().count("GET") == gets


def test_a_stateless_stream_is_not_resumed(kit: Kit) -> None:
    async def use(session: Session) -> None:
        with pytest.raises(ServerGone):
            await echo(session)

    kit.talk("modern", "breaks-off", use)
    assert "GET" not in kit.site.seen()


# ---- ends


def test_a_timeout_closes_the_stream_and_tells_an_older_server(kit: Kit, era: str) -> None:
    async def use(session: Session) -> str:
        with pytest.raises(StepTimeout) as caught:
            await echo(session, timeout=0.1)
        await kit.site.cancelled.wait()
        await session.list_tools()
        return caught.value.message

    assert kit.talk(era, "silent-stream", use) == "`tools/call` got no answer for 0.1 s"
    assert ("notifications/cancelled" in kit.site.seen()) is (era == "legacy")


def test_cancelling_closes_the_stream(kit: Kit, era: str) -> None:
    async def use(session: Session) -> bool:
        call = asyncio.create_task(echo(session))
        while "tools/call" not in kit.site.seen():
            await asyncio.sleep(0.001)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await kit.site.cancelled.wait()
        return session.is_open

    assert kit.talk(era, "silent-stream", use)


@pytest.mark.parametrize("doing", ["session-lost", "session-lost-400"])
def test_a_lost_session_ends_ours(kit: Kit, doing: str) -> None:
    async def use(session: Session) -> ServerGone:
        with pytest.raises(ServerGone) as caught:
            await echo(session)
        assert not session.is_open
        with pytest.raises(ServerGone):
            await session.list_tools()
        return caught.value

    error = kit.talk("legacy", doing, use)
    assert error.message == "the MCP server has ended the session"
    assert error.details["status"] in (400, 404)


def test_calls_in_flight_fail_when_the_session_is_closed(kit: Kit, era: str) -> None:
    async def use(session: Session) -> Sequence[object]:
        calls = [asyncio.create_task(echo(session)) for _ in range(5)]
        while kit.site.seen().count("tools/call") < 5:
            await asyncio.sleep(0.001)
        await session.close()
        return await asyncio.gather(*calls, return_exceptions=True)

    assert {type(error) for error in kit.talk(era, "silence", use)} == {ServerGone}


@pytest.mark.parametrize("doing", ["silence", "error-500", "hangs-up", "endless-head"])
def test_a_server_that_makes_trouble_at_the_end_is_left(kit: Kit, doing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pflow.mcp.protocol.session.LEAVE_SECONDS", 0.1)
    assert kit.talk("legacy", f"delete:{doing}", echo) == "hi"


def test_closing_twice_and_cancelled_is_fine(kit: Kit, era: str) -> None:
    async def use(session: Session) -> None:
        closing = asyncio.create_task(session.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        await session.close()

    kit.talk(era, "delete:silence", use)


def test_a_server_that_is_not_there_is_named(kit: Kit, era: str) -> None:
    async def main() -> None:
        async with Site("modern") as site:
            url = site.url
        await connect_http(url, timeout=DEADLINE, era="legacy" if era == "legacy" else None)

    with pytest.raises(ServerGone) as caught:
        asyncio.run(main())
    assert "no MCP server can be reached at `http://127.0.0.1:" in caught.value.message


@pytest.mark.requirement("security:9.4-4")
@pytest.mark.parametrize("url", ["http://example.com/mcp", "http://10.0.0.1/", "http://0.0.0.0:1/mcp"])
def test_an_address_off_this_machine_must_be_encrypted(url: str) -> None:
    with pytest.raises(SecurityError):
        asyncio.run(connect_http(url))


@pytest.mark.usefixtures("kit")
@pytest.mark.requirement("security:9.4-6")
def test_an_address_that_is_not_encrypted_can_be_allowed() -> None:
    async def main() -> str:
        async with asyncio.timeout(DEADLINE), Site("modern") as site:
            url = site.url.replace("127.0.0.1", "0.0.0.0")  # which is this machine, too, but not a loopback address
            session = await connect_http(url, timeout=DEADLINE, insecure=True)
            try:
                return await echo(session)
            finally:
                await session.close()

    assert asyncio.run(main()) == "hi"


@pytest.mark.parametrize("url", ["ftp://x/", "https://u:p@example.com/", "https://", "https://a b/"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        asyncio.run(connect_http(url))


def test_errors_of_the_protocol_are_told_apart(kit: Kit, era: str) -> None:
    async def use(session: Session) -> ReplyError:
        with pytest.raises(ReplyError) as caught:
            await echo(session)
        return caught.value

    error = kit.talk(era, "error-in-400", use)
    assert (error.number, error.message) == (-32602, "Invalid params")
    assert error.details["server_says"] == "that will not do"


def test_the_http_library_is_loaded_only_to_connect() -> None:
    code = (
        "import sys, pflow.mcp.transport.remote;"
        "print([name for name in ('httpx2', 'httpcore2', 'ssl') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("[]", "['ssl']")
