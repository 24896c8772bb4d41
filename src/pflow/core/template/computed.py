"""Values of a document that expressions compute: parsed once, evaluated when their step is about to start."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import orjson

from pflow.core.errors import ExpressionError, StepError
from pflow.core.expression.evaluate import evaluate
from pflow.core.expression.parser import parse
from pflow.core.expression.reference import references
from pflow.core.expression.tree import Expression
from pflow.core.interface import Slot
from pflow.core.json_type import describe
from pflow.core.template.compiled import Compiled, HasNames, Lookup, Problem, Reference, Refused, ValuePath

ABSENT = "\x00absent"
"""What stands for a value that is not there, where what a step reads identifies it."""


class Place(NamedTuple):
    """An expression, where in the value it stands, and the kind of value that it must give there, if any."""

    path: ValuePath
    expression: Expression
    must_be: str = ""


class Computed(Compiled):
    """A value made by expressions. `local` are the names that only they have, such as that of an item."""

    __slots__ = ("local",)
    is_computed = True

    def __init__(self, expressions: Iterable[Expression], local: tuple[str, ...] = ()) -> None:
        self.local = local
        super().__init__(references=_reads(expressions, local))

    def expressions(self, path: ValuePath = ()) -> Iterator[Place]:
        """Every expression in it."""
        return iter(())

    def places(self, path: ValuePath = ()) -> Iterator[tuple[ValuePath, Compiled]]:
        return iter(())  # no templates

    def replaced(self, checked: Mapping[ValuePath, Expression], path: ValuePath = ()) -> Computed:
        """The same with expressions that checking has completed."""
        raise NotImplementedError

    def _note(self, lookup: Lookup) -> None:
        """Look up what it reads, path by path, so that it identifies the step."""
        for reference in self.references:
            lookup(reference)


class One(Computed):
    """One expression."""

    __slots__ = ("_must_be", "expression")

    def __init__(self, expression: Expression, must_be: str = "") -> None:
        super().__init__([expression])
        self.expression = expression
        self._must_be = must_be

    def expressions(self, path: ValuePath = ()) -> Iterator[Place]:
        yield Place(path, self.expression, self._must_be)

    def replaced(self, checked: Mapping[ValuePath, Expression], path: ValuePath = ()) -> Computed:
        return One(checked.get(path, self.expression), self._must_be)

    def render(self, lookup: Lookup) -> object:
        self._note(lookup)
        return (truth if self._must_be else compute)(self.expression, names_of(lookup))


class Cases(Computed):
    """Conditions by name. Gives the name of the first that holds, else `else`, or fails with `failure`."""

    __slots__ = ("_cases", "_failure")

    def __init__(self, cases: Mapping[str, Expression], failure: str = "") -> None:
        super().__init__(cases.values())
        self._cases = cases
        self._failure = failure

    def expressions(self, path: ValuePath = ()) -> Iterator[Place]:
        for name, expression in self._cases.items():
            yield Place((*path, name), expression, "boolean")

    def replaced(self, checked: Mapping[ValuePath, Expression], path: ValuePath = ()) -> Computed:
        return Cases({name: checked.get((*path, name), case) for name, case in self._cases.items()}, self._failure)

    def render(self, lookup: Lookup) -> object:
        self._note(lookup)
        names = names_of(lookup)
        found = next((name for name, case in self._cases.items() if truth(case, names)), "")
        if not found and self._failure:
            conditions = ", ".join(f"`{case.text}`" for case in self._cases.values())
            raise StepError(f"{self._failure}: {conditions}", suggestions=["add an edge with `when: else`"])
        return found or "else"


class _ForItem(Mapping[str, object]):
    """The names of a step, with those of one item before them."""

    def __init__(self, own: Mapping[str, object], names: Mapping[str, object]) -> None:
        self._own = own
        self._names = names

    def __getitem__(self, name: str) -> object:
        return self._own[name] if name in self._own else self._names[name]

    def __iter__(self) -> Iterator[str]:
        yield from dict.fromkeys((*self._own, *self._names))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class ForEach(NamedTuple):
    """What a step computes for each item: called with the item and its index. `written` is what the author wrote."""

    call: Callable[[object, int], object]
    written: object
    values: Mapping[str, object] = {}

    def __call__(self, item: object, index: int) -> object:
        """The value for one item."""
        return self.call(item, index)


class Each(Computed):
    """One or more expressions that are computed for each item, in the shape in which they are written."""

    __slots__ = ("_item", "_must_be", "_shape", "_written")

    def __init__(self, shape: object, written: object, item: str, must_be: str = "") -> None:
        super().__init__(_in_shape(shape), (item, f"{item}_index"))
        self._shape = shape
        self._written = written
        self._item = item
        self._must_be = must_be

    def expressions(self, path: ValuePath = ()) -> Iterator[Place]:
        for inner, expression in _places(self._shape):
            yield Place((*path, *inner), expression, self._must_be)

    def replaced(self, checked: Mapping[ValuePath, Expression], path: ValuePath = ()) -> Computed:
        shape = _mapped(self._shape, lambda inner, expression: checked.get((*path, *inner), expression))
        return Each(shape, self._written, self._item, self._must_be)

    def render(self, lookup: Lookup) -> object:
        self._note(lookup)
        names = names_of(lookup)
        item_name, index_name = self.local

        def call(item: object, index: int) -> object:
            seen = _ForItem({item_name: item, index_name: index}, names)
            found = _mapped(self._shape, lambda _, expression: compute(expression, seen))
            if self._must_be == "boolean" and not isinstance(found, bool):
                raise _not_boolean(str(self._written), found)
            return found

        return ForEach(call, self._written)


def compile_expression(value: object, slot: Slot, item: str = "item") -> tuple[Compiled, list[Problem]]:
    """A value of an expression slot, and what is wrong with its form."""
    problems: list[Problem] = []
    if slot == "cases" and isinstance(value, Mapping):
        cases = {str(name): _parsed(text, (str(name),), problems) for name, text in value.items()}
        return _result(problems, lambda: Cases(_known(cases)))
    if slot == "cases":
        hint = "write a condition for each name, tried in this order: `{big: n > 9, small: n > 0}`"
        problems.append(Problem(f"`cases` is an object of conditions, not {describe(value)}", hint))
        return Refused((), problems[0]), problems
    if slot in ("where", "to", "check"):
        shape = _mapped_text(value, (), problems) if slot == "to" else _parsed(value, (), problems)
        name = "value" if slot == "check" else item
        return _result(problems, lambda: Each(shape, value, name, "" if slot == "to" else "boolean"))
    expression = _parsed(value, (), problems)
    return _result(problems, lambda: One(_known({"": expression})[""], "boolean" if slot == "condition" else ""))


def compute(expression: Expression, names: Mapping[str, object]) -> object:
    """The value of an expression; an `ExpressionError` has the expression in its message."""
    try:
        return evaluate(expression, names).value
    except ExpressionError as error:
        raise error.within(f"expression `{expression.text}`") from None


def truth(expression: Expression, names: Mapping[str, object]) -> bool:
    """Whether a condition holds."""
    found = compute(expression, names)
    if not isinstance(found, bool):
        raise _not_boolean(expression.text, found)
    return found


def names_of(lookup: Lookup) -> Mapping[str, object]:
    """What the expressions of a step can name."""
    found: object = lookup
    assert isinstance(found, HasNames)
    return found.names


def _not_boolean(text: str, found: object) -> StepError:
    return StepError(
        f"expression `{text}` must give true or false, not {describe(found)}",
        suggestions=["compare it with something: `x > 0`, `x != null`, `size(x) > 0`"],
    )


def _parsed(text: object, path: ValuePath, problems: list[Problem]) -> Expression | None:
    if text is None or isinstance(text, bool | int | float):
        text = orjson.dumps(text).decode()  # YAML has read a constant
    if not isinstance(text, str):
        problems.append(Problem(f"an expression is a string, not {describe(text)}", path=path))
        return None
    try:
        return parse(text)
    except ExpressionError as error:
        place = f"line {error.line}, column {error.column}: " if "\n" in text else f"column {error.column}: "
        problems.append(Problem(f"expression `{text}`, {place}{error.message}", "; ".join(error.suggestions), path))
        return None


def _mapped_text(value: object, path: ValuePath, problems: list[Problem]) -> object:
    """A shape of texts with each text parsed."""
    if isinstance(value, Mapping):
        return {str(name): _mapped_text(part, (*path, str(name)), problems) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_mapped_text(part, (*path, index), problems) for index, part in enumerate(value)]
    return _parsed(value, path, problems)


def _mapped(shape: object, change: Callable[[ValuePath, Expression], object], path: ValuePath = ()) -> object:
    """A shape with every expression changed."""
    if isinstance(shape, Mapping):
        return {name: _mapped(part, change, (*path, name)) for name, part in shape.items()}
    if isinstance(shape, list):
        return [_mapped(part, change, (*path, index)) for index, part in enumerate(shape)]
    assert isinstance(shape, Expression)
    return change(path, shape)


def _places(shape: object, path: ValuePath = ()) -> Iterator[tuple[ValuePath, Expression]]:
    found: list[tuple[ValuePath, Expression]] = []
    _mapped(shape, lambda inner, expression: found.append((inner, expression)), path)
    return iter(found)


def _in_shape(shape: object) -> list[Expression]:
    return [expression for _, expression in _places(shape)]


def _known(expressions: Mapping[str, Expression | None]) -> dict[str, Expression]:
    return {name: expression for name, expression in expressions.items() if expression is not None}


def _result(problems: list[Problem], make: Callable[[], Computed]) -> tuple[Compiled, list[Problem]]:
    return (Refused((), problems[0]), problems) if problems else (make(), [])


def _reads(expressions: Iterable[Expression], local: tuple[str, ...]) -> Iterator[Reference]:
    """What expressions read of the run, each path once, as templates would name it."""
    seen: set[str] = set()
    for expression in expressions:
        for found in references(expression):
            if found.text not in seen and found.root not in local:
                seen.add(found.text)
                yield Reference(found.root, found.path, ABSENT, found.text, found.at)
