"""Describes the nodes of installed packages from their source, without importing them."""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.util
from pathlib import Path

from pflow.core.frozen import Frozen
from pflow.core.node_function import NAME_RULE, NODE_NAME
from pflow.registry.package import METADATA, PACKAGE, EntryPoint, entry_points
from pflow.registry.scan import Data, Scan, parse_file, scan_source
from pflow.registry.source_module import SourceModule

_MOST_HOPS = 4
"""Imports that are followed from a module to the one that defines a node."""


class PackageScan(Frozen):
    """Node types by name, of one package each; the `shared` names, which several packages have, are not among them."""

    entries: dict[str, Data]
    shared: dict[str, list[str]]
    files: dict[str, object]
    notices: list[str]


def scan_packages() -> PackageScan:
    """The nodes of all installed packages."""
    found: dict[str, dict[str, Data]] = {}
    files: dict[str, object] = {}
    notices: list[str] = []
    for point in entry_points():
        files[point.metadata] = None
        scan = _scan_point(point, files)
        notices.extend(notice for notice in scan.notices if notice not in notices)
        for name, data in scan.entries.items():
            found.setdefault(name, {})[point.package] = data
    single = {name: next(iter(owners.values())) for name, owners in found.items() if len(owners) == 1}
    shared = {name: sorted(owners) for name, owners in found.items() if len(owners) > 1}
    return PackageScan(entries=single, shared=shared, files=files, notices=notices)


def _scan_point(point: EntryPoint, files: dict[str, object]) -> Scan:
    left_out = f"package `{point.package}`: node type `{point.name}` is left out"
    if point.attribute and not NODE_NAME.fullmatch(point.name):
        return Scan(notices=[f"{left_out}; {NAME_RULE}"])
    path = _find_file(point.module)
    if path is None:
        return Scan(notices=[f"{left_out}; the source of module `{point.module}` was not found"])
    found = _scan_module(path, point, files)
    if isinstance(found, str):
        return Scan(notices=[f"{left_out}; {found}"])
    if not point.attribute:
        return found
    data = _find_node(path, point, files)
    if data is None:
        why = [notice for notice in found.notices if f"`{point.attribute}`" in notice]
        missing = f"{left_out}; no class or `@pflow.node` function `{point.attribute}` was found in `{point.module}`"
        return Scan(notices=why or [missing])
    kind = "function" if "function" in data else "class_name"
    return Scan(entries={point.name: _renamed({**data, kind: point.attribute}, point.name)})


def _find_node(path: Path | None, point: EntryPoint, files: dict[str, object]) -> Data | None:
    """The entry of an attribute, from the module that defines it."""
    module, wanted = point.module, point.attribute
    for _ in range(_MOST_HOPS):
        scan = _scan_module(path, point, files) if path else ""
        for data in scan.entries.values() if isinstance(scan, Scan) else ():
            if _python_name(data) == wanted:
                return data
        module, wanted = _imported(path, module, wanted) if path else ("", wanted)
        path = _find_file(module) if module else None
    return None


def _renamed(data: Data, name: str) -> Data:
    """A node that has a version is known by the name that its package gives it."""
    head, at, version = str(data["node_hash"]).rpartition("@")
    return {**data, "node_hash": f"{name}@{version}"} if at and head else data


def _python_name(data: Data) -> object:
    return data.get("function") or data.get("class_name")


def _scan_module(path: Path, point: EntryPoint, files: dict[str, object]) -> Scan | str:
    source, tree, problem = parse_file(path)
    files[str(path)] = None
    if tree is None:
        return f"`{path.name}`{problem}"
    place = {
        "module": point.module,
        "file_path": str(path),
        PACKAGE: point.package,
        METADATA: point.metadata,
    }
    # The version counts for what the file imports.
    return scan_source(SourceModule(tree), source + point.package.encode(), place)


def _imported(path: Path, module: str, wanted: str) -> tuple[str, str]:
    """Where a module has a name from: the other module, and the name there; empty if it does not import it."""
    _, tree, _ = parse_file(path)
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for item in tree.body if tree else ():
        if isinstance(item, ast.ImportFrom):
            for alias in item.names:
                if (alias.asname or alias.name) == wanted:
                    base = package.split(".")[: len(package.split(".")) - item.level + 1] if item.level else []
                    return ".".join([*base, *([item.module] if item.module else [])]), alias.name
    return "", wanted


def _find_file(module: str) -> Path | None:
    """The source of a module. Only the top of its package is looked up, which imports nothing."""
    top, *rest = module.split(".")
    try:
        spec: importlib.machinery.ModuleSpec | None = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if not rest:
        return Path(spec.origin) if spec.origin and spec.origin.endswith(".py") else None
    for folder in spec.submodule_search_locations or ():
        base = Path(folder, *rest)
        for path in (base.with_name(f"{base.name}.py"), base / "__init__.py"):
            if path.is_file():
                return path
    return None
