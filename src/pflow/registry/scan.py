"""Finds node classes and functions in Python source by reading it, never by importing it."""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from pflow.core.node_function import NAME_RULE, NODE_NAME
from pflow.registry.function_source import function_interface, node_functions
from pflow.registry.source_module import SourceModule

MAX_SOURCE = 1024 * 1024
"""Bytes of a file that may hold nodes; a larger one is left out."""

Data = dict[str, object]


@dataclass(slots=True)
class Scan:
    """What a file holds: registry entries by node type name, and what could not be used."""

    entries: dict[str, Data] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)

    def add(self, name: str, entry: Data, left_out: str) -> None:
        """Take a node type in, unless its name is not valid or taken; `left_out` begins the notice then."""
        if not NODE_NAME.fullmatch(name):
            self.notices.append(f"{left_out}; {NAME_RULE}")
        elif name in self.entries:
            other = "function" if "function" in self.entries[name] else "class"
            self.notices.append(f"{left_out}; another {other} of the file is `{name}`")
        else:
            try:
                orjson.dumps(entry)
            except TypeError:
                self.notices.append(f"{left_out}; its interface does not fit in JSON")
            else:
                self.entries[name] = entry


def parse_source(path: Path) -> tuple[bytes, ast.Module | None, str]:
    """A file of Python source, parsed; or why it cannot be."""
    source, tree, problem = b"", None, f" is larger than {MAX_SOURCE // 1024} KiB"
    try:
        source = path.read_bytes()
        if b"\0" in source:  # the versions of Python say this differently
            problem = " is not Python source"
        elif len(source) <= MAX_SOURCE:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(source, path.name)
    except OSError as error:
        problem = f" cannot be read ({error.strerror})"
    except SyntaxError as error:
        problem = f" line {error.lineno}: {error.msg}" if error.lineno else f": {error.msg}"
    except (ValueError, RecursionError, MemoryError):
        problem = " is not Python source"
    return source, tree, problem


def scan_file(path: Path, module: str | None) -> Scan:
    """The nodes of one file; `module` is its import name, None for a person's own file."""
    source, tree, problem = parse_source(path)
    if tree is None:
        return Scan(notices=[f"`{path.name}`{problem}; its nodes are left out"])
    return scan_source(SourceModule(tree), source, {"module": module or "", "file_path": str(path)})


def scan_source(module: SourceModule, source: bytes, place: Mapping[str, object]) -> Scan:
    """The nodes of a parsed file; `place` is what their entries say of where it is."""
    scan = Scan()
    shown = Path(str(place["file_path"])).name
    is_built_in = str(place["module"]).startswith("pflow.")
    for node in module.node_classes():
        name = module.type_name(node)
        if name is None:
            continue
        entry: Data = {
            "class_name": node.name,
            **place,
            "node_hash": module.built_in_hash(node, name) if is_built_in else source_hash(source, node.name),
            "interface": module.interface(node),
        }
        scan.add(name, entry, f"`{shown}`: class `{node.name}` is left out")
    for found in node_functions(module):
        function = found.function.name
        left_out = f"`{shown}`: function `{function}` is left out"
        if found.problem:
            scan.notices.append(f"{left_out}; {found.problem}")
            continue
        entry = {
            "function": function,
            **place,
            "node_hash": f"{found.name}@{found.version}" if found.version else source_hash(source, function),
            "interface": function_interface(module, found.function, found.purity),
        }
        scan.add(found.name, entry, left_out)
    return scan


def source_hash(source: bytes, name: str) -> str:
    """A node that has no version is identified by its file and its name there."""
    return hashlib.sha256(source + b"\0" + name.encode()).hexdigest()
