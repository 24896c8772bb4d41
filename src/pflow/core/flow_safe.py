"""The promise a node class makes about running it again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, overload

_Class = TypeVar("_Class", bound=type)


@overload
def flow_safe(node: _Class, /) -> _Class: ...


@overload
def flow_safe(*, cache: bool = True) -> Callable[[_Class], _Class]: ...


def flow_safe(node: type | None = None, /, *, cache: bool = True) -> object:
    """Declare that a node has no side effects: `@flow_safe`, or `@flow_safe(cache=False)`.

    A flow-safe node may run again after a crash, and what it wrote may be reused by later runs with the same
    inputs. With `cache=False` it may run again but is never reused, for nodes that read a changing world.
    """

    def declare(node_class: _Class) -> _Class:
        setattr(node_class, "purity", "pure" if cache else "read")  # noqa: B010 the class is any class
        return node_class

    return declare if node is None else declare(node)
