"""Runs that go on by themselves, as tasks of the protocol for clients that know them.

A task is a run and its id that of the run: nothing is kept here, so tasks outlive the server. A client that does not
declare the extension follows the same run with `trace_read`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

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

from pflow.core.errors import PflowError, UsageError
from pflow.mcp_server.envelope import ToolReply, fail, succeed
from pflow.mcp_server.tools.execution import output_lines
from pflow.workspace import Workspace
from pflow.workspace.serving import shorten_all

IDENTIFIER = "io.modelcontextprotocol/tasks"
POLL_MS = 1_000
DAY_MS = 86_400_000

_ENDED = {"completed": "completed", "failed": "completed", "cancelled": "cancelled", "stopped": "cancelled"}

_Task = dict[str, Any]


class Tasks(Extension):
    """The extension: a detached `workflow_execute` answers with a task, which can be asked for and cancelled."""

    identifier = IDENTIFIER

    def __init__(self, workspace: Callable[[], Workspace], tools: Container[str]) -> None:
        self._workspace = workspace
        self._tools = tools

    def methods(self) -> Sequence[MethodBinding]:
        """Ask for a task, answer its questions, end it."""
        return [
            _bind("tasks/get", self._describe),
            _bind("tasks/update", self._confirm),
            _bind("tasks/cancel", self._end),
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
        return {"resultType": "task", **await asyncio.to_thread(self._describe, data["run_id"], brief=True)}

    def _confirm(self, task_id: str) -> _Task:
        """A task never asks anything, so there is no answer to take."""
        _find(self._workspace(), task_id)
        return {}

    def _end(self, task_id: str) -> _Task:
        workspace = self._workspace()
        _find(workspace, task_id)
        with suppress(UsageError):  # it has ended already, which is what was wanted
            workspace.cancel(task_id)
        return {}

    def _describe(self, task_id: str, *, brief: bool = False) -> _Task:
        workspace = self._workspace()
        run = _find(workspace, task_id)
        began = run.get("started_at")
        seen = [step.get("started_at") for step in run["steps"]]
        times = [each for each in (began, run.get("ended_at"), *seen) if isinstance(each, float | int)]
        task: _Task = {
            "taskId": task_id,
            "status": _ENDED.get(run["status"], "working" if run["status"] == "running" else "failed"),
            "createdAt": _moment(began),
            "lastUpdatedAt": _moment(max(times, default=began)),
            "ttlMs": _days(workspace) * DAY_MS,
            "pollIntervalMs": POLL_MS,
        }
        if brief:
            return task
        if task["status"] == "completed":
            task["result"] = _result(workspace, run)
        elif task["status"] == "failed":
            advice = f"the run was cut off; workflow_execute(resume='{task_id}') goes on from there"
            task["error"] = {"code": INTERNAL_ERROR, "message": advice}
        shown = workspace.redact(task)
        assert isinstance(shown, dict)
        return shown


def _bind(method: str, answer: Callable[[str], _Task]) -> MethodBinding:
    """A method that names a task, answered off the event loop."""

    async def handle(ctx: ServerRequestContext[Any, Any], params: GetTaskRequestParams) -> HandlerResult:
        _admit(ctx, params)
        return {"resultType": "complete", **await asyncio.to_thread(answer, params.task_id)}

    versions = frozenset(MODERN_PROTOCOL_VERSIONS)
    return MethodBinding(method=method, params_type=GetTaskRequestParams, handler=handle, protocol_versions=versions)


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
    reply = _reply(workspace, run)
    found: _Task = {"content": [{"type": "text", "text": reply.text}], "structuredContent": dict(reply.envelope)}
    return {**found, "isError": True} if reply.is_error else found


def _reply(workspace: Workspace, run: Mapping[str, Any]) -> ToolReply:
    run_id = run["run_id"]
    if run["status"] == "failed":
        error = run.get("error") or {"type": "run", "message": "the run failed"}
        return fail({"details": {}, "suggestions": [], **error}, run_id=run_id)
    outputs = shorten_all(run.get("outputs") or {}, workspace.output_limit, f"{run_id} outputs")
    kept = {name: run[name] for name in ("run_id", "status", "duration_ms") if name in run}
    data = {"outputs": outputs, **kept, "steps": len(run["steps"])}
    return succeed(data, "\n".join([f"completed, run {run_id}", *output_lines(outputs)]))


def _moment(seconds: object) -> str:
    number = seconds if isinstance(seconds, float | int) else 0.0
    return datetime.fromtimestamp(number, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
