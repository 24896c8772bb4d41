"""What a client can read by address: the guide, saved workflows and drafts, and runs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from urllib.parse import unquote

import orjson
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp_types import ListResourcesResult, Resource, ResourceTemplate

from pflow.core.errors import NotFoundError, PflowError, UsageError
from pflow.core.file.file_name import check_name, show
from pflow.core.file.home import Home
from pflow.core.json_type import objects_in
from pflow.core.library.workflow_manager import WorkflowManager
from pflow.core.printable import escape, shorten
from pflow.mcp_server.app.binding import ABOUT, MIME_TYPE, URI
from pflow.mcp_server.app.document import app_document
from pflow.mcp_server.fit_list import pick
from pflow.workspace import Workspace
from pflow.workspace.guide import TOPICS, guide_page

GUIDE = "pflow://guide"
WORKFLOWS = "pflow://workflows/"
RUNS = "pflow://runs/"

PAGE = 100
"""Workflows in one page of a list."""

MOST_CHARACTERS = 20_000
"""Characters of a run that one answer has; `trace_read` pages through the rest."""

_JSON = "application/json"
_DESCRIPTION_CHARACTERS = 300
_FEW_STEPS = 50
_LONGEST_URI_CHARACTERS = 200

TEMPLATES = [
    ResourceTemplate(
        uri_template=GUIDE + "/{topic}",
        name="guide-topic",
        description=f"The guide on {', '.join(TOPICS[:-1])} or {TOPICS[-1]}",
        mime_type="text/markdown",
    ),
    ResourceTemplate(
        uri_template=WORKFLOWS + "{name}",
        name="workflow",
        description="The document of a saved workflow or a draft",
        mime_type=_JSON,
    ),
    ResourceTemplate(
        uri_template=RUNS + "{id}",
        name="run",
        description="State, steps and outputs of a run, by id, the beginning of one, or `latest`",
        mime_type=_JSON,
    ),
]


def page_of(home: Home, cursor: str | None) -> tuple[list[str], str | None]:
    """Names of the library after the one that `cursor` is, and the cursor of the next page.

    Workflows that come or go meanwhile do no harm.
    """
    names = WorkflowManager(home).names()
    begin = bisect_right(names, check_name(cursor)) if cursor is not None else 0
    chosen = names[begin : begin + PAGE]
    return chosen, chosen[-1] if begin + PAGE < len(names) else None


def list_resources(home: Home, cursor: str | None) -> ListResourcesResult:
    """A page of what there is to read. Runs are too many to be listed; they are read by their ids."""
    names, following = page_of(home, cursor)
    manager = WorkflowManager(home)
    listed = []
    if cursor is None:
        listed.append(
            Resource(
                uri=GUIDE,
                name="guide",
                title="How to build workflows",
                description="The document's grammar, the way from discovery to a saved workflow, three examples",
                mime_type="text/markdown",
            )
        )
        listed.append(
            Resource(
                uri=URI,
                name="run-view",
                title="A run in the chat",
                mime_type=MIME_TYPE,
                _meta=ABOUT,
            )
        )
    for name in names:
        try:
            about = shorten(manager.describe(name).description, _DESCRIPTION_CHARACTERS)
        except PflowError:
            continue  # what cannot be read is left out of lists everywhere
        listed.append(Resource(uri=WORKFLOWS + name, name=name, description=about or None, mime_type=_JSON))
    return ListResourcesResult(resources=listed, next_cursor=following)


def read_resource(workspace: Workspace, uri: str) -> ReadResourceContents:
    """What stands under an address, without secrets; raises `PflowError` for one that leads nowhere."""
    if uri == GUIDE or uri.startswith(f"{GUIDE}/"):
        page = guide_page(unquote(uri.removeprefix(GUIDE).removeprefix("/")))
        return ReadResourceContents(content=page, mime_type="text/markdown")
    if uri == URI:
        return ReadResourceContents(content=app_document(), mime_type=MIME_TYPE, meta=ABOUT)
    for prefix, read in ((WORKFLOWS, _read_workflow), (RUNS, _read_run)):
        if uri.startswith(prefix):
            return ReadResourceContents(content=read(workspace, unquote(uri[len(prefix) :])), mime_type=_JSON)
    raise NotFoundError(
        f"there is no resource `{escape(uri[:_LONGEST_URI_CHARACTERS])}`",
        suggestions=[f"there are {GUIDE}, {WORKFLOWS}{{name}} and {RUNS}{{id}}"],
    )


def _read_workflow(workspace: Workspace, name: str) -> str:
    return _dump(workspace.redact(workspace.document(check_name(name))))


def _read_run(workspace: Workspace, reference: str) -> str:
    if not reference.isascii() or not reference.replace("-", "").replace("_", "").isalnum():
        raise UsageError(f"`{show(reference)}` is not a valid run id", suggestions=["trace_read shows the latest run"])
    run = workspace.redact(workspace.show_run(reference))
    assert isinstance(run, dict)
    text = _dump(run)
    return text if len(text) <= MOST_CHARACTERS else _dump(_shortened(run))


def _shortened(run: Mapping[str, object]) -> dict[str, object]:
    """A run without its values, and with its last steps alone if it has many."""
    entries = objects_in(run.get("steps"))
    error = run.get("error")
    short = pick(run, ("run_id", "status", "workflow", "started_at", "duration_ms"))
    if isinstance(error, Mapping):
        short["error"] = {name: shorten(str(error[name]), 500) for name in ("type", "message") if name in error}
    short["step_count"] = len(entries)
    kept = ("step", "node", "status", "attempt", "ms", "action", "source")
    short["steps"] = [pick(step, kept) for step in entries[-_FEW_STEPS:]]
    short["shortened"] = f"trace_read(trace_file='{run.get('run_id')}', …) has every step and value"
    return short


def _dump(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode()
