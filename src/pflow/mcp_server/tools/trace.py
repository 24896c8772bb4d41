"""`trace_read`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import orjson

from pflow.core.error_text import render_loss
from pflow.core.errors import NotFoundError, UsageError
from pflow.core.json_type import Json, JsonView, objects_in
from pflow.core.printable import escape, shorten
from pflow.mcp_server.app.binding import BOUND
from pflow.mcp_server.app.state import view_of
from pflow.mcp_server.asking.paused import advice_lines, waiting_lines
from pflow.mcp_server.envelope import ToolReply, in_tools, succeed
from pflow.mcp_server.fit_list import fit, pick
from pflow.mcp_server.node_text import prose_lines
from pflow.mcp_server.schema import ARRAY, gives, takes, text
from pflow.mcp_server.tool_spec import Arguments, ToolSpec, in_thread, reads
from pflow.workspace import RunInfo, Workspace
from pflow.workspace.asking.question import Waiting, waits_data
from pflow.workspace.serving import STATUSES
from pflow.workspace.serving import shorten as preview

_MOST_LINES = 50
_FEW_RUNS = 20
_MOST_RUNS = 100
_STATES = (*STATUSES, "interrupted")
_MOST_WAITS = 5
_SHOWN_BYTES = 1_000
"""How much of what one run waits for stands in a list of runs, and of what its questions show."""

_TEXT_CHARACTERS = 2_000
_LEAST_CHARACTERS = 80
"""How much of all values together, and at least of each, is repeated as text."""


def read(workspace: Workspace, arguments: Arguments) -> ToolReply:
    """A run in short; one step of it; or one value, page by page."""
    reference = str(arguments.get("trace_file") or "latest")
    if reference == "runs":
        return _runs(workspace, str(arguments.get("filter") or ""), int(arguments.get("limit", _FEW_RUNS)))
    form = arguments.get("format")
    if form is not None:
        if form != "view":
            raise UsageError(f"there is no format `{shorten(str(form))}`", suggestions=["leave it out, or give 'view'"])
        return _view(workspace, reference, int(arguments.get("since", 0)))
    step, field = arguments.get("step"), arguments.get("field")
    offset, limit = int(arguments.get("offset", 0)), int(arguments.get("limit", workspace.output_limit))
    if field is not None:
        return _value(field, workspace.trace(reference, step=step, field=field, offset=offset, limit=limit))
    trace = workspace.trace(reference, step=step)
    assert isinstance(trace, Mapping)
    if step is not None:
        return _step(trace, limit)
    state, waits = _state(workspace, trace)
    return _summary({**trace, **state}, waits, limit)


def _view(workspace: Workspace, reference: str, since: int) -> ToolReply:
    """What the page in the chat asks for: the answer itself only says how the run stands."""
    view = view_of(workspace, reference, since)
    data = {name: view[name] for name in ("run_id", "status", "seq")}
    said = escape(f"run {data['run_id']}: {data['status']}")
    return ToolReply(envelope={"success": True, "data": data}, text=said, is_discreet=True, view=view)


def _runs(workspace: Workspace, wanted: str, limit: int) -> ToolReply:
    """The newest runs; words of `wanted` that are states choose by state, the others by text."""
    words = wanted.split()
    states = [word for word in words if word in _STATES]
    text = " ".join(word for word in words if word not in _STATES)
    most = min(limit, _MOST_RUNS)
    runs: list[Json] = []
    lines = []
    found = workspace.runs(most, text=text, state=states[0] if states else "")
    worked = workspace.worked(found)
    for info in found:
        run = _run(info, worked.get(info.run_id))
        runs.append(run)
        lines.append(f"{run['run_id']}  {run['status']}  {run['workflow']}  {run['started_at']}{_spent(run)}")
        if info.status == "waiting":
            waits = workspace.waiting(info.run_id)
            run.update(waits_data(waits, _SHOWN_BYTES, _MOST_WAITS))
            lines += [f"  {line}" for line in waiting_lines(waits, most=_MOST_WAITS)]
    none = f"no run matches `{shorten(wanted)}`" if wanted else "there is no run yet"
    return succeed({"runs": runs}, "\n".join(map(escape, lines)) or none)


def _run(info: RunInfo, worked: float | None) -> Json:
    started = datetime.fromtimestamp(info.started_at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    run: Json = {"run_id": info.run_id, "workflow": info.workflow, "status": info.state, "started_at": started}
    return run if worked is None else {**run, "duration_ms": round(worked * 1000)}


def _spent(run: Json) -> str:
    return f", {run['duration_ms']} ms" if "duration_ms" in run else ""


def _state(workspace: Workspace, trace: Mapping[str, object]) -> tuple[dict[str, object], list[Waiting]]:
    """How the run stands now, and what it waits for; a trace says how it stood when it was written."""
    try:
        now = workspace.show_run(str(trace.get("run_id") or "-"))
    except NotFoundError:
        return {}, []
    waits = workspace.waiting(str(now["run_id"])) if now["status"] in ("running", "waiting") else []
    return {"status": now["status"]}, waits


def _summary(trace: Mapping[str, object], waits: Sequence[Waiting], limit: int) -> ToolReply:
    steps = [_brief(entry) for entry in objects_in(trace.get("steps"))]
    handle = str(trace.get("run_id"))
    kept = (
        *("run_id", "workflow", "status", "started_at", "ended_at", "duration_ms", "resumed", "edited", "reason"),
        *("tokens", "cost"),
    )
    data = {**pick(trace, kept), **_previews(trace, ("inputs", "outputs", "error"), limit, f"{handle} ")}
    data["steps"], more = fit(steps, limit)
    lines = [f"run {handle} of `{trace.get('workflow')}`: {trace.get('status')}"]
    error = trace.get("error")
    if isinstance(error, Mapping):
        lines.append(f"error: {error.get('message')}")
    if waits:
        advice = advice_lines(waits, answers=True)
        data |= {**waits_data(waits, limit // 4), **({"suggestions": advice} if advice else {})}
        lines += [*waiting_lines(waits), *advice]
    lines += [_line(each) for each in steps[:_MOST_LINES]]
    if more or len(steps) > _MOST_LINES:
        data["more_steps"] = more
        lines.append(f"… {len(steps) - min(len(steps), _MOST_LINES)} more steps")
    lines.append("`step` shows one of them, `field` (such as outputs.NAME) a whole value, in pages")
    return succeed(data, "\n".join(lines))


def _brief(entry: Mapping[str, object]) -> dict[str, object]:
    kept = (
        *("step", "node", "status", "ms", "attempt", "action", "source", "items", "items_completed", "items_failed"),
        *("items_declined", "tokens", "cost"),
    )
    found = pick(entry, kept)
    if found.get("attempt") == 1:
        del found["attempt"]
    for name in ("outputs", "params"):
        value = entry.get(name)
        if isinstance(value, Mapping) and value:
            found[name] = list(value)
    error = entry.get("error")
    if isinstance(error, Mapping):
        found["error"] = shorten(str(error.get("message")), 200)
    return found


def _line(entry: Mapping[str, object]) -> str:
    error = f": {entry['error']}" if "error" in entry else ""
    spent = f" in {entry['ms']:.0f} ms" if isinstance(entry.get("ms"), float | int) else ""
    failed, declined = entry.get("items_failed"), entry.get("items_declined")
    lost = ""
    if isinstance(failed, int):
        lost = f", {render_loss(failed, declined if isinstance(declined, int) else 0, entry.get('items'))}"
    return f"- {entry.get('step')}: {entry.get('status')}{spent}{lost}{error}"


def _step(entry: Mapping[str, object], limit: int) -> ToolReply:
    values = _previews(entry, ("outputs", "params"), limit, f"step={entry.get('step')} field=")
    width = max(_TEXT_CHARACTERS // max(sum(map(len, values.values())), 1), _LEAST_CHARACTERS)
    shown = [f"{part}.{key}: {_shown(each, width)}" for part in values for key, each in values[part].items()]
    lines = [_line(_brief(entry)), *map(escape, shown)]
    error = entry.get("error")
    if isinstance(error, Mapping):
        hints = error.get("suggestions")
        lines += [f"hint: {in_tools(hint)}" for hint in hints] if isinstance(hints, list) else []
    return succeed({**entry, **values}, "\n".join(lines))


def _previews(entry: JsonView, parts: Sequence[str], limit: int, handle: str) -> dict[str, Json]:
    """The values of some parts of a trace; of a large one a preview, and the handle under which to read it."""
    return {
        part: {key: preview(each, limit // 4, f"{handle}{part}.{key}") for key, each in values.items()}
        for part in parts
        if isinstance(values := entry.get(part), Mapping)
    }


def _value(field: str, value: object) -> ToolReply:
    if isinstance(value, Mapping) and set(value) == {"text", "offset", "next", "size"}:
        left = f"; go on with offset={value['next']}" if value["next"] is not None else ""
        said = f"{field}: from {value['offset']} of {value['size']}{left}"
        return succeed({"field": field, **value}, "\n".join([said, *prose_lines(value["text"])]))
    return succeed({"field": field, "value": value}, escape(f"{field}: {_shown(value, _TEXT_CHARACTERS)}"))


def _shown(value: object, most: int) -> str:
    """A value on one line."""
    return shorten(value if isinstance(value, str) else orjson.dumps(value, default=str).decode(), most)


TOOLS = (
    ToolSpec(
        name="trace_read",
        description=(
            "Read what a run did or does: first a summary, then one `step` or item (b[17]), or a `field` of either "
            "(outputs.items[0].title), paged by `offset` and `limit`."
        ),
        input_schema=takes(
            {
                "trace_file": text(
                    "'latest' (default), run_id, a workflow's name (its newest run; NAME~1 the one before), "
                    "or 'runs' for a list"
                ),
                "filter": text("Of 'runs': a status, or words of a name or error"),
                "step": text(),
                "field": text(),
                "offset": {"type": "integer", "minimum": 0},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100000},
                "format": text(),
                "since": {"type": "integer"},
            }
        ),
        output_schema=gives({"run_id": text(), "status": text(), "steps": ARRAY, "runs": ARRAY}),
        annotations=reads(),
        handler=in_thread(read),
        meta=BOUND,
    ),
)
