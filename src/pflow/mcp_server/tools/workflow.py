"""`workflow_save` and `workflow_list`."""

from __future__ import annotations

from pflow.core.errors import UsageError
from pflow.core.library.saved_workflow import SavedWorkflow
from pflow.mcp_server.envelope import ToolReply, issue_lines, issue_objects, succeed
from pflow.mcp_server.fit_list import list_reply, pick
from pflow.mcp_server.schema import ARRAY, BOOLEAN, gives, takes, text
from pflow.mcp_server.tool_spec import Arguments, ToolSpec, changes, in_thread, reads
from pflow.mcp_server.tools.execution import WORKFLOW
from pflow.mcp_server.utils.resolver import read_workflow
from pflow.workspace import Workspace

STATISTICS = ("name", "description", "execution_count", "last_execution_at", "last_execution_success")
"""What lists say of a saved workflow."""


def save(workspace: Workspace, arguments: Arguments) -> ToolReply:
    """Keep a workflow in the library, or as a draft."""
    workflow = read_workflow(arguments, purpose="save", advice="give a document, the name of a draft, or a path")
    name, description = str(arguments["name"]), str(arguments.get("description", ""))
    warnings = issue_objects(workspace.check(workflow).warnings)
    more = {"warnings": warnings} if warnings else {}
    warned = ["warnings:", *issue_lines(warnings)] if warnings else []
    if arguments.get("is_temp"):
        saved = workspace.drafts.save(workflow, name, description)
        data: dict[str, object] = {"name": name, "path": str(saved.path), "is_temp": True}
        lines = [f"saved draft `{name}`; workflow_execute, workflow_validate and workflow_save find it by this name"]
        if saved.dropped:
            data["dropped"] = list(saved.dropped)
            lines.append(f"there were too many drafts; the oldest are gone: {', '.join(saved.dropped[:10])}")
        if saved.issues:
            data["issues"] = found = issue_objects(saved.issues)
            lines += [f"it cannot run yet, {len(found)} issue{'s' * (len(found) != 1)}:", *issue_lines(found)]
        return succeed({**data, **more}, "\n".join([*lines, *warned]))
    if not (description or workspace.describe(workflow).description):
        raise UsageError(
            "a workflow of the library needs a `description`",
            suggestions=["say in a sentence what it is for; workflow_discover finds it by that"],
        )
    path = workspace.save(workflow, name, description)
    said = [f"saved workflow `{name}`; run it with workflow_execute(workflow='{name}')"]
    return succeed({"name": name, "path": str(path), "is_temp": False, **more}, "\n".join([*said, *warned]))


def list_workflows(workspace: Workspace, arguments: Arguments) -> ToolReply:
    """Saved workflows."""
    query = str(arguments.get("filter") or "")
    found = workspace.workflows(query, drafts=bool(arguments.get("include_temp")))
    entries = [_entry(saved) for saved in found]
    none = f"no saved workflow matches `{query}`" if query else "no workflow is saved yet"
    return list_reply(
        "workflows",
        entries,
        workspace.output_limit,
        none=none,
        advice="give a `filter`",
        notices=workspace.projects.notices,
    )


def _entry(saved: SavedWorkflow) -> dict[str, object]:
    entry = pick(saved.as_dict(), (*STATISTICS, "updated_at", "origin", "hidden_by"))
    return {**entry, "is_temp": True} if saved.is_draft else entry


TOOLS = (
    ToolSpec(
        name="workflow_save",
        description=(
            "Keep a workflow in the library for reuse, never replacing one. With `is_temp` keep a draft instead, also "
            "an unfinished one; saving again replaces it. A draft saved to the library by its name is moved there."
        ),
        input_schema=takes(
            {
                "workflow": WORKFLOW,
                "workflow_file": text("Same as `workflow`"),
                "name": text("lowercase-with-hyphens"),
                "description": text("What it is for, in a sentence"),
                "is_temp": {**BOOLEAN, "default": False},
            },
            "name",
        ),
        output_schema=gives({"name": text(), "path": text(), "is_temp": BOOLEAN}),
        annotations=changes(destructive=False),
        handler=in_thread(save),
    ),
    ToolSpec(
        name="workflow_list",
        description="List saved workflows.",
        input_schema=takes(
            {"filter": text("Words of a name or description"), "include_temp": {**BOOLEAN, "default": False}}
        ),
        output_schema=gives({"workflows": ARRAY}),
        annotations=reads(),
        handler=in_thread(list_workflows),
    ),
)
