"""What requests get: the envelopes of the command line as JSON, and each error with the status that fits it."""

from __future__ import annotations

from collections.abc import Callable

import orjson
from starlette.responses import Response

from pflow.core.errors import (
    AnsweredError,
    ConflictError,
    DocumentError,
    InDoubtError,
    InputError,
    NotFoundError,
    PflowError,
    SecurityError,
    UsageError,
)

Redact = Callable[[dict[str, object]], dict[str, object]]

_STATUS = (
    (NotFoundError, 404),
    (SecurityError, 403),
    ((AnsweredError, ConflictError, InDoubtError), 409),
    ((DocumentError, InputError, UsageError), 400),
)


def reply(data: object, status: int = 200) -> Response:
    """A result."""
    return _json({"success": True, "data": data}, status)


def refuse(error: PflowError, redact: Redact) -> Response:
    """An error, as `--json` prints it."""
    facts = redact({name: part for name, part in error.as_dict().items() if part})
    status = next((code for kinds, code in _STATUS if isinstance(error, kinds)), 500)
    return _json({"success": False, "error": facts}, status)


def _json(envelope: object, status: int) -> Response:
    body = orjson.dumps(envelope, default=str, option=orjson.OPT_NON_STR_KEYS)
    return Response(body, status, {"cache-control": "no-store"}, "application/json")
