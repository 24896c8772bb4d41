"""What can be found: every node type and saved workflow of a home, with the text it is found by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Literal

import orjson

from pflow.core.declaration import describe_input
from pflow.core.document import Document
from pflow.core.errors import NotFoundError, PflowError
from pflow.core.frozen import Frozen
from pflow.core.parse import parse_value
from pflow.core.path import Home
from pflow.core.workflow_manager import WorkflowManager
from pflow.mcp.tool_entry import WRAPPER
from pflow.registry.entry import Entry
from pflow.registry.registry import Registry

Kind = Literal["node", "workflow", "draft"]
KINDS: tuple[Kind, ...] = ("node", "workflow", "draft")

Key = tuple[Kind, str]
"""A kind and a name."""

_LONGEST = 2_000
_MOST_BYTES = 16 << 10


class Texts(Frozen):
    """The text that something is found by."""

    name: str
    description: str = ""
    parameters: str = ""
    outputs: str = ""


class Catalogue:
    """Node types and workflows of a home. What cannot be read is left out of it, as it is out of lists."""

    def __init__(self, home: Home, registry: Registry | None = None) -> None:
        self._home = home
        self._given = registry

    @cached_property
    def registry(self) -> Registry:
        """The node types."""
        return self._given if self._given is not None else Registry.load(self._home)

    def stamps(self) -> dict[Key, str]:
        """Everything there is; each stamp changes whenever a text could have changed."""
        found: dict[Key, str] = {("node", name): _stamp(self.registry.get(name)) for name in self.registry.names()}
        for kind in ("workflow", "draft"):
            found.update(((kind, name), stamp) for name, stamp in self._manager(kind).stamps().items())
        return found

    def texts(self, key: Key) -> Texts | None:
        """What something is found by; None if it is gone or cannot be read."""
        kind, name = key
        try:
            if kind == "node":
                return _node_texts(self.registry.get(name))
            document, description = self._workflow(kind, name)
        except PflowError:
            return None
        return Texts(
            name=name,
            description=description,
            parameters=_prose((each, declared.description) for each, declared in document.inputs.items()),
            outputs=_prose((each, declared.description) for each, declared in document.outputs.items()),
        )

    def describe(self, key: Key) -> dict[str, object]:
        """A description, and the interface of a node type or the inputs and outputs of a workflow.

        No text in it is longer than a person would read. Raises `PflowError` for what is gone or cannot be read.
        """
        kind, name = key
        if kind == "node":
            return _describe_node(self.registry.get(name))
        document, description = self._workflow(kind, name)
        return {
            "description": shorten_text(description),
            "inputs": _shortened({each: describe_input(declared) for each, declared in document.inputs.items()}),
            "outputs": _shortened(document.raw.get("outputs", {})),
        }

    def _manager(self, kind: str) -> WorkflowManager:
        return WorkflowManager(self._home, kind="draft" if kind == "draft" else "library")

    def _workflow(self, kind: Kind, name: str) -> tuple[Document, str]:
        saved = self._manager(kind).load(name)
        document = parse_value(saved["workflow"]).document
        if document is None:
            raise NotFoundError(f"`{name}` holds no workflow that could be run")
        metadata = saved["metadata"]
        described = metadata.get("description") if isinstance(metadata, dict) else ""
        return document, described if isinstance(described, str) else ""


def shorten_text(text: str) -> str:
    """As much of a text as anyone reads."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _stamp(entry: Entry) -> str:
    config = entry.data.get("mcp_config")
    manifest = config.get("manifest_hash") if isinstance(config, dict) else None
    return manifest if isinstance(manifest, str) and manifest else entry.node_hash


def _node_texts(entry: Entry) -> Texts:
    interface = entry.interface
    # What every tool has tells none of them from another, and would make its words count for nothing.
    common = ("result", "files") if entry.data.get("type") == WRAPPER else ()
    config = entry.data.get("mcp_config")
    raw = config.get("tool_name") if isinstance(config, dict) else ""
    return Texts(
        name=f"{entry.name} {raw}",  # a node type has lost the capitals that tell words apart
        description=interface.description,
        parameters=_prose((field.name, field.description) for field in (*interface.params, *interface.reads)),
        outputs=_prose((field.name, field.description) for field in interface.outputs if field.name not in common),
    )


def _describe_node(entry: Entry) -> dict[str, object]:
    data = entry.data.get("interface")
    fields = {name: value for name, value in data.items() if name != "description"} if isinstance(data, dict) else {}
    interface = _shortened(fields)
    found: dict[str, object] = {"description": shorten_text(entry.interface.description), "interface": interface}
    if len(orjson.dumps(interface)) > _MOST_BYTES:
        found["interface"] = _without_schemas(interface)
        found["shortened"] = f"`pflow registry describe {entry.name} --json` has the schemas as well"
    return found


def _without_schemas(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _without_schemas(part) for name, part in value.items() if name != "schema"}
    return [_without_schemas(part) for part in value] if isinstance(value, list) else value


def _shortened(value: object) -> object:
    if isinstance(value, str):
        return shorten_text(value)
    if isinstance(value, Mapping):
        return {name: _shortened(part) for name, part in value.items()}
    return [_shortened(part) for part in value] if isinstance(value, list) else value


def _prose(fields: Iterable[tuple[str, str]]) -> str:
    return " ".join(f"{name} {description}" for name, description in fields)
