"""What a name means to a step: the one place that knows the order of inputs, nodes, upstream outputs and seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from pflow.core.advice import to_text
from pflow.core.errors import RunError, UnresolvedError
from pflow.core.interface import MISSING
from pflow.core.template.compiled import (
    MOST_BUILT,
    OWN_NAMES,
    STATE,
    Compiled,
    JsonIn,
    Parts,
    Reference,
    ValuePath,
    descend,
    too_large,
)
from pflow.engine.plan import DONE
from pflow.engine.state import END, ScopeState
from pflow.engine.value import Opaque, Withheld, withheld_error

Item = Mapping[str, object]

_BEFORE_OUTPUTS = {"results": 2, DONE: 3}
"""How deep in an output of a batch the outputs of one item stand."""


class StepLookup:
    """Looks up what one step names, or one batch item of it, and keeps what it found."""

    __slots__ = ("_item", "_names", "_node", "_visit", "seen")

    def __init__(self, names: Names, node: int, visit: int, item: Item | None = None) -> None:
        self._names = names
        self._node = node
        self._visit = visit
        self._item = item
        self.seen: list[tuple[Reference, object]] = []

    def __call__(self, reference: Reference, /) -> object:
        """The value of a template, or of a path in an expression."""
        value = self._names.lookup(self._node, reference, self._item, self._visit)
        self.seen.append((reference, value))
        return value

    @property
    def names(self) -> Mapping[str, object]:
        """What expressions see."""
        return Visible(self._names, self._node, self._visit, self._item)


class Visible(Mapping[str, object]):
    """Every name that a step can use, with its value; `Absent` where a step has given none."""

    def __init__(self, names: Names, node: int, visit: int, item: Item | None = None) -> None:
        self._names = names
        self._node = node
        self._visit = visit
        self._item = item or {}

    def __getitem__(self, name: str) -> object:
        if name in self._item:
            return self._item[name]
        return self._names.value(self._node, name, self._visit)

    def __iter__(self) -> Iterator[str]:
        yield from dict.fromkeys((*self._item, *self._names.known()))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Names:
    """The names of one execution of a plan.

    `seed` is the shared store that a flow in Python begins with: outputs count before it, inputs before them. `kept` is
    the state of its workflow, None where the document declares none.
    """

    def __init__(
        self,
        state: ScopeState,
        inputs: Mapping[str, object],
        seed: Mapping[str, object] | None = None,
        about: Mapping[str, object] = {},
        kept: Mapping[str, object] | None = None,
    ) -> None:
        self._state = state
        self._plan = state.plan
        self._inputs = inputs
        self._has_seed = seed is not None
        self._seed = seed or {}
        self._about = about
        self._kept = kept
        self._put_together: dict[int, tuple[object, list[object]]] = {}
        self._made_readable: dict[int, tuple[Mapping[str, object], Mapping[str, object]]] = {}
        self._last_text = ""
        self._last_json: object | None = None

    def read(self, node: int, key: str) -> object:
        """What a node reads under a natural key; raises `KeyError`."""
        if key in self._inputs:
            return self._inputs[key]
        if key == "error" and self._plan.section_of(node) is not None:
            return self._run_error()
        try:
            return _known(self._state.natural(node, key), key)
        except KeyError:
            return self._seed[key]

    def _run_error(self) -> object:
        """The error of the run, for its sections; raises `KeyError` if it has none."""
        ending = self._state.ending
        if ending is None or not ending.error:
            raise KeyError("error")
        return {"node": None, "action": "error", "details": {}, **to_text(ending.error)}

    def keys(self, node: int) -> Iterator[str]:
        """Every natural key that a node can read, each once."""
        found = dict.fromkeys(self._inputs)
        found.update(dict.fromkeys(self._state.natural_keys(node)))
        found.update(dict.fromkeys(self._seed))
        return iter(found)

    def known(self) -> list[str]:
        """The names of inputs and nodes, and those that every run has."""
        return [*self._inputs, *self._plan.by_id, *OWN_NAMES, *((STATE,) if self._kept is not None else ())]

    def value(self, node: int, name: str, visit: int) -> object:
        """What an expression of a node sees under a name; raises `KeyError`."""
        if name in self._inputs:
            return self._inputs[name]
        if name in self._plan.by_id:
            number = self._plan.by_id[name].number
            outputs = self._state.outputs.get(number)
            if outputs is None:
                return absent(self._why_absent(name))
            done = (
                self._done(number, outputs.get("results"), f"{name}.results") if number in self._state.items else None
            )
            readable = self._readable(number, outputs)
            return readable if done is None else {**readable, DONE: done}
        if name == STATE and self._kept is not None:
            return {key: _known(value, f"{STATE}.{key}") for key, value in self._kept.items()}
        if name == "steps":
            known = self._state.outputs.items()
            return {self._plan.nodes[number].id: self._readable(number, outputs) for number, outputs in known}
        if name == "error":
            try:
                return self.read(node, name)
            except KeyError:
                return absent(self._why_no_error(node))
        return self._own(node, name, visit)

    def after(self, node: int, visit: int, writes: Mapping[str, object]) -> dict[str, object]:
        """The names that mean something else once a node has written this, before it counts."""
        name = self._plan.nodes[node].id
        steps = self.value(node, "steps", visit)
        found: dict[str, object] = {name: writes}
        if "steps" not in self._inputs and "steps" not in self._plan.by_id and isinstance(steps, Mapping):
            found["steps"] = {**steps, name: writes}
        return found

    def _readable(self, number: int, outputs: Mapping[str, object]) -> Mapping[str, object]:
        """The outputs of a node as expressions see them: they lead into the text of a tool's result as templates do."""
        read = self._plan.nodes[number].json_in
        if read is None:
            return outputs
        known = self._made_readable.get(number)
        if known is None or known[0] is not outputs:
            known = outputs, _with_json(outputs, partial(self._open, read))
            self._made_readable[number] = known
        return known[1]

    def _why_absent(self, name: str) -> str:
        skipped = self._plan.by_id[name].number in self._state.skipped
        return f"node `{name}` was skipped" if skipped else f"node `{name}` has not run"

    def _why_no_error(self, node: int) -> str:
        in_main = self._plan.section_of(node) is None
        return "no step before has failed" if in_main else "the run has not failed"

    def _own(self, node: int, name: str, visit: int) -> object:
        """What every run has under a name that its document does not use."""
        about, ending = self._about, self._state.ending
        if ending is not None and self._plan.section_of(node) == "finally":
            about = {**about, "status": ending.status}
        return {"visit": visit, "run": about}[name]

    def lookup(self, node: int, reference: Reference, item: Item | None = None, visit: int = 0) -> object:
        """The value of a template for a node, or for one batch item of it; raises `UnresolvedError`."""
        root = reference.root
        value: object
        if item is not None and root in item:
            value = item[root]
        elif root in self._plan.by_id and root not in self._inputs:
            outputs = self._state.outputs.get(self._plan.by_id[root].number)
            if outputs is None:
                return self._missing(reference, self._why_absent(root))
            for written in (outputs.get(str(reference.path[0])),) if reference.path else outputs.values():
                _known(written, reference.text)
            value = outputs
            if reference.path[:1] == (DONE,) and self._plan.by_id[root].batch is not None and "results" in outputs:
                done = self._done(self._plan.by_id[root].number, outputs["results"], reference.text)
                if done is None:
                    return self._missing(reference, f"the items of `{root}` are no longer known")
                value = {DONE: done}
        elif root == STATE and self._kept is not None:
            value = self._kept
            for kept in (value.get(str(reference.path[0])),) if reference.path else value.values():
                _known(kept, reference.text)
        else:
            try:
                value = self.read(node, root)
            except KeyError:
                if root not in OWN_NAMES:
                    return self._missing(reference, f"there is no `{root}`")
                if root == "error":
                    return self._missing(reference, self._why_no_error(node))
                value = self.value(node, root, visit)
        found = descend(value, reference, self._opened(node, reference, item))
        if isinstance(found, Opaque):
            raise RunError(
                f"`{reference.text}` was a `{found.kind}` that existed only in the process that made it",
                suggestions=["run the workflow again from the start"],
            )
        return found

    def _done(self, number: int, results: object, what: str) -> list[object] | None:
        """What a batch got done, put together once; None if its items are not known."""
        items, known = self._state.items.get(number), self._put_together.get(number)
        if known is not None and known[0] is results:
            return known[1]
        _known(results, what)
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
        lookup = _OutputLookup(self, END, 0)
        output = source.render(lookup)
        for path, part in source.places() if lookup.absent else ():
            if isinstance(part, Parts) and not lookup.absent.isdisjoint(part.references):
                output = _without_text(output, path)
        if len(source.references) > 1 and sum(size(value) for _, value in lookup.seen) > MOST_BUILT:
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


class _OutputLookup(StepLookup):
    """Looks up what an output names; what is not there is null."""

    __slots__ = ("absent",)

    def __init__(self, names: Names, node: int, visit: int) -> None:
        super().__init__(names, node, visit)
        self.absent: set[Reference] = set()

    def __call__(self, reference: Reference, /) -> object:
        try:
            return super().__call__(reference)
        except UnresolvedError:
            self.absent.add(reference)
            return None


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


def _with_json(outputs: Mapping[str, object], read: JsonIn) -> Mapping[str, object]:
    """The outputs of a tool, or of a batch of its calls, with results that lead into the JSON that they hold."""
    from pflow.core.expression.value import JsonText  # lazy: only for expressions

    text, results = outputs.get("result"), outputs.get("results")
    if isinstance(text, str):
        return {**outputs, "result": JsonText(text, read)}
    if isinstance(results, list):
        each = [_with_json(one, read) if isinstance(one, Mapping) else one for one in results]
        return {**outputs, "results": each}
    return outputs


def absent(reason: str) -> object:
    """What an expression sees where a value is not there."""
    from pflow.core.expression.key import Absent  # lazy: only for expressions

    return Absent(reason=reason)


def _known(value: object, what: str) -> object:
    if isinstance(value, Withheld):
        raise withheld_error(f"`{what}`", value)
    return value
