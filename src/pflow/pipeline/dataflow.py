"""Lets data flow between the steps of a pipeline: what a step needs and its author left out comes from before it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pflow.core.document.issue import Issue
from pflow.core.interface import Field, Interface
from pflow.core.json_type import overlaps
from pflow.pipeline.flag import flag_name, kinds

Stdin = str | Callable[[], str]
"""What was piped in, or how to read it: it is asked for only when the first node has a place for it."""

_INPUT_NAMES = ("stdin", "content", "text", "input", "data", "query", "prompt", "message", "body", "context")
"""Names under which nodes take what flows in, the likeliest first."""

_OUTPUT_NAMES = ("result", "response", "content", "stdout", "text", "output", "results", "files", "path")
"""Names under which nodes give what they are for, the likeliest first."""

_ANY_INPUTS = frozenset({"code"})
"""Node types that take inputs under whatever names they come."""

_PLACES = frozenset({"path", "from", "to", "cwd", "folder", "file", "file_path", "url"})
"""Parameters that say where: text that merely flows by is no address."""

_ASIDE = frozenset({"error", "stderr", "exit_code", "status_code", "headers", "usage", "cost"})
"""Outputs that say how it went rather than what came out."""


@dataclass(slots=True)
class Step:
    """One node of a pipeline: `params` are configuration, `data` natural keys, `mapped` the store's names for keys."""

    id: str
    type: str
    interface: Interface
    params: dict[str, object] = field(default_factory=dict)
    data: dict[str, object] = field(default_factory=dict)
    mapped: dict[str, str] = field(default_factory=dict)

    def outputs(self) -> dict[str, str]:
        """Names and types of what the step gives."""
        found = {output.name: output.type for output in self.interface.outputs}
        if self.interface.echo_params:
            found.update(dict.fromkeys(self.params, "any"))
        return found

    def lacks(self, name: str) -> bool:
        return name not in self.params and name not in self.data and name not in self.mapped


class Connector:
    """Connects steps in their order. `inputs` are values for the inputs that `declared` holds."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = steps
        self.issues: list[Issue] = []
        self.notes: list[str] = []
        self.inputs: dict[str, str] = {}
        self.declared: dict[str, dict[str, object]] = {}

    def connect(self, stdin: Stdin | None) -> None:
        """Let data flow: into the first node from outside, into the others from what comes before them."""
        if stdin is not None and self.steps:
            self._feed(self.steps[0], stdin)
        self._declare_data()
        for index, step in enumerate(self.steps):
            before = self.steps[:index]
            self._fill(step, before)
            for param in step.interface.params:
                if param.required and step.lacks(param.name):
                    self._needs(step, param, before)
            for read in step.interface.reads:
                if read.required and step.lacks(read.name) and not _writes(before, read.name):
                    self._needs(step, read, before)

    def _feed(self, step: Step, stdin: Stdin) -> None:
        target = takes_stdin(step.interface, (*step.params, *step.data))
        text = "" if target is None else stdin if isinstance(stdin, str) else stdin()
        if target is None or not text:
            return
        step.params[target.name] = "${stdin}"
        declared = kinds(target)
        kind = "string" if "string" in declared or "any" in declared else declared[0]
        self.declared["stdin"] = {"type": kind, "required": True, "description": "what was piped in"}
        self.inputs["stdin"] = text

    def _declare_data(self) -> None:
        written = {name for step in self.steps for name in step.outputs()}
        for step in self.steps:
            for key, value in step.data.items():
                read = next(read for read in step.interface.reads if read.name == key)
                name = key
                if key in self.declared or key in written:
                    name = f"{step.id}_{key}".replace("-", "_")
                    step.mapped[key] = name
                self.declared[name] = {
                    "type": kinds(read)[0] if len(kinds(read)) == 1 else "any",
                    "required": False,
                    "default": value,
                    "description": read.description,
                }

    def _fill(self, step: Step, before: Sequence[Step]) -> None:
        """Give the step what its author left out and the steps before it have."""
        if not before:
            return
        previous = before[-1]
        outputs = previous.outputs()
        wanted = [param for param in step.interface.params if param.required and step.lacks(param.name)]
        used: set[str] = set()
        for param in wanted:
            name = "path" if param.name == "from" else param.name
            if _fits(outputs.get(name), param) and not _is_code(param):
                self._take(step, param.name, previous, name)
                used.add(name)
        for param in wanted:
            source = _by_type(outputs, param, used)
            if step.lacks(param.name) and source is not None:
                self._take(step, param.name, previous, source)
                used.add(source)
        for param in wanted:
            for earlier in reversed(before[:-1]):
                if step.lacks(param.name) and _fits(earlier.outputs().get(param.name), param) and not _is_code(param):
                    self._take(step, param.name, earlier, param.name)
        for read in step.interface.reads:
            source = _by_type(outputs, read, used)
            if read.required and step.lacks(read.name) and not _writes(before, read.name) and source:
                step.mapped[read.name] = source
                used.add(source)
                self.notes.append(f"`{step.id}` reads `{source}` of `{previous.id}` as `{read.name}`")
        explicit = any("${" in str(value) for value in step.params.values())
        if not used and not explicit:
            self._offer(step, previous, outputs)

    def _offer(self, step: Step, previous: Step, outputs: Mapping[str, str]) -> None:
        """A step that asks for nothing may still have a place for what flows in, as a filter's stdin."""
        if step.type in _ANY_INPUTS and step.lacks("inputs"):
            step.params["inputs"] = {name: f"${{{previous.id}.{name}}}" for name in outputs}
            self.notes.append(
                f"`{step.id}` has the outputs of `{previous.id}` as {', '.join(f'`{n}`' for n in outputs)}"
            )
            return
        for name in _INPUT_NAMES:
            param = step.interface.param(name)
            if param is None or not step.lacks(name):
                continue
            source = name if _fits(outputs.get(name), param) else _by_type(outputs, param, set())
            if source is not None:
                self._take(step, name, previous, source)
                return

    def _take(self, step: Step, param: str, source: Step, output: str) -> None:
        template = f"${{{source.id}.{output}}}"
        step.params[param] = template
        self.notes.append(f"`{step.id}` takes `{param}` from `{template}`")

    def _needs(self, step: Step, target: Field, before: Sequence[Step]) -> None:
        flag = f"--{flag_name(target.name)}"
        about = f"{target.type}, {target.description}" if target.description else target.type
        sources = tuple(f"${{{source.id}.{name}}}" for source in before for name in source.outputs())
        message = f"`{step.type}` needs `{flag}` ({about})"
        hint = f"write `{step.type} {flag}=…`"
        self.issues.append(Issue(code="missing-flag", message=message, known=sources, hint=hint))


def takes_stdin(interface: Interface, given: Iterable[str] = ()) -> Field | None:
    """The parameter or natural key of a first node that text from outside would go to."""
    names = set(given)
    fields = (*interface.params, *interface.reads)
    free = [field for field in fields if field.name not in names and not _is_code(field)]
    texts = [field for field in free if not {"string", "any", "object", "array"}.isdisjoint(kinds(field))]
    required = [field for field in texts if field.required]
    for pool in (required, texts):
        for name in _INPUT_NAMES:
            for candidate in pool:
                if candidate.name == name:
                    return candidate
    return required[0] if required else None


def primary_output(outputs: Mapping[str, str]) -> str | None:
    """The output that a node type is there for, out of names and types."""
    for name in _OUTPUT_NAMES:
        if name in outputs:
            return name
    return next((name for name in outputs if name not in _ASIDE), None)


def _writes(steps: Sequence[Step], name: str) -> bool:
    return any(name in step.outputs() for step in steps)


def _by_type(outputs: Mapping[str, str], target: Field, used: set[str]) -> str | None:
    """The primary output, where its type fits; a second place for the same value would be a guess too far."""
    name = primary_output(outputs)
    if name is None or name in used or target.name in _PLACES or _is_code(target):
        return None
    return name if _fits(outputs[name], target) else None


def _is_code(target: Field) -> bool:
    """Whether the field's text is executed: that is never filled with what flows by."""
    return target.slot in ("shell", "raw") or target.name in ("command", "code")


def _fits(source: str | None, target: Field) -> bool:
    return source is not None and overlaps(source, "|".join(kinds(target)))
