"""Questions of a server to a person: passed on to be answered, completed with the defaults that the server names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from pflow.core.errors import StepError
from pflow.core.json_type import object_in

Answer = Callable[[Mapping[str, object]], Awaitable[Mapping[str, object]]]
"""Answers what a tool asks of a person: requests by key in, responses by the same keys out."""

DECLINE = {"result": {"action": "decline"}}
_CANCEL = {"action": "cancel"}
_KEY = "elicitation"


async def respond(answer: Answer, requests: Mapping[str, object]) -> dict[str, object]:
    """The responses to all requests, by their keys."""
    responses = await answer(requests)
    return {key: _complete(requests.get(key), response) for key, response in responses.items()}


async def respond_to_one(answer: Answer, params: Mapping[str, object]) -> Mapping[str, object]:
    """What goes back to a server that asks by a request of its own; no answer means no decision."""
    try:
        responses = await respond(answer, {_KEY: {"method": "elicitation/create", "params": params}})
    except StepError:
        return {"result": _CANCEL}
    return {"result": responses.get(_KEY, _CANCEL)}


def _complete(request: object, response: object) -> object:
    """An accepted form with what was left out and has a default; anything else as it is."""
    if not isinstance(response, Mapping) or response.get("action") != "accept":
        return response
    fields = request if isinstance(request, Mapping) else {}
    for key in ("params", "requestedSchema", "properties"):
        fields = object_in(fields, key)
    defaults = {name: fields[name]["default"] for name in fields if "default" in object_in(fields, name)}
    content = response.get("content", {})
    if not defaults or not isinstance(content, Mapping):
        return response
    return {**response, "content": {**defaults, **content}}
