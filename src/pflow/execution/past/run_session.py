"""Recorded runs as a session, as if an agent had called what their steps did, one after the other."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count

from pflow.core.errors import NotFoundError
from pflow.core.event import RunStarted
from pflow.core.json_type import JsonView, object_in, objects_in
from pflow.core.session.call import Call, Session, ToolKind
from pflow.core.template.compiled import as_text
from pflow.engine.again.name import node_of
from pflow.engine.codec import decode_event
from pflow.engine.plan import PlanNode
from pflow.engine.value import ShownValues
from pflow.execution.past.given import GivenParams
from pflow.execution.past.item import read_items
from pflow.execution.past.whole import WholeValues
from pflow.execution.trace import trace_of
from pflow.execution.wiring import Wiring

_MAIN: Mapping[str, tuple[ToolKind, str]] = {
    "http": ("http", "response"),
    "read-file": ("read-file", "content"),
    "write-file": ("write-file", "path"),
}
"""What steps of these types do, and the output that is the result of the call."""

_ENDED = ("completed", "failed", "handled")
_PIECE = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^'"\\]+|['"\\]""", re.DOTALL)
"""A piece of a command: a quoted string, an escaped character, or what stands outside of them."""

_TEMPLATE = re.compile(r"\$\{[^}]*\}")
_SHOWN = ShownValues()


def session_of_runs(wiring: Wiring, run_ids: Sequence[str]) -> Session:
    """What the steps of runs did, in the order of the runs, and in each of them in the order of time.

    Steps that only compute or ask are left out, as are those inside of sub-workflows and those that did not end. Of a
    step that changes something and is of a type that agents have no tool for, `kind` is `other`, `tool` the node type,
    and `result` all of its outputs. The items of a batch share a `group`. Raises `PflowError` for a run whose document
    cannot be read.
    """
    groups = count(1)
    runs = [_Run(wiring, run_id) for run_id in run_ids]
    calls = [call for run in runs for call in run.calls(groups)]
    left_out = sum(run.left_out for run in runs)
    note = f"{left_out} steps have no call of a tool" if left_out != 1 else "1 step has no call of a tool"
    return Session(
        host="pflow",
        id=" ".join(run_ids),
        directory=runs[0].started.directory if runs else "",
        started_at=runs[0].started.at if runs else None,
        calls=tuple(call._replace(number=number) for number, call in enumerate(calls, 1)),
        notes=(f"{note}: they compute, ask, or are inside of sub-workflows",) if left_out else (),
    )


class _Run:
    """One run; `left_out` counts the steps that are no calls."""

    def __init__(self, wiring: Wiring, run_id: str) -> None:
        info = wiring.journal.info(run_id)  # before its records: what ends it is among them
        self._registry = wiring.registry
        self._values = WholeValues(wiring.journal, run_id)
        self._trace = trace_of(run_id, self._values.records, info)
        self._given = GivenParams(wiring, run_id)
        begun = (decode_event(record, _SHOWN) for record in self._values.records if record.kind == "RunStarted")
        self.started = next(event for event in begun if isinstance(event, RunStarted))
        self.left_out = 0

    def calls(self, groups: Iterator[int]) -> Iterator[Call]:
        """The calls, without numbers."""
        for entry in objects_in(self._trace.get("steps")):
            node = self._given.plan.by_id.get(node_of(str(entry.get("step"))) or "")
            kind = None if node is None else self._kind(node)
            if node is None or kind is None:
                self.left_out += 1
                continue
            group = next(groups)
            told = read_items(self._values.records, entry).values() if entry.get("items") else [entry]
            ended = [one for one in told if one.get("status") in _ENDED]
            params = self._given.of(str(one.get("step")) for one in ended)
            for one in ended:
                given = params.get(str(one.get("step")), object_in(one, "params"))
                yield self._call(node, kind, given, {"started_at": entry.get("started_at"), **one}, group)

    def _kind(self, node: PlanNode) -> ToolKind | None:
        if node.server:
            return "mcp"
        if node.type == "shell":
            return "shell"
        if node.type in _MAIN:
            return _MAIN[node.type][0]
        return "other" if node.purity == "impure" and node.child is None and node.choice is None else None

    def _call(self, node: PlanNode, kind: ToolKind, given: JsonView, entry: JsonView, group: int) -> Call:
        at, error = entry.get("started_at"), object_in(entry, "error")
        outputs = {name: self._values.whole(value) for name, value in object_in(entry, "outputs").items()}
        tool, directory = node.type, self.started.directory
        if kind == "mcp":
            tool = self._tool(node.type)
            result = outputs.get("result")
        elif kind == "shell":
            known = outputs or object_in(error, "details")
            result = {name: known.get(name) for name in ("stdout", "stderr", "exit_code")}
            directory = str(given.get("cwd") or directory)
            given = {"command": command_of(given)}
        else:
            result = outputs.get(_MAIN[node.type][1]) if node.type in _MAIN else outputs
        ok = entry.get("status") == "completed" and not error
        return Call(
            number=0,
            kind=kind,
            tool=tool,
            server=node.server,
            arguments=given,
            result=result if ok or kind == "shell" else error.get("message"),
            ok=ok,
            at=at if isinstance(at, float) else None,
            directory=directory,
            group=group,
        )

    def _tool(self, node_type: str) -> str:
        """The name that a server gives to its tool; of one that is not known any more, the node type."""
        try:
            tool = self._registry.get(node_type).tool
        except NotFoundError:
            return node_type
        return tool.tool if tool else node_type


def command_of(given: JsonView) -> str:
    """A command as one types it, with the values that it was given in place of its templates."""
    command, values = given.get("command"), object_in(given, "values")

    def filled(text: str) -> str:
        return _TEMPLATE.sub(lambda found: as_text(values.get(found[0], found[0])), text)

    if isinstance(command, list):
        return shlex.join(filled(str(word)) for word in command)
    text = str(command or "")
    return "".join(_filled_piece(piece[0], filled) for piece in _PIECE.finditer(text)) if values else text


def _filled_piece(piece: str, filled: Callable[[str], str]) -> str:
    """A value becomes one word, or stays inside of the string that it stands in."""
    if piece.startswith('"') and len(piece) > 1:
        return _TEMPLATE.sub(lambda found: re.sub(r'([\\"$`])', r"\\\1", filled(found[0])), piece)
    if piece.startswith("'"):
        return _TEMPLATE.sub(lambda found: filled(found[0]).replace("'", "'\\''"), piece)
    return _TEMPLATE.sub(lambda found: shlex.quote(filled(found[0])), piece)
