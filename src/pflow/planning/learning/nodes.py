"""The nodes of a document while it is written: free names for them, and steps that take values apart."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pflow.core.json_type import Json
from pflow.planning.learning.source import Produced


class Nodes:
    """See the module. `inputs` are names that are taken as well; they may become more."""

    def __init__(self, inputs: Collection[str]) -> None:
        self.all: list[Json] = []
        self._inputs = inputs

    def add(self, node: Json) -> None:
        self.all.append(node)

    def free(self, wanted: str, others: Sequence[str] = ()) -> str:
        """A name that nothing has yet."""
        taken = {node["id"] for node in self.all} | set(self._inputs) | set(others)
        name, number = wanted, 1
        while name in taken:
            number += 1
            name = f"{wanted}-{number}"
        return name

    def parsed(self, source: Produced) -> Produced:
        """What a text holds, by the name of the step that takes it apart; one that does the same already serves."""
        for node in self.all:
            if node["type"] == "parse" and node["params"] == source.parse:
                return source._replace(id=str(node["id"]))
        named = source._replace(id=self.free(source.id))
        self.add({"id": named.id, "type": "parse", "params": dict(source.parse or {})})
        return named

    def let(self, of: str, what: str, expression: str, output: str = "items") -> str:
        """The name of a step that computes an expression over the outputs of another."""
        params = {output: expression}
        for node in self.all:
            if node["type"] == "let" and node["params"] == params:
                return str(node["id"])
        name = self.free(f"{of}-{what}")
        self.add({"id": name, "type": "let", "params": params})
        return name
