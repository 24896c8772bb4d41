"""The `workflow` node type as documents and help see it. The engine runs it itself, inside the same run."""

from __future__ import annotations

from typing import Annotated

from pocketflow import AsyncNode


class Workflow(AsyncNode):
    """Run another workflow as a step, journalled inside this run."""

    name = "workflow"
    open_outputs = True
    actions = ("default", "error")

    class Params:
        workflow: Annotated[str | dict[str, object], "A saved workflow's name, a path, or a document"]
        inputs: Annotated[dict[str, object], "The inputs of that workflow"] = {}  # noqa: RUF012 a declaration
