"""Plays a document one node at a time: slow, plain, and by the rules of the language alone.

Expressions are evaluated by pflow, which has an oracle of its own for them. Everything else is written here again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from pflow.core.expression.evaluate import evaluate
from pflow.core.expression.fault import Fault
from pflow.core.expression.key import Absent
from pflow.core.expression.parser import parse
from tests.execution.reference.flow import FAILURES, Flow, Raw, Reach, Way, derive, parts_of


class Failure(Exception):
    """A step fails. `error` is what is told of it; a message that is None can be any."""

    def __init__(self, kind: str, message: str | None = None, action: str = "error") -> None:
        self.error: dict[str, object] = {"type": kind, "message": message, "action": action}


class Ending(NamedTuple):
    """What a run says of the end of its main part: the steps that had ended, the node of its error, what followed.

    Where branches run side by side, which of them were done when one failed is known from this alone.
    """

    steps: frozenset[str]
    node: object
    sections: list[str]


class Played(NamedTuple):
    """How a run went. `failed` are the steps that failed with nothing to handle it, by name, with their errors.

    In `steps` are all that ended, with how: `completed`, `skipped`, `handled` or the choice of an edge. Of those in
    `maybe` nobody can know whether they come about: another branch failed beside them. `writes` are what they gave.
    `lost` are the steps that failed in sections, each with its section.
    """

    status: str
    steps: dict[str, str]
    maybe: frozenset[str]
    failed: dict[str, dict[str, object]]
    outputs: dict[str, object]
    writes: dict[str, dict[str, Any]]
    lost: list[tuple[str, str]]


class Interpreter:
    """One play of a document; `endings` are those that a run had, by scope, of which `prefix` is the own one."""

    def __init__(
        self,
        document: Raw,
        inputs: Mapping[str, object],
        run: Mapping[str, object],
        endings: Mapping[str, list[Ending]],
        prefix: str = "",
    ) -> None:
        self.document = document
        self.nodes: dict[str, Raw] = {node["id"]: node for node in document["nodes"]}
        self.inputs = inputs
        self.run = run
        self.endings = endings
        self.prefix = prefix
        self.parts = parts_of(document)
        self.section = ""
        self.error: dict[str, object] | None = None
        self.flow: Flow = derive(document)
        self.reach = Reach(self.flow)
        self.reached: list[str] = list(self.flow.starts)
        self.visits: dict[str, int] = {}
        self.outputs: dict[str, dict[str, Any]] = {}
        self.steps: dict[str, str] = {}
        self.failed: dict[str, dict[str, object]] = {}
        self.kept_back: set[str] = set()
        self.ended: list[str] = []
        self.led_by: dict[str, list[str]] = {}
        self.was_parallel = False
        self.maybe: set[str] = set()
        self.writes: dict[str, dict[str, Any]] = {}

    def play(self) -> Played:
        """Play the main part, and after it the sections: again each time that a run came to its end again."""
        self._play_part()
        failed, is_open = self.failed, bool(self.failed) and self.was_parallel
        if is_open:
            self.maybe |= self.steps.keys()
        lost: list[tuple[str, str]] = []
        for ending in self.endings.get(self.prefix, []):
            if is_open:
                self._go_back(ending)
            lost = self._play_sections(failed, ending)
        if self.prefix not in self.endings:
            lost = self._play_sections(failed, None)
        status = "failed" if failed else "completed"
        outputs = self._result() if not failed else {}
        return Played(status, self.steps, frozenset(self.maybe), failed, outputs, self.writes, lost)

    def _play_part(self) -> None:
        """Play until nothing is left that can run; a step that failed keeps back what it could have led to."""
        while ready := [name for name in self.reached if not self._can_wait(name)]:
            self.was_parallel |= len(self.reached) + len(self.failed) > 1
            self._visit(min(ready, key=list(self.nodes).index))

    def _go_back(self, ending: Ending) -> None:
        """Have the main part give what it had given by the time that it ended."""
        self.outputs = {name: writes for name, writes in self.outputs.items() if self.parts[name]}
        for name in [name for name, part in self.parts.items() if not part]:
            steps = [_step(name, visit) for visit in range(1, self.visits.get(name, 0) + 1)]
            if known := [step for step in steps if step in ending.steps and step in self.writes]:
                self.outputs[name] = self.writes[known[-1]]

    def _play_sections(self, failed: dict[str, dict[str, object]], ending: Ending | None) -> list[tuple[str, str]]:
        """Play what follows the main part; returns what failed there."""
        due = [section for section in self.flow.sections if failed or section == "finally"]
        nodes = [step.partition("#")[0] for step in failed]
        if ending is not None:
            assert ending.sections == due
            assert ending.node in nodes if failed else ending.node is None
        if failed:
            self.error = {"node": nodes[0] if ending is None else ending.node}
        lost: list[tuple[str, str]] = []
        for section in due:
            self.section, self.reached = section, [self.flow.sections[section]]
            self.kept_back, self.failed = set(), {}
            self._play_part()
            lost += [(section, step) for step in self.failed]
        self.section = ""
        return lost

    def _can_wait(self, name: str) -> bool:
        return name in self.kept_back or any(self.reach.can(live, name) for live in self.reached)

    def _visit(self, name: str) -> None:
        node = self.nodes[name]
        self.reached.remove(name)
        visit = self.visits[name] = self.visits.get(name, 0) + 1
        step = _step(name, visit)
        try:
            if visit > node.get("max_visits", 1000):
                raise Failure("step")
            if "when" in node and not self._value(name, node["when"]):
                self.steps[step] = "skipped"
                self._go_on(name, "default", self.led_by.pop(name, []))
                return
            action, writes = self._batch(node) if "batch" in node else self._run(node, {})
        except Failure as failure:
            self._fail(name, step, failure, is_fuse=visit > node.get("max_visits", 1000))
            return
        self.steps[step] = "completed"
        self._give(name, writes)
        self._go_on(name, action, [name])

    def _give(self, name: str, writes: dict[str, Any]) -> None:
        self.outputs[name] = self.writes[_step(name, self.visits[name])] = writes
        self.led_by.pop(name, None)

    def _fail(self, name: str, step: str, failure: Failure, *, is_fuse: bool) -> None:
        ways, action = self.flow.ways[name], str(failure.error["action"])
        handled = action if action in ways and action in FAILURES else "error" if "error" in ways else ""
        if not handled or is_fuse:
            self.failed[step] = failure.error
            self.kept_back |= self.reach.after[name]
            return
        self.steps[step] = "handled"
        self._give(name, {"error": {"node": name, **failure.error}})
        self._go_on(name, handled, [name])

    def _go_on(self, name: str, action: str, led_by: list[str]) -> None:
        """Follow the ways of an action. What led here counts as the last if nothing follows."""
        ways = self.flow.ways[name].get(action, [])
        if any(way.when for way in ways):
            chosen = self._choose(name, action, ways)
            if chosen is None:
                return
            ways = [chosen]
        targets = list(dict.fromkeys(way.target for way in ways if way.target))
        for target in targets:
            if target not in self.reached:
                self.reached.append(target)
            self.led_by.setdefault(target, []).extend(led_by)
        if not targets and not self.section:
            self.ended += led_by

    def _choose(self, name: str, action: str, ways: list[Way]) -> Way | None:
        """The way whose condition holds, found in a step of its own behind the node."""
        hidden = name + "?" + ("" if action == "default" else action)
        visit = self.visits[hidden] = self.visits.get(hidden, 0) + 1
        step = _step(hidden, visit)
        try:
            for way in ways:
                if way.when == "else" or self._value(name, way.when):
                    self.steps[step] = "chosen"
                    return way
            raise Failure("step")
        except Failure as failure:
            self.failed[step] = failure.error
            self.kept_back |= self.reach.by(name, ways)
            return None

    # ---- what a node does

    def _run(self, node: Raw, item: Mapping[str, object]) -> tuple[str, dict[str, Any]]:
        name, params = node["id"], node["params"]
        if node["type"] == "let":
            return "default", {key: self._value(name, text, item) for key, text in params.items()}
        if node["type"] == "switch":
            found = next((case for case, text in params["cases"].items() if self._value(name, text, item)), "else")
            return found, {"case": found}
        if node["type"] == "workflow":
            inputs = self._render(name, params.get("inputs", {}), item)
            prefix = _step(name, self.visits[name]) + "/"
            played = Interpreter(params["workflow"], inputs, self.run, self.endings, self.prefix + prefix).play()
            self.writes |= {prefix + step: writes for step, writes in played.writes.items()}
            self.steps |= {prefix + step: how for step, how in played.steps.items()}
            self.maybe |= {prefix + step for step in played.maybe}
            if played.failed:
                raise Failure("step")
            return "default", played.outputs
        values = self._render(name, params, item)
        if node["type"] == "fail":
            raise Failure("failed_on_purpose", values["message"])
        if node["type"] == "work":
            if values["value"] == values.get("bad"):
                raise Failure("step", f"bad {values['value']}")
            return "default", {"value": values["value"]}
        return "default", values

    def _batch(self, node: Raw) -> tuple[str, dict[str, Any]]:
        name, batch, as_ = node["id"], node["batch"], node["batch"].get("as", "item")
        items = self._render(name, batch["items"], {})
        if "where" in batch:
            numbered = [(item, {as_: item, f"{as_}_index": index}) for index, item in enumerate(items)]
            items = [item for item, names in numbered if self._value(name, batch["where"], names)]
        results: list[object] = []
        lost = 0
        for index, item in enumerate(items):
            try:
                results.append(self._run(node, {as_: item, f"{as_}_index": index})[1])
            except Failure:
                results.append(None)
                lost += 1
        most = batch.get("max_failed", len(items))
        is_all = lost == len(items) and most != "100%"
        is_many = most != "100%" and lost > most
        if lost and (batch.get("on_error", "stop") == "stop" or is_all or is_many):
            raise Failure("step")
        pairs = enumerate(zip(items, results, strict=True))
        done = [{"index": at, "item": item, "result": result} for at, (item, result) in pairs if result is not None]
        return "default", {"results": results, "count": len(items), "done": done}

    def _result(self) -> dict[str, object]:
        if self.document.get("outputs"):
            return {name: self._output(told["source"]) for name, told in self.document["outputs"].items()}
        last = [name for name in self.nodes if name in self.ended]
        found = {name: self.outputs[name] for name in last}
        return found[last[0]] if len(last) == 1 else dict(found)

    def _output(self, source: str) -> object:
        try:
            return self._render("", source, {})
        except Failure:
            return None

    # ---- what names mean

    def _value(self, name: str, text: object, item: Mapping[str, object] = {}) -> Any:
        names: dict[str, object] = {node: self.outputs.get(node, Absent(reason="")) for node in self.nodes}
        names |= {"visit": self.visits[name], "run": self._about(), "steps": self.outputs, **self.inputs, **item}
        names["error"] = self._error(name) or Absent(reason="")
        try:
            return evaluate(parse(str(text)), names).value
        except Fault:
            raise Failure("step") from None

    def _about(self) -> dict[str, object]:
        status = {"status": "failed" if self.error else "completed"} if self.section == "finally" else {}
        return {**self.run, **status}

    def _error(self, name: str) -> object:
        """The nearest error upstream; of several equally near, that of the last in the document.

        In a section it is that of the run.
        """
        if self.section:
            return self.error
        before = [name]
        seen: set[str] = set()
        while before:
            seen |= set(before)
            before = [node for node in self.nodes if any(target in before for target in self.flow.targets(node))]
            if found := [self.outputs[node]["error"] for node in before if "error" in self.outputs.get(node, {})]:
                return found[-1]
            before = [node for node in before if node not in seen]
        return None

    def _render(self, name: str, value: object, item: Mapping[str, object]) -> Any:
        if isinstance(value, Mapping):
            return {key: self._render(name, part, item) for key, part in value.items()}
        if isinstance(value, list):
            return [self._render(name, part, item) for part in value]
        if not isinstance(value, str):
            return value
        if whole := _TEMPLATE.fullmatch(value):
            return self._look_up(name, whole, item)
        return _TEMPLATE.sub(lambda found: str(self._look_up(name, found, item)), value)

    def _look_up(self, name: str, template: re.Match[str], item: Mapping[str, object]) -> object:
        root, *path = template["path"].split(".")
        own = {
            "visit": self.visits.get(name, 0),
            "run": self._about(),
            "error": self._error(name),
            "steps": self.outputs,
        }
        found: Any = {**own, **self.outputs, **self.inputs, **item}.get(root)
        for key in path:
            found = found.get(key) if isinstance(found, Mapping) else None
        if found is not None:
            return found
        if template["default"] is None:
            raise Failure("template")
        return template["default"]


_TEMPLATE = re.compile(r"\$\{(?P<path>[\w.]+)(?::-(?P<default>[^}]*))?\}")


def _step(name: str, visit: int) -> str:
    return name if visit == 1 else f"{name}#{visit}"
