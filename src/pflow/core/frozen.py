"""The base of plain values: fields by annotation, made by keyword, never changed. As light to define as a class can be.

Like a frozen dataclass to its users and to type checkers. It exists because defining forty of those, or of named
tuples, costs more start-up time than all the work of a short run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self, dataclass_transform


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Frozen:
    """Subclasses annotate their fields; a class attribute is a field's default."""

    _fields: ClassVar[tuple[str, ...]] = ()
    _required: ClassVar[frozenset[str]] = frozenset()
    _checked: ClassVar[set[tuple[str, ...]]] = set()
    """Which fields instances were given so far: to check them takes longer than to make an instance."""

    def __init_subclass__(cls) -> None:
        own = tuple(cls.__annotations__)
        cls._fields = tuple(dict.fromkeys((*cls._fields, *own)))  # a subclass may narrow the type of a field
        cls._required = frozenset(name for name in (*cls._required, *own) if name not in cls.__dict__)
        cls._checked = set()

    def __init__(self, **values: Any) -> None:
        if (names := tuple(values)) not in self._checked:
            self._check(names)
        self.__dict__.update(values)

    @classmethod
    def _check(cls, names: tuple[str, ...]) -> None:
        missing, unknown = cls._required.difference(names), set(names).difference(cls._fields)
        if missing or unknown:
            raise TypeError(f"{cls.__name__}: missing {sorted(missing)}, unknown {sorted(unknown)}")
        cls._checked.add(names)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} does not change: `{name}`")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self._fields)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._fields)
        return f"{type(self).__name__}({shown})"

    def _asdict(self) -> dict[str, Any]:
        """Every field with its value, those at their defaults too."""
        return {name: getattr(self, name) for name in self._fields}

    def as_dict(self) -> dict[str, object]:
        """The value as JSON: its fields by name, without those that have their defaults."""
        shown = self._asdict().items()
        required, defaults = self._required, type(self)
        return {name: _plain(value) for name, value in shown if name in required or value != getattr(defaults, name)}

    def _replace(self, **changes: Any) -> Self:
        """The same value with some fields changed."""
        return type(self)(**{**self.__dict__, **changes})


def _plain(value: object) -> object:
    """A part of a value as JSON has it."""
    if isinstance(value, Frozen):
        return value.as_dict()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, Mapping) else value
