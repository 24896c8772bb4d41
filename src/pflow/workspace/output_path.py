"""The paths that templates can name in what one step gave."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.schema_path import paths_of
from pflow.mcp.call.tool_result import json_in
from pflow.registry.entry import Entry


def output_paths(entry: Entry, outputs: Mapping[str, object]) -> list[str]:
    """What templates can name in the outputs, with types; also in a tool's text that holds JSON."""
    lines: list[str] = []
    for name, value in outputs.items():
        held = json_in(value) if name == "result" and isinstance(value, str) and entry.gives_text else None
        if held is None:
            lines += paths_of(value, name)
        else:
            lines += [f"{name}  string that holds JSON", *paths_of(held, name)[1:]]
    return lines
