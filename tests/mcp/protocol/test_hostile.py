"""Whatever a server does, a call ends in a result or in a typed error, later calls work, and no process stays."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pflow.core.errors import InputNeeded, ReplyError, ServerError, ServerGone, StepTimeout
from pflow.mcp.protocol.session import Session
from pflow.mcp.transport.stdio import TERMINATED
from tests.conventions.source import ROOT
from tests.mcp.protocol.kit import DEADLINE, Kit, alive, echo, process_of, wait_until

INVALID = "Invalid JSON response from server"

# What the server does with a call, and the text that comes of it all the same.
HARMLESS = [
    *("well-behaved", "banner", "garbage", "blank-lines", "crlf", "one-byte-writes", "two-in-one-write"),
    *("utf16", "bom", "nul", "unknown-id", "string-id", "null-id", "float-id", "huge-id", "duplicate", "batch"),
    *("extra-keys", "is-error", "progress", "notification-flood", "list-changed", "asks", "asks-without-reading"),
    *("stderr-flood", "answers-next-first", "call:answer-then-exit"),
]

# What the server does with a call, what the call ends in, and what the message says.
CALLS = [
    ("call:malformed", ServerError, INVALID),
    ("deep", ServerError, INVALID),
    ("deep-600", ServerError, INVALID),
    ("deep-id-last", ServerError, INVALID),
    ("many-values", ServerError, INVALID),
    ("many-objects", ServerError, INVALID),
    ("long-number", ServerError, INVALID),
    ("infinite-number", ServerError, INVALID),
    ("nan", ServerError, INVALID),
    ("lone-surrogate", ServerError, INVALID),
    ("invalid-utf8", ServerError, INVALID),
    ("no-jsonrpc", ServerError, INVALID),
    ("wrong-case", ServerError, INVALID),
    ("result-and-error", ServerError, INVALID),
    ("no-result", ServerError, INVALID),
    ("result-list", ServerError, INVALID),
    ("error-text", ServerError, INVALID),
    ("error-empty", ReplyError, "the MCP server answered with an error and no message"),
    ("error-odd", ReplyError, "the MCP server answered with an error: \\x1b[2Jboo"),
    ("error-huge", ReplyError, "Internal error"),
    ("call:error", ReplyError, "the MCP server answered with an error: no luck today"),
    ("call:not-found", ReplyError, "Method not found"),
    ("call:bad-params", ReplyError, "Invalid params"),
    ("call:silence", StepTimeout, "`tools/call` got no answer for 0.3 s"),
    ("call:hang", StepTimeout, "`tools/call` got no answer for 0.3 s"),
    ("only-string-id", StepTimeout, "`tools/call` got no answer for 0.3 s"),
    ("spoofed-progress", StepTimeout, "`tools/call` got no answer for 0.3 s"),
    ("line-64mb", ServerGone, "the MCP server sent a line of more than 16,777,216 bytes"),
    ("endless-line", ServerGone, "the MCP server sent a line of more than 16,777,216 bytes"),
    ("call:exit0", ServerGone, TERMINATED),
    ("call:exit3", ServerGone, TERMINATED),
    ("call:kill", ServerGone, TERMINATED),
    ("call:close-output", ServerGone, TERMINATED),
    ("call:half-then-exit", ServerGone, TERMINATED),
    ("no-newline-then-exit", ServerGone, TERMINATED),
    ("stderr-flood-then-exit", ServerGone, TERMINATED),
]

# Nothing else is answered after these.
BUSY = {"call:hang", "spoofed-progress"}

# What the server does before any call, and what opening the session ends in; None: it opens all the same.
OPENINGS = [
    ("start:exit0", ServerGone, TERMINATED),
    ("start:exit5", ServerGone, TERMINATED),
    ("start:kill", ServerGone, TERMINATED),
    ("start:hang", StepTimeout, "`initialize` got no answer"),
    ("discover:hang", StepTimeout, "`initialize` got no answer"),
    ("discover:silence", None, ""),
    ("discover:malformed", None, ""),
    ("discover:error", None, ""),
    ("discover:exit1", None, ""),
    ("discover:close-output", None, ""),
    ("odd-discovery", None, ""),
    ("probe-bad-params", None, ""),
    ("picky-version", None, ""),
    ("initialize:silence", StepTimeout, "`initialize` got no answer"),
    ("initialize:exit1", ServerGone, TERMINATED),
    ("initialize:kill", ServerGone, TERMINATED),
    ("initialize:close-output", ServerGone, TERMINATED),
    ("initialize:malformed", ServerError, INVALID),
    ("initialize:error", ServerError, "the MCP handshake failed: the MCP server answered with an error: no luck today"),
    ("alien-version", ServerError, "MCP protocol version not supported"),
    ("version-number", ServerError, "MCP protocol version not supported"),
]

LISTS = [
    ("endless-pages", ServerError, "the MCP server's list of tools has more than 100 pages"),
    ("same-page", ServerError, "the MCP server repeats the pages of its list of tools"),
    ("bad-cursor", ServerError, "the MCP server repeats the pages of its list of tools"),
    ("tools-no-list", ServerError, "the MCP server gave no list of tools"),
    ("tool-no-name", ServerError, "entry 1 of the MCP server's list of tools is not a tool with a name"),
    ("list:silence", StepTimeout, "`tools/list` got no answer for 0.3 s"),
    ("list:malformed", ServerError, INVALID),
    ("list:not-found", ReplyError, "Method not found"),
    ("list:exit1", ServerGone, TERMINATED),
    ("list:half-then-exit", ServerGone, TERMINATED),
]


def failure_of(kit: Kit, era: str, behaviour: str, use: Callable[..., Any], **options: Any) -> Any:
    """The error that ends it."""
    with pytest.raises((ServerError, StepTimeout)) as caught:
        kit.talk(era, behaviour, use, era=era, **options)
    return caught.value


@pytest.mark.parametrize("behaviour", HARMLESS)
def test_a_call_succeeds_in_spite_of(kit: Kit, era: str, behaviour: str) -> None:
    assert kit.talk(era, behaviour, echo, era=era) == ("bye" if "answer-then" in behaviour else "hi")


@pytest.mark.parametrize(("behaviour", "kind", "message"), CALLS)
def test_a_call_ends_in_a_typed_error_and_spoils_no_other(
    kit: Kit, era: str, behaviour: str, kind: type[BaseException], message: str
) -> None:
    async def use(session: Session) -> None:
        with pytest.raises((ServerError, StepTimeout)) as caught:
            await echo(session, timeout=0.3 if kind is StepTimeout else DEADLINE)
        assert (type(caught.value), caught.value.message) == (kind, message)
        assert session.is_open is (kind is not ServerGone)
        if session.is_open and behaviour not in BUSY:
            assert [tool["name"] for tool in await session.list_tools()] == ["echo"]

    kit.talk(era, behaviour, use, era=era)


@pytest.mark.parametrize(("behaviour", "kind", "message"), OPENINGS)
def test_opening_a_session_ends_well_or_in_a_typed_error(
    kit: Kit, behaviour: str, kind: type[BaseException] | None, message: str
) -> None:
    # A silent server is given up after a moment; all others have the time they need on a busy machine.
    patience = {"timeout": 0.8, "probe": 0.3} if kind is StepTimeout else {"probe": 0.3}
    if kind is None:
        assert kit.talk("legacy", behaviour, echo, **patience) == "hi"
        return
    with pytest.raises((ServerError, StepTimeout)) as caught:
        kit.talk("legacy", behaviour, echo, **patience)
    assert (type(caught.value), caught.value.message[: len(message)]) == (kind, message)


@pytest.mark.parametrize(
    ("behaviour", "kind", "message"),
    [
        ("newer-version", ServerError, "the MCP handshake failed: Method not found"),
        ("odd-discovery", ServerError, "the MCP handshake failed: Method not found"),
        ("discover:exit1", ServerError, "the MCP handshake failed: Method not found"),
        ("start:exit2", ServerGone, TERMINATED),
        ("discover:hang", StepTimeout, "`initialize` got no answer"),
    ],
)
def test_a_stateless_server_that_cannot_be_agreed_with_is_a_typed_error(
    kit: Kit, behaviour: str, kind: type[BaseException], message: str
) -> None:
    patience = {"timeout": 0.8, "probe": 0.3} if kind is StepTimeout else {"probe": 0.3}
    with pytest.raises((ServerError, StepTimeout)) as caught:
        kit.talk("modern", behaviour, echo, **patience)
    assert (type(caught.value), caught.value.message[: len(message)]) == (kind, message)


@pytest.mark.parametrize(("behaviour", "kind", "message"), LISTS)
def test_listing_tools_ends_in_a_typed_error(
    kit: Kit, era: str, behaviour: str, kind: type[BaseException], message: str
) -> None:
    patience = 0.3 if kind is StepTimeout else DEADLINE
    error = failure_of(kit, era, behaviour, lambda session: session.list_tools(timeout=patience))
    assert (type(error), error.message) == (kind, message)


@pytest.mark.parametrize("behaviour", ["input-required", "input-for-ever", "input-for-what", "result-kind"])
def test_a_result_that_is_not_complete_is_a_typed_error(kit: Kit, behaviour: str) -> None:
    error = failure_of(kit, "modern", behaviour, echo)
    kinds = {"input-required": InputNeeded, "input-for-ever": InputNeeded}
    assert type(error) is kinds.get(behaviour, ServerError)


@pytest.mark.parametrize(
    "behaviour", ["well-behaved", "ignores-eof", "ignores-sigterm", "grandchildren", "eof:exit1", "eof:kill"]
)
def test_closing_ends_every_process(kit: Kit, era: str, behaviour: str) -> None:
    async def use() -> None:
        session = await kit.connect(era, behaviour, era=era)
        assert await echo(session) == "hi"
        process = session._link
        await process.close(patience=0.1 if "ignores" in behaviour or behaviour == "grandchildren" else DEADLINE)

    asyncio.run(use())
    assert kit.pids()


def test_a_crash_takes_the_servers_children_along(kit: Kit, era: str) -> None:
    async def use(session: Session) -> None:
        await session.list_tools()
        process_of(session).group.signal(signal.SIGKILL)
        with pytest.raises(ServerGone):
            await echo(session)

    kit.talk(era, "crash-leaves-children", use, era=era)
    assert len(kit.pids()) == 2


def test_a_crash_is_seen_though_a_daemon_holds_the_pipes_open(kit: Kit, era: str) -> None:
    try:
        error = failure_of(kit, era, "daemon-holds-pipes", echo)
        assert (type(error), error.details["exit_code"]) == (ServerGone, 4)
    finally:
        os.kill(int(kit.log_file.with_name("log.daemon").read_text()), signal.SIGKILL)  # out of reach, by design


def test_a_stopped_server_can_be_closed(kit: Kit, era: str) -> None:
    async def use(session: Session) -> None:
        await echo(session)
        process_of(session).group.signal(signal.SIGSTOP)

    kit.talk(era, "well-behaved", use, era=era)
    assert len(kit.pids()) == 1


PFLOW = """
import asyncio, sys
from tests.mcp.protocol.kit import Kit, Path, echo
async def main():
    session = await Kit(Path(sys.argv[1])).connect(sys.argv[2], "grandchildren")
    print(await echo(session), flush=True)
    await asyncio.sleep(3600)
asyncio.run(main())
"""


def test_a_killed_pflow_leaves_no_server(kit: Kit, era: str, tmp_path: Path) -> None:
    pflow = subprocess.Popen(
        [sys.executable, "-c", PFLOW, tmp_path, era], cwd=ROOT, stdout=subprocess.PIPE, start_new_session=True
    )
    with pflow:
        assert pflow.stdout is not None and pflow.stdout.readline() == b"hi\n"
        pflow.kill()
    assert len(kit.pids()) == 3
    wait_until(lambda: not any(alive(pid) for pid in kit.pids()))


def test_a_server_that_stops_reading_is_given_up(kit: Kit, era: str) -> None:
    async def use(session: Session) -> None:
        assert await echo(session) == "hi"
        await echo(session, "x" * (10 << 20), timeout=DEADLINE)

    error = failure_of(kit, era, "stops-reading", use, write_timeout=0.3)
    assert error.message == "the MCP server did not read what it was sent for 0.3 s"
