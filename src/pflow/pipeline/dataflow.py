"""Lets data flow between the steps of a pipeline: what a step needs and its author left out comes from before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pflow.core.document.issue import Issue
from pflow.core.interface import Field, Interface
from pflow.core.json_type import overlaps
from pflow.pipeline.flag import flag_name, kinds

Stdin = str | Callable[[], str]
"""What was piped in, or how to read it: it is asked for only when the first node has a place for it."""

_INPUT_NAMES = ("stdin", "content", "text", "input", "data", "query", "prompt", "message", "body", "context")
"""Names under which nodes take what flows in, the likeliest first."""

_OTHER_NAMES = {"from": "path"}
"""Parameters, and the outputs that fit them although they have another name."""

_PLACES = frozenset({"path", "from", "to", "cwd", "folder", "file", "file_path", "url"})
"""Parameters that say where: text that merely flows by is not an address."""


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
        """Names and types of what the step gives, the one that it is there for first."""
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
            written = {name for earlier in before for name in earlier.outputs()}
            reads = (read for read in step.interface.reads if read.name not in written)
            needed = [want for want in (*step.interface.params, *reads) if want.required and step.lacks(want.name)]
            if before:
                self._fill(step, needed, before)
            self.issues += [_missing(step, want, before) for want in needed if step.lacks(want.name)]

    def _feed(self, step: Step, stdin: Stdin) -> None:
        target = _entrance(step)
        if target is None:
            return
        text = stdin if isinstance(stdin, str) else stdin()
        if not text and not _takes_nothing(target):
            return
        step.params[target.name] = "${stdin}"
        kind = "string" if overlaps("string", target.type) else kinds(target)[0]
        self.declared["stdin"] = {"type": kind, "required": True, "description": "what was piped in"}
        self.inputs["stdin"] = text

    def _declare_data(self) -> None:
        written = {name for step in self.steps for name in step.outputs()}
        for step in self.steps:
            for key, value in step.data.items():
                read = step.interface.param(key) or Field(name=key)
                name = key
                if key in self.declared or key in written:
                    name = f"{step.id}_{key}".replace("-", "_")
                    step.mapped[key] = name
                self.declared[name] = {
                    "type": "any" if "|" in read.type else read.type,
                    "required": False,
                    "default": value,
                    "description": read.description,
                }

    def _fill(self, step: Step, needed: Sequence[Field], before: Sequence[Step]) -> None:
        """Give the step what its author left out and the steps before it have."""
        previous, outputs = before[-1], before[-1].outputs()
        used: set[str] = set()
        for want in sorted(needed, key=lambda want: _OTHER_NAMES.get(want.name, want.name) not in outputs):
            self._take(step, want, before, used)
        if used or any("${" in str(value) for value in step.params.values()):
            return
        # A step that asks for nothing may still have a place for what flows in, as a filter's stdin.
        if step.type == "code" and step.lacks("inputs"):
            step.params["inputs"] = {name: f"${{{previous.id}.{name}}}" for name in outputs}
            names = ", ".join(f"`{name}`" for name in outputs)
            self.notes.append(f"`{step.id}` has the outputs of `{previous.id}` as {names}")
        elif entrance := _entrance(step):
            self._take(step, entrance, [previous], used)

    def _take(self, step: Step, want: Field, before: Sequence[Step], used: set[str]) -> None:
        """Feed a field from before: by name or with the main output of the previous step, else by name from further up.

        One value does not fill two places (`used` are outputs of the previous step), and what flows by never becomes
        code or an address.
        """
        *earlier, previous = before
        name = _OTHER_NAMES.get(want.name, want.name)
        main = next(iter(previous.outputs()), name)
        choices = [(previous, name), *((source, name) for source in reversed(earlier))]
        if main not in used and want.name not in _PLACES:
            choices.insert(1, (previous, main))
        for source, output in choices:
            kind = source.outputs().get(output)
            if kind is None or not overlaps(kind, want.type) or _is_code(want):
                continue
            if source is previous:
                used.add(output)
            if want in step.interface.reads:
                step.mapped[want.name] = output
                self.notes.append(f"`{step.id}` reads `{output}` of `{source.id}` as `{want.name}`")
            else:
                step.params[want.name] = template = f"${{{source.id}.{output}}}"
                self.notes.append(f"`{step.id}` takes `{want.name}` from `{template}`")
            return


def _missing(step: Step, want: Field, before: Sequence[Step]) -> Issue:
    flag = f"--{flag_name(want.name)}"
    about = f"{want.type}, {want.description}" if want.description else want.type
    sources = tuple(f"${{{source.id}.{name}}}" for source in before for name in source.outputs())
    message = f"`{step.type}` needs `{flag}` ({about})"
    return Issue(code="missing-flag", message=message, known=sources, hint=f"write `{step.type} {flag}=…`")


def _takes_nothing(target: Field) -> bool:
    """Whether empty text is an answer to what a node asks for, as an empty file is; no option, number or path is."""
    return target.required and target.name not in _PLACES and overlaps("string", target.type)


def _entrance(step: Step) -> Field | None:
    """The parameter or natural key that text from outside goes to."""
    fields = [want for want in (*step.interface.params, *step.interface.reads) if step.lacks(want.name)]
    free = [want for want in fields if not _is_code(want) and overlaps("string|object|array", want.type)]
    named = [want for want in free if want.name in _INPUT_NAMES]
    named.sort(key=lambda want: (not want.required, _INPUT_NAMES.index(want.name)))
    return next(iter([*named, *(want for want in free if want.required)]), None)


def _is_code(want: Field) -> bool:
    """Whether the field's text is executed."""
    return want.slot in ("shell", "raw") or want.name in ("command", "code")
