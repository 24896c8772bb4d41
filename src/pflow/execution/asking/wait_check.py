"""Checks what steps wait for: one thing, which somebody else can bring about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pflow.core.moment import FORM as MOMENT_FORM
from pflow.core.moment import read_moment
from pflow.core.value_type import UNKNOWN, ValueType, of_fields, of_kinds
from pflow.engine.asking.moment import LONGEST_INTERVAL_SECONDS
from pflow.execution.asking.ask_check import check_duration
from pflow.execution.node_check import CheckedNode, Report

_KINDS = ("for", "until", "file", "url", "message")
_LOOKING = ("interval", "backoff", "headers")
_MOST_BACKOFF = 100
_WRITERS = {"write-file": "path", "copy-file": "to", "move-file": "to"}


_TEXT = of_kinds("string")
_FILE = of_fields(
    {"exists": of_kinds("boolean"), "path": _TEXT, "size": of_kinds("integer"), "modified": _TEXT, "text": _TEXT}
)
_ENDPOINT = of_fields({"status_code": of_kinds("integer"), "response": UNKNOWN, "headers": of_kinds("object")})


def found_by(params: Mapping[str, object]) -> ValueType:
    """What is known of the `value` that a wait comes by."""
    return _FILE if params.get("file") else _ENDPOINT if params.get("url") else UNKNOWN


def check_wait(node: CheckedNode, report: Report) -> None:
    """Report what is wrong with the wait of a node."""
    params, here = node.spec.params, ("nodes", node.index, "params")
    given = [kind for kind in _KINDS if params.get(kind) not in (None, "")]
    if len(given) != 1:
        message = f"node `{node.spec.id}` (wait) needs one of `for`, `until`, `file`, `url` and `message`"
        hint = "write `for: 90s`" if not given else f"keep `{given[0]}`, and let another node wait for the rest"
        found = f", not {' and '.join(f'`{kind}`' for kind in given)} together" if given else ""
        report("missing-param" if not given else "unexpected-field", message + found, here, hint=hint)
        return
    kind = given[0]
    if kind == "message" and "${" in str(params["message"]):
        message = "the name of a message must be known when checking; templates do not apply here"
        hint = 'tell messages of one name apart with `when`: `when: "value.order == order"`'
        report("template-here", message, (*here, "message"), hint=hint)
    for name in _LOOKING if kind not in ("file", "url") else ():
        if params.get(name) is not None:
            message = f"`{name}` is for waiting for a `file` or a `url`, not with `{kind}`"
            report("unexpected-field", message, (*here, name), hint="leave it out")
    for name in ("when", "timeout") if kind in ("for", "until") else ():
        if params.get(name) not in (None, ""):
            message = f"`{name}` does not apply to a wait with `{kind}`, which ends by itself"
            report("unexpected-field", message, (*here, name), hint="leave it out")
    check_duration(params.get("for"), "for", (*here, "for"), report, least=0.0)
    check_duration(params.get("timeout"), "timeout", (*here, "timeout"), report)
    check_duration(params.get("interval"), "interval", (*here, "interval"), report, most=LONGEST_INTERVAL_SECONDS)
    backoff = params.get("backoff")
    if isinstance(backoff, int | float) and not 1 <= backoff <= _MOST_BACKOFF:
        message = f"`backoff` must be 1 to {_MOST_BACKOFF}, not `{backoff:g}`"
        report(
            "out-of-range", message, (*here, "backoff"), hint="1 keeps the interval as it is, 2 doubles it each time"
        )
    if "timeout" in node.edges and params.get("timeout") in (None, ""):
        message = f"`{node.spec.id}` has an edge for `timeout` but waits for ever"
        hint = "leave it out" if kind in ("for", "until") else "add `timeout: 3d` to its params"
        report("missing-param", message, here, hint=hint)
    until = params.get("until")
    if isinstance(until, str) and until and "${" not in until and read_moment(until, 0.0) is None:
        report("wrong-type", f"`until` must be a moment, not `{until}`", (*here, "until"), hint=f"write {MOMENT_FORM}")


def check_self_waits(nodes: Sequence[CheckedNode], after: Sequence[int], report: Report) -> None:
    """Report a wait for what a later step of the same run would bring about: it would never come.

    `after` has a bit mask for each node of those that can run after it.
    """
    for node in nodes if any(one.is_built_in("wait") for one in nodes) else ():
        follow = [one for one in nodes if after[node.index] >> one.index & 1 and not after[one.index] >> node.index & 1]
        later = next((one for one in follow if _brings(one, node.spec.params)), None)
        if node.is_built_in("wait") and later is not None:
            report(
                "waits-for-itself",
                f"`{node.spec.id}` waits for what `{later.spec.id}` brings about, which comes after it",
                ("nodes", node.index, "params"),
                hint=f"put `{later.spec.id}` before it, or let it run beside it with `edges`",
            )


def _brings(later: CheckedNode, waited: Mapping[str, object]) -> bool:
    """Whether a step writes the file, or sends the message to its own run."""
    target = _WRITERS.get(later.spec.type)
    if waited.get("file") and target and later.spec.params.get(target) == waited["file"]:
        return True
    command, name = str(later.spec.params.get("command", "")), str(waited.get("message") or "")
    return (
        bool(name) and later.spec.type == "shell" and "send" in command and "${run.id}" in command and name in command
    )
