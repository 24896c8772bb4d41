"""Steps that choose, go through lists and fail: their expressions are evaluated as their parameters."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Annotated, Any

from pocketflow import AsyncNode, Node

from pflow.core.errors import DeliberateError
from pflow.nodes.param import mapping, text, wrong


class Switch(AsyncNode):
    """End with the action that has the name of the first case whose condition holds, or with `else`."""

    name = "switch"
    synonyms = (
        "if",
        "else",
        "branch depending on a value",
        "choose between paths",
        "condition",
        "case",
        "route",
        "decide what to do",
        "only when",
        "take different routes depending on the answer or result",
        "conditional step",
        "if else, if then",
        "when something is true or equal",
        "otherwise",
        "decision, router",
        "pick the next step",
    )
    purity = "read"
    choice_param = "cases"
    actions = ("else",)

    class Params:
        cases: Annotated[dict[str, Any], "A condition for each name, tried in this order", "slot:cases"]

    class Outputs:
        case: Annotated[str, "The name of the case"]

    async def post_async(self, shared: MutableMapping[str, Any], prep_res: Any, exec_res: Any) -> str:
        """Take the way of the case that was found."""
        shared["case"] = self.params["cases"]
        return str(self.params["cases"])


class Filter(Node):
    """Keep the items for which a condition holds."""

    name = "filter"
    synonyms = (
        "keep only some items",
        "select entries of a list",
        "where",
        "drop or remove items that do not match",
        "older, bigger or matching records",
        "exclude",
        "search in a list",
        "throw away empty rows",
        "only the paid, open or new ones",
        "narrow down",
        "that meet a condition or criterion",
        "find in a list",
        "subset",
        "skip, ignore",
    )
    purity = "pure"

    class Params:
        items: Annotated[list[Any], "What to choose from"]
        as_: Annotated[str, "The name of an item in the condition"] = "item"
        where: Annotated[str, "A condition on each item, such as item.size > 10", "slot:where"]

    class Outputs:
        items: Annotated[list[Any], "The items that are kept"]
        count: Annotated[int, "How many that are"]
        dropped: Annotated[int, "How many are not kept"]

    def exec(self, prep_res: Any) -> list[Any]:
        """Try each item."""
        where = self.params["where"]
        return [item for index, item in enumerate(_items(self.params)) if where(item, index)]

    def post(self, shared: MutableMapping[str, Any], prep_res: Any, exec_res: list[Any]) -> str:
        """Write what is kept."""
        shared.update(items=exec_res, count=len(exec_res), dropped=len(self.params["items"]) - len(exec_res))
        return "default"


class Map(Node):
    """Make something of each item, or of each for which a condition holds."""

    name = "map"
    synonyms = (
        "transform every element of a list",
        "pick a field out of each record",
        "for each item",
        "convert items",
        "reshape rows",
        "project columns",
        "change each entry of an array",
        "work on all rows or elements",
        "make a new list from a list",
        "apply an expression to everything",
        "iterate, loop",
    )
    purity = "pure"

    class Params:
        items: Annotated[list[Any], "What to go through"]
        as_: Annotated[str, "The name of an item in the expressions"] = "item"
        to: Annotated[Any, "An expression for each item, or an object of them, such as {id: item.number}", "slot:to"]
        where: Annotated[str, "A condition on each item; the others are left out", "slot:where"] = ""

    class Outputs:
        items: Annotated[list[Any], "What was made, in the order of the items"]
        count: Annotated[int, "How many that are"]

    def exec(self, prep_res: Any) -> list[Any]:
        """Go through the items."""
        to, where = self.params["to"], self.params.get("where")
        return [to(item, index) for index, item in enumerate(_items(self.params)) if not where or where(item, index)]

    def post(self, shared: MutableMapping[str, Any], prep_res: Any, exec_res: list[Any]) -> str:
        """Write what was made."""
        shared.update(items=exec_res, count=len(exec_res))
        return "default"


class Fail(AsyncNode):
    """Fail on purpose, with a message for the person who runs the workflow."""

    name = "fail"
    synonyms = (
        "stop with an error message",
        "abort",
        "raise",
        "throw",
        "exit",
        "assert",
        "reject bad input",
        "give up, refuse to go on",
        "bail out if something is wrong",
        "cancel the run",
        "end as failed",
        "stop everything, crash on purpose",
        "complain",
    )
    purity = "read"
    actions = ("error",)

    class Params:
        message: Annotated[str, "What is wrong"]
        details: Annotated[dict[str, Any], "More about it, for programs"] = {}  # noqa: RUF012

    async def exec_async(self, prep_res: Any) -> None:
        """Fail."""
        details: Mapping[str, Any] = mapping(self.params, "details")
        raise DeliberateError(text(self.params, "message") or "the workflow ends here", details=dict(details))


def _items(params: Mapping[str, Any]) -> list[Any]:
    items = params.get("items")
    if isinstance(items, Mapping):
        return [{"key": key, "value": value} for key, value in items.items()]
    if not isinstance(items, list | tuple):
        raise wrong("items", "an array", items)
    return list(items)
