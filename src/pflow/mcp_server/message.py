"""What counts as a JSON-RPC message of a client, and the id under which anything else is refused.

The SDK takes a request whose id it cannot use for a notification, and then nobody answers it.
"""

from __future__ import annotations

import re

import orjson

from pflow.core.frozen import Frozen
from pflow.core.json_type import Json
from pflow.workspace.serving import LINE_LIMIT, decode

Id = int | str

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
INTERNAL_ERROR = -32603

END_BYTES = 200
"""How much of each end of a line is searched for its id."""

_TEXT = rb'"(?:jsonrpc|method)"\s*:\s*"[^"\\]{0,100}"'
# A whole number or a whole string: the beginning of an id may be the id of another request.
_ID = rb'"id"\s*:\s*(-?(?:0|[1-9]\d{0,17})(?=\s*[,}])|"[^"\\\x00-\x1f]{0,100}")'
_HEAD = re.compile(rb"\s*\{\s*(?:" + _TEXT + rb"\s*,\s*){0,2}" + _ID)
_TAIL = re.compile(rb"[,{]\s*" + _ID + rb"(?:\s*,\s*" + _TEXT + rb"){0,2}\s*\}\s*$")


class Refused(Frozen):
    """Why something is not a message; `id` is that of the request it was meant to be, if it can be told.

    A broken response is not `answerable`: two peers that answer errors with errors would never stop.
    """

    code: int
    message: str
    id: Id | None = None
    answerable: bool = True

    def reply(self) -> bytes:
        """The answer."""
        error = {"code": self.code, "message": self.message}
        return orjson.dumps({"jsonrpc": "2.0", "id": self.id, "error": error})


def read_message(data: bytes) -> Json | Refused:
    """The message that some bytes are: a request, a notification or a response."""
    try:
        value = decode(data)
    except ValueError as error:
        return Refused(code=PARSE_ERROR, message=f"not JSON that can be read: {error}", id=_find_id(data, data))
    if not isinstance(value, dict):
        kind = "batches are not part of this protocol" if isinstance(value, list) else "not a JSON-RPC message"
        return Refused(code=INVALID_REQUEST, message=kind)
    is_response = "method" not in value and ("result" in value or "error" in value)
    problem = _response_problem(value) if is_response else _problem(value)
    if not problem:
        return value
    return Refused(
        code=INVALID_REQUEST,
        message=f"not a JSON-RPC message: {problem}",
        id=None if is_response else request_id(value),
        answerable=not is_response,
    )


def refuse_long(head: bytes, tail: bytes) -> Refused:
    """What is said of a line that is too long, of which the two ends are known."""
    message = f"a message may have {LINE_LIMIT:,} bytes at most"
    return Refused(code=INVALID_REQUEST, message=message, id=_find_id(head, tail))


def request_id(message: Json) -> Id | None:
    """The id of a request; None for a notification, and for an id that is not valid."""
    return read_id(message.get("id"))


def read_id(value: object) -> Id | None:
    """A value as an id; None if it is not valid as one."""
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None


def _problem(value: Json) -> str:
    """What is wrong with a request or a notification; empty if nothing is."""
    if value.get("jsonrpc") != "2.0":
        return '`jsonrpc` must be "2.0"'
    if "id" in value and request_id(value) is None:
        return "`id` must be a string or an integer of at most 64 bits"
    if not isinstance(value.get("method"), str):
        return "`method` must be a string"
    params = value.get("params")
    return "" if params is None or isinstance(params, dict) else "`params` must be an object"


def _response_problem(value: Json) -> str:
    """What is wrong with a response; empty if nothing is."""
    error = value.get("error")
    if value.get("jsonrpc") != "2.0" or request_id(value) is None:
        return "a response needs `jsonrpc` and the `id` of a request"
    if "error" not in value:
        return "" if isinstance(value["result"], dict) else "`result` must be an object"
    fits = isinstance(error, dict) and type(error.get("code")) is int and isinstance(error.get("message"), str)
    return "" if fits else "`error` must have a `code` and a `message`"


def _find_id(head: bytes, tail: bytes) -> Id | None:
    """The id near one of the ends of a line."""
    found = _HEAD.match(head[:END_BYTES]) or _TAIL.search(tail[-END_BYTES:])
    if found is None:
        return None
    try:
        value: Id = orjson.loads(found[1])
    except ValueError:
        return None
    return value
