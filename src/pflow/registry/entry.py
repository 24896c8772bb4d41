"""One node type of the registry: JSON until its interface or its class is used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pflow.core.advice import Advice
from pflow.core.errors import NotFoundError, SecurityError
from pflow.core.frozen import Frozen
from pflow.core.interface import MISSING, SLOTS, Field, Interface, named_fields
from pflow.core.json_type import JSON_TYPES, canonical, object_in, type_of
from pflow.core.schema_path import CONTENT, SEEN, Schema, kind_of
from pflow.registry.package import METADATA, PACKAGE, is_declared

if TYPE_CHECKING:
    from pocketflow import BaseNode

VIRTUAL = "virtual://"
"""How the `file_path` of an entry without a source file starts, such as that of an MCP tool."""


BUILT_IN = "pflow."
"""How the modules of pflow's own nodes start."""

PROGRAM = "program"
"""The key of an entry that says which object of the running program it is."""

Observations = Callable[[str, str], tuple[Schema, int] | None]
"""Gives the observed schema of a tool's results and the number of calls, by node type and definition hash."""


class ToolConfig(Frozen):
    """The tool of an MCP server behind a node type: where it is, and as it was synced."""

    server: str
    tool: str
    version: str = ""
    manifest_hash: str = ""
    definition: Mapping[str, object] = {}


def tool_in(data: Mapping[str, object]) -> ToolConfig | None:
    """The tool that an entry of `registry.json` stands for; None for other node types."""
    config = data.get("mcp_config")
    if not isinstance(config, dict):
        return None
    definition = config.get("definition")
    return ToolConfig(
        server=_text(config.get("server_id")),
        tool=_text(config.get("tool_name")),
        version=_text(config.get("version")),
        manifest_hash=_text(config.get("manifest_hash")),
        definition=definition if isinstance(definition, dict) else {},
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


class Entry:
    """A node type. `data` is its form in `registry.json`; the interface is built from it on first use."""

    __slots__ = (
        *("_class", "_defaults", "_folder", "_interface", "_observations", "_observed", "_source", "_tool"),
        *("data", "name"),
    )

    def __init__(
        self,
        name: str,
        data: Mapping[str, object],
        folder: Path,
        observations: Observations | None = None,
        source: bytes | None = None,
        *,
        made: type | None = None,
    ) -> None:
        self.name = name
        self.data = data
        self._source = source
        self._tool: ToolConfig | None = None
        self._folder = folder
        self._interface: Interface | None = None
        self._observations = observations
        self._observed: tuple[Schema, int] | None = None
        self._class = made
        self._defaults: Mapping[str, object] | None = None

    def __repr__(self) -> str:
        return f"Entry({self.name!r})"

    @property
    def class_name(self) -> str:
        """The name of the class that runs this node type."""
        return str(self.data.get("class_name", ""))

    @property
    def module(self) -> str:
        """The import name of the class's module; empty for a person's own file."""
        return str(self.data.get("module", ""))

    @property
    def file_path(self) -> str:
        """The source file, or where a virtual entry came from (`virtual://mcp`)."""
        return str(self.data.get("file_path", ""))

    @property
    def is_virtual(self) -> bool:
        """Whether this entry has no source file."""
        return self.file_path.startswith(VIRTUAL)

    @property
    def is_user(self) -> bool:
        """Whether this is neither built in nor a tool: code of the person, of a package, or of the program."""
        return not self.module.startswith(BUILT_IN)

    @property
    def program(self) -> str:
        """The object of the running program that this is, as `module.name`; empty for what is found by itself."""
        return str(self.data.get(PROGRAM, ""))

    @property
    def package(self) -> str:
        """The installed package that this is from, with its version; empty for what no package brought."""
        return _text(self.data.get(PACKAGE))

    @property
    def function(self) -> str:
        """The name of the function that runs this node type; empty for a class."""
        return str(self.data.get("function", ""))

    @property
    def project(self) -> str:
        """The folder of the project that brings this node type along; "" for all others."""
        return "" if self._source is None else str(self.data.get("project", ""))

    @property
    def interface(self) -> Interface:
        """What the node takes and gives; a `result` that is not declared has its observed shape."""
        if self._interface is None:
            self._interface = interface_from_json(self.data.get("interface"))
            declared = self._interface.output("result")
            if declared is None or declared.schema is not None or not self.manifest_hash:
                self._observations = None
            if self.gives_text:
                self._interface = _with_result(self._interface, {"type": "string", CONTENT: {}})
        if self._observations is not None:
            observed = self._observations(self.name, self.manifest_hash)
            if observed is not None and observed is not self._observed:
                schema, calls = observed
                if self.gives_text and schema == {"type": "string"}:
                    schema = {**schema, CONTENT: {}}  # from a version that did not look into text
                self._interface = _with_result(self._interface, {SEEN: calls, **schema})
                self._observed = observed
        return self._interface

    @property
    def gives_text(self) -> bool:
        """Whether this is a tool that declares its whole result as text. What it holds may be JSON all the same."""
        if self.tool is None or not isinstance(self.tool.definition.get("outputSchema"), dict):
            return False
        outputs = dict(named_fields(object_in(self.data, "interface").get("outputs")))
        return outputs.get("result", {}).get("type") == "string"

    @property
    def tool(self) -> ToolConfig | None:
        """The tool of an MCP server that this node type is; None for everything else."""
        if self._tool is None:
            self._tool = tool_in(self.data)
        return self._tool

    @property
    def manifest_hash(self) -> str:
        """The hash of an MCP tool's definition; empty for everything else."""
        return self.tool.manifest_hash if self.tool else ""

    @property
    def node_hash(self) -> str:
        """Changes when this node type may give another result: see `registry.scan` and `mcp.tools.entry`."""
        recorded = self.data.get("node_hash")
        if isinstance(recorded, str) and recorded:
            return recorded
        # lazy: scanned entries carry their hash
        import hashlib

        import orjson

        return hashlib.sha256(orjson.dumps(self.data, option=orjson.OPT_SORT_KEYS)).hexdigest()

    def node_class(self) -> type:
        """Import and return the class.

        Raises `NotFoundError` when the file cannot be imported or holds no such class, `SecurityError` when
        the entry points anywhere but at pflow's nodes and the person's own.
        """
        if self._class is None:
            self._class = self._import()
        return self._class

    def make(self) -> BaseNode:
        """A node of the class; one of a person's own has the declared defaults as its params."""
        node: BaseNode = self.node_class()()
        if self._defaults is None:
            fields = (*self.interface.params, *self.interface.reads) if self.is_user else ()
            found = {field.name: self._default(field) for field in fields}
            self._defaults = {name: value for name, value in found.items() if value is not MISSING}
        if self._defaults:
            node.params = {**self._defaults, **getattr(node, "params", {})}  # not all call PocketFlow's constructor
        return node

    def _default(self, field: Field) -> object:
        """A field's default; one that is not a constant is known only to the class, once it is imported."""
        if field.required or field.default is not MISSING:
            return field.default
        for holder in ("Params", "Reads"):
            declaring = getattr(self._class, holder, None)
            for name in (field.name, f"{field.name}_"):
                value = getattr(declaring, name, MISSING)
                if value is not MISSING and type_of(value) in JSON_TYPES:
                    return value
        return MISSING

    def _import(self) -> type:
        if not self.module:
            module = self._import_file()
        elif self.module.startswith(BUILT_IN):
            import importlib  # lazy: importing the registry imports no node

            try:
                module = importlib.import_module(self.module)
            except ModuleNotFoundError as error:
                raise self._unusable(f"`{error.name}` is not installed") from error
        else:
            module = self._import_package()
        if self.function:
            return self._function_class(getattr(module, self.function, None))
        node_class = getattr(module, self.class_name, None)
        if not isinstance(node_class, type):
            raise self._unusable(f"it defines no class `{self.class_name}`")
        return node_class

    def _function_class(self, function: object) -> type:
        if not callable(function):
            raise self._unusable(f"it defines no function `{self.function}`")
        from pflow.registry.function_node import function_class  # lazy: importing the registry imports no node

        return function_class(function, object_in(self.data, "interface"))

    def _import_package(self) -> object:
        if not is_declared(self.module, self.function or self.class_name, _text(self.data.get(METADATA))):
            raise self._outside()  # registry.json is data: what is imported is what packages declare
        import importlib  # lazy: importing the registry imports no node

        try:
            return importlib.import_module(self.module)
        except (Exception, SystemExit) as error:  # a package may raise anything while it is imported
            raise self._unusable(f"{type(error).__name__}: {error}") from error

    def _import_file(self) -> object:
        path = Path(self.file_path)
        if self._source is None and path.parent != self._folder:
            # registry.json is data: it may describe the nodes in that directory, not name code elsewhere.
            raise self._outside()
        from importlib.util import module_from_spec, spec_from_file_location  # lazy: only for a user's own nodes

        try:
            source = path.read_bytes() if self._source is None else self._source  # these bytes were agreed to
        except OSError as error:
            raise self._unusable(error.strerror or "it cannot be read") from error
        name = f"pflow_user_node_{path.stem}"
        if self._source is not None:
            name = f"pflow_project_node_{self.node_hash[:16]}_{path.stem}"
        loaded = sys.modules.get(name)
        if loaded is not None and getattr(loaded, "__pflow_source__", None) == (str(path), source):
            return loaded
        spec = spec_from_file_location(name, path)
        if spec is None:
            raise self._unusable("it is not a Python file")
        module = module_from_spec(spec)
        module.__dict__["__pflow_source__"] = (str(path), source)
        sys.modules[name] = module
        try:
            # Not through the loader: its bytecode cache goes by whole seconds and would miss a quick edit.
            exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
        except (Exception, SystemExit) as error:  # a person's module may raise anything while it is imported
            del sys.modules[name]
            raise self._unusable(f"{type(error).__name__}: {error}") from error
        return module

    def _outside(self) -> SecurityError:
        return SecurityError(Advice("node type `{node}` points outside of pflow; run `{scan_nodes}`", node=self.name))

    def _unusable(self, cause: str) -> NotFoundError:
        where = f"package {self.package}" if self.package else Path(self.file_path).name or self.module
        return NotFoundError(
            f"node type `{self.name}` cannot be loaded from `{where}`: {cause}",
            suggestions=self._remedy(),
        )

    def _remedy(self) -> list[str]:
        if self.project:
            return [f"correct `{self.file_path}`, and agree to the project again"]
        return [Advice("correct the file, then run `{scan_nodes}`")] if not self.module else []


def interface_from_json(data: object) -> Interface:
    """The interface that an entry describes; what is malformed in it is left out."""
    if not isinstance(data, dict):
        return Interface(open_params=True, open_outputs=True)
    actions = data.get("actions")
    purity = data.get("purity")
    synonyms = data.get("synonyms")
    return Interface(
        description=str(data.get("description") or ""),
        params=_fields(data.get("params")),
        reads=_fields(data.get("reads", data.get("inputs"))),
        outputs=_fields(data.get("outputs")),
        actions=tuple(map(str, actions)) if isinstance(actions, list) else ("default", "error"),
        purity="pure" if purity == "pure" else "read" if purity == "read" else "impure",
        open_params=data.get("open_params") is True,
        open_outputs=data.get("open_outputs") is True,
        echo_params=data.get("echo_params") is True,
        open_slot="expression" if data.get("computes_params") is True else "value",
        choice_param=str(data.get("choice_param") or ""),
        waits=data.get("waits") is True,
        synonyms=tuple(map(str, synonyms)) if isinstance(synonyms, list) else (),
    )


def _with_result(interface: Interface, schema: Schema) -> Interface:
    outputs = tuple(
        field._replace(schema=schema, type=kind_of(schema)) if field.name == "result" else field
        for field in interface.outputs
    )
    return interface._replace(outputs=outputs)


def _fields(data: object) -> tuple[Field, ...]:
    """Fields from a list of objects or names, or from an object of defaults (`{"max_results": 10}`)."""
    if isinstance(data, dict):
        return tuple(Field(name=name, default=default) for name, default in data.items())
    if not isinstance(data, list):
        return ()
    fields = []
    for item in data:
        if isinstance(item, str):
            fields.append(Field(name=item))
        elif isinstance(item, dict) and isinstance(item.get("name"), str):
            fields.append(_field(item))
    return tuple(fields)


def _field(item: dict[str, object]) -> Field:
    schema = item.get("schema")
    slot = item.get("slot")
    return Field(
        name=str(item["name"]),
        type=canonical(str(item.get("type", "any"))),
        description=str(item.get("description") or ""),
        required=item.get("required") is True,
        default=item.get("default", MISSING),
        schema=schema if isinstance(schema, dict) else None,
        slot=SLOTS.get(str(slot), "value"),
    )
