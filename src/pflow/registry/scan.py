"""Finds node classes and functions in Python source by reading it, never by importing it."""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
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


def parse_file(path: Path) -> tuple[bytes, ast.Module | None, str]:
    """A file of Python source, parsed; or why it cannot be."""
    try:
        source = path.read_bytes()
    except OSError as error:
        return b"", None, f" cannot be read ({error.strerror})"
    return source, *parse_source(source, path.name)


def parse_source(source: bytes, name: str) -> tuple[ast.Module | None, str]:
    """Python source, parsed; or why it cannot be."""
    if len(source) > MAX_SOURCE:
        return None, f" is larger than {MAX_SOURCE // 1024} KiB"
    if b"\0" in source:  # the versions of Python say this differently
        return None, " is not Python source"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source, name), ""
    except SyntaxError as error:
        return None, f" line {error.lineno}: {error.msg}" if error.lineno else f": {error.msg}"
    except (ValueError, RecursionError, MemoryError):
        return None, " is not Python source"


def scan_file(path: Path, module: str | None) -> Scan:
    """The nodes of one file; `module` is its import name, None for a person's own file."""
    source, tree, problem = parse_file(path)
    if tree is None:
        return Scan(notices=[f"`{path.name}`{problem}; its nodes are left out"])
    return scan_source(SourceModule(tree), source, {"module": module or "", "file_path": str(path)})


@cache
def _scan_once(path: Path, module: str, stamp: tuple[str | int, ...]) -> tuple[bytes, tuple[str, ...]]:
    scan = scan_file(path, module)
    return orjson.dumps(scan.entries), tuple(scan.notices)


def scan_built_in(path: Path, module: str, stamp: tuple[str | int, ...]) -> Scan:
    """The nodes of a file of pflow itself, which a process reads once as long as its `stamp` is the same."""
    entries, notices = _scan_once(path, module, stamp)
    return Scan(orjson.loads(entries), list(notices))


def scan_text(source: bytes, path: Path) -> Scan:
    """The nodes of a file of a person or project that has been read."""
    tree, problem = parse_source(source, path.name)
    if tree is None:
        return Scan(notices=[f"`{path.name}`{problem}; its nodes are left out"])
    return scan_source(SourceModule(tree), source, {"module": "", "file_path": str(path)})


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
