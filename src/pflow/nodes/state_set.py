"""The step that keeps values for later runs: it hands them over, and the engine makes them real."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from pocketflow import AsyncNode


class StateSet(AsyncNode):
    """Keep values for later runs of the workflow: each parameter is a name that the document's `state` declares."""

    name = "state-set"
    synonyms = (
        "remember a value for the next time",
        "keep a counter between runs",
        "store state",
        "save progress",
        "memory",
        "where it stopped last time, a cursor or watermark",
        "already seen or processed, not twice",
        "do not forget until tomorrow or the next run",
        "keep track of what was handled or done so far",
        "persist",
        "key and value database",
        "recall later",
        "since the last run",
        "once only",
    )
    purity = "read"  # until the run records its end nothing is kept, so a step that was cut off may run again
    open_params = True
    actions = ("default", "error")

    class Params:
        """The names that the document's `state` declares."""

    async def post_async(self, shared: MutableMapping[str, Any], prep_res: Any, exec_res: Any) -> str:
        """Hand the values over."""
        for key, value in self.params.items():
            if not key.startswith("__"):
                shared[key] = value
        return "default"
