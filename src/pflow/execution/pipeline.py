"""Turns `node --flag=v >> node2` into a document: people type flags, this decides what each one means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pflow.core.document import IR_VERSION
from pflow.core.errors import InputError
from pflow.core.interface import Field, Interface
from pflow.core.issue import Issue
from pflow.core.suggest import nearest
from pflow.execution.flag import find_field, flag_name, kinds, read_flag

Lookup = Callable[[str], Interface | None]
Stdin = str | Callable[[], str]
"""What was piped in, or how to read it: it is asked for only when the first node has a place for it."""

CONNECTOR = ">>"

_INPUT_NAMES = ("stdin", "content", "text", "input", "data", "query", "prompt", "message", "body", "context")
"""Names under which nodes take what flows in, the likeliest first."""

_OUTPUT_NAMES = ("result", "response", "content", "stdout", "text", "output", "results", "files", "path")
"""Names under which nodes give what they are for, the likeliest first."""

_ANY_INPUTS = frozenset({"code"})
"""Node types that take inputs under whatever names they come."""

_ASIDE = frozenset({"error", "stderr", "exit_code", "status_code", "headers", "usage", "cost"})
"""Outputs that say how it went rather than what came out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """A pipeline as a document, the inputs to run it with, and what was found on the way.

    `notes` say how the steps were connected; `options` are words that no node knows but the caller does.
    """

    document: dict[str, object]
    inputs: dict[str, str]
    issues: tuple[Issue, ...]
    notes: tuple[str, ...]
    options: tuple[str, ...]


@dataclass(slots=True)
class _Step:
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


def is_pipeline(words: Sequence[str]) -> bool:
    """Whether a command line connects nodes: `>>` as a word of its own, or inside the first word."""
    return CONNECTOR in words or (bool(words) and CONNECTOR in words[0].split())


def parse_pipeline(
    words: Sequence[str] | str,
    lookup: Lookup,
    *,
    stdin: Stdin | None = None,
    names: Iterable[str] = (),
    options: Mapping[str, bool] | None = None,
) -> Pipeline:
    """The document that a pipeline means.

    `words` are a command line, already split, or its text. `lookup` finds a node type's interface, `names` are
    all node types for suggestions, and `options` are flags of the caller (with whether they take a value) that
    count where a node has no such flag. `stdin` goes to the first node.
    """
    reader = _Reader(lookup, names, options or {})
    if isinstance(words, str):
        words = reader.split(words)
    for segment in _segments(words):
        reader.step(segment)
    if not reader.issues:
        reader.connect(stdin)
    return Pipeline(
        document=reader.document(),
        inputs=reader.inputs,
        issues=tuple(reader.issues),
        notes=tuple(reader.notes),
        options=tuple(reader.left),
    )


def takes_stdin(interface: Interface, given: Iterable[str] = ()) -> Field | None:
    """The parameter or natural key of a first node that text from outside would go to."""
    names = set(given)
    free = [field for field in (*interface.params, *interface.reads) if field.name not in names]
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


class _Reader:
    def __init__(self, lookup: Lookup, names: Iterable[str], options: Mapping[str, bool]) -> None:
        self._lookup = lookup
        self._names = names
        self._options = options
        self.steps: list[_Step] = []
        self.issues: list[Issue] = []
        self.notes: list[str] = []
        self.left: list[str] = []
        self.inputs: dict[str, str] = {}
        self._declared: dict[str, dict[str, object]] = {}

    def split(self, text: str) -> list[str]:
        import shlex  # lazy: words of a shell come split already

        try:
            return shlex.split(text)
        except ValueError as error:
            at = max(text.rfind("'"), text.rfind('"'))
            what = "a quote is not closed" if "quotation" in str(error) else "it ends in a lone `\\`"
            shown = text[max(0, at - 20) : at + 30]
            self._issue("syntax", f"the pipeline cannot be read: {what} near `{shown}`")
            return []

    def step(self, segment: Sequence[str]) -> None:
        """Read one node and its flags."""
        if not segment:
            self._issue("syntax", f"there is no node on one side of `{CONNECTOR}`", hint=f"write `a {CONNECTOR} b`")
            return
        name, *flags = segment
        interface = self._lookup(name)
        if interface is None:
            near = nearest(name, self._names)
            self._issue(
                "unknown-node-type",
                f"there is no node type `{name}`",
                hint=f"did you mean `{near[0]}`?" if near else "see `pflow registry list`",
            )
            return
        count = sum(step.type == name for step in self.steps)
        step = _Step(name if not count else f"{name}_{count + 1}", name, interface)
        self.steps.append(step)
        self._flags(step, flags)

    def _flags(self, step: _Step, words: list[str]) -> None:
        given: dict[tuple[str, bool], tuple[Field, list[str]]] = {}
        while words:
            word = words.pop(0)
            if not word.startswith("--") or len(word) == 2:
                self._stray(step, word)
                continue
            name, equals, value = word[2:].partition("=")
            found = find_field(step.interface, name)
            if found is None:
                if name in self._options:
                    self.left.append(word)
                    if self._options[name] and not equals and words:
                        self.left.append(words.pop(0))
                    continue
                self._unknown(step, name)
                if not equals and words and not words[0].startswith("--"):
                    words.pop(0)
                continue
            target, is_data = found
            if not equals:
                taken = _next_value(target, words)
                if taken is None:
                    self._issue(
                        "missing-value",
                        f"`--{name}` of `{step.type}` needs a value ({target.type})",
                        hint=f"write `--{name}=…`",
                    )
                    continue
                value = taken
            texts = given.setdefault((target.name, is_data), (target, []))[1]
            if texts and "array" not in kinds(target):
                self._issue("duplicate", f"`--{name}` of `{step.type}` is given twice")
            texts.append(value)
        for (name, is_data), (target, texts) in given.items():
            try:
                (step.data if is_data else step.params)[name] = read_flag(target, texts)
            except InputError as error:
                self._issue("wrong-type", f"{error.message}, in `{step.type}`")

    def connect(self, stdin: Stdin | None) -> None:
        """Let data flow: into the first node from outside, into the others from what comes before them."""
        if not self.steps:
            self._issue("syntax", "the pipeline is empty", hint=f"write `node --flag=value {CONNECTOR} node`")
            return
        first = self.steps[0]
        if stdin is not None:
            self._feed(first, stdin)
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

    def _feed(self, step: _Step, stdin: Stdin) -> None:
        target = takes_stdin(step.interface, (*step.params, *step.data))
        text = "" if target is None else stdin if isinstance(stdin, str) else stdin()
        if target is None or not text:
            return
        name = "stdin"
        if step.interface.param(target.name) is not None:
            step.params[target.name] = "${stdin}"
        else:
            step.mapped[target.name] = name
        declared = kinds(target)
        kind = "string" if "string" in declared or "any" in declared else declared[0]
        self._declared[name] = {"type": kind, "required": True, "description": "what was piped in"}
        self.inputs[name] = text

    def _declare_data(self) -> None:
        written = {name for step in self.steps for name in step.outputs()}
        for step in self.steps:
            for key, value in step.data.items():
                read = next(read for read in step.interface.reads if read.name == key)
                name = key
                if key in self._declared or key in written:
                    name = f"{step.id}_{key}".replace("-", "_")
                    step.mapped[key] = name
                self._declared[name] = {
                    "type": kinds(read)[0] if len(kinds(read)) == 1 else "any",
                    "required": False,
                    "default": value,
                    "description": read.description,
                }

    def _fill(self, step: _Step, before: Sequence[_Step]) -> None:
        """Give the step what its author left out and the steps before it have."""
        if not before:
            return
        previous = before[-1]
        outputs = previous.outputs()
        wanted = [param for param in step.interface.params if param.required and step.lacks(param.name)]
        used: set[str] = set()
        for param in wanted:
            if param.name in outputs and _fits(outputs[param.name], param):
                self._take(step, param.name, previous, param.name)
                used.add(param.name)
        for param in wanted:
            source = _by_type(outputs, param, used)
            if step.lacks(param.name) and source is not None:
                self._take(step, param.name, previous, source)
                used.add(source)
        for param in wanted:
            for earlier in reversed(before[:-1]):
                if step.lacks(param.name) and _fits(earlier.outputs().get(param.name), param):
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

    def _offer(self, step: _Step, previous: _Step, outputs: Mapping[str, str]) -> None:
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

    def _take(self, step: _Step, param: str, source: _Step, output: str) -> None:
        template = f"${{{source.id}.{output}}}"
        step.params[param] = template
        self.notes.append(f"`{step.id}` takes `{param}` from `{template}`")

    def _needs(self, step: _Step, target: Field, before: Sequence[_Step]) -> None:
        flag = f"--{flag_name(target.name)}"
        about = f"{target.type}, {target.description}" if target.description else target.type
        sources = [f"${{{source.id}.{name}}}" for source in before for name in source.outputs()]
        hint = f"write `{step.type} {flag}=…`"
        if sources:
            hint += f", for example `{flag}='{sources[-1]}'`"
        self._issue("missing-flag", f"`{step.type}` needs `{flag}` ({about})", known=tuple(sources), hint=hint)

    def _unknown(self, step: _Step, name: str) -> None:
        fields = (*step.interface.params, *step.interface.reads)
        near = nearest(name, [field.name for field in fields])
        self._issue(
            "unknown-flag",
            f"`{step.type}` has no flag `--{name}`",
            known=tuple(f"--{flag_name(field.name)} ({field.type})" for field in fields),
            hint=f"did you mean `--{flag_name(near[0])}`?" if near else f"see `pflow registry describe {step.type}`",
        )

    def _stray(self, step: _Step, word: str) -> None:
        name, equals, value = word.lstrip("-").partition("=")
        if equals and find_field(step.interface, name):
            hint = f"write `--{flag_name(name)}={value}`"
        else:
            free = [param for param in step.interface.params if param.name not in step.params]
            best = next((param for param in free if param.required), free[0] if free else None)
            hint = f"write `--{flag_name(best.name)}='{word}'`" if best else f"`{step.type}` takes no flags"
        self._issue("stray-word", f"`{word}` after `{step.type}` is not a flag", hint=hint)

    def _issue(self, code: str, message: str, *, known: tuple[str, ...] = (), hint: str = "") -> None:
        self.issues.append(Issue(code=code, message=message, known=known, hint=hint))

    def document(self) -> dict[str, object]:
        """The document, as far as it could be read."""
        steps = self.steps
        document: dict[str, object] = {
            "ir_version": IR_VERSION,
            "name": f" {CONNECTOR} ".join(step.type for step in steps),
            "nodes": [{"id": step.id, "type": step.type, "params": step.params} for step in steps],
            "edges": [{"from": source.id, "to": target.id} for source, target in pairwise(steps)],
        }
        if self._declared:
            document["inputs"] = self._declared
        mappings = {step.id: {"input_mappings": step.mapped} for step in steps if step.mapped}
        if mappings:
            document["mappings"] = mappings
        return document


def _segments(words: Sequence[str]) -> list[list[str]]:
    segments: list[list[str]] = [[]]
    for word in words:
        if word == CONNECTOR:
            segments.append([])
        else:
            segments[-1].append(word)
    return segments if len(segments) > 1 or segments[0] else []


def _next_value(target: Field, words: list[str]) -> str | None:
    """The value that stands after a flag; a boolean flag needs none."""
    if "boolean" in kinds(target):
        if words and words[0].lower() in ("true", "false"):
            return words.pop(0)
        return "true"
    if words and not words[0].startswith("--"):
        return words.pop(0)
    return None


def _writes(steps: Sequence[_Step], name: str) -> bool:
    return any(name in step.outputs() for step in steps)


def _by_type(outputs: Mapping[str, str], target: Field, used: set[str]) -> str | None:
    """The primary output, where its type fits; a second place for the same value would be a guess too far."""
    name = primary_output(outputs)
    if name is None or name in used:
        return None
    return name if _fits(outputs[name], target) else None


def _fits(source: str | None, target: Field) -> bool:
    if source is None:
        return False
    given, taken = set(source.split("|")), set(kinds(target))
    if "integer" in given:
        given.add("number")
    return "any" in given or "any" in taken or not given.isdisjoint(taken)
