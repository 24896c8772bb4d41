"""Runs that go on by themselves, as tasks of the protocol for clients that know them.

A task is a run and its id that of the run: nothing is kept here, so tasks outlive the server. A client that does not
declare the extension follows the same run with `trace_read`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TypeVar

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver.server import require_client_extension
from mcp.shared.exceptions import MCPError
from mcp_types import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetTaskRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from pflow.core.errors import AnsweredError, InputError, PflowError, UsageError
from pflow.mcp_server.asking.caller import Caller, asks_persons, caller_of
from pflow.mcp_server.asking.elicitation_form import read_filled
from pflow.mcp_server.asking.input_round import request_name, requests_of
from pflow.mcp_server.asking.paused import advice_lines, waiting_lines
from pflow.mcp_server.elsewhere import end_run, reply_of_run
from pflow.workspace import Workspace
from pflow.workspace.asking.question import Answer, Waiting

IDENTIFIER = "io.modelcontextprotocol/tasks"
POLL_MS = 1_000
DAY_MS = 86_400_000

_CANCELLING_SECONDS = 1.0
"""How long a client that cancels a task waits for it to end."""

VIA = "mcp-task"
"""The door of answers to what a task asks."""

_STATUS = {
    "running": "working",
    "waiting": "working",
    "completed": "completed",
    "failed": "completed",
    "cancelled": "cancelled",
    "stopped": "cancelled",
}

_Task = dict[str, Any]
P = TypeVar("P", bound=GetTaskRequestParams)


class UpdateTaskRequestParams(GetTaskRequestParams):
    """A task, and responses to what it asked, by the names of the requests."""

    input_responses: dict[str, dict[str, Any]] | None = None


class Tasks(Extension):
    """The extension: a detached `workflow_execute` answers with a task, which can be asked for and cancelled."""

    identifier = IDENTIFIER

    def __init__(self, workspace: Callable[[], Workspace], tools: Container[str]) -> None:
        self._workspace = workspace
        self._tools = tools
        self._dismissed: set[str] = set()

    def methods(self) -> Sequence[MethodBinding]:
        """Ask for a task, answer its questions, end it."""
        return [
            _bind("tasks/get", GetTaskRequestParams, self._get),
            _bind("tasks/update", UpdateTaskRequestParams, self._update),
            _bind("tasks/cancel", GetTaskRequestParams, self._end),
        ]

    async def intercept_tool_call(
        self, params: CallToolRequestParams, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Turn the answer of a run that was detached into a task."""
        result = await call_next(ctx)
        if params.name not in self._tools or not isinstance(result, CallToolResult) or not _knows_tasks(ctx):
            return result
        data = (result.structured_content or {}).get("data", {})
        if data.get("status") != "running":
            return result
        return {"resultType": "task", **await asyncio.to_thread(self._describe, data["run_id"], caller_of(ctx), True)}

    def _get(self, params: GetTaskRequestParams, caller: Caller) -> _Task:
        return self._describe(params.task_id, caller)

    def _update(self, params: UpdateTaskRequestParams, caller: Caller) -> _Task:
        """Take answers to what the task asks; whatever else is there is ignored, as the extension has it."""
        workspace, task_id = self._workspace(), params.task_id
        _find(workspace, task_id)
        asked = {request_name(one): one for one in self._questions(workspace, task_id, caller)}
        given = params.input_responses or {}
        forms = {name: read_filled(response) for name, response in given.items() if name in asked}
        self._dismissed |= {name for name, form in forms.items() if form is None}
        answers = [
            Answer(place=asked[name].key, reply=form.reply(asked[name]))
            for name, form in forms.items()
            if form is not None
        ]
        if answers:
            self._deliver(workspace, task_id, answers, caller)
        return {}

    def _deliver(self, workspace: Workspace, task_id: str, answers: Sequence[Answer], caller: Caller) -> None:
        """Answer, and see to it that the run goes on."""
        try:
            answered = workspace.inbox.answer_all(task_id, answers, by=caller.by, via=VIA)
        except AnsweredError:
            return
        except InputError as error:
            raise MCPError(code=INVALID_PARAMS, message=error.message) from error
        if not answered.alive:
            workspace.driving.take_up(task_id)

    def _questions(self, workspace: Workspace, task_id: str, caller: Caller) -> list[Waiting]:
        """What a task asks that this client can have its person answer, and that nobody has dismissed here."""
        persons = asks_persons(workspace)
        return [
            one
            for one in workspace.inbox.waiting(task_id)
            if caller.can_ask(one, persons=persons) and request_name(one) not in self._dismissed
        ]

    def _end(self, params: GetTaskRequestParams, caller: Caller) -> _Task:
        workspace, task_id = self._workspace(), params.task_id
        _find(workspace, task_id)
        with suppress(UsageError):  # it has ended already, which is what was wanted
            end_run(self._workspace, task_id, seconds=_CANCELLING_SECONDS)
        return {}

    def _describe(self, task_id: str, caller: Caller, brief: bool = False) -> _Task:
        workspace = self._workspace()
        run = _find(workspace, task_id)
        began = run.get("started_at")
        seen = [step.get("started_at") for step in run["steps"]]
        times = [each for each in (began, run.get("ended_at"), *seen) if isinstance(each, float | int)]
        task: _Task = {
            "taskId": task_id,
            "status": _STATUS.get(run["status"], "failed"),
            "createdAt": _moment(began),
            "lastUpdatedAt": _moment(max(times, default=began)),
            "ttlMs": _days(workspace) * DAY_MS,
            "pollIntervalMs": POLL_MS,
        }
        if brief:
            return task
        if task["status"] == "completed":
            task["result"] = _result(workspace, run)
        elif task["status"] == "working":
            task |= self._asking(workspace, task_id, caller)
        elif task["status"] == "failed":
            advice = f"the run was cut off; workflow_execute(resume='{task_id}') goes on from there"
            task["error"] = {"code": INTERNAL_ERROR, "message": advice}
        shown = workspace.redact(task)
        assert isinstance(shown, dict)
        return shown

    def _asking(self, workspace: Workspace, task_id: str, caller: Caller) -> _Task:
        """What a task that is under way says of the questions that it waits for."""
        questions = self._questions(workspace, task_id, caller)
        if questions:
            requests = requests_of(questions, caller)
            asked = {name: one.model_dump(by_alias=True, exclude_none=True) for name, one in requests.items()}
            return {"status": "input_required", "inputRequests": asked}
        waits = workspace.inbox.waiting(task_id)
        lines = [*waiting_lines(waits), *advice_lines(waits, answers=True)]
        return {"statusMessage": "\n".join(lines)} if lines else {}


def _bind(method: str, params_type: type[P], answer: Callable[[P, Caller], _Task]) -> MethodBinding:
    """A method that names a task, answered off the event loop."""

    async def handle(ctx: ServerRequestContext[Any, Any], params: P) -> HandlerResult:
        _admit(ctx, params)
        return {"resultType": "complete", **await asyncio.to_thread(answer, params, caller_of(ctx))}

    versions = frozenset(MODERN_PROTOCOL_VERSIONS)
    return MethodBinding(method=method, params_type=params_type, handler=handle, protocol_versions=versions)


def _admit(ctx: ServerRequestContext[Any, Any], params: GetTaskRequestParams) -> None:
    """Raise unless the client declares the extension, and names the same task in the header as in the body."""
    require_client_extension(ctx, IDENTIFIER)
    headers = getattr(ctx.request, "headers", None)
    if headers is not None and headers.get("mcp-name") != params.task_id:
        raise MCPError(code=HEADER_MISMATCH, message="the header Mcp-Name and the task do not match")


def _knows_tasks(ctx: ServerRequestContext[Any, Any]) -> bool:
    capabilities = ctx.session.client_capabilities
    declared = capabilities.extensions if capabilities else None
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS and bool(declared) and IDENTIFIER in (declared or {})


def _find(workspace: Workspace, task_id: str) -> _Task:
    """The run that a task is, by its whole id."""
    try:
        run: _Task = workspace.show_run(task_id)
    except PflowError:
        run = {}
    if run.get("run_id") != task_id:
        raise MCPError(code=INVALID_PARAMS, message="there is no such task")
    return run


def _days(workspace: Workspace) -> int:
    found = workspace.setting("runs.keep_days").value
    return found if isinstance(found, int) else 0


def _result(workspace: Workspace, run: Mapping[str, Any]) -> _Task:
    """What the tool would have answered, had someone waited."""
    reply = reply_of_run(workspace, run)
    found: _Task = {"content": [{"type": "text", "text": reply.text}], "structuredContent": dict(reply.envelope)}
    return {**found, "isError": True} if reply.is_error else found


def _moment(seconds: object) -> str:
    number = seconds if isinstance(seconds, float | int) else 0.0
    return datetime.fromtimestamp(number, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
