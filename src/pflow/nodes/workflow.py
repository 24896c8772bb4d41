"""The `workflow` node type as documents and help see it. The engine runs it itself, inside the same run."""

from __future__ import annotations

from typing import Annotated

from pocketflow import AsyncNode


class Workflow(AsyncNode):
    """Run another workflow as a step, journalled inside this run."""

    name = "workflow"
    synonyms = (
        "call another workflow",
        "reuse a workflow inside of another one",
        "subworkflow",
        "nested",
        "child flow",
        "modular",
        "run a different workflow as part of this one",
        "include or embed a saved workflow",
        "compose workflows",
        "delegate to",
    )
    open_outputs = True
    actions = ("default", "error")

    class Params:
        workflow: Annotated[str | dict[str, object], "A saved workflow's name, a path, or a document"]
        inputs: Annotated[dict[str, object], "The inputs of that workflow"] = {}  # noqa: RUF012 a declaration
