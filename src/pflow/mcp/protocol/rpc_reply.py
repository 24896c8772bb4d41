"""What a server's messages say, read strictly: a reply as its result or its error, a progress note as numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import orjson

from pflow.core.errors import ReplyError, ServerError
from pflow.core.printable import shorten

INVALID = "Invalid JSON response from server"

UNSUPPORTED = "MCP protocol version not supported"

_SHOWN_BYTES = 4096

_MEANINGS = {
    -32700: "Parse error",
    -32600: "Invalid request",
    -32601: "Method not found",
    -32602: "Invalid params",
    -32603: "Internal error",
    -32022: UNSUPPORTED,
}


def read_reply(
    message: Mapping[str, object], method: str, describe: Callable[[], dict[str, object]]
) -> dict[str, object] | ServerError:
    """The result that a reply holds, or the error it is; `describe` adds what is known of the server."""
    result, error = message.get("result"), message.get("error")
    if isinstance(result, dict) and error is None and message.get("jsonrpc") == "2.0":
        return result
    if message.get("jsonrpc") != "2.0":
        cause = "`jsonrpc` is not `2.0`"
    elif error is not None and result is not None:
        cause = "it holds both a result and an error"
    elif isinstance(error, dict):
        return _read_error(error, method)
    elif error is not None:
        cause = "its error is not an object"
    else:
        cause = "it holds no result" if result is None else "its result is not an object"
    return ServerError(INVALID, details={"method": method, "cause": cause, **describe()})


def _read_error(error: Mapping[str, object], method: str) -> ReplyError:
    number, said = error.get("code"), error.get("message")
    details: dict[str, object] = {"method": method, "code": excerpt(number)}
    if isinstance(said, str) and said:
        details["server_says"] = excerpt(said)
    if error.get("data") is not None:
        details["data"] = excerpt(error["data"])
    known = number if isinstance(number, int) else 0
    spoken = f": {shorten(said, 500)}" if isinstance(said, str) and said else " and no message"
    message = _MEANINGS.get(known, f"the MCP server answered with an error{spoken}")
    return ReplyError(message, number=known, details=details)


def excerpt(value: object) -> object:
    """A server's value as the details of an error may hold it: whole if it is small, else the beginning of its JSON."""
    text = orjson.dumps(value)
    return value if len(text) <= _SHOWN_BYTES else f"{text[:_SHOWN_BYTES].decode(errors='ignore')}…"


def read_progress(params: Mapping[str, object]) -> tuple[float, float | None, str] | None:
    """How far, of how much, and what; None for anything else."""
    done, total, message = params.get("progress"), params.get("total"), params.get("message")
    if not isinstance(done, int | float) or isinstance(done, bool) or done < 0:
        return None
    of = float(total) if isinstance(total, int | float) and not isinstance(total, bool) else None
    return float(done), of, message if isinstance(message, str) else ""
