"""Sessions with servers of both eras: how they open, what they list and call, what they send, and how they end."""

import asyncio
import inspect
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from pflow.core.errors import InputNeeded, ReplyError, ServerError, ServerGone, StepError, StepTimeout
from pflow.mcp.protocol.handshake import Peer
from pflow.mcp.protocol.rpc import Call
from pflow.mcp.protocol.session import Session
from pflow.mcp.transport.stdio import connect_stdio
from pflow.mcp.transport.unix_socket import connect_socket
from tests.mcp.protocol.kit import DEADLINE, Kit, argv, echo, process_of


async def nothing(session: Session) -> Peer:
    return session.peer


def sent(kit: Kit) -> list[str | None]:
    """Methods the server was sent, in order."""
    return [message.get("method") for message in kit.log()]


# ---- eras


@pytest.mark.requirement("client:require-3")
def test_a_stateless_server_is_found_by_one_question(kit: Kit) -> None:
    peer = kit.talk("modern", "well-behaved", nothing)
    assert (peer.version, peer.era, peer.name) == ("2026-07-28", "modern", "hostile")
    assert sent(kit) == ["server/discover"]


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
def test_an_older_server_shakes_hands(kit: Kit, version: str) -> None:
    peer = kit.talk(version, "well-behaved", nothing)
    assert (peer.version, peer.era, peer.name, peer.release) == (version, "legacy", "hostile", "1")
    kit.talk(version, "well-behaved", echo)
    assert sent(kit)[-4:] == ["server/discover", "initialize", "notifications/initialized", "tools/call"]


@pytest.mark.parametrize("version", ["2099-01-01", "2023-01-01", "2026-07-28", "", "latest"])
@pytest.mark.requirement("client:error-2", "client:rule-3")
def test_an_unknown_version_is_refused(kit: Kit, version: str) -> None:
    with pytest.raises(ServerError) as caught:
        kit.talk(version, "well-behaved", nothing)
    assert caught.value.message == "MCP protocol version not supported"
    assert caught.value.details["server_speaks"] == version


def test_a_server_that_refuses_the_probe_and_names_our_version_is_taken_at_its_word(kit: Kit) -> None:
    async def use(session: Session) -> tuple[str, str]:
        return session.peer.era, await echo(session)

    assert kit.talk("modern", "probe-refused", use) == ("modern", "hi")
    assert sent(kit) == ["server/discover", "tools/call"]


def test_a_known_era_needs_no_probe(kit: Kit) -> None:
    kit.talk("modern", "well-behaved", echo, era="modern")
    kit.talk("legacy", "well-behaved", echo, era="legacy")
    assert sent(kit) == ["tools/call", "initialize", "notifications/initialized", "tools/call"]


def test_a_silent_probe_and_a_late_answer_to_it_do_no_harm(kit: Kit) -> None:
    peer = kit.talk("legacy", "discover:silence", nothing, probe=0.05)
    assert peer.era == "legacy"


def test_a_server_that_is_slow_to_start_is_still_understood(kit: Kit, era: str) -> None:
    async def use(session: Session) -> tuple[str, str]:
        return session.peer.era, await echo(session)

    assert kit.talk(era, "slow-start", use, probe=0.05) == (era, "hi")
    assert sent(kit)[:2] == ["server/discover", "initialize"]


def test_a_server_that_dies_of_the_probe_is_started_again(kit: Kit) -> None:
    assert kit.talk("legacy", "discover:exit1", echo) == "hi"
    assert len(kit.pids()) == 2


def test_a_server_that_names_another_version_is_offered_it(kit: Kit) -> None:
    assert kit.talk("legacy", "picky-version", nothing).version == "2025-03-26"


def test_every_stateless_request_says_who_asks_and_how(kit: Kit) -> None:
    meta = json.loads(kit.talk("modern", "meta", echo, era="modern"))
    assert meta.pop("io.modelcontextprotocol/clientInfo")["name"] == "pflow"
    assert meta == {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": 1,
    }


# ---- tools


@pytest.mark.parametrize(
    ("behaviour", "count"), [("no-tools", 0), ("well-behaved", 1), ("pages", 10), ("many-tools", 5000)]
)
def test_all_tools_are_listed(kit: Kit, era: str, behaviour: str, count: int) -> None:
    tools = kit.talk(era, behaviour, lambda session: session.list_tools(), era=era)
    assert len({tool["name"] for tool in tools}) == len(tools) == count


def test_changed_tools_are_remembered_until_they_are_listed(kit: Kit, era: str) -> None:
    async def use(session: Session) -> list[bool]:
        seen = [session.tools_changed]
        await echo(session)
        seen.append(session.tools_changed)
        await session.list_tools()
        return [*seen, session.tools_changed]

    assert kit.talk(era, "list-changed", use, era=era) == [False, True, False]


@pytest.mark.requirement("client:constraint-4")
def test_every_message_is_one_line(kit: Kit, era: str) -> None:
    async def use(session: Session) -> str:
        return await echo(session, "two\nlines\r\n\u2028three")

    assert kit.talk(era, "two-in-one-write", use, era=era) == "two\nlines\r\n\u2028three"


def test_a_hundred_calls_at_once_each_get_their_own_answer(kit: Kit, era: str) -> None:
    async def use(session: Session) -> list[str]:
        return await asyncio.gather(*(echo(session, f"call {n}") for n in range(100)))

    assert kit.talk(era, "shuffled", use, era=era) == [f"call {n}" for n in range(100)]


def test_a_large_result_and_large_arguments_pass(kit: Kit, era: str) -> None:
    async def use(session: Session) -> tuple[int, int]:
        return len(await echo(session)), len(await echo(session, "y" * (3 << 20)))

    assert kit.talk(era, "line-4mb", use, era=era) == (4 << 20, 4 << 20)


def test_arguments_that_are_not_json_are_refused_before_anything_is_sent(kit: Kit, era: str) -> None:
    async def use(session: Session) -> str:
        for value in (2**70, "\ud800", object(), {1, 2}):
            with pytest.raises(StepError, match="the arguments cannot be sent as JSON"):
                await session.call_tool("echo", {"text": value})
        return await echo(session)

    assert kit.talk(era, "well-behaved", use, era=era) == "hi"
    assert sent(kit).count("tools/call") == 1


# ---- time


def test_progress_is_told_and_starts_the_idle_time_anew(kit: Kit, era: str) -> None:
    told = []

    async def use(session: Session) -> str:
        await echo(session, progress=lambda *step: told.append(step))
        return await echo(session)

    kit.talk(era, "progress", use, era=era)
    assert told == [(float(n), 5.0, f"step {n}") for n in range(1, 6)]
    assert kit.talk(era, "slow-with-progress", lambda session: echo(session, timeout=0.5), era=era) == "hi"


def test_a_hard_cap_ends_what_makes_progress_for_ever(kit: Kit, era: str) -> None:
    with pytest.raises(StepTimeout) as caught:
        kit.talk(era, "endless-progress", lambda session: echo(session, timeout=DEADLINE, cap=0.3), era=era)
    assert caught.value.message == "`tools/call` was not done within 0.3 s"
    assert caught.value.action == "timeout"


@pytest.mark.requirement("client:constraint-3")
def test_silence_is_at_most_30_seconds_by_default() -> None:
    assert inspect.signature(Call).parameters["timeout"].default == 30.0


def test_the_server_is_told_of_a_timeout_and_of_a_cancellation(kit: Kit, era: str) -> None:
    async def use(session: Session) -> None:
        with pytest.raises(StepTimeout):
            await echo(session, timeout=0.05)
        task = asyncio.ensure_future(echo(session))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await session.list_tools()

    kit.talk(era, "call:silence", use, era=era)
    calls = [message["id"] for message in kit.log() if message["method"] == "tools/call"]
    cancelled = [message["params"] for message in kit.log() if message["method"] == "notifications/cancelled"]
    assert cancelled == [
        {"requestId": calls[0], "reason": "timeout"},
        {"requestId": calls[1], "reason": "cancelled"},
    ]


# ---- what the server asks


def test_roots_and_pings_are_answered_and_all_else_is_declined(kit: Kit) -> None:
    async def use(session: Session) -> object:
        return (await session.call_tool("echo", {}))["answers"]

    assert kit.talk("legacy", "asks", use, era="legacy", roots=["file:///srv"]) == {
        "s0": {},
        "s1": {"roots": [{"uri": "file:///srv"}]},
        "s2": -32601,
        "s3": {"action": "decline"},
        "s4": -32601,
    }


def test_a_stateless_server_that_asks_gets_no_reply(kit: Kit) -> None:
    async def use(session: Session) -> int:
        await echo(session)
        await session.list_tools()
        return session.dropped["request"]

    assert kit.talk("modern", "asks", use, era="modern") == 5
    assert sent(kit) == ["tools/call", "tools/list"]


def test_needed_input_is_given_with_the_servers_state_under_a_new_id(kit: Kit) -> None:
    asked = []

    async def answer(requests: dict[str, Any]) -> dict[str, Any]:
        asked.append(requests)
        return {"name": {"action": "accept", "content": {"name": "Ada"}}}

    said = json.loads(kit.talk("modern", "input-required", echo, era="modern", answer=answer))
    assert asked == [{"name": {"method": "elicitation/create", "params": {"message": "who?"}}}]
    assert said == {
        "state": "s1",
        "responses": {"name": {"action": "accept", "content": {"name": "Ada"}}},
        "id": 2,
    }


def test_needed_input_without_anyone_to_give_it_says_what_was_asked(kit: Kit) -> None:
    with pytest.raises(InputNeeded) as caught:
        kit.talk("modern", "input-required", echo, era="modern")
    assert caught.value.message == "`echo` needs input"
    assert caught.value.details == {"asked": {"name": {"method": "elicitation/create", "params": {"message": "who?"}}}}


def test_what_is_left_out_of_an_answer_gets_its_default(kit: Kit) -> None:
    async def answer(requests: dict[str, Any]) -> dict[str, Any]:
        assert [request["method"] for request in requests.values()] == ["elicitation/create"]
        return {key: {"action": "accept", "content": {"name": "Ada"}} for key in requests}

    assert kit.talk("legacy", "asks-a-person", call_answers, era="legacy", answer=answer) == [
        {"action": "accept", "content": {"name": "Ada", "age": 0}}
    ]
    [declared] = [message["params"]["capabilities"] for message in kit.log() if message.get("method") == "initialize"]
    assert declared == {"roots": {}, "elicitation": {}}


async def call_answers(session: Session, timeout: float = DEADLINE, **arguments: Any) -> list[dict[str, Any]]:
    result: Any = await session.call_tool("echo", arguments, timeout=timeout)
    return [answer["result"] for answer in sorted(result["answers"], key=lambda answer: answer["id"])]


@pytest.mark.parametrize(
    ("response", "said"),
    [
        ({"action": "decline"}, {"action": "decline"}),
        ({"action": "accept"}, {"action": "accept", "content": {"name": "Bob", "age": 0}}),
        (None, {"action": "cancel"}),
    ],
)
def test_a_person_may_decline_accept_or_have_no_answer(
    kit: Kit, response: dict[str, Any] | None, said: dict[str, Any]
) -> None:
    async def answer(requests: dict[str, Any]) -> dict[str, Any]:
        return dict.fromkeys(requests, response) if response else {}

    assert kit.talk("legacy", "asks-a-person", call_answers, era="legacy", answer=answer) == [said]


def test_a_question_that_cannot_be_put_to_anyone_is_cancelled(kit: Kit) -> None:
    async def answer(requests: dict[str, Any]) -> None:
        raise InputNeeded("nobody is there")

    assert kit.talk("legacy", "asks-a-person", call_answers, era="legacy", answer=answer) == [{"action": "cancel"}]


def test_a_call_does_not_time_out_while_a_person_thinks(kit: Kit) -> None:
    async def answer(requests: dict[str, Any]) -> dict[str, Any]:
        thought = asyncio.Event()
        asyncio.get_running_loop().call_later(1.3, thought.set)  # longer than the server may be silent
        await thought.wait()
        return dict.fromkeys(requests, {"action": "decline"})

    async def use(session: Session) -> list[dict[str, Any]]:
        return await call_answers(session, timeout=1.0)

    assert kit.talk("legacy", "asks-a-person", use, era="legacy", answer=answer) == [{"action": "decline"}]


def test_no_more_than_16_questions_are_open_at_once(kit: Kit) -> None:
    asked = open_now = most = 0

    async def answer(requests: dict[str, Any]) -> dict[str, Any]:
        nonlocal asked, open_now, most
        asked, open_now = asked + 1, open_now + 1
        most = max(most, open_now)
        while asked < 16:
            await asyncio.sleep(0)
        open_now -= 1
        return dict.fromkeys(requests, {"action": "decline"})

    async def use(session: Session) -> tuple[int, int]:
        return len(await call_answers(session, times=20)), len(await call_answers(session, times=1))

    assert kit.talk("legacy", "asks-a-person", use, era="legacy", answer=answer) == (20, 1)
    assert most == 16


def test_closing_ends_an_open_question(kit: Kit) -> None:
    ended: list[dict[str, Any]] = []

    async def answer(requests: dict[str, Any]) -> None:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(requests)

    async def main() -> None:
        session = await kit.connect("legacy", "asks-a-person", era="legacy", answer=answer)
        task = asyncio.ensure_future(call_answers(session))
        await asked.wait()
        await session.close()
        with pytest.raises(ServerGone):
            await task
        assert len(ended) == 1

    asked = asyncio.Event()
    asyncio.run(main())


# ---- what came and was of no use


@pytest.mark.parametrize(
    ("behaviour", "dropped"),
    [
        ("unknown-id", {"unknown id": 1}),
        ("answers-next-first", {"unknown id": 1}),
        ("string-id", {"bad id": 1}),
        ("null-id", {"bad id": 1}),
        ("float-id", {"bad id": 1}),
        ("huge-id", {"bad id": 1}),
        ("batch", {"notification": 1, "garbage": 1}),
        ("garbage", {"garbage": 1005, "bad id": 1}),
        ("bom", {"garbage": 1}),
        ("blank-lines", {}),
    ],
)
def test_what_is_dropped_is_counted(kit: Kit, era: str, behaviour: str, dropped: dict[str, Any]) -> None:
    async def use(session: Session) -> dict[str, Any]:
        await echo(session)
        return dict(session.dropped)

    assert kit.talk(era, behaviour, use, era=era) == dropped


def test_a_second_answer_is_counted_and_changes_nothing(kit: Kit, era: str) -> None:
    async def use(session: Session) -> tuple[str, dict[str, Any]]:
        first = await echo(session)
        await session.list_tools()
        return first, dict(session.dropped)

    assert kit.talk(era, "duplicate", use, era=era) == ("hi", {"unknown id": 1})


def test_garbage_is_warned_of_once(kit: Kit, era: str) -> None:
    warnings: list[str] = []
    kit.talk(era, "garbage", echo, era=era, warn=warnings.append)
    assert warnings == ["the MCP server wrote something other than messages to its output: `starting up... 0`"]


# ---- errors as people see them


@pytest.mark.requirement("client:edge-1", "client:rule-2", "client:test-7")
def test_a_missing_command_is_named(kit: Kit, tmp_path: Path) -> None:
    async def connect(*argv: str, **options: Any) -> None:
        await connect_stdio(argv, **options)

    for command in ("no-such-command-anywhere", str(tmp_path / "missing")):
        with pytest.raises(ServerError) as caught:
            asyncio.run(connect(command, "x"))
        assert caught.value.message == f"Command not found: {command}"
        assert caught.value.suggestions == ("install it, or give its full path",)
    with pytest.raises(ServerError, match="is a directory, not a command"):
        asyncio.run(connect(str(tmp_path)))
    with pytest.raises(ServerError, match="the working directory .* cannot be entered: it does not exist"):
        asyncio.run(connect(sys.executable, cwd=str(tmp_path / "missing")))


@pytest.mark.parametrize(
    ("behaviour", "cause"),
    [
        ("call:exit3", {"exit_code": 3, "stderr": "about to fail\nlast words"}),
        ("call:exit0", {"exit_code": 0, "stderr": "about to fail\nlast words"}),
        ("call:kill", {"signal": 9}),
        ("call:close-output", {"cause": "it closed its pipes and kept running"}),
    ],
)
@pytest.mark.requirement("client:error-4")
def test_a_crash_says_how_and_what_the_server_said_last(
    kit: Kit, era: str, behaviour: str, cause: dict[str, Any]
) -> None:
    with pytest.raises(ServerGone) as caught:
        kit.talk(era, behaviour, echo, era=era)
    assert caught.value.message == "MCP server process terminated unexpectedly"
    assert caught.value.details == cause


def test_of_a_flood_of_stderr_the_end_is_kept(kit: Kit, era: str) -> None:
    with pytest.raises(ServerGone) as caught:
        kit.talk(era, "stderr-flood-then-exit", echo, era=era)
    said: Any = caught.value.details["stderr"]
    assert said.endswith("noise\nthe real reason") and 8000 < len(said) <= 8192


def test_a_crash_fails_every_call_in_flight_and_those_that_come(kit: Kit, era: str) -> None:
    async def use(session: Session) -> list[Any]:
        errors = await asyncio.gather(*(echo(session) for _ in range(5)), return_exceptions=True)
        with pytest.raises(ServerGone):
            await echo(session)
        return errors

    errors = kit.talk(era, "call:exit3", use, era=era)
    assert {(type(error), error.message) for error in errors} == {
        (ServerGone, "MCP server process terminated unexpectedly")
    }
    assert len({id(error) for error in errors}) == 5


@pytest.mark.parametrize(
    ("behaviour", "message", "details"),
    [
        pytest.param(
            "call:not-found",
            "Method not found",
            {"method": "tools/call", "code": -32601, "server_says": "nope"},
            marks=pytest.mark.requirement("client:error-3", "client:test-14", "client:rule-10"),
        ),
        pytest.param(
            "call:bad-params",
            "Invalid params",
            {"method": "tools/call", "code": -32602, "server_says": "nope"},
            marks=pytest.mark.requirement("client:error-3"),
        ),
    ],
)
def test_an_error_of_the_server_keeps_its_words(
    kit: Kit, era: str, behaviour: str, message: str, details: dict[str, Any]
) -> None:
    with pytest.raises(ReplyError) as caught:
        kit.talk(era, behaviour, echo, era=era)
    assert (caught.value.message, caught.value.details) == (message, details)
    assert caught.value.number == details["code"]


def test_of_a_huge_error_the_beginning_is_kept(kit: Kit, era: str) -> None:
    with pytest.raises(ReplyError) as caught:
        kit.talk(era, "error-huge", echo, era=era)
    assert caught.value.details["server_says"] == '"' + "x" * 4095 + "…"
    data: Any = caught.value.details["data"]
    assert len(data) == 4097


@pytest.mark.requirement("client:edge-2", "client:test-9")
def test_a_malformed_answer_says_why_and_shows_its_beginning(kit: Kit) -> None:
    with pytest.raises(ServerError) as caught:
        kit.talk("legacy", "call:malformed", echo, era="legacy")
    assert caught.value.message == "Invalid JSON response from server"
    assert caught.value.details == snapshot(
        {
            "method": "tools/call",
            "cause": "unexpected character, expected a string key: line 1 column 35 (char 34)",
            "line": '{"jsonrpc":"2.0","id":2,"result":{oops}}',
        }
    )


# ---- processes


def test_a_server_sees_the_harmless_environment_and_what_is_declared(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "do not tell")
    seen = json.loads(kit.talk("modern", "environment", echo, env={**kit.environment, "TOKEN": "", "MINE": "1"}))
    assert "AWS_SECRET_ACCESS_KEY" not in seen
    assert (seen["TOKEN"], seen["MINE"], seen["PATH"]) == ("", "1", os.environ["PATH"])


@pytest.mark.requirement("client:require-4", "client:effect-3")
def test_a_well_behaved_server_leaves_when_its_input_closes(kit: Kit, era: str) -> None:
    async def use() -> int | None:
        session = await kit.connect(era, "well-behaved")
        await echo(session)
        await session._link.close(patience=DEADLINE)
        await session.close()
        with pytest.raises(ServerGone, match="the connection to the MCP server was closed"):
            await echo(session)
        return process_of(session).group.exit_code

    assert asyncio.run(use()) == 0


def test_a_server_that_ignores_the_end_of_its_input_gets_sigterm(kit: Kit, era: str) -> None:
    async def use() -> int | None:
        session = await kit.connect(era, "ignores-eof")
        await session.close()
        return process_of(session).group.exit_code

    assert asyncio.run(use()) == -15


@pytest.mark.requirement("client:rule-9", "client:edge-5", "client:test-8")
def test_a_server_that_is_silent_for_too_long_at_the_start_gets_sigterm(kit: Kit) -> None:
    with pytest.raises(StepTimeout):
        kit.talk("legacy", "initialize:hang", nothing, timeout=1.0, era="legacy")
    assert kit.log_file.with_name("log.term").exists()


def test_closing_fails_what_is_in_flight(kit: Kit, era: str) -> None:
    async def use() -> None:
        session = await kit.connect(era, "call:silence")
        task = asyncio.ensure_future(echo(session))
        await session.list_tools()
        await asyncio.gather(session.close(), session.close())
        with pytest.raises(ServerGone, match="the connection to the MCP server was closed"):
            await task

    asyncio.run(use())


def test_a_cancelled_close_leaves_nobody(kit: Kit, era: str) -> None:
    async def use() -> None:
        session = await kit.connect(era, "ignores-eof")
        task = asyncio.ensure_future(session._link.close(patience=3600))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(use())


def test_a_cancelled_start_leaves_nobody(kit: Kit) -> None:
    async def use() -> None:
        task = asyncio.ensure_future(kit.connect("legacy", "initialize:silence"))
        while not kit.log_file.exists():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(use())
    assert kit.pids()


def test_sessions_come_and_go_without_a_trace(kit: Kit) -> None:
    async def use() -> int:
        before = len(asyncio.all_tasks())
        for _ in range(10):
            session = await kit.connect("modern", "well-behaved", era="modern")
            await echo(session)
            await session._link.close(patience=DEADLINE)
        return len(asyncio.all_tasks()) - before

    assert asyncio.run(use()) == 0


# ---- Unix sockets


@contextmanager
def listening(path: str, era: str, behaviour: str) -> Iterator[None]:
    """A socket whose first connection is the input and output of a hostile server."""

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            subprocess.run(argv(era, behaviour), stdin=connection.fileno(), stdout=connection.fileno())

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        thread = threading.Thread(target=serve)
        thread.start()
        yield
        thread.join(DEADLINE)
        assert not thread.is_alive()


@pytest.mark.parametrize(
    ("behaviour", "outcome"),
    [
        ("well-behaved", "hi"),
        ("garbage", "hi"),
        ("asks", "hi"),
        ("lone-surrogate", "Invalid JSON response from server"),
        ("call:exit1", "the MCP server closed the connection"),
        ("call:silence", "`tools/call` got no answer for 0.3 s"),
    ],
)
def test_a_unix_socket_carries_the_same_session(
    kit: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, era: str, behaviour: str, outcome: str
) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short

    async def use() -> str:
        session = await connect_socket("sock", timeout=DEADLINE)
        assert session.peer.era == era
        try:
            return await echo(session, timeout=0.3 if "silence" in behaviour else DEADLINE)
        except StepError as error:
            return error.message
        finally:
            await session.close()

    with listening("sock", era, behaviour):
        assert asyncio.run(use()) == outcome


def test_a_socket_that_nobody_listens_on_is_named(kit: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in ("missing", "x" * 200, "a\0b"):
        with pytest.raises(ServerError) as caught:
            asyncio.run(connect_socket(path))
        assert caught.value.message == f"no MCP server can be reached at `{path}`"
