"""Questions of a run that a call returns to ask, and the next call that brings the answers: one round of two requests.

Between them nothing is kept here: what was asked stands in the state that the client sends back, and in the journal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.request_state import AESGCMRequestStateCodec, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult

from pflow.core.errors import AnsweredError, PflowError
from pflow.core.frozen import Frozen
from pflow.mcp_server.asking.caller import Caller, asks_persons, caller_of
from pflow.mcp_server.asking.elicitation_form import Filled, message_of, read_filled, schema_of
from pflow.mcp_server.asking.elicitor import VIA
from pflow.workspace import Workspace
from pflow.workspace.asking.question import Answer, Answered, Waiting
from pflow.workspace.warm_workspace import WarmWorkspaces

MOST_ASKED = 10
"""Questions of one round; the others are asked in the next."""

_STATE_SECONDS = 30 * 86_400.0
"""How long a person may take."""

_NAME_DIGITS = 12


class Round(Frozen):
    """What a client brought: answers to questions of a run, and those of them that were taken.

    `is_over` says that somebody did not want to be asked.
    """

    answered: Answered
    is_over: bool = False


def state_security(workspaces: WarmWorkspaces) -> RequestStateSecurity:
    """Seals the state with a key of the home, so that it is good in another process, and in no other home."""
    return RequestStateSecurity(codec=_HomeCodec(workspaces), ttl=_STATE_SECONDS, bind_principal=_principal)


def request_name(waiting: Waiting) -> str:
    """What a question is called in requests and responses: no other one has this name, and it is not the key."""
    return f"{waiting.place}#{sha256(waiting.key.encode()).hexdigest()[:_NAME_DIGITS]}"


def requests_of(questions: Sequence[Waiting], caller: Caller) -> dict[str, ElicitRequest]:
    """Questions as requests that a client fulfils."""
    return {request_name(one): _request(one, caller) for one in questions[:MOST_ASKED]}


def ask_back(questions: Sequence[Waiting], caller: Caller) -> InputRequiredResult:
    """The result that asks them."""
    asked = {request_name(one): one.key for one in questions[:MOST_ASKED]}
    state = json.dumps({"run": questions[0].run_id, "asked": asked})
    return InputRequiredResult(input_requests={**requests_of(questions, caller)}, request_state=state)


def take_round(workspace: Workspace, state: str, responses: Mapping[str, object], caller: Caller) -> Round:
    """Deliver what a client brought for a state that it got from this home.

    Raises `MCPError` for a state whose questions are not open any more, `AnsweredError` if somebody answered them
    through another door, and `InputError` for a form that is not filled in as it should be.
    """
    found = json.loads(state)
    run_id, asked = str(found["run"]), dict(found["asked"])
    given = {asked[name]: _read(responses[name]) for name in asked if name in responses}
    wanted = {key: form for key, form in given.items() if form is not None}
    try:
        waits = {one.key: one for one in workspace.inbox.waiting(run_id)}
        if wanted and not any(key in waits for key in wanted):
            raise workspace.inbox.refusal(run_id, next(iter(wanted)))
    except AnsweredError as error:
        if error.details["via"] != VIA:
            raise
        raise _used(error.message) from error
    except PflowError as error:
        raise _used(f"run `{run_id}` no longer asks this") from error
    persons = asks_persons(workspace)
    open_to = {key for key, one in waits.items() if caller.can_ask(one, persons=persons)}
    answers = [Answer(place=key, reply=form.reply(waits[key])) for key, form in wanted.items() if key in open_to]
    answered = Answered(run_id=run_id, places=(), alive=False, status="waiting")
    if answers:
        answered = workspace.inbox.answer_all(run_id, answers, by=caller.by, via=VIA)
    return Round(answered=answered, is_over=None in given.values() or not waits.keys() & wanted.keys() <= open_to)


def _read(response: object) -> Filled | None:
    return read_filled(response.model_dump() if isinstance(response, ElicitResult) else {})


def _request(waiting: Waiting, caller: Caller) -> ElicitRequest:
    schema = schema_of(waiting, caller.protocol)
    return ElicitRequest(params=ElicitRequestFormParams(message=message_of(waiting), requested_schema=schema))


def _used(reason: str) -> MCPError:
    message = f"this requestState can no longer be used: {reason}"
    return MCPError(code=INVALID_PARAMS, message=message, data={"reason": "invalid_request_state"})


class _HomeCodec:
    """The SDK's cipher under a key of the home, which is read when it is first needed."""

    def __init__(self, workspaces: WarmWorkspaces) -> None:
        self._workspaces = workspaces

    @cached_property
    def _codec(self) -> AESGCMRequestStateCodec:
        return AESGCMRequestStateCodec([self._workspaces.derive_key("MCP request state")])

    def seal(self, payload: bytes) -> str:
        """What a client is given."""
        return self._codec.seal(payload)

    def unseal(self, token: str) -> bytes:
        """What it was given; raises `InvalidRequestState`."""
        return self._codec.unseal(token)


def _principal(ctx: ServerRequestContext[Any, Any]) -> str:
    """Who may bring a state back: a client of the same name, and over HTTP with the same token."""
    headers = getattr(ctx.request, "headers", None)
    token = headers.get("authorization", "") if headers is not None else ""
    return json.dumps([caller_of(ctx).name, token])
