"""`workflow_save` and `workflow_list`."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.errors import UsageError
from pflow.core.library.saved_workflow import SavedWorkflow
from pflow.core.printable import shorten
from pflow.mcp_server.envelope import ToolReply, issue_lines, issue_objects, succeed
from pflow.mcp_server.fit_list import fit
from pflow.mcp_server.schema import BOOLEAN, OBJECTS, gives, takes, text
from pflow.mcp_server.tool_spec import Arguments, ToolSpec, changes, in_thread, reads
from pflow.mcp_server.tools.execution import WORKFLOW
from pflow.mcp_server.utils.resolver import read_workflow
from pflow.workspace import Workflow, Workspace


def save(workspace: Workspace, arguments: Arguments) -> ToolReply:
    """Keep a workflow in the library, or as a draft."""
    workflow = read_workflow(arguments, purpose="save", advice="give a document, the name of a draft, or a path")
    name, description = str(arguments["name"]), str(arguments.get("description", ""))
    if arguments.get("is_temp"):
        path, issues = workspace.drafts.save(workflow, name, description)
        data: dict[str, object] = {"name": name, "path": str(path), "is_temp": True}
        lines = [f"saved draft `{name}`; workflow_execute, workflow_validate and workflow_save find it by this name"]
        if issues:
            data["issues"] = found = issue_objects(issues)
            lines += [f"it cannot run yet, {len(issues)} issue{'s' * (len(issues) != 1)}:", *issue_lines(found)]
        return succeed(data, "\n".join(lines))
    path = workspace.save(workflow, name, _described(workspace, workflow, description))
    return succeed(
        {"name": name, "path": str(path), "is_temp": False},
        f"saved workflow `{name}`; run it with workflow_execute(workflow='{name}')",
    )


def _described(workspace: Workspace, workflow: Workflow, description: str) -> str:
    """What a library entry is found by; it cannot do without."""
    if description:
        return description
    plan = workspace.check(workflow).ready()
    document = plan.raw["document"]
    own = document.get("description") if isinstance(document, Mapping) else None
    if not own:
        raise UsageError(
            "a workflow of the library needs a `description`",
            suggestions=["say in a sentence what it is for; workflow_discover finds it by that"],
        )
    return str(own)


def list_workflows(workspace: Workspace, arguments: Arguments) -> ToolReply:
    """Saved workflows."""
    query = str(arguments.get("filter") or "")
    found = workspace.workflows(query, drafts=bool(arguments.get("include_temp")))
    entries = [_entry(saved) for saved in found]
    shown, more = fit(entries, workspace.output_limit)
    data: dict[str, object] = {"workflows": shown, "count": len(entries)}
    lines = [_line(entry) for entry in shown]
    if not entries:
        lines = [f"no saved workflow matches `{query}`" if query else "no workflow is saved yet"]
    if more:
        data["more"] = more
        lines.append(f"… {more} more; give a `filter`")
    return succeed(data, "\n".join(lines))


def _entry(saved: SavedWorkflow) -> dict[str, object]:
    kept = ("name", "description", "execution_count", "last_execution_at", "last_execution_success", "updated_at")
    entry = {name: saved.metadata[name] for name in kept if name in saved.metadata}
    return {**entry, "is_temp": True} if saved.is_draft else entry


def _line(entry: Mapping[str, object]) -> str:
    kind = "  (draft)" if entry.get("is_temp") else ""
    return f"{entry['name']}{kind}  {shorten(str(entry.get('description') or ''), 100)}".rstrip()


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
        output_schema=gives({"workflows": OBJECTS}),
        annotations=reads(),
        handler=in_thread(list_workflows),
    ),
)
