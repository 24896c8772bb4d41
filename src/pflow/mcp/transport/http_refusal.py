"""What an HTTP answer means that holds no message of the protocol: which error, which action, what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pflow.core.advice import Advice
from pflow.core.errors import ServerError, ServerGone
from pflow.core.file.file_name import show
from pflow.core.printable import shorten
from pflow.http.header import read_wait
from pflow.mcp.protocol.json_line import decode

if TYPE_CHECKING:
    from pflow.http.client import Answer
    from pflow.mcp.transport.http_channel import Channel

_EXCERPT = 16 << 10
"""Bytes of a body that are looked at for what it says."""

_SHOWN_CHARACTERS = 500
_ABSENT = (404, 405, 410)
_MEANINGS = {
    401: ("the MCP server at `{place}` refuses the credentials it was given, or wants some (401)", "auth_failed"),
    403: ("the MCP server at `{place}` does not allow this (403)", "auth_failed"),
    429: ("the MCP server at `{place}` gets too many requests (429)", "rate_limited"),
    **dict.fromkeys(_ABSENT, ("there is no MCP server at `{place}` ({status})", "error")),
}
_NO_ANSWER = "the MCP server at `{place}` took a request and gives no answer"
_OTHER = "the MCP server at `{place}` answered with HTTP status {status}"


async def read_refusal(reply: Answer, channel: Channel) -> tuple[str, dict[str, object]]:
    """What an answer says in place of a result, as text, and the object that its body is, if it is one."""
    shown = await _read_text(reply, channel)
    try:
        message = decode(shown.encode())
    except ValueError:
        message = None
    known = message if isinstance(message, dict) else {}
    return _error_text(known) or shown, known


def refusal(reply: Answer, channel: Channel, said: str = "", *, in_session: bool = False) -> ServerError:
    """The error for a status outside 200–299, or for one that promises no answer."""
    status, place = reply.status, reply.place
    details: dict[str, object] = {"url": place, "status": status}
    if said:
        details["server_says"] = shorten(said, _SHOWN_CHARACTERS)
    if (wait := read_wait(reply.header("retry-after"))) is not None:
        details["retry_after"] = wait
    if ends_session(status, said, in_session=in_session):
        return ServerGone("the MCP server has ended the session", details=details)
    words, action = _MEANINGS.get(status, (_NO_ANSWER if reply.succeeded else _OTHER, "error"))
    message = words.format(place=place, status=status)
    return ServerError(message, action=action, details=details, suggestions=_advise(status, channel, wait))


def _advise(status: int, channel: Channel, wait: float | None) -> list[str]:
    if status == 429:
        return [f"try again in {wait:g} s" if wait is not None else "try again later"]
    if status in _ABSENT:
        return ["check the path of its URL", "an older server may need the transport `sse`"]
    if status not in (401, 403):
        return []
    if channel.logs_in:
        return [
            Advice(
                "its token does not suffice: check `auth` of the server, or log in again with `{log_in}`", server="NAME"
            )
        ]
    if not channel.given:
        return [Advice("give it a token: `{add_server_with_token}`")]
    headers = ", ".join(f"`{show(name)}`" for name in channel.given)
    return [f"check the value of {headers}, which the server is configured with"]


def ends_session(status: int, said: str, *, in_session: bool) -> bool:
    """Whether a server does not know our session any more; some say so with 400 and words."""
    return in_session and (status in (404, 410) or (status == 400 and "session" in said.lower()))


async def misfit(reply: Answer, channel: Channel) -> ServerError:
    """The error for an answer that is neither JSON nor events."""
    if reply.status in (202, 204):
        return refusal(reply, channel)
    details: dict[str, object] = {"url": reply.place, "type": shorten(reply.kind) or "none"}
    if said := await _read_text(reply, channel):
        details["server_says"] = shorten(said, 200)
    return ServerError("the MCP server answered with something other than JSON or events", details=details)


async def _read_text(reply: Answer, channel: Channel) -> str:
    """The beginning of a body, without our credentials."""
    return channel.show((await reply.read(_EXCERPT))[0])


def _error_text(message: Mapping[str, object]) -> str:
    """What the error of a JSON-RPC answer says, or the description that OAuth gives."""
    error = message.get("error")
    if isinstance(error, Mapping):
        error = error.get("message")
    said = message.get("error_description", error)
    return said if isinstance(said, str) else ""
