"""Nodes whose `exec` returns every output by name, so that there is nothing left to say about writing them."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

from pocketflow import AsyncNode, Node


class OutputNode(Node):
    """A node that runs in a thread."""

    name: str | None = None

    def post(self, shared: MutableMapping[str, Any], prep_res: object, exec_res: Mapping[str, Any]) -> str:
        """Write the outputs."""
        shared.update(exec_res)
        return "default"


class AsyncOutputNode(OutputNode, AsyncNode):
    """A node that runs on the event loop."""

    name: str | None = None

    async def post_async(self, shared: MutableMapping[str, Any], prep_res: object, exec_res: Mapping[str, Any]) -> str:
        """Write the outputs."""
        return self.post(shared, prep_res, exec_res)
