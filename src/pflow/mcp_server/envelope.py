"""The answers of tools: one object for programs, a few lines to read, and every error in the same form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import orjson

from pflow.core.advice import Advice, change_advice
from pflow.core.document.issue import Issue
from pflow.core.frozen import Frozen
from pflow.core.json_type import Json, objects_in
from pflow.core.printable import cut, escape, shorten
from pflow.mcp_server.asking.paused import advice_lines, waiting_lines
from pflow.workspace import Outcome
from pflow.workspace.asking.question import Waiting

_MOST_SUGGESTIONS = 10
_MOST_ISSUES = 10
_MOST_KNOWN = 10
_MOST_ITEMS = 50
_LONGEST_CHARACTERS = 2000

_TEXT_CHARACTERS = 1200
_LEAST_CHARACTERS = 40
"""How much of all outputs together, and at least of each, is worth repeating as text."""

IN_TOOLS = {
    "add_workflow": "give `workflow` as well",
    "answer_item": "workflow_execute(resume='{run}', answers={'{step}[0]': CHOICE})",
    "call_tool_again": "run the node again with `registry_run`",
    "describe_field": "registry_describe(nodes=['{node} PATH'])",
    "describe_node": "registry_describe(nodes=['{node}'])",
    "describe_workflow": "workflow_validate(workflow='{workflow}')",
    "discover_nodes": "registry_discover",
    "list_nodes": "registry_list",
    "list_runs": "trace_read(trace_file='runs')",
    "list_settings": "settings_get",
    "list_workflows": "workflow_list",
    "replace_workflow": "workflow_save(…, replaces=VERSION)",
    "resume": "workflow_execute(resume='{run}')",
    "resume_edited": "workflow_execute(workflow=…, resume='{run}')",
    "resume_in_doubt": "workflow_execute(resume='{run}', rerun_in_doubt=true)",
    "run_workflow": "workflow_execute",
    "save_workflow": "workflow_save",
    "search_nodes": "registry_search",
    "set_setting": "settings_set(key='{name}', value=…)",
    "settle_done": "workflow_execute(resume='{run}', answers={'{step}': {'done': {OUTPUT: VALUE}}})",
    "settle_rerun": "workflow_execute(resume='{run}', answers={'{step}': {'rerun': true}})",
    "show_workflow": "workflow_list(name='{workflow}')",
}
"""Advice by kind, for an agent that has only tools. Commands that are missing here are for a person at a shell."""


class ToolReply(Frozen):
    """An answer: the structured content, and what a reader sees. One that `is_discreet` holds no secrets.

    `waiting` is what a run waits for that the call saw through.
    """

    envelope: Mapping[str, object]
    text: str
    is_discreet: bool = False
    waiting: tuple[Waiting, ...] = ()
    view: Mapping[str, object] | None = None
    """What the page in the chat shows, if the tool has found it already. No model reads it."""

    @property
    def is_error(self) -> bool:
        """Whether the tool failed."""
        return self.envelope.get("success") is not True


def succeed(data: Mapping[str, object], text: str, **more: object) -> ToolReply:
    """The answer of a tool that did what it was asked."""
    return ToolReply(envelope={"success": True, "data": data, **more}, text=text)


def fail(error: Mapping[str, object], **more: object) -> ToolReply:
    """The answer that carries an error object, its advice in the words of the tools."""
    error = change_advice(error, in_tools)
    advice = error.get("suggestions")
    suggestions = advice[:_MOST_SUGGESTIONS] if isinstance(advice, list) else []
    details = error.get("details") or {}
    found = issue_lines(objects_in(details.get("issues"))) if isinstance(details, Mapping) else []
    shown = {**error, "message": shorten(str(error.get("message")), _LONGEST_CHARACTERS), "details": _cut(details)}
    shown["suggestions"] = suggestions
    where = f" in step `{shown['node']}`" if shown.get("node") else ""
    message = "" if len(found) == 1 else f" {shown['message']}"  # a single issue says it, and where
    lines = [f"error ({shown['type']}){where}:{message}", *found]
    lines += [f"hint: {each}" for each in suggestions]
    return ToolReply(
        envelope={"success": False, "error": shown, **more}, text="\n".join(escape(line) for line in lines)
    )


def issue_objects(issues: Iterable[Issue]) -> list[Json]:
    """Issues of a document, their hints in the words of the tools."""
    found = [issue.as_dict() for issue in issues]
    return [{**issue, "hint": in_tools(issue["hint"])} if "hint" in issue else issue for issue in found]


def issue_lines(issues: Sequence[Mapping[str, object]]) -> list[str]:
    """Issues of a document, a line each."""
    lines = []
    for issue in issues[:_MOST_ISSUES]:
        place = str(issue.get("path") or "")
        if issue.get("line"):
            place = f"{place} (line {issue['line']}, column {issue['column']})".strip()
        known = issue.get("known")
        advice = issue.get("hint") or ""
        if not advice and isinstance(known, list):
            advice = f"there is {', '.join(map(str, known[:_MOST_KNOWN]))}"
        lines.append(f"- {place + ': ' if place else ''}{issue.get('message')}{'; ' if advice else ''}{advice}")
    if len(issues) > _MOST_ISSUES:
        lines.append(f"- … and {len(issues) - _MOST_ISSUES} more")
    return lines


def end_of(outcome: Outcome, text: str, *, answers: bool = True) -> ToolReply:
    """The answer for a run that ended: `text` for one that completed, why it did not for any other.

    For a run that waits it says how to go on; `answers` says whether the agent has a tool to answer with.
    """
    if outcome.success:
        return ToolReply(envelope=outcome.envelope(), text=text, is_discreet=True)
    if outcome.status == "waiting":
        return paused(outcome.run_id, outcome.open_waits, outcome.envelope(), answers=answers)
    reply = fail(outcome.error or {})
    done = ", ".join(f"`{escape(step)}`" for step in outcome.completed[-5:]) or "nothing"
    again = f"after a fix, workflow_execute(resume='{outcome.run_id}') goes on from there"
    edited = "give `workflow` as well if the document was edited"
    envelope = {**outcome.envelope(), **reply.envelope}
    lines = [reply.text, *(escape(loss) for loss in outcome.losses), f"completed: {done}", f"{again}; {edited}"]
    return ToolReply(envelope=envelope, text="\n".join(lines))


def paused(
    run_id: str, waits: tuple[Waiting, ...], envelope: Mapping[str, object], *, answers: bool = True
) -> ToolReply:
    """The answer for a run that waits: its envelope, with what to do next for hosts that show nothing else."""
    resumed = f"Once that is answered, workflow_execute(resume='{run_id}') goes on"
    ended = f"if it has ended by then, trace_read(trace_file='{run_id}') shows it"
    again = [f"{resumed}; {ended}"] if answers and any(_is_for_person(one) for one in waits) else []
    advice = [*advice_lines(waits, answers=answers), *again]
    lines = [f"waiting, run {run_id}", *waiting_lines(waits), *advice]
    data = envelope["data"]
    assert isinstance(data, Mapping)
    shown = {**envelope, "data": {**data, "suggestions": advice}} if advice else envelope
    return ToolReply(envelope=shown, text="\n".join(lines), is_discreet=True, waiting=waits)


def _is_for_person(one: Waiting) -> bool:
    return one.kind == "question" and one.who == "person"


def output_lines(outputs: Mapping[str, object]) -> list[str]:
    """Outputs, a line each, shortened."""
    width = max(_TEXT_CHARACTERS // max(len(outputs), 1), _LEAST_CHARACTERS)
    lines = []
    for name, value in list(outputs.items())[: _TEXT_CHARACTERS // _LEAST_CHARACTERS]:
        shown = value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
        lines.append(f"{name}: {shorten(shown, width)}")
    return lines


def _cut(value: object) -> object:
    """The details of an error, cut to what a reader can use."""
    if isinstance(value, str):
        return cut(value, _LONGEST_CHARACTERS + 1)
    if isinstance(value, Mapping):
        return {str(key): _cut(value[key]) for key in list(value)[:_MOST_ITEMS]}
    if isinstance(value, list | tuple):
        more = [f"… and {len(value) - _MOST_ITEMS:,} more"] if len(value) > _MOST_ITEMS else []
        return [*(_cut(item) for item in value[:_MOST_ITEMS]), *more]
    return value


def in_tools(advice: object) -> str:
    """Advice in the words of the tools; plain text as it is."""
    return advice.said_with(IN_TOOLS) if isinstance(advice, Advice) else str(advice)
