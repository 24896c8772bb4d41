"""A function as a PocketFlow node: its params are arguments, what it returns is what the step writes."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

from pocketflow import AsyncNode, BaseNode, Node

from pflow.core.errors import StepError
from pflow.core.frozen import Frozen
from pflow.core.json_type import describe


class FunctionCall(Frozen):
    """How a step calls a function. `names` are Python's names for params; the `optional` ones are None if not given."""

    function: Callable[..., object]
    names: Mapping[str, str]
    optional: frozenset[str]
    takes_more: bool
    named_outputs: tuple[str, ...]

    def arguments(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The params by Python's names; what checking added is not the author's."""
        given = {self.names.get(name, name): _own(value) for name, value in params.items() if not name.startswith("__")}
        if not self.takes_more:
            given = {name: value for name, value in given.items() if name in self.names.values()}
        return {**dict.fromkeys(self.optional), **given}

    def outputs(self, returned: object) -> Mapping[str, object]:
        """What was returned, as outputs. Raises `StepError` if it has no names where names are declared."""
        value = _plain(returned)
        if not self.named_outputs:
            return {"result": value}
        if isinstance(value, Mapping):
            return value
        raise StepError(
            f"`{self.function.__name__}` declares the outputs {_listed(self.named_outputs)}, "
            f"and returned {describe(value)}",
            suggestions=["return what the function declares, or correct its return annotation"],
        )


class FunctionNode(Node):
    """A function that runs in a thread."""

    call: FunctionCall

    def exec(self, prep_res: object) -> object:
        """Call it."""
        returned = self.call.function(**self.call.arguments(self.params))
        if inspect.iscoroutine(returned):
            returned.close()
            raise StepError(
                f"`{self.call.function.__name__}` returned a coroutine, which nothing awaits",
                suggestions=["write it with `async def`"],
            )
        return returned

    def post(self, shared: MutableMapping[str, object], prep_res: object, exec_res: object) -> str:
        """Write what it returned."""
        shared.update(self.call.outputs(exec_res))
        return "default"


class AsyncFunctionNode(AsyncNode):
    """A function that runs on the event loop."""

    call: FunctionCall

    async def exec_async(self, prep_res: object) -> object:
        """Await it."""
        returned = self.call.function(**self.call.arguments(self.params))
        return await returned if inspect.isawaitable(returned) else returned

    async def post_async(self, shared: MutableMapping[str, object], prep_res: object, exec_res: object) -> str:
        """Write what it returned."""
        shared.update(self.call.outputs(exec_res))
        return "default"


def function_class(function: Callable[..., object], interface: Mapping[str, object]) -> type[BaseNode]:
    """The node class of a function; `interface` is the one of its registry entry."""
    fields = _objects(interface.get("params"))
    names = {str(field["name"]): str(field.get("python_name", field["name"])) for field in fields}
    defaults = inspect.signature(function).parameters
    optional = (
        names[str(field["name"])]
        for field in fields
        if not field.get("required") and names[str(field["name"])] in defaults
    )
    call = FunctionCall(
        function=function,
        names=names,
        optional=frozenset(name for name in optional if defaults[name].default is inspect.Parameter.empty),
        takes_more=interface.get("open_params") is True,
        named_outputs=tuple(str(field["name"]) for field in _objects(interface.get("outputs")))
        if interface.get("named_outputs") is True
        else (),
    )
    is_async = inspect.iscoroutinefunction(inspect.unwrap(function))
    made: type[BaseNode] = type(function.__name__, (AsyncFunctionNode if is_async else FunctionNode,), {"call": call})
    return made


def _objects(value: object) -> list[dict[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _own(value: Any) -> Any:
    """A value that the function may change: other steps go on with the one that was recorded."""
    if isinstance(value, list):
        return [_own(item) for item in value]
    return {key: _own(item) for key, item in value.items()} if isinstance(value, dict) else value


def _plain(value: object) -> object:
    """A dataclass as an object, and so are those in a list; everything else is as it was returned."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, list) and any(map(dataclasses.is_dataclass, value)):
        return [_plain(item) for item in value]
    return value


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
