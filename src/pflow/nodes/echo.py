"""The simplest steps: what goes in comes out, as it is or as expressions compute it."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from pocketflow import AsyncNode


class Echo(AsyncNode):
    """Give every parameter back as an output of the same name."""

    name = "echo"
    synonyms: tuple[str, ...] = (
        "print",
        "say hello",
        "show a message",
        "output text",
        "log a line",
        "pass values on",
        "debug",
        "write to the console or screen",
        "display a result",
        "constant value for a test",
        "repeat what I say",
    )
    purity = "read"  # pure, but looking up what it gave would cost more than giving it again
    open_params = True
    echo_params = True
    actions = ("default",)

    class Params:
        """Any."""

    async def post_async(self, shared: MutableMapping[str, Any], prep_res: Any, exec_res: Any) -> str:
        """Write the parameters; those that pflow itself adds are not the author's."""
        for key, value in self.params.items():
            if not key.startswith("__"):
                shared[key] = value
        return "default"


class Let(Echo):
    """Give names to what expressions compute: each parameter is an expression, and an output of the same name."""

    name = "let"
    synonyms = (
        "set a variable",
        "compute a value",
        "add up numbers",
        "sum, total, average, maximum",
        "calculate with a formula or expression",
        "assign",
        "concatenate or join texts",
        "count items",
        "sort",
        "unique, without duplicates",
        "rename fields",
        "arithmetic, math",
        "define a constant",
        "work out the average or percentage",
        "number",
        "minimum, difference, product",
        "combine or merge values",
        "shorten or change a string, upper or lower case",
        "length, size",
        "date calculation",
        "first or last item",
    )
    computes_params = True
