"""What an HTTP answer means that holds no message of the protocol: which error, which action, what to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pflow.core.errors import ServerError, ServerGone
from pflow.core.name import show
from pflow.core.render import shorten

_SHOWN = 500
_LONGEST_WAIT = 7 * 24 * 3600.0


def refusal(
    status: int,
    place: str,
    *,
    said: str = "",
    retry_after: str = "",
    in_session: bool = False,
    given: Sequence[str] = (),
) -> ServerError:
    """The error for a status outside 200–299, or for one that promises no answer.

    `given` names the headers that the server is configured with.
    """
    details: dict[str, object] = {"url": place, "status": status}
    if said:
        details["server_says"] = shorten(said, _SHOWN)
    if (wait := read_wait(retry_after)) is not None:
        details["retry_after"] = wait
    if ends_session(status, said, in_session=in_session):
        return ServerGone("the MCP server has ended the session", details=details)
    match status:
        case 401 | 403:
            return ServerError(
                f"the MCP server at `{place}` refuses the credentials it was given, or wants some ({status})"
                if status == 401
                else f"the MCP server at `{place}` does not allow this ({status})",
                action="auth_failed",
                details=details,
                suggestions=[_credential(given)],
            )
        case 429:
            later = f"in {wait:g} s" if wait is not None else "later"
            return ServerError(
                f"the MCP server at `{place}` gets too many requests (429)",
                action="rate_limited",
                details=details,
                suggestions=[f"try again {later}"],
            )
        case 404 | 405 | 410:
            return ServerError(
                f"there is no MCP server at `{place}` ({status})",
                details=details,
                suggestions=["check the path of its URL", "an older server may need the transport `sse`"],
            )
        case _ if 200 <= status < 300:
            return ServerError(f"the MCP server at `{place}` took a request and gives no answer", details=details)
    return ServerError(f"the MCP server at `{place}` answered with HTTP status {status}", details=details)


def _credential(given: Sequence[str]) -> str:
    if not given:
        return "give it a token: `pflow mcp add NAME --url … --header 'Authorization: Bearer ${TOKEN}'`"
    return f"check the value of {', '.join(f'`{show(name)}`' for name in given)}, which the server is configured with"


def ends_session(status: int, said: str, *, in_session: bool) -> bool:
    """Whether a server does not know our session any more; some say so with 400 and words."""
    return in_session and (status in (404, 410) or (status == 400 and "session" in said.lower()))


def read_wait(text: str) -> float | None:
    """Seconds to wait, from a `Retry-After` of either form."""
    if not text or len(text) > 100:
        return None
    if text.isascii() and text.isdigit():
        return min(float(text), _LONGEST_WAIT)
    from datetime import UTC, datetime  # lazy: only for a date, which few servers send
    from email.utils import parsedate_to_datetime

    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    left = (at if at.tzinfo else at.replace(tzinfo=UTC)) - datetime.now(UTC)
    return min(max(round(left.total_seconds(), 1), 0.0), _LONGEST_WAIT)


def error_text(message: object) -> str:
    """What the error of a JSON-RPC answer says, or the description that OAuth gives."""
    if not isinstance(message, dict):
        return ""
    error = message.get("error")
    if isinstance(error, Mapping):
        error = error.get("message")
    said = message.get("error_description", error)
    return said if isinstance(said, str) else ""
