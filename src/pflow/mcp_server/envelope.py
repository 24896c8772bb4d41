"""What every tool answers: one object for programs, a few lines to read, and every error in the same form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from pflow.core.errors import PflowError
from pflow.core.frozen import Frozen
from pflow.core.json_type import Json
from pflow.core.printable import cut, escape, shorten
from pflow.execution.outcome import Outcome

_MOST_SUGGESTIONS = 10
_MOST_ISSUES = 10
_MOST_KNOWN = 10
_MOST_ITEMS = 50
_LONGEST = 2000

# What a person would type, in the words of whoever has only tools.
_IN_TOOLS = (
    (r"pflow runs resume (\S+) --with WORKFLOW", r"workflow_execute(workflow=…, resume='\1')"),
    (r"pflow runs resume (\S+) --rerun-in-doubt", r"workflow_execute(resume='\1', rerun_in_doubt=true)"),
    (r"pflow runs resume ([^\s`]+)", r"workflow_execute(resume='\1')"),
    (r"add `--with WORKFLOW`", "give `workflow` as well"),
    (r"pflow runs (?:list|show)", "trace_read"),
    (r"pflow workflow list", "workflow_list"),
    (r"pflow workflow save", "workflow_save"),
    (r"pflow workflow describe (\S+) --json", r"workflow_validate(workflow='\1')"),
    (r"pflow workflow discover", "workflow_discover"),
    (r"pflow registry list --filter TEXT", "registry_search"),
    (r"pflow registry (list|discover|search)", r"registry_\1"),
    (r"pflow registry describe ([^\s`]+)(?: --json)?", r"registry_describe(nodes=['\1'])"),
    (r"pflow settings set ([A-Z][A-Z0-9_]*)", r"settings_set(key='\1', value=…)"),
    (r"pflow settings (list|get)", "settings_get"),
    (r"pflow run WORKFLOW", "workflow_execute"),
    (r"call the tool again with `pflow call`", "run the node again with `registry_run`"),
)


class Reply(Frozen):
    """An answer: the structured content, and what a reader sees."""

    envelope: Mapping[str, object]
    text: str

    @property
    def is_error(self) -> bool:
        """Whether the tool failed."""
        return self.envelope.get("success") is not True


def succeed(data: Mapping[str, object], text: str, **more: object) -> Reply:
    """The answer of a tool that did what it was asked."""
    return Reply(envelope={"success": True, "data": data, **more}, text=text)


def fail(error: PflowError) -> Reply:
    """The one way in which an error becomes an answer."""
    return failure(error.as_dict())


def failure(error: Mapping[str, object], **more: object) -> Reply:
    """The answer that carries an error object, its advice in the words of the tools."""
    advice = error.get("suggestions")
    suggestions = [in_tools(str(each)) for each in advice[:_MOST_SUGGESTIONS]] if isinstance(advice, list) else []
    details = error.get("details") or {}
    found: list[str] = []
    if isinstance(details, Mapping) and isinstance(details.get("issues"), list):
        details = {**details, "issues": issue_objects(details["issues"])}
        found = issue_lines(details["issues"])
    shown = {**error, "message": shorten(str(error.get("message")), _LONGEST), "details": _cut(details)}
    shown["suggestions"] = suggestions
    where = f" in step `{shown['node']}`" if shown.get("node") else ""
    message = "" if len(found) == 1 else f" {shown['message']}"  # a single issue says it, and where
    lines = [f"error ({shown['type']}){where}:{message}", *found]
    lines += [f"hint: {each}" for each in suggestions]
    return Reply(envelope={"success": False, "error": shown, **more}, text="\n".join(escape(line) for line in lines))


def issue_objects(issues: Iterable[Mapping[str, object]]) -> list[Json]:
    """Issues of a document, their hints in the words of the tools."""
    return [{**issue, "hint": in_tools(str(issue["hint"]))} if "hint" in issue else {**issue} for issue in issues]


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


def end_of(outcome: Outcome, text: str) -> Reply:
    """The answer for a run that ended: `text` for one that completed, why it did not for any other."""
    envelope = outcome.envelope()
    if outcome.success:
        return Reply(envelope=envelope, text=text)
    error = envelope["error"]
    assert isinstance(error, Mapping)
    more = {name: value for name, value in envelope.items() if name not in ("success", "error")}
    reply = failure(error, **more)
    done = ", ".join(f"`{escape(step)}`" for step in outcome.completed[-5:]) or "nothing"
    again = f"after a fix, workflow_execute(resume='{outcome.run_id}') goes on from there"
    edited = "give `workflow` as well if the document was edited"
    return reply._replace(text=f"{reply.text}\ncompleted: {done}\n{again}; {edited}")


def _cut(value: object) -> object:
    """As much of what is known about an error as anyone reads."""
    if isinstance(value, str):
        return cut(value, _LONGEST + 1)
    if isinstance(value, Mapping):
        return {str(key): _cut(value[key]) for key in list(value)[:_MOST_ITEMS]}
    if isinstance(value, list | tuple):
        more = [f"… and {len(value) - _MOST_ITEMS:,} more"] if len(value) > _MOST_ITEMS else []
        return [*(_cut(item) for item in value[:_MOST_ITEMS]), *more]
    return value


def in_tools(advice: str) -> str:
    """Advice for a person at a shell, as far as it can be said, for an agent with tools."""
    for typed, meant in _IN_TOOLS:
        advice = re.sub(typed, meant, advice)
    return advice
