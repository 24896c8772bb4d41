"""The types of the names that an expression of a document can use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pflow.core.document.document import Document
from pflow.core.template.compiled import RUN_FIELDS, STATE
from pflow.core.value_type import UNKNOWN, ValueType, of_kinds, of_schema
from pflow.execution.fit.given import GivenTypes
from pflow.execution.reference import References


def _run(*fields: str) -> ValueType:
    properties = {name: {"type": "string"} for name in fields}
    return of_schema({"type": "object", "properties": properties, "additionalProperties": False})


OWN: Mapping[str, ValueType] = {
    "visit": of_kinds("integer"),
    "run": _run(*RUN_FIELDS),
    "steps": UNKNOWN,
    "error": UNKNOWN,
}
"""What every run has, unless its document uses the name."""

_ENDING_RUN = _run(*RUN_FIELDS, "status")


class NameTypes(Mapping[str, ValueType]):
    """The names that an expression of one node can use. `local` are those that only the expression has."""

    def __init__(
        self,
        document: Document,
        given: GivenTypes,
        references: References,
        index: int | None,
        local: Mapping[str, ValueType],
    ) -> None:
        self._document = document
        self._given = given
        self._index = index
        self._local = local
        self._references = references
        self._is_final = references.section_of(index) == "finally"

    def __getitem__(self, name: str) -> ValueType:
        if name in self._local:
            return self._local[name]
        if name in self._document.inputs or self._references.is_visible(self._index, name):
            return self._given.outputs_of(self._index, name)
        if name == STATE and self._document.state:
            return self._given.state
        return _ENDING_RUN if name == "run" and self._is_final else OWN[name]

    def __iter__(self) -> Iterator[str]:
        ids = self._references.visible_ids(self._index)
        kept = (STATE,) if self._document.state else ()
        yield from dict.fromkeys((*self._local, *self._document.inputs, *ids, *OWN, *kept))

    def __len__(self) -> int:
        return sum(1 for _ in self)
