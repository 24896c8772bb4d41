"""A look at an HTTP endpoint, under the same policy as the `http` node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pflow.core.errors import StepError
from pflow.nodes import param
from pflow.nodes.http.message import body_value, is_text
from pflow.nodes.http.node import make_request, network_policy
from pflow.nodes.http.step_client import shared_client

_SECONDS = 30.0


async def look_at_url(params: Mapping[str, Any]) -> dict[str, object]:
    """What it answers; without a condition of its own, an answer other than success is an error."""
    given = {"url": param.required_text(params, "url"), "headers": params.get("headers"), "timeout": _SECONDS}
    request = make_request(given)
    client = await shared_client(network_policy(), verify=True)
    reply = await client.send(request)
    if not params.get("when") and not 200 <= reply.status < 300:
        raise StepError(f"`{given['url']}` answers with status {reply.status}")
    response = body_value(reply) if not reply.content or is_text(reply) else None
    return {"status_code": reply.status, "response": response, "headers": dict(reply.headers)}
