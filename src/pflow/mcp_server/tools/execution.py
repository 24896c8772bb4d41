"""`workflow_execute` and `workflow_validate`."""

from __future__ import annotations

from pflow.core.document.inputs_outputs import describe_input
from pflow.core.errors import UsageError
from pflow.mcp_server.app.binding import BOUND
from pflow.mcp_server.asking.given_answers import VIA, read_answers
from pflow.mcp_server.call_context import CallContext
from pflow.mcp_server.envelope import ToolReply, end_of, issue_lines, issue_objects, output_lines, succeed
from pflow.mcp_server.schema import ARRAY, BOOLEAN, OBJECT, OPEN, Schema, flag, gives, takes, text
from pflow.mcp_server.tool_spec import Arguments, ToolSpec, changes, in_thread, reads
from pflow.mcp_server.utils.resolver import read_workflow
from pflow.workspace import Outcome, Workspace
from pflow.workspace.serving import LiveRun

WORKFLOW: Schema = {
    "anyOf": [text(), OBJECT],
    "description": "Saved or draft name, path, or document (object, JSON or YAML text)",
}


async def execute(call: CallContext, arguments: Arguments) -> ToolReply:
    """Run a workflow, go on with a run, or end one."""
    if arguments.get("cancel"):
        return await _cancel(call, arguments)
    if arguments.get("answers") and not call.is_continued:
        arguments = {**arguments, "resume": await _answer(call, arguments)}
    if arguments.get("detach"):
        run_id = await call.detach(lambda workspace: begin(workspace, arguments))
        said = f"run {run_id} has begun; trace_read(trace_file='{run_id}') tells how it goes"
        return succeed({"run_id": run_id, "status": "running"}, said)
    given = arguments.get("parameters")
    outcome = await call.watch(lambda workspace: begin(workspace, arguments), given)
    return end_of(outcome, show_outputs(outcome))


async def _answer(call: CallContext, arguments: Arguments) -> str:
    """Answer what a run asks, and settle what is in doubt; its id."""
    if not arguments.get("resume"):
        raise UsageError("`answers` are for a run that waits", suggestions=["give its id as `resume`"])
    answers, claims = read_answers(arguments["answers"])
    run_id = str(arguments["resume"])
    if claims:
        run_id = await call.settle(run_id, claims)
    return await call.answer(run_id, answers, VIA) if answers else run_id


async def _cancel(call: CallContext, arguments: Arguments) -> ToolReply:
    if len(arguments) > 1:
        raise UsageError("`cancel` takes no other argument", suggestions=["cancel the run first, then call again"])
    run_id, status = await call.cancel(str(arguments["cancel"]))
    ended = f"run {run_id} is cancelled; it cannot be resumed"
    asked = f"run {run_id} was asked to stop; trace_read(trace_file='{run_id}') tells when it has"
    return succeed({"run_id": run_id, "status": status}, ended if status == "cancelled" else asked)


def begin(workspace: Workspace, arguments: Arguments) -> LiveRun:
    """The run that the arguments ask for."""
    params = arguments.get("parameters") or {}
    if arguments.get("resume"):
        rerun = bool(arguments.get("rerun_in_doubt"))
        edited = arguments.get("workflow")
        return workspace.begin_resume(str(arguments["resume"]), edited=edited, params=params, rerun_in_doubt=rerun)
    advice = "give the name or path of a workflow or a document, or `resume` with the id of a run"
    return workspace.begin(read_workflow(arguments, purpose="execute", advice=advice), params)


def show_outputs(outcome: Outcome) -> str:
    """The outputs of a run that completed, to read."""
    steps = f"{outcome.steps} step{'s' * (outcome.steps != 1)}"
    lines = [f"completed, {steps} in {outcome.duration_ms:.0f} ms, run {outcome.run_id}"]
    lines += outcome.losses
    if outcome.reused:
        lines.append(f"kept: {', '.join(outcome.reused)}")
    return "\n".join([*lines, *output_lines(outcome.outputs)])


def validate(workspace: Workspace, arguments: Arguments) -> ToolReply:
    """Check a workflow without running anything."""
    checked = workspace.check(arguments["workflow"])
    errors, warnings = issue_objects(checked.errors), issue_objects(checked.warnings)
    found: dict[str, object] = {"valid": checked.ok, "errors": errors, "warnings": warnings}
    lines = ["warnings:", *issue_lines(warnings)] if warnings else []
    plan = checked.plan
    if plan is None:
        count = f"{len(errors)} issue{'s' * (len(errors) != 1)}"
        return succeed(found, "\n".join([f"not valid, {count}:", *issue_lines(errors), *lines]))
    inputs = {name: describe_input(declared) for name, declared in plan.inputs.items()}
    found |= {"nodes": len(plan.drawn.nodes), "inputs": inputs, "outputs": list(plan.outputs)}
    if plan.servers:
        found["servers"] = sorted(plan.servers)
    needed = [name for name, about in inputs.items() if about.get("required")]
    takes_text = f"; needs {', '.join(f'`{name}`' for name in needed)}" if needed else ""
    return succeed(found, "\n".join([f"valid: {len(plan.drawn.nodes)} nodes{takes_text}", *lines]))


_RUN: Schema = {
    "outputs": OPEN,
    "run_id": text(),
    "status": text(),
    "duration_ms": {"type": "number"},
    "steps": {"type": "integer"},
    "waiting": ARRAY,
}

TOOLS = (
    ToolSpec(
        name="workflow_execute",
        description=(
            "Run a workflow to its end and return its declared outputs. Steps are durable: after a failure fix the "
            "document or the cause and call again with `resume`; completed steps are not repeated. Values over the "
            "limit come as preview, shape and handle; trace_read pages through them. A run that asks is `waiting`, and "
            "says how to answer."
        ),
        input_schema=takes(
            {
                "workflow": WORKFLOW,
                "parameters": {**OBJECT, "default": {}},
                "resume": text("run_id to continue; with `workflow` if edited"),
                "rerun_in_doubt": flag("Repeat steps that were cut off, too"),
                "answers": {
                    **OBJECT,
                    "description": "With `resume`: {STEP: CHOICE or {choice?, answer?: {FIELD: VALUE}, decline?} "
                    "or, in doubt, {done: {OUTPUT: VALUE}}}",
                },
                "detach": flag("Return at once; follow with trace_read"),
                "cancel": text("run_id to end for good, if started here"),
            }
        ),
        output_schema=gives(_RUN, checkpoint=OPEN, trace_path=text()),
        annotations=changes(destructive=True, open_world=True),
        handler=execute,
        meta=BOUND,
    ),
    ToolSpec(
        name="workflow_validate",
        description="Check a workflow without running it. Returns every error with its place and a fix.",
        input_schema=takes({"workflow": WORKFLOW}, "workflow"),
        output_schema=gives({"valid": BOOLEAN, "errors": ARRAY, "warnings": ARRAY}),
        annotations=reads(),
        handler=in_thread(validate),
    ),
)
