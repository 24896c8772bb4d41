"""What authors who know other tools write, and what pflow calls it: one table for documents and commands.

A hint names only what exists here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pflow.core.advice import Advice
from pflow.core.suggest import nearest

FIELDS: Mapping[str, tuple[str, ...]] = {
    "name": ("title",),
    "ir_version": ("version",),
    "nodes": ("steps", "tasks", "jobs", "states", "actions"),
    "edges": ("connections", "links", "transitions", "flow"),
    "start_node": ("start", "entry", "startat", "entrypoint"),
    "inputs": ("params", "parameters", "arguments", "variables", "vars"),
    "from": ("source", "src"),
    "to": ("target", "dst", "goto", "next", "expression", "transform", "mapping", "select"),
    "action": ("label", "on", "event"),
    "id": ("node_id", "name", "key"),
    "type": ("node_type", "node", "uses", "tool", "kind"),
    "params": ("args", "arguments", "config", "parameters", "inputs", "input", "with", "options"),
    "when": ("if", "condition", "only_if", "run_if"),
    "where": ("filter", "condition", "if", "when", "predicate", "select"),
    "cases": ("conditions", "branches", "rules", "choices", "options"),
    "batch": ("for_each", "foreach", "loop", "with_items", "matrix", "map"),
    "retry": ("retries", "retry_policy"),
    "attempts": ("max_retries", "max_attempts", "times"),
    "wait": ("delay", "interval"),
    "interval": ("every", "poll", "poll_interval"),
    "backoff": ("backoff_rate", "multiplier"),
    "until": ("wait_until", "stop_when"),
    "limit": ("rate_limit", "rate", "throttle", "max_rate"),
    "repeatable": ("idempotent", "read_only", "readonly"),
    "items": ("list", "over", "in", "items_path"),
    "as": ("item", "var", "variable"),
    "concurrency": ("max_concurrency", "parallel", "max_parallel"),
    "server_id": ("server",),
    "source": ("value", "from"),
    "required": ("optional",),
    "on_failure": ("onfailure", "on-failure", "failure", "on_error", "catch", "exception_handler"),
    "state": ("memory", "storage", "persist", "static_data", "kv", "cursor", "watermark"),
    "finally": ("on_exit", "onexit", "always", "cleanup", "teardown", "ensure"),
    "approve": ("approval", "confirm", "require_approval", "requires_approval", "manual"),
    "prompt": ("question", "text", "title", "message"),
    "choices": ("options", "buttons", "answers", "actions"),
    "schema": ("fields", "form"),
    "for": ("seconds", "duration", "delay", "sleep", "time"),
    "message": ("event", "signal"),
    "file": ("path",),
    "timeout": ("timeout_seconds", "timeout-minutes", "timeoutseconds"),
}
"""Names of other tools for a field. The field takes what they took."""

_ORDER = 'nodes run in the order in which they stand; `"edges": "data"` takes it from the templates instead'
_NEXT = "nodes run in the order in which they stand; to go on elsewhere write `on: {default: NODE}`"
_CHOICE = "`when` on a node runs it only if a condition holds, and a `switch` chooses; see the guide on `branching`"
_ERRORS = "write `on: {error: NODE}`, or `on: {error: next}` to go on after a failure"

FIELD_HINTS: Mapping[str, str] = {
    **dict.fromkeys(("next", "then", "goto", "transition"), _NEXT),
    **dict.fromkeys(("needs", "depends_on", "dependson", "depends", "after", "requires", "run_after"), _ORDER),
    **dict.fromkeys(("unless", "choices", "switch", "else", "elif"), _CHOICE),
    **dict.fromkeys(("continue_on_error", "on_error", "catch", "on_failure", "ignore_errors", "rescue"), _ERRORS),
    "finally": "`finally` is a field of the document, beside `nodes`: the id of the node that it begins with",
    **dict.fromkeys(
        ("run", "script", "cmd", "command", "bash", "shell"),
        'write {"type": "shell", "params": {"command": "…"}}',
    ),
    **dict.fromkeys(("env", "environment"), "environment variables are the param `env` of a `shell` node"),
    **dict.fromkeys(("url", "method", "headers", "body", "path", "prompt", "code"), "put it into `params`"),
    **dict.fromkeys(("outputs", "output", "register", "result", "save_as"), "a node's outputs are named by its type"),
}
"""What to do instead of a field that a node does not have, where no other field takes its place."""

TYPES: Mapping[str, tuple[str, ...]] = {
    "shell": ("bash", "sh", "zsh", "cmd", "command", "exec", "execute", "run", "terminal", "process", "script"),
    "code": (
        "python",
        "py",
        "python3",
        "function",
        "lambda",
        "javascript",
        "js",
    ),
    "let": ("set", "assign", "compute", "eval", "transform", "variable", "vars", "expression", "edit-fields"),
    "filter": ("select", "where", "reject"),
    "state-set": ("set-state", "save-state", "setstate", "state", "remember", "keep", "store", "kv-set", "checkpoint"),
    "fail": ("throw", "raise", "assert", "abort", "exit"),
    "http": ("fetch", "request", "requests", "curl", "api", "get", "post", "webhook", "rest", "download", "web"),
    "read-file": ("read", "file", "load", "cat", "open"),
    "write-file": ("write", "save", "output-file"),
    "list-files": ("glob", "ls", "dir", "find"),
    "echo": ("print", "log", "output", "return", "message", "pass", "noop"),
    "ask": (
        *("human", "human-input", "user-input", "input", "question", "confirm", "form", "manual"),
        *("approval", "approve", "wait-for-approval", "wait-for-input"),
    ),
    "llm": (
        *("ai", "prompt", "gpt", "openai", "anthropic", "claude", "gemini", "chat", "chat-completion", "completion"),
        *("agent", "model", "language-model", "generate", "summarize"),
    ),
    "wait": ("sleep", "delay", "pause", "timer", "wait-for", "wait-until", "wait-for-event"),
    "workflow": ("subworkflow", "sub-workflow", "subflow", "call", "child", "task"),
}
"""Names of other tools for a node type."""

TYPE_HINTS: Mapping[str, str] = {
    **dict.fromkeys(("if", "when", "condition", "branch", "case", "choice", "router", "decision"), _CHOICE),
    **dict.fromkeys(
        ("loop", "foreach", "for", "for-each", "iterate", "split", "each"),
        "`batch` on a node runs it once per item",
    ),
    **dict.fromkeys(
        ("while", "until", "repeat", "poll"),
        "`retry` with `until` tries a step again, `wait` looks at a file or an address from time to time, and an edge "
        "may lead back to an earlier node; see the guide on `loops`",
    ),
    **dict.fromkeys(("parallel", "fork", "fanout"), "several edges from one node run in parallel"),
    **dict.fromkeys(("join", "merge", "gather", "wait-all"), "a node that several edges reach waits for all of them"),
    **dict.fromkeys(("mcp", "tool", "mcp-tool"), "a tool of an MCP server is the type `mcp-SERVER-TOOL`"),
    **dict.fromkeys(
        ("retry", "try", "catch"), "`retry` is a field of a node, and an edge for `error` handles a failure"
    ),
}
"""What to do instead of a node type that has no counterpart."""


def field_meant(name: str, known: Collection[str]) -> str:
    """The field among `known` that another tool calls `name`; "" if there is none."""
    return next((field for field in known if name.lower() in FIELDS.get(field, ())), "")


def advise_type(name: str, known: Collection[str]) -> tuple[list[str], str]:
    """Node types that an unknown one may have meant, the likeliest first, and what to do."""
    word = name.lower().replace("_", "-")
    meant = next((kind for kind, words in TYPES.items() if word in words and kind in known), "")
    if meant:
        return [meant], f"did you mean `{meant}`?"
    if word in TYPE_HINTS:
        return [], TYPE_HINTS[word]
    is_tool = word.startswith("mcp-")
    near = nearest(name, [each for each in known if each.startswith("mcp-")] if is_tool else known)
    if near:
        return near, f"did you mean `{near[0]}`?"
    if is_tool:
        return [], Advice(
            "`{list_servers}` shows the servers there are, and `{sync_servers}` makes their tools node types"
        )
    return [], Advice("`{list_nodes}` shows the node types there are")
