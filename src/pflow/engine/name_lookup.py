"""What a name means to a step: the one place that knows the order of inputs, nodes, upstream outputs and seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from pflow.core.errors import RunError, UnresolvedError
from pflow.core.interface import MISSING
from pflow.core.template.compiled import MOST_BUILT, Compiled, JsonIn, Parts, Reference, ValuePath, descend, too_large
from pflow.engine.plan import DONE
from pflow.engine.state import END, ScopeState
from pflow.engine.value import Opaque, Withheld, withheld_error

Item = Mapping[str, object]

_BEFORE_OUTPUTS = {"results": 2, DONE: 3}
"""How deep in an output of a batch the outputs of one item stand."""


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
        self._put_together: dict[int, tuple[object, list[object]]] = {}
        self._last_text = ""
        self._last_json: object | None = None

    def read(self, node: int, key: str) -> object:
        """What a node reads under a natural key; raises `KeyError`."""
        if key in self._inputs:
            return self._inputs[key]
        try:
            return _known(self._state.natural(node, key), key)
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
            for written in (outputs.get(str(reference.path[0])),) if reference.path else outputs.values():
                _known(written, reference.text)
            value = outputs
            if reference.path[:1] == (DONE,) and self._plan.by_id[root].batch is not None and "results" in outputs:
                done = self._done(self._plan.by_id[root].number, outputs["results"], reference)
                if done is None:
                    return self._missing(reference, f"the items of `{root}` are not known any more")
                value = {DONE: done}
        else:
            try:
                value = self.read(node, root)
            except KeyError:
                return self._missing(reference, f"there is no `{root}`")
        found = descend(value, reference, self._opened(node, reference, item))
        if isinstance(found, Opaque):
            raise RunError(
                f"`{reference.text}` was a `{found.kind}` that existed only in the process that made it",
                suggestions=["run the workflow again from the start"],
            )
        return found

    def _done(self, number: int, results: object, reference: Reference) -> list[object] | None:
        """What a batch got done, put together once; None if its items are not known."""
        items, known = self._state.items.get(number), self._put_together.get(number)
        if known is not None and known[0] is results:
            return known[1]
        _known(results, reference.text)
        if items is None or not isinstance(results, list) or len(items) != len(results):
            return None
        pairs = enumerate(zip(items, results, strict=True))
        done: list[object] = [
            {"index": index, "item": item, "result": result} for index, (item, result) in pairs if result is not None
        ]
        self._put_together[number] = results, done
        return done

    def _opened(self, node: int, reference: Reference, item: Item | None) -> Mapping[int, JsonIn]:
        """Where a path leads into the text of a tool's result: behind the step, or behind an item of its batch."""
        if not self._plan.has_json_text:
            return {}
        root = reference.root
        path, above = reference.path, 0
        if item is not None and root in item:
            batch = self._plan.nodes[node].batch
            if batch is None or len(batch.items.references) != 1:
                return {}
            items = batch.items.references[0]
            root, path, above = items.root, (*items.path, 0, *path), len(items.path) + 1
        target = self._plan.by_id.get(root) if root not in self._inputs else None
        if target is None or target.json_in is None:
            return {}
        start = _BEFORE_OUTPUTS.get(str(path[0]), 0) if target.batch is not None and path else 0
        if path[start : start + 1] != ("result",):
            return {}
        return {start + 1 - above: partial(self._open, target.json_in)}

    def _open(self, read: JsonIn, text: str) -> object | None:
        """The JSON in a text, read once for the many items of a batch."""
        if self._last_text is not text:
            self._last_text, self._last_json = text, read(text)
        return self._last_json

    def outputs(self, size: Callable[[object], int]) -> dict[str, object]:
        """The declared outputs; without any, what the last steps wrote. `size` gives that of a value."""
        plan, state = self._plan, self._state
        if plan.outputs:
            return {name: self._output(name, source, size) for name, source in plan.outputs.items()}
        ended = {number: plan.nodes[number].id for number in state.ended}
        found = {
            name: {key: _known(value, f"{name}.{key}") for key, value in state.outputs[number].items()}
            for number, name in sorted(ended.items())
        }
        return next(iter(found.values())) if len(found) == 1 else dict(found)

    def _output(self, name: str, source: Compiled, size: Callable[[object], int]) -> object:
        """One output; null if it names what is not there: the run has had its effects, and does not fail for that."""
        built = 0
        absent: set[Reference] = set()

        def lookup(reference: Reference) -> object:
            nonlocal built
            try:
                value = self.lookup(END, reference)
            except UnresolvedError:
                absent.add(reference)
                value = None
            built += size(value)
            return value

        output = source.render(lookup)
        for path, part in source.places() if absent else ():
            if isinstance(part, Parts) and not absent.isdisjoint(part.references):
                output = _without_text(output, path)
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


def _without_text(value: object, path: ValuePath) -> object:
    """The value with null in place of the text at `path`."""
    if not path:
        return None
    here, rest = path[0], path[1:]
    if isinstance(value, list):
        return [_without_text(part, rest) if index == here else part for index, part in enumerate(value)]
    if isinstance(value, Mapping):
        return {key: _without_text(part, rest) if key == here else part for key, part in value.items()}
    return value


def _known(value: object, what: str) -> object:
    if isinstance(value, Withheld):
        raise withheld_error(f"`{what}`", value)
    return value
