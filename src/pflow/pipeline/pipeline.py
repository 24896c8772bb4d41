"""Turns `node --flag=v >> node2` into a document: people type flags, this decides what each one means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pflow.core.advice import Advice
from pflow.core.document.document import IR_VERSION
from pflow.core.document.issue import Issue
from pflow.core.errors import InputError
from pflow.core.interface import Field, Interface
from pflow.core.other_words import advise_type
from pflow.core.suggest import nearest
from pflow.pipeline.dataflow import Connector, Stdin, Step
from pflow.pipeline.flag import find_field, flag_name, is_open, kinds, read_flag, takes_several

Lookup = Callable[[str], Interface | None]

CONNECTOR = ">>"


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


def is_pipeline(words: Sequence[str]) -> bool:
    """Whether a command line is one of nodes: `>>` as a word of its own, or a first word that holds several.

    `write-file --path=x` in quotes is one: no workflow has a name with ` --` in it.
    """
    inside = words[0].split() if words else []
    flags = bool(inside) and "/" not in inside[0] and any(word.startswith("--") for word in inside[1:])
    return CONNECTOR in words or CONNECTOR in inside or flags


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
    flow = Connector(reader.steps)
    if not reader.issues:
        flow.connect(stdin)
    return Pipeline(
        document=_document(flow),
        inputs=flow.inputs,
        issues=(*reader.issues, *flow.issues),
        notes=tuple(flow.notes),
        options=tuple(reader.left),
    )


class _Reader:
    def __init__(self, lookup: Lookup, names: Iterable[str], options: Mapping[str, bool]) -> None:
        self._lookup = lookup
        self._names = names
        self._options = options
        self.steps: list[Step] = []
        self.issues: list[Issue] = []
        self.left: list[str] = []

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
            if not self.issues:
                hint = f"write `node --flag=value {CONNECTOR} node`"
                self._issue("syntax", f"there is no node on one side of `{CONNECTOR}`", hint=hint)
            return
        name, *flags = segment
        interface = self._lookup(name)
        if interface is None:
            _, hint = advise_type(name, [*self._names])
            self._issue("unknown-node-type", f"there is no node type `{name}`", hint=hint)
            return
        count = sum(step.type == name for step in self.steps)
        step = Step(name if not count else f"{name}_{count + 1}", name, interface)
        self.steps.append(step)
        self._flags(step, flags)

    def _flags(self, step: Step, words: list[str]) -> None:
        given: dict[str, tuple[Field, bool, list[str]]] = {}
        while words:
            word = words.pop(0)
            if not word.startswith("--") or len(word) == 2:
                self._stray(step, word)
                continue
            name, equals, value = word[2:].partition("=")
            found = find_field(step.interface, name)
            if found is None or (not equals and is_open(step.interface, name) and name in self._options):
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
                    message = f"`--{name}` of `{step.type}` needs a value ({target.type})"
                    self._issue("missing-value", message, hint=f"write `--{name}=…`")
                    continue
                value = taken
            texts = given.setdefault(target.name, (target, is_data, []))[-1]
            if texts and not takes_several(target):
                self._issue("duplicate", f"`--{name}` of `{step.type}` is given twice")
            texts.append(value)
        for name, (target, is_data, texts) in given.items():
            try:
                (step.data if is_data else step.params)[name] = read_flag(target, texts)
            except InputError as error:
                self._issue("wrong-type", f"{error.message}, in `{step.type}`")

    def _unknown(self, step: Step, name: str) -> None:
        fields = (*step.interface.params, *step.interface.reads)
        near = nearest(name, [field.name for field in fields])
        self._issue(
            "unknown-flag",
            f"`{step.type}` has no flag `--{name}`",
            known=tuple(f"--{flag_name(field.name)} ({field.type})" for field in fields),
            hint=f"did you mean `--{flag_name(near[0])}`?" if near else Advice("see `{describe_node}`", node=step.type),
        )

    def _stray(self, step: Step, word: str) -> None:
        name, equals, value = word.lstrip("-").partition("=")
        if word.startswith("-"):
            hint: str = Advice("flags are written `--name=value`; see `{describe_node}`", node=step.type)
        elif equals and find_field(step.interface, name):
            hint = f"write `--{flag_name(name)}={value}`"
        else:
            free = [param for param in step.interface.params if param.name not in step.params]
            best = next((param for param in free if param.required), free[0] if free else None)
            hint = f"write `--{flag_name(best.name)}='{word}'`" if best else f"`{step.type}` takes no flags"
        self._issue("stray-word", f"`{word}` after `{step.type}` is not a flag", hint=hint)

    def _issue(self, code: str, message: str, *, known: tuple[str, ...] = (), hint: str = "") -> None:
        self.issues.append(Issue(code=code, message=message, known=known, hint=hint))


def _document(flow: Connector) -> dict[str, object]:
    steps = flow.steps
    document: dict[str, object] = {
        "ir_version": IR_VERSION,
        "name": f" {CONNECTOR} ".join(step.type for step in steps),
        "nodes": [{"id": step.id, "type": step.type, "params": step.params} for step in steps],
        "edges": [{"from": source.id, "to": target.id} for source, target in pairwise(steps)],
    }
    if flow.declared:
        document["inputs"] = flow.declared
    mappings = {step.id: {"input_mappings": step.mapped} for step in steps if step.mapped}
    if mappings:
        document["mappings"] = mappings
    return document


def _segments(words: Sequence[str]) -> list[list[str]]:
    ends = [index for index, word in enumerate(words) if word == CONNECTOR]
    return [list(words[start + 1 : end]) for start, end in pairwise([-1, *ends, len(words)])]


def _next_value(target: Field, words: list[str]) -> str | None:
    """The value that stands after a flag; a boolean flag needs none."""
    if "boolean" in kinds(target):
        return words.pop(0) if words and words[0].lower() in ("true", "false") else "true"
    return words.pop(0) if words and not words[0].startswith("--") else None
