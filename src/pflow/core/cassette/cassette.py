"""A cassette as values, and what identifies a recorded call. Reads and writes no files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import orjson

from pflow.core.frozen import Frozen
from pflow.core.json_type import JsonView

FORMAT = 1


class Recorded(Frozen):
    """What one step gave: its `outputs` with the action that they came with, or the `error` that it failed with.

    `params` are what it was given, rendered, with `«secret:NAME»` in place of secrets; `reads` what it read from the
    store under natural keys. `step` says where it stood when it was recorded, for people: it identifies nothing.
    """

    step: str
    type: str
    params: JsonView
    reads: Mapping[str, object] = {}
    outputs: JsonView | None = None
    action: str = "default"
    error: JsonView | None = None
    ms: float = 0.0

    @property
    def key(self) -> str:
        """What was asked; the same for every call that asks the same, whatever its step is called."""
        return call_key(self.type, self.params, self.reads)


class Cassette(Frozen):
    """A recorded run. `tools` has the hash of each MCP tool's definition as it was then, by node type.

    `definitions` are their entries in the registry, for machines that never saw the servers. `date` is the day in the
    time zone of the run, and `state` what its workflow had kept. `gave` has a hash of each output of each step and
    item, also of those that only compute: it explains a test that fails, and answers nothing.
    """

    workflow: str
    inputs: Mapping[str, object] = {}
    at: str = ""
    pflow: str = ""
    run_id: str = ""
    tools: Mapping[str, object] = {}
    definitions: Mapping[str, object] = {}
    date: str = ""
    state: Mapping[str, object] = {}
    calls: tuple[Recorded, ...] = ()
    gave: Mapping[str, Mapping[str, str]] = {}

    def is_like(self, other: Cassette) -> bool:
        """Whether both hold the same, whenever each was recorded and however long its calls took."""
        return self._timeless() == other._timeless()

    def _timeless(self) -> Cassette:
        calls = tuple(call._replace(ms=0.0) for call in self.calls)
        return self._replace(calls=calls, at="", date="", run_id="", pflow="")


def call_key(node_type: str, params: JsonView, reads: JsonView) -> str:
    """A hash of what a step is asked: its type, its rendered params, and what it reads from the store."""
    asked = {"type": node_type, "params": params, "reads": reads}
    return hashlib.sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).hexdigest()
