"""Everything that can be found: the node types and saved workflows of a home, with the text they are found by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

import orjson

from pflow.core.advice import Advice
from pflow.core.document.document import Document
from pflow.core.document.inputs_outputs import describe_input
from pflow.core.errors import NotFoundError, PflowError
from pflow.core.file.home import Home
from pflow.core.frozen import Frozen
from pflow.core.json_type import object_in
from pflow.core.library.workflow_manager import WorkflowManager
from pflow.core.other_words import TYPES
from pflow.core.printable import cut
from pflow.mcp.tools.detail import describe_entry
from pflow.planning.query_word import split_name
from pflow.registry.entry import Entry
from pflow.registry.registry import Registry

if TYPE_CHECKING:
    from pflow.core.project.project import Project

Kind = Literal["node", "workflow", "draft"]
KINDS: tuple[Kind, ...] = ("node", "workflow", "draft")

Key = tuple[Kind, str]
"""A kind and a name."""

_LONGEST_CHARACTERS = 2_000
_LONGEST_DESCRIPTION_CHARACTERS = 8_000
_MOST_BYTES = 16_000
"""Bytes of the fields of one thing, for those who ask about it."""

_MOST_FIELDS = (300, 150, 80, 40, 20, 0)
"""Fields inside of parameters that are tried, until they are short enough."""

_LEFT_OUT = ("schema", "default", "source", "enum", "description")
"""Parts of fields that are left out, in this order, until the rest is short enough."""


class Texts(Frozen):
    """The text that something is found by."""

    name: str
    description: str = ""
    parameters: str = ""
    outputs: str = ""
    synonyms: str = ""
    details: str = ""


class Catalogue:
    """Node types and workflows of a home and of projects. What cannot be read is left out, as in lists."""

    def __init__(self, home: Home, registry: Registry | None = None, projects: Sequence[Project] = ()) -> None:
        self._home = home
        self._given = registry
        self._projects = projects

    @cached_property
    def registry(self) -> Registry:
        """The node types."""
        return self._given if self._given is not None else Registry.load(self._home)

    def stamps(self) -> dict[Key, str]:
        """Everything there is; each stamp changes whenever a text could have changed."""
        found: dict[Key, str] = {("node", name): _stamp(self.registry.get(name).data) for name in self.registry.names()}
        for kind in ("workflow", "draft"):
            found.update(((kind, name), stamp) for name, stamp in self._manager(kind).stamps().items())
        for project in reversed(self._projects):
            hashes = project.content.hashes()
            found.update((("workflow", name), hashes[file]) for name, file in project.files().items())
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

    def sentence(self, key: Key) -> str:
        """What something is and does, for a model that compares meanings: its beginning counts most."""
        texts = self.texts(key)
        if texts is None:
            return key[1]
        entry = self.registry.get(key[1]) if key[0] == "node" else None
        tool = entry.tool if entry else None
        spoken = [*split_name(tool.server), *split_name(tool.tool)] if tool else split_name(key[1])
        return f"{' '.join(dict.fromkeys(spoken))}: {texts.description} {texts.synonyms}"

    def describe(self, key: Key) -> dict[str, object]:
        """A description, and the interface of a node type or the inputs and outputs of a workflow.

        No text in it is longer than a person would read. Raises `PflowError` for what is gone or cannot be read.
        """
        kind, name = key
        if kind == "node":
            return _describe_hit(self.registry.get(name))
        document, description = self._workflow(kind, name)
        inputs = {each: describe_input(declared) for each, declared in document.inputs.items()}
        about, is_whole = _fitted({"inputs": inputs, "outputs": document.raw.get("outputs", {})})
        more = {} if is_whole else {"shortened": Advice("`{describe_workflow}` has the rest", workflow=name)}
        return {"description": shorten_text(description), **about, **more}

    def describe_node(self, name: str, focus: str = "") -> dict[str, object]:
        """A node type with its whole description, and its interface as deep as there is room.

        With a `focus` only what stands at that path of a parameter. Raises `NotFoundError`.
        """
        entry = self.registry.get(name)
        description, about, is_whole = _fitted_node(entry, focus)
        more = {} if is_whole else {"shortened": Advice("`{describe_field}` shows one place in full", node=name)}
        return {"description": cut(description, _LONGEST_DESCRIPTION_CHARACTERS), "interface": about, **more}

    def _manager(self, kind: str) -> WorkflowManager:
        return WorkflowManager(self._home, kind="draft" if kind == "draft" else "library")

    def _workflow(self, kind: Kind, name: str) -> tuple[Document, str]:
        manager = self._manager(kind)
        project = next((each for each in self._projects if kind == "workflow" and name in each.files()), None)
        text = manager.stored_text(name) if project is None else project.text(name)
        document = text.parse().document
        if document is None:
            raise NotFoundError(f"`{name}` is not a workflow that could be run")
        return document, manager.describe(name).description if project is None else project.description(name)


def shorten_text(text: str) -> str:
    """As much of a string as anyone reads."""
    return cut(text, _LONGEST_CHARACTERS)


def _stamp(data: Mapping[str, object]) -> str:
    recorded = object_in(data, "mcp_config").get("manifest_hash")
    return str(recorded) if recorded else sha256(orjson.dumps(data.get("interface"))).hexdigest()


def _node_texts(entry: Entry) -> Texts:
    interface = entry.interface
    # Outputs that every tool has do not tell tools apart, and would make their words worth nothing.
    common = ("result", "files") if entry.tool else ()
    raw = entry.tool.tool if entry.tool else ""
    return Texts(
        name=f"{entry.name} {raw}",  # a node type has lost the capitals that tell words apart
        description=interface.description,
        parameters=_prose((field.name, field.description) for field in (*interface.params, *interface.reads)),
        outputs=_prose((field.name, field.description) for field in interface.outputs if field.name not in common),
        synonyms=" ".join((*interface.synonyms, *TYPES.get(entry.name, ()))),
        details=_details(entry),
    )


def _details(entry: Entry) -> str:
    """The text of a tool beyond its summary: its whole description, and the fields inside its parameters."""
    if not entry.tool:
        return ""
    detail = describe_entry(entry)
    rows = (row for about in detail.params.values() for row in about.fields)
    return f"{detail.description} {_prose((row.name, row.description) for row in rows)}"


def _describe_hit(entry: Entry) -> dict[str, object]:
    """A node type among others: the names and types that it takes and gives, without what is inside of them."""
    about = describe_entry(entry, most=0).interface
    return {"description": shorten_text(entry.interface.description), "interface": about}


def _fitted_node(entry: Entry, focus: str = "") -> tuple[str, dict[str, object], bool]:
    """The description and interface of a node type, with as many fields inside of parameters as there is room for."""
    for most in _MOST_FIELDS:
        detail = describe_entry(entry, most=most, focus=focus)
        fields = {name: group for name, group in detail.interface.items() if name != "description"}
        about, is_whole = _fitted(fields)
        if is_whole:
            break
    return detail.description, about, is_whole and detail.is_whole


def _fitted(groups: Mapping[str, object]) -> tuple[dict[str, object], bool]:
    """Groups of fields, without their largest parts if they are too large, and whether they are whole."""
    found = {name: _shortened(group) for name, group in groups.items()}
    for left_out in _LEFT_OUT:
        if len(orjson.dumps(found)) <= _MOST_BYTES:
            return found, left_out == _LEFT_OUT[0]
        found = {name: _without(group, left_out) for name, group in found.items()}
    return found, False


def _without(group: object, left_out: str) -> object:
    if isinstance(group, dict):
        return {name: _bare(field, left_out) for name, field in group.items()}
    return [_bare(field, left_out) for field in group] if isinstance(group, list) else group


def _bare(field: object, left_out: str) -> object:
    return {name: value for name, value in field.items() if name != left_out} if isinstance(field, dict) else field


def _shortened(value: object) -> object:
    if isinstance(value, str):
        return shorten_text(value)
    if isinstance(value, Mapping):
        return {name: _shortened(part) for name, part in value.items()}
    return [_shortened(part) for part in value] if isinstance(value, list) else value


def _prose(fields: Iterable[tuple[str, str]]) -> str:
    return " ".join(f"{name} {description}" for name, description in fields)
