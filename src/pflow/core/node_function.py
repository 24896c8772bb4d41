"""`@pflow.node`: what a function says about itself as a node, and which functions cannot be one."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import TypeVar, overload

from pflow.core.errors import UsageError
from pflow.core.frozen import Frozen
from pflow.core.interface import Purity

NODE_NAME = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?")
"""The name of a node type."""

NAME_RULE = "a node type's name has only a-z, 0-9 and -"
VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
VERSION_RULE = "a version is a number or a word such as `2` or `1.4`"

_MARK = "__pflow_node__"

F = TypeVar("F", bound=Callable[..., object])


class NodeOptions(Frozen):
    """What the decorator was given; a name or version that is empty was left out."""

    name: str = ""
    version: str = ""
    purity: Purity = "impure"


class FunctionShape(Frozen):
    """What decides whether a function can be a node, however it was read."""

    name: str
    is_method: bool = False
    is_generator: bool = False
    positional_only: str = ""
    rest: str = ""


@overload
def node(function: F, /) -> F: ...


@overload
def node(
    *, name: str = "", version: str | int = "", pure: bool = False, repeatable: bool = False
) -> Callable[[F], F]: ...


def node(
    function: F | None = None,
    /,
    *,
    name: str = "",
    version: str | int = "",
    pure: bool = False,
    repeatable: bool = False,
) -> F | Callable[[F], F]:
    """Make a function a step: `@pflow.node`, or `@pflow.node(name="fetch-rows", version="2", pure=True)`.

    The function stays what it is. `pure` promises that nothing but its result comes of it: it may run again, and
    results may be reused. With `repeatable` it may run again after a crash, and is not reused. With a `version`, a step
    that completed counts as done until you raise it; without one, until the source changes. Raises `UsageError` for
    what cannot be a step.
    """
    options = NodeOptions(
        name=_checked("name", name, NODE_NAME, NAME_RULE),
        version=_checked("version", str(version), VERSION, VERSION_RULE),
        purity="pure" if pure else "read" if repeatable else "impure",
    )

    def declare(function: F) -> F:
        check_function(function)
        setattr(function, _MARK, options)
        return function

    return declare if function is None else declare(function)


def options_of(function: object) -> NodeOptions | None:
    """What a function was decorated with; None for one that was not."""
    found = getattr(function, _MARK, None)
    return found if isinstance(found, NodeOptions) else None


def check_function(function: object) -> None:
    """Raise `UsageError` for what cannot be a node."""
    if not inspect.isfunction(function):
        shown = getattr(function, "__qualname__", None) or type(function).__name__
        kind = "a class" if isinstance(function, type) else "a method" if inspect.ismethod(function) else ""
        raise UsageError(
            f"`{shown}` is {kind or 'not a function'}; only a function written with `def` can be a node",
            suggestions=["call it in a function, and decorate that"],
        )
    if reason := why_unfit(_shape(function)):
        raise UsageError(f"`{function.__qualname__}` cannot be a node: {reason}")


def why_unfit(shape: FunctionShape) -> str:
    """Why a function cannot be a node; "" if it can."""
    if shape.name == "<lambda>":
        return "a lambda has no name; write it with `def`"
    if shape.is_method:
        return "it is a method, which needs an object; write it as a function outside of the class"
    if shape.is_generator:
        return "it is a generator, which gives its values one by one; return a list"
    if shape.positional_only:
        return f"`{shape.positional_only}` is positional-only, and a step is given its params by name; remove the `/`"
    if shape.rest:
        return f"`*{shape.rest}` has no name to give a param by; take a list instead"
    return ""


def _shape(function: Callable[..., object]) -> FunctionShape:
    params = inspect.signature(function).parameters.values()
    by_kind = {param.kind: param.name for param in params}
    qualified = getattr(function, "__qualname__", "").rpartition("<locals>.")[2]
    return FunctionShape(
        name=function.__name__,
        is_method="." in qualified,
        is_generator=inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function),
        positional_only=by_kind.get(inspect.Parameter.POSITIONAL_ONLY, ""),
        rest=by_kind.get(inspect.Parameter.VAR_POSITIONAL, ""),
    )


def _checked(what: str, given: object, form: re.Pattern[str], rule: str) -> str:
    if not isinstance(given, str) or (given and not form.fullmatch(given)):
        raise UsageError(f"`{given}` is not a valid {what} of a node; {rule}")
    return given
