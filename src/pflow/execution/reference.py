"""Whether a template can resolve: what it names must exist, and must be able to run before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from pflow.core.advice import Advice
from pflow.core.document.document import Document
from pflow.core.document.position import Path
from pflow.core.event import SECTIONS, Section
from pflow.core.interface import MISSING, VALUE_SLOTS, Field, Interface
from pflow.core.json_type import overlaps
from pflow.core.schema_path import DeadEnd, count_calls, follow
from pflow.core.suggest import did_you_mean, nearest
from pflow.core.template.compiled import OWN_NAMES, RUN_FIELDS, STATE, Reference, spell
from pflow.engine.plan import DONE
from pflow.execution.foreign_syntax import other_reference
from pflow.execution.node_check import CheckedNode

_ORDER: Mapping[Section | None, int] = {part: place for place, part in enumerate((None, *SECTIONS))}
"""The order in which the parts of a document run."""


class References:
    """The names that each node of a document can use, as far as that is known when checking.

    `interfaces` hold what each node gives (None when its type is unknown), `after` a bit mask per node of what
    can run after it, `sections` the section of each, if it is in one.
    """

    def __init__(
        self,
        document: Document,
        interfaces: Sequence[Interface | None],
        after: Sequence[int],
        report: Callable[..., None],
        sections: Sequence[Section | None] = (),
    ) -> None:
        self._document = document
        self._interfaces = interfaces
        self._after = after
        self._sections = sections if document.sections else ()
        self._report = report
        self._ids = {spec.id: index for index, spec in enumerate(document.nodes)}
        self._mapped = [
            tuple(document.mappings[spec.id].output_mappings.values()) if spec.id in document.mappings else ()
            for spec in document.nodes
        ]

    def check(self, index: int | None, reference: Reference, path: Path) -> None:
        """Report what is wrong with one template of a node, or of the outputs when `index` is None."""
        root = reference.root
        if root in self._document.inputs:
            declared = self._document.inputs[root]
            end = follow(Field(name=root, type=declared.type), reference.path)
            if end is not None:
                self._report_end(f"input `{root}`", reference, end, path)
        elif root in self._ids:
            self._check_node(index, self._ids[root], reference, path)
        elif root == "steps" and reference.path[:1] and reference.path[1:2] != ("outputs",):
            self.check(index, reference._replace(root=str(reference.path[0]), path=reference.path[1:]), path)
        elif root == "run" and reference.path:
            self._check_run(index, reference, path)
        elif root == STATE and self._document.state:
            self._check_state(reference, path)
        elif root in OWN_NAMES and root != "steps":
            return
        elif not self.natural(index, root) and reference.default is MISSING:
            known = self._known(index)
            near = nearest(
                root,
                [*self._document.inputs, *self._upstream_ids(index), *self.natural_names(index)],
                limit=1,
            )
            self._report(
                "unknown-name",
                f"template `{reference.text}` names `{root}`, which is neither an input nor a node before this one",
                path,
                known=known,
                hint=self._undeclared(reference)
                or self._other_reference(index, reference, path)
                or (f"did you mean `{reference.text.replace(root, near[0], 1)}`?" if near else ""),
            )

    def section_of(self, index: int | None) -> Section | None:
        """The section that a node is in; None for the main part and the outputs."""
        return self._sections[index] if index is not None and self._sections else None

    def _check_run(self, index: int | None, reference: Reference, path: Path) -> None:
        """Report what a run does not tell of itself; how it ends is known only in `finally`."""
        name = reference.path[0]
        known = (*RUN_FIELDS, "status") if self.section_of(index) == "finally" else RUN_FIELDS
        if name in known:
            return
        message = f"template `{reference.text}`: a run has no `{name}`"
        if name == "status":
            message = f"template `{reference.text}`: how a run ends is known only in `finally`"
        self._report("unknown-path", message, path, known=known, hint=did_you_mean(str(name), known), newer=True)

    def _check_state(self, reference: Reference, path: Path) -> None:
        """Report what the document does not declare that it keeps."""
        if not reference.path:
            return
        name = str(reference.path[0])
        key = self._document.state.get(name)
        if key is None:
            known = tuple(f"{name} ({key.type})" for name, key in self._document.state.items())
            message = f"template `{reference.text}`: the `state` of the document does not declare `{name}`"
            self._report("unknown-path", message, path, known=known, hint=did_you_mean(name, self._document.state))
        elif end := follow(Field(name=name, type=key.type), reference.path[1:]):
            self._report_end(f"`state.{name}`", reference, end, path, into=1)

    def _undeclared(self, reference: Reference) -> str:
        """What to do about state in a document that declares none."""
        if reference.root != STATE:
            return ""
        from pflow.execution.keeping.declared import how_to_declare  # lazy: only for this issue

        return how_to_declare(*map(str, reference.path[:1]))

    def _other_reference(self, index: int | None, reference: Reference, path: Path) -> str:
        in_shell = index is not None and self._document.nodes[index].type == "shell" and path[-1] == "command"
        return other_reference(reference, self._document.inputs, self._ids, in_shell=in_shell)

    def natural(self, index: int | None, name: str) -> bool:
        """Whether something that a node can read may stand under `name`: an input, or an upstream output."""
        if name in self._document.inputs:
            return True
        for other in self.upstream(index):
            interface = self._interfaces[other]
            written = interface is None or interface.open_outputs or name in self._mapped[other]
            if written or (interface is not None and interface.output(name) and not self._is_by_id(other, name)):
                return True
        return False

    def _is_by_id(self, node: int, output: str) -> bool:
        """Whether an output stands only under the id of its node: many a shared store has a `done` of its own."""
        return output == DONE and self._document.nodes[node].batch is not None

    def natural_names(self, index: int | None) -> list[str]:
        """The natural keys that upstream nodes are known to write."""
        return list(dict.fromkeys(field.name for field in self._written(index)))

    def mapping_hint(self, index: int, node: str, field: Field) -> str:
        """How to feed a parameter or key when nothing before the node has its name."""
        if field.slot not in VALUE_SLOTS:
            return f"give `{field.name}` in `params`"  # what flows by never becomes a command or an address
        names = [*self._document.inputs, *self.natural_names(index)]
        close = nearest(field.name, names, limit=1)
        if not close:
            alike = [f"`${{{name}}}`" for name in names if overlaps(self._type_of(index, name), field.type)]
            return f"give `{field.name}` in `params`" + (f", such as {' or '.join(alike[-3:])}" if alike else "")
        mapping = f'"mappings": {{"{node}": {{"input_mappings": {{"{field.name}": "{close[0]}"}}}}}}'
        return f"{mapping} would feed it `{close[0]}`"

    def _type_of(self, index: int, name: str) -> str:
        if name in self._document.inputs:
            return self._document.inputs[name].type
        return next((field.type for field in self._written(index) if field.name == name), "any")

    def _check_node(self, index: int | None, target: int, reference: Reference, path: Path) -> None:
        spec = self._document.nodes[target]
        if index is not None and not self._can_be_before(target, index):
            self._report(
                "not-before",
                f"template `{reference.text}` names node `{spec.id}`, which cannot have run before this one",
                path,
                known=self._known(index),
                hint=f"add an edge from `{spec.id}`, or move it up",
            )
            return
        interface = self._interfaces[target]
        if interface is None or not reference.path or interface.open_outputs:
            return
        name = reference.path[0]
        field = interface.output(name) if isinstance(name, str) else None
        kind = f"node `{spec.id}` ({spec.type})"
        if field is None:
            if name in self._mapped[target]:
                return
            names = [f.name for f in interface.outputs]
            near = nearest(str(name), names, limit=1)
            deeper = [f.name for f in interface.outputs if "object" in f.type or f.type == "any"]
            hint = f"did you mean `${{{spec.id}.{near[0]}}}`?" if near else ""
            if not near and deeper:
                hint = f"did you mean `${{{spec.id}.{deeper[0]}.{name}}}`?"
            self._report(
                "unknown-output",
                f"{kind} has no output `{name}`",
                path,
                known=tuple(f"{f.name} ({f.type})" for f in interface.outputs),
                hint=hint,
            )
            return
        end = follow(field, reference.path[1:])
        if end is not None:
            self._report_end(f"output `{name}` of {kind}", reference, end, path, into=1)

    def _can_be_before(self, other: int, index: int) -> bool:
        """Whether a node can have run when another one starts: one part of the document is over before the next."""
        if self._after[other] >> index & 1:
            return True
        mine = self.section_of(index)
        return mine is not None and _ORDER[self.section_of(other)] < _ORDER[mine]

    def check_item(self, reference: Reference, items: Reference, path: Path) -> None:
        """Report what is wrong with a template that names an item of a batch over what `items` names."""
        target = self._ids.get(items.root) if items.root not in self._document.inputs else None
        interface = None if target is None else self._interfaces[target]
        if target is None or interface is None or not items.path or items.default is not MISSING:
            return
        name = items.path[0]
        field = interface.output(name) if isinstance(name, str) else None
        if field is None or name in self._mapped[target]:
            return
        above = (*items.path[1:], 0)
        end = follow(field, (*above, *reference.path))
        if end is not None and len(end.at) >= len(above):  # what is wrong with the items is said there
            spec = self._document.nodes[target]
            end = end._replace(at=end.at[len(above) :])
            self._report_end(f"an item of `{items.text}`, from node `{spec.id}` ({spec.type}),", reference, end, path)

    def _report_end(self, what: str, reference: Reference, end: DeadEnd, path: Path, into: int = 0) -> None:
        """Report a dead end, found in what stands at `into` of the reference's path."""
        if end.seen and reference.default is not MISSING:
            return  # what was seen so far promises nothing, and the default covers the rest
        at = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in end.at)
        names = [known.split(" ")[0] for known in end.known]
        near = nearest(str(end.wanted), names, limit=1)
        wanted = f"[{end.wanted}]" if isinstance(end.wanted, int) else f"`{end.wanted}`"
        hint = f"did you mean `{near[0]}`?" if near else ""
        if end.kind == "string" and not near:
            from pflow.core.text_hint import parse_hint  # lazy: only for this message

            hint = parse_hint(f"${{{spell(reference, into + len(end.at))}}}")
        elif end.seen and not near:
            hint = Advice(
                "if it may be there at times, give a default (`{template}`), "
                "or {call_tool_again}, which teaches what its results look like",
                template=f"{reference.text[:-1]}:-…}}",
            )
        self._report(
            "unknown-path",
            f"template `{reference.text}`: {what}{' at `' + at + '`' if at else ''} is {end.kind} and has no {wanted}"
            + (f" (as seen in {count_calls(end.seen)})" if end.seen else ""),
            path,
            known=end.known,
            hint=hint,
        )

    def _known(self, index: int | None) -> tuple[str, ...]:
        inputs = (f"{name} ({declared.type})" for name, declared in self._document.inputs.items())
        outputs = (
            f"{self._document.nodes[other].id}.{field.name} ({field.type})"
            for other in self.upstream(index)
            for field in (self._interfaces[other] or Interface()).outputs
        )
        return (*inputs, *outputs)

    def _written(self, index: int | None) -> Iterator[Field]:
        """What upstream nodes are known to write."""
        for other in self.upstream(index):
            outputs = (self._interfaces[other] or Interface()).outputs
            yield from (field for field in outputs if not self._is_by_id(other, field.name))
            yield from (Field(name=name) for name in self._mapped[other])

    def _upstream_ids(self, index: int | None) -> list[str]:
        return [self._document.nodes[other].id for other in self.upstream(index)]

    def is_visible(self, index: int | None, name: str) -> bool:
        """Whether an expression of a node can name a node."""
        number = self._ids.get(name)
        if number is None:
            return False
        if index is None or self.section_of(index) is None:
            return index is None or bool(self._after[number] >> index & 1)
        return self._can_be_before(number, index)

    def visible_ids(self, index: int | None) -> list[str]:
        """The nodes that an expression of a node can name: those before it, and itself in a loop."""
        if index is None or self.section_of(index) is None:
            return self._upstream_ids(index)
        specs = enumerate(self._document.nodes)
        return [spec.id for other, spec in specs if self._can_be_before(other, index)]

    def upstream(self, index: int | None) -> list[int]:
        """The nodes that can lead to a node; all of the main part for the outputs."""
        count = len(self._document.nodes)
        if index is None:
            return [other for other in range(count) if self.section_of(other) is None]
        return [other for other in range(count) if self._after[other] >> index & 1]


def check_node(node: CheckedNode, references: References) -> None:
    """Report what is wrong with the templates in the params of a node, and in the items of its batch."""
    index, batch = node.index, node.batch
    own: tuple[str, ...] = (batch.name, f"{batch.name}_index") if batch else ()
    items = batch.items.references if batch else ()
    for name, compiled in node.params.items():
        for reference in compiled.references if not compiled.is_computed else ():
            if reference.root not in own:
                references.check(index, reference, ("nodes", index, "params", name))
            elif node.spec.batch and reference.root == own[0] and items and items[0].text == node.spec.batch.items:
                references.check_item(reference, items[0], ("nodes", index, "params", name))
    for reference in items:
        references.check(index, reference, ("nodes", index, "batch", "items"))
    for reference in node.approve.prompt.references if node.approve and node.approve.prompt else ():
        if reference.root not in own:
            references.check(index, reference, ("nodes", index, "approve", "prompt"))
