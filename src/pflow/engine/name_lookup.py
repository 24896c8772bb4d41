"""What a name means to a step: the one place that knows the order of inputs, nodes, upstream outputs and seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pflow.core.errors import RunError, UnresolvedError
from pflow.core.interface import MISSING
from pflow.core.template.compiled import MOST_BUILT, Compiled, Reference, descend, too_large
from pflow.engine.state import END, ScopeState
from pflow.engine.value import Opaque

Item = Mapping[str, object]


class Names:
    """The names of one execution of a plan.

    `seed` is the shared store that a flow in Python begins with: outputs count before it, inputs before them.
    """

    def __init__(
        self, state: ScopeState, inputs: Mapping[str, object], seed: Mapping[str, object] | None = None
    ) -> None:
        self._state = state
        self._plan = state.plan
        self._inputs = inputs
        self._has_seed = seed is not None
        self._seed = seed or {}

    def read(self, node: int, key: str) -> object:
        """What a node reads under a natural key; raises `KeyError`."""
        if key in self._inputs:
            return self._inputs[key]
        try:
            return self._state.natural(node, key)
        except KeyError:
            return self._seed[key]

    def keys(self, node: int) -> Iterator[str]:
        """Every natural key that a node can read, each once."""
        found = dict.fromkeys(self._inputs)
        found.update(dict.fromkeys(self._state.natural_keys(node)))
        found.update(dict.fromkeys(self._seed))
        return iter(found)

    def lookup(self, node: int, reference: Reference, item: Item | None = None) -> object:
        """The value of a template for a node, or for one batch item of it; raises `UnresolvedError`."""
        root = reference.root
        value: object
        if item is not None and root in item:
            value = item[root]
        elif root in self._plan.by_id and root not in self._inputs:
            outputs = self._state.outputs.get(self._plan.by_id[root].number)
            if outputs is None:
                return self._missing(reference, f"node `{root}` has not run")
            value = outputs
        else:
            try:
                value = self.read(node, root)
            except KeyError:
                return self._missing(reference, f"there is no `{root}`")
        found = descend(value, reference)
        if isinstance(found, Opaque):
            raise RunError(
                f"`{reference.text}` was a `{found.kind}` that existed only in the process that made it",
                suggestions=["run the workflow again from the start"],
            )
        return found

    def outputs(self, size: Callable[[object], int]) -> dict[str, object]:
        """The declared outputs; without any, what the last steps wrote. `size` gives that of a value."""
        plan, state = self._plan, self._state
        if plan.outputs:
            return {name: self._output(name, source, size) for name, source in plan.outputs.items()}
        ended = list(dict.fromkeys(state.ended))
        if len(ended) == 1:
            return dict(state.outputs[ended[0]])
        return {plan.nodes[number].id: dict(state.outputs[number]) for number in sorted(ended)}

    def _output(self, name: str, source: Compiled, size: Callable[[object], int]) -> object:
        built = 0

        def lookup(reference: Reference) -> object:
            nonlocal built
            value = self.lookup(END, reference)
            built += size(value)
            return value

        output = source.render(lookup)
        if len(source.references) > 1 and built > MOST_BUILT:
            raise too_large(f"output `{name}`")
        return output

    def store(self) -> dict[str, object]:
        """The shared store as a flow in Python leaves it: its seed, and the last writes over it."""
        if not self._has_seed:
            return {}
        kept = {key: value for key, value in self._seed.items() if not self._state.is_deleted(key)}
        return {**kept, **{key: self._state.natural(END, key) for key in self._state.natural_keys(END)}}

    def _missing(self, reference: Reference, reason: str) -> object:
        if reference.default is not MISSING:
            return reference.default
        exists = [*self._inputs, *(self._plan.nodes[number].id for number in self._state.outputs)]
        raise UnresolvedError(
            f"template `{reference.text}` not resolved: {reason}",
            details={"missing": [reference.root], "exists": exists},
            suggestions=[f"it can use: {', '.join(exists)}"] if exists else [],
        )
