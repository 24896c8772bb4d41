"""What may be said to and heard from an authorization server: where, for how long and how much. Knows no grant."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import orjson

from pflow.core.errors import SecurityError, UsageError
from pflow.core.file.file_name import show
from pflow.http.authorization import Request, Response, bound_body, time_limit
from pflow.mcp.server.address import check_address, is_inside
from pflow.mcp.server.config import ServerConfig
from pflow.mcp.server.credential import auth_failed

_PATIENCE_SECONDS = 30.0


def check_endpoint(server: ServerConfig, url: str) -> None:
    """Raises unless a server may lead us to `url`: encrypted, and not from outside to this machine or its own net."""
    details: Mapping[str, object] = {}
    try:
        check_address(url, insecure=server.insecure)
        host = urlsplit(url).hostname or ""
        if server.insecure or not is_inside(host) or is_inside(urlsplit(server.url).hostname or ""):
            return
        where = f"`{show(host)}`, which is not public"
    except (SecurityError, UsageError) as error:
        where, details = f"an address that is refused: {error.message}", error.details
    advice = "do not log in; tell the operator of the server"
    raise auth_failed(f"server `{server.name}` leads its login to {where}", details=details, suggestions=[advice])


def prepare(request: Request) -> Request:
    """The request of a grant, with an end to its patience. The SDK's own requests would wait for ever."""
    request.extensions = {**request.extensions, **time_limit(_PATIENCE_SECONDS)}
    request.headers["Accept"] = "application/json"
    request.headers["Accept-Encoding"] = "identity"
    request.headers["User-Agent"] = "pflow"
    return request


def bound(server: ServerConfig, response: Response) -> Response:
    """The answer, which ends with an error once it is longer than it may be."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise auth_failed(f"the authorization server of `{server.name}` compresses its answers in spite of our wish")
    return bound_body(response)


async def error_of(response: Response | None) -> str:
    """The `error` of an answer in the words of OAuth, which are not secret; empty if it has none."""
    if response is None:
        return ""
    try:
        answer = orjson.loads(await response.aread())
    except orjson.JSONDecodeError:
        return ""
    error = answer.get("error") if isinstance(answer, dict) else None
    return error if isinstance(error, str) and error.replace("_", "").isalpha() and len(error) <= 40 else ""
