"""What servers ask of those who call them, beyond arguments, and what a person is told when pflow does not give it."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.json_type import object_in

_QUESTION = "elicitation/create"
NO_MODEL = {"error": {"code": -32601, "message": "Method not found: pflow does not lend a model to servers (sampling)"}}

FAVOURS = {
    "sampling/createMessage": (
        "asked for a model (sampling), and pflow does not lend one to servers",
        "use a tool that works without a model, or give the server a model of its own in its configuration",
    ),
    _QUESTION: (
        "asked a person something (elicitation), which a run declines",
        "give the tool what it asks for as an argument, if it takes it",
    ),
    "roots/list": (
        "asked which folders it may use (roots), and pflow names none",
        "name the folders among the server's arguments, if it takes them there",
    ),
}
"""By method: what happened, and what to do."""


def asked_in(requests: Mapping[str, object]) -> list[str]:
    """The methods among the requests that a result brings instead of an answer; questions show there by themselves."""
    methods = [object_in(requests, key).get("method") for key in requests]
    return [method for method in methods if isinstance(method, str) and method in FAVOURS and method != _QUESTION]
