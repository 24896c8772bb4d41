"""Advice to users as data: sentences that name commands by kind, and that each edge puts in its own words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

COMMANDS = {
    "add_insecure_server": "pflow mcp add … --insecure",
    "add_model": "pflow llm add {name} --provider PROVIDER --model MODEL",
    "add_schedule": "pflow schedule add WORKFLOW '0 * * * *'",
    "add_server": "pflow mcp add",
    "add_server_with_token": "pflow mcp add NAME --url … --header 'Authorization: Bearer ${TOKEN}'",
    "add_workflow": "add `--with WORKFLOW`",
    "answer": "pflow answer {run} {step} CHOICE",
    "answer_all": "pflow answer {run} {step} --all CHOICE",
    "answer_fields": "pflow answer {run} {step} NAME=VALUE",
    "answer_item": "pflow answer {run} '{step}[0]' CHOICE",
    "agree_project": "pflow project agree {root}",
    "call_tool_again": "call the tool again with `pflow call`",
    "cancel_run": "pflow runs cancel {run}",
    "check_server": "pflow mcp doctor {server}",
    "clean_drafts": "pflow workflow clean-temp --older-than 1d",
    "compare_schema": "pflow mcp sync {server} --compare schema",
    "daemon": "pflow daemon",
    "describe_field": "pflow registry describe {node} PATH",
    "describe_node": "pflow registry describe {node}",
    "describe_workflow": "pflow workflow describe {workflow} --json",
    "discover_nodes": "pflow registry discover",
    "discover_workflows": "pflow workflow discover",
    "edit_workflow_from": "pflow workflow edit {workflow} --from {file}",
    "import_servers": "pflow mcp import {host}",
    "install_timer": "pflow schedule install",
    "fork": "pflow runs fork {run} --from {step}",
    "fork_in_doubt": "pflow runs fork {run} --from {step} --rerun-in-doubt",
    "forget_state": "pflow state unset {workflow} --all",
    "get_setting": "pflow settings get {name}",
    "learn_list": "pflow learn --list",
    "list_models": "pflow llm list",
    "list_nodes": "pflow registry list",
    "list_runs": "pflow runs list",
    "list_schedules": "pflow schedule list",
    "list_servers": "pflow mcp list",
    "list_settings": "pflow settings list",
    "list_workers": "pflow workers --on {place}",
    "list_workflows": "pflow workflow list",
    "log_in": "pflow mcp login {server}",
    "make_test": "pflow runs show {run} --as-test NAME",
    "migrate_journal": "pflow journal migrate --on {place}",
    "remove_schedule": "pflow schedule remove {name}",
    "remove_server": "pflow mcp remove",
    "replace_settings": "pflow settings set NAME value",
    "replace_workflow": "pflow workflow save … --overwrite",
    "resume": "pflow runs resume {run}",
    "resume_edited": "pflow runs resume {run} --with WORKFLOW",
    "resume_in_doubt": "pflow runs resume {run} --rerun-in-doubt",
    "resume_schedule": "pflow schedule resume {name}",
    "resume_item": "pflow runs resume {run} --item '{item}'",
    "run_only": "pflow run WORKFLOW --only {step} --from-run {run}",
    "run_workflow": "pflow run WORKFLOW",
    "save_included": "pflow workflow save WORKFLOW --with-included",
    "save_workflow": "pflow workflow save",
    "scan_nodes": "pflow registry scan",
    "search_nodes": "pflow registry list --filter TEXT",
    "set_option": "pflow settings set {name} {value}",
    "set_setting": "pflow settings set {name}",
    "settings": "pflow settings",
    "settle_done": "pflow runs settle {run} '{step}' --done",
    "settle_rerun": "pflow runs settle {run} '{step}' --rerun",
    "set_state": "pflow state set {workflow} {key} VALUE",
    "setup_workflow": "pflow workflow setup {workflow}",
    "send_message": "pflow send {run} {name} key=value",
    "show_run": "pflow runs show {run}",
    "show_project": "pflow project show {root}",
    "show_workflow": "pflow workflow show {workflow}",
    "start_worker": "pflow worker --on {place}",
    "start_worker_of": "pflow worker --on {place} --queue {queue}",
    "store_secret": "pflow settings set {name}",
    "sync_server": "pflow mcp sync {server}",
    "sync_servers": "pflow mcp sync",
    "unset_state": "pflow state unset {workflow} {key}",
}
"""What a person types at a shell, by kind of advice."""

_NAME = r"\{(\w+)\}"


class Advice(str):
    """A sentence for people at a shell. `text` has `{kind}` in place of each command, and `{name}` for words of `args`.

    A string, so that only edges that name commands differently need to know about it.
    """

    text: str
    args: Mapping[str, str]

    def __new__(cls, text: str, **args: str) -> Advice:
        """Make advice from a sentence such as "then go on with `{resume}`"."""
        advice = super().__new__(cls, _say(text, args, COMMANDS))
        advice.text, advice.args = text, args
        return advice

    def said_with(self, commands: Mapping[str, str]) -> str:
        """The sentence with other commands; a kind that is not among them is for a person at a shell."""
        return _say(self.text, self.args, {**COMMANDS, **commands})


def _say(text: str, args: Mapping[str, str], commands: Mapping[str, str]) -> str:
    def fill(name: re.Match[str]) -> str:
        return args.get(name[1], name[0])

    return re.sub(
        _NAME, lambda kind: re.sub(_NAME, fill, commands[kind[1]]) if kind[1] in commands else fill(kind), text
    )


def to_data(error: Mapping[str, object]) -> dict[str, object]:
    """An error object as a journal keeps it: each advice as its sentence and its words."""
    return change_advice(error, lambda one: {"advice": one.text, "args": one.args} if isinstance(one, Advice) else one)


def from_data(error: Mapping[str, object]) -> dict[str, object]:
    """An error object from a journal; what was recorded as plain text stays plain text."""
    return change_advice(error, _read)


def to_text(error: Mapping[str, object]) -> dict[str, object]:
    """An error object as a plain value, for steps that read it."""
    return change_advice(error, lambda one: str(one) if isinstance(one, str) else one)


def change_advice(error: Mapping[str, object], change: Callable[[object], object]) -> dict[str, object]:
    """A copy of an error object with every suggestion, and the hint of every issue, changed."""
    changed = dict(error)
    suggestions, details = error.get("suggestions"), error.get("details")
    if isinstance(suggestions, list | tuple):
        changed["suggestions"] = [change(one) for one in suggestions]
    issues = details.get("issues") if isinstance(details, Mapping) else None
    if isinstance(details, Mapping) and isinstance(issues, list):
        changed["details"] = {**details, "issues": [_change_hint(issue, change) for issue in issues]}
    return changed


def _change_hint(issue: object, change: Callable[[object], object]) -> object:
    return {**issue, "hint": change(issue["hint"])} if isinstance(issue, Mapping) and "hint" in issue else issue


def _read(one: object) -> object:
    match one:
        case {"advice": str(text), "args": {**args}}:
            return Advice(text, **{str(name): str(value) for name, value in args.items()})
    return one
