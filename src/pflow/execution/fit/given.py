"""What a template will give, as far as that is known before a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from pflow.core.document.document import Document, Input
from pflow.core.frozen import Frozen
from pflow.core.interface import MISSING, Interface
from pflow.core.template.compiled import STATE, Compiled, Converted, Reference
from pflow.core.value_type import UNKNOWN, ValueType, of_field, of_fields, of_kinds, of_literal, union
from pflow.engine.plan import DONE
from pflow.execution.node_check import CheckedNode
from pflow.execution.reference import References

_DEEPEST = 8
"""Nodes that pass a value on unchanged, one after the other."""

_MOST_WRITERS = 16
"""Nodes that write under one name; of more, nothing is said."""


class Given(Frozen):
    """A value that a template will give. `declared` names the input that it is, if it is a whole one.

    An `optional` one may be null, or be replaced by the template's default.
    """

    type: ValueType
    declared: str = ""
    optional: bool = False


class GivenTypes:
    """The types of everything that templates can name. `interfaces` hold what each node gives, as `References` has."""

    def __init__(
        self,
        document: Document,
        nodes: Sequence[CheckedNode],
        interfaces: Sequence[Interface | None],
        references: References,
    ) -> None:
        self._document = document
        self._nodes = nodes
        self._interfaces = interfaces
        self._references = references
        self._ids = {node.spec.id: node for node in nodes}
        self._passed: dict[tuple[int, str | None], ValueType] = {}
        """What nodes pass on unchanged, and under None the items of their batches: worked out once."""

    def of(self, index: int | None, reference: Reference, depth: int = 0) -> Given:
        """What a template of a node gives, or of the outputs when `index` is None."""
        root, path = reference.root, reference.path
        batch = self._nodes[index].spec.batch if index is not None else None
        optional = reference.default is not MISSING
        if index is not None and batch is not None and root in (batch.name, f"{batch.name}_index"):
            found = of_kinds("integer") if root != batch.name else self._item(index, depth)
            return Given(type=found.at(path), optional=optional)
        if root in self._document.inputs:
            return _of_input(root, self._document.inputs[root], reference)
        if root in self._ids:
            return Given(type=self._of_node(self._ids[root], path, depth), optional=optional)
        if root == STATE and self._document.state:
            return Given(type=self.state.at(path), optional=optional or _may_be_null(self._document, path))
        return Given(type=self._natural(index, root, depth).at(path), optional=optional)

    @cached_property
    def state(self) -> ValueType:
        """The type of what the document declares that it keeps."""
        keys = self._document.state.items()
        kinds = {name: key.type if key.default is not None else f"{key.type}|null" for name, key in keys}
        return of_fields({name: of_kinds(kind) for name, kind in kinds.items()})

    def item(self, index: int) -> ValueType:
        """The type of one item of a node's batch."""
        return self._item(index, 0)

    def outputs_of(self, index: int | None, name: str) -> ValueType:
        """The type of an input, or of a node with all its outputs."""
        if name in self._document.inputs:
            return of_kinds(self._document.inputs[name].type)
        node = self._ids[name]
        interface = self._interfaces[node.index]
        if interface is None or interface.open_outputs:
            return UNKNOWN
        fields = {field.name: self._of_node(node, (field.name,), 0) for field in interface.outputs}
        return of_fields(fields)

    def of_value(self, index: int | None, compiled: Compiled, value: object, depth: int = 0) -> ValueType:
        """The type of a value with templates in it, as it is written and as it is compiled."""
        if isinstance(compiled, Converted):
            compiled = compiled.inner
        if compiled.is_computed:
            return UNKNOWN
        if not compiled.references:
            return of_literal(compiled.value)
        if compiled.is_single:
            found = self.of(index, compiled.references[0], depth)
            return UNKNOWN if found.optional else found.type
        if isinstance(value, str) or depth > _DEEPEST:
            return of_kinds("string") if isinstance(value, str) else UNKNOWN
        parts = {path: self.of_value(index, part, "", depth + 1) for path, part in compiled.places()}
        return of_literal(value, parts)

    def _item(self, index: int, depth: int) -> ValueType:
        """The type of one item of a batch."""
        node = self._nodes[index]
        if node.spec.batch is None or node.batch is None:
            return UNKNOWN
        if (index, None) not in self._passed:
            items = self._pass_on(node, None, node.batch.items, node.spec.batch.items, depth)
            self._passed[index, None] = items.elements if items.is_array else UNKNOWN
        return self._passed[index, None]

    def _pass_on(self, node: CheckedNode, name: str | None, compiled: Compiled, value: object, depth: int) -> ValueType:
        key = (node.index, name)
        if key not in self._passed:
            self._passed[key] = UNKNOWN  # what leads back to itself is not known
            self._passed[key] = self.of_value(node.index, compiled, value, depth + 1)
        return self._passed[key]

    def _of_node(self, node: CheckedNode, path: tuple[str | int, ...], depth: int) -> ValueType:
        interface = self._interfaces[node.index]
        if not path or interface is None or depth > _DEEPEST:
            return UNKNOWN if path or interface is None else of_kinds("object")
        name, rest = str(path[0]), path[1:]
        if node.child is not None and node.batch is None:
            return node.child_types.get(name, UNKNOWN).at(rest)
        if node.child is not None and name == "results" and len(path) > 2:
            return node.child_types.get(str(path[2]), UNKNOWN).at(path[3:])
        if node.child is not None and name == DONE and path[2:3] == ("result",) and len(path) > 3:
            return node.child_types.get(str(path[3]), UNKNOWN).at(path[4:])
        echoes = node.interface is not None and node.interface.echo_params and node.batch is None
        if echoes and name in node.params and not node.params[name].is_computed:
            return self._pass_on(node, name, node.params[name], node.spec.params.get(name), depth).at(rest)
        return self._of_output(node, name).at(rest)

    def _of_output(self, node: CheckedNode, name: str) -> ValueType:
        interface = self._interfaces[node.index]
        mapping = self._document.mappings.get(node.spec.id)
        own = {key: output for output, key in mapping.output_mappings.items()} if mapping else {}
        field = interface.output(own.get(name, name)) if interface else None
        if field is None:
            return UNKNOWN
        found = of_field(field)
        # Nothing makes sure that a person's own node writes what it says.
        return found._replace(certain=False) if node.entry is not None and node.entry.is_user else found

    def _natural(self, index: int | None, name: str, depth: int) -> ValueType:
        """The type of what the nearest node upstream writes under a name; any of those that can write it may be it."""
        writers = []
        for other in self._references.upstream(index):
            node, interface = self._nodes[other], self._interfaces[other]
            mapping = self._document.mappings.get(node.spec.id)
            aliases: Mapping[str, str] = mapping.output_mappings if mapping else {}
            if interface is None or interface.open_outputs:
                return UNKNOWN
            by_id = name == DONE and node.spec.batch is not None
            if (interface.output(name) is not None and not by_id) or name in aliases.values():
                writers.append(self._of_node(node, (name,), depth + 1))
            if len(writers) > _MOST_WRITERS:
                return UNKNOWN
        return union(writers) if writers else UNKNOWN


def _may_be_null(document: Document, path: tuple[str | int, ...]) -> bool:
    """Whether a value that is kept is null before it was ever set."""
    key = document.state.get(str(path[0])) if len(path) == 1 else None
    return key is not None and key.default is None


def _of_input(name: str, declared: Input, reference: Reference) -> Given:
    """An input is always there, and null if it may be left out and was."""
    whole = not reference.path
    has_default = declared.has_default and declared.default is not None
    absent = not declared.required and not has_default if whole else reference.default is not MISSING
    kind = of_kinds(declared.type).at(reference.path)
    return Given(type=kind, declared=name if whole else "", optional=absent)
