"""`workflow_save` and `workflow_list`."""

from __future__ import annotations

from collections.abc import Sequence

from pflow.core.document.parse import Parsed
from pflow.core.errors import UsageError
from pflow.core.json_type import Json
from pflow.core.library.saved_workflow import SavedWorkflow
from pflow.core.setting.redactor import is_marked
from pflow.mcp_server.envelope import ToolReply, issue_lines, issue_objects, succeed
from pflow.mcp_server.fit_list import list_reply, pick
from pflow.mcp_server.schema import ARRAY, BOOLEAN, gives, takes, text
from pflow.mcp_server.tool_spec import Arguments, ToolSpec, changes, in_thread, reads
from pflow.mcp_server.tools.execution import WORKFLOW
from pflow.mcp_server.tools.learning import save_learnt
from pflow.mcp_server.tools.workflow_text import compare, read_text
from pflow.mcp_server.utils.resolver import read_workflow
from pflow.mcp_server.utils.secret_marker import put_secrets_back
from pflow.workspace import Workflow, Workspace

STATISTICS = ("name", "description", "execution_count", "last_execution_at", "last_execution_success")
"""What lists say of a saved workflow."""


def save(workspace: Workspace, arguments: Arguments) -> ToolReply:
    """Keep a workflow: as a draft, in the library, or there in place of what was read. Or give one another name."""
    name, description = str(arguments["name"]), str(arguments.get("description", ""))
    if "rename" in arguments:
        return _rename(workspace, str(arguments["rename"]), name, arguments)
    if "from_runs" in arguments:
        return save_learnt(workspace, name, description, arguments)
    replaces = arguments.get("replaces")
    if arguments.get("is_temp") and replaces is not None:
        raise UsageError("a draft has no versions", suggestions=["leave out `replaces`: saving a draft replaces it"])
    if is_marked(description):
        raise UsageError("the description holds a marker of a secret", suggestions=["describe it in other words"])
    workflow, warnings = _read(workspace, name, arguments)
    if arguments.get("is_temp"):
        data, lines = _save_draft(workspace, workflow, name, description)
    elif replaces is not None:
        version = workspace.library.replace(workflow, name, replaces, description)
        data = {"name": name, "path": str(workspace.library.read(name).path), "is_temp": False, "version": version}
        lines = [f"saved version {version} of `{name}`; version {replaces} is kept"]
    else:
        data, lines = _save_new(workspace, workflow, name, description)
    if warnings:
        data["warnings"] = warnings
        lines = [*lines, "warnings:", *issue_lines(warnings)]
    return succeed(data, "\n".join(lines))


def _read(workspace: Workspace, name: str, arguments: Arguments) -> tuple[Workflow, list[Json]]:
    """The workflow to save, with the secrets that its author could not see, and what is doubtful about it."""
    workflow = read_workflow(arguments, purpose="save", advice="give a document, the name of a draft, or a path")
    checked = workspace.check(workflow)
    if _has_marker(checked.source.parsed):
        replaces = arguments.get("replaces")
        before = None if replaces is None else workspace.library.read(name, replaces).text
        workflow = put_secrets_back(workspace, checked.source.parsed, before)
        checked = workspace.check(workflow)
    return workflow, issue_objects(checked.warnings)


def _has_marker(parsed: Parsed) -> bool:
    return is_marked(parsed.places.text if parsed.places.text is not None else str(parsed.places.value))


def _save_draft(workspace: Workspace, workflow: Workflow, name: str, description: str) -> tuple[Json, list[str]]:
    saved = workspace.drafts.save(workflow, name, description)
    data: Json = {"name": name, "path": str(saved.path), "is_temp": True}
    lines = [f"saved draft `{name}`; workflow_execute, workflow_validate and workflow_save find it by this name"]
    if saved.dropped:
        data["dropped"] = list(saved.dropped)
        lines.append(f"there were too many drafts; the oldest are gone: {', '.join(saved.dropped[:10])}")
    if saved.issues:
        data["issues"] = found = issue_objects(saved.issues)
        lines += [f"it cannot run yet, {len(found)} issue{'s' * (len(found) != 1)}:", *issue_lines(found)]
    return data, lines


def _save_new(workspace: Workspace, workflow: Workflow, name: str, description: str) -> tuple[Json, list[str]]:
    if not (description or workspace.describe(workflow).description):
        raise UsageError(
            "a workflow of the library needs a `description`",
            suggestions=["say in a sentence what it is for; workflow_discover finds it by that"],
        )
    path = workspace.save(workflow, name, description)
    data: Json = {"name": name, "path": str(path), "is_temp": False}
    return data, [f"saved workflow `{name}`; run it with workflow_execute(workflow='{name}')"]


def _rename(workspace: Workspace, old: str, name: str, arguments: Arguments) -> ToolReply:
    others = _names([given for given in arguments if given not in ("name", "rename")])
    if others:
        raise UsageError(f"`rename` does not go with {others}", suggestions=["rename it first, then save"])
    path = workspace.library.rename(old, name)
    said = f"`{old}` is `{name}` now, with its versions; workflows that name `{old}` have to be changed"
    return succeed({"name": name, "path": str(path), "is_temp": False}, said)


def list_workflows(workspace: Workspace, arguments: Arguments) -> ToolReply:
    """Saved workflows; or one of them, to read or compare."""
    if "name" in arguments:
        if "diff" in arguments:
            return compare(workspace, str(arguments["name"]), str(arguments["diff"]))
        return read_text(workspace, str(arguments["name"]), arguments)
    alone = _names([given for given in ("version", "diff", "offset") if given in arguments])
    if alone:
        raise UsageError(f"{alone} without `name`", suggestions=["give the `name` of a saved workflow as well"])
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


def _names(given: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in given)


_NUMBER = {"type": "integer", "minimum": 1}

TOOLS = (
    ToolSpec(
        name="workflow_save",
        description=(
            "Keep a workflow in the library for reuse. To change one, read it with workflow_list(name) and give the "
            "version you read as `replaces`; earlier versions are kept. With `is_temp` keep a draft instead, also an "
            "unfinished one; saving again replaces it. A draft saved to the library by its name is moved there."
        ),
        input_schema=takes(
            {
                "workflow": WORKFLOW,
                "workflow_file": text("Same as `workflow`"),
                "name": text("lowercase-with-hyphens"),
                "description": text("What it is for"),
                "is_temp": {**BOOLEAN, "default": False},
                "replaces": _NUMBER,
                "from_runs": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "No `workflow`: learn it from these run_ids of registry_run",
                },
                "rename": text("Saved workflow that becomes `name`"),
            },
            "name",
        ),
        output_schema=gives({"name": text(), "path": text(), "is_temp": BOOLEAN}),
        annotations=changes(destructive=False),
        handler=in_thread(save),
    ),
    ToolSpec(
        name="workflow_list",
        description="List saved workflows; with `name` read one: its text and version.",
        input_schema=takes(
            {
                "filter": text("Words of a name or description"),
                "include_temp": {**BOOLEAN, "default": False},
                "name": text("Workflow or draft to read"),
                "version": {**_NUMBER, "description": "An earlier one"},
                "diff": {
                    "anyOf": [{"type": "integer"}, text()],
                    "description": "Compare it with a version or another workflow instead",
                },
                "offset": {"type": "integer", "minimum": 0},
            }
        ),
        output_schema=gives({"workflows": ARRAY, "version": {"type": "integer"}, "text": text()}),
        annotations=reads(),
        handler=in_thread(list_workflows),
    ),
)
