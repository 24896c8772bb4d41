"""All node types: found in source files, kept in `registry.json`, and added to by other packages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from pflow import __version__
from pflow.core.advice import Advice
from pflow.core.errors import NotFoundError, StorageError, UsageError
from pflow.core.file.atomic import JSON_LIMIT, write_atomic
from pflow.core.file.home import Home
from pflow.core.file.state_file import Damage, StateFile
from pflow.core.json_type import Json, object_in
from pflow.core.schema_path import Schema
from pflow.registry.entry import VIRTUAL, Entry
from pflow.registry.node_file import builtin_stamp, fingerprints, own_fingerprints, why_unused
from pflow.registry.package import PACKAGE, file_stamps, folder_stamps

if TYPE_CHECKING:
    from pflow.registry.observed import Observed
    from pflow.registry.project_node import FindNodes, ProjectNode

HEAD = "__registry__"
"""The one key of `registry.json` that is not a node type: what the scanned entries were made from."""

MAKER = f"pflow {__version__}, format 4"
"""Entries that another version made are made again."""


Nodes = dict[str, dict[str, object]]


class Registry:
    """Node types by name. `notices` says what could not be used and why; it is reported nowhere else."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._file = StateFile(home.registry, is_valid=_is_valid, on_damage=self._salvage)
        self._folder = home.nodes
        self._observed: Observed | None = None
        self._nodes: Nodes = {}
        self._entries: dict[str, Entry] = {}
        self._brought: dict[str, Entry] = {}
        self._head: dict[str, object] = {}
        self._changes: dict[str, dict[str, object] | None] = {}
        self._stamp: object = None
        self._origin = object()
        self._is_alone = True
        self._builtin: list[int] = []
        self._find_nodes: FindNodes | None = None
        self._project_nodes: dict[str, ProjectNode] = {}
        self.notices: list[str] = []

    @classmethod
    def load(cls, home: Home) -> Registry:
        """The registry as of now; source files are read again only when one of them changed."""
        registry = cls(home)
        registry._stamp = _stamp(home.registry)
        registry._nodes = _nodes_of(registry._read())
        registry._head = registry._nodes.pop(HEAD, {})
        registry._builtin = builtin_stamp()
        if registry._is_current():
            registry.notices.extend(_strings(registry._head.get("notices")))
            return registry
        registry.rescan()
        try:
            registry.save()
        except StorageError:
            pass  # the file is a cache: a home that cannot be written costs a scan each time, nothing else
        return registry

    def afresh(self) -> Registry:
        """What `load` gives now, sharing nothing that changes with this one; an unchanged file is not read again."""
        is_same = self._stamp is not None and not self._changes and self._stamp == _stamp(self._file.path)
        if not is_same or not self._is_still_current():
            return Registry.load(self._home)
        registry = Registry(self._home)
        registry._stamp, registry._head, registry._nodes = self._stamp, self._head, dict(self._nodes)
        registry._builtin, registry._origin = self._builtin, self._origin
        registry.notices.extend(_strings(self._head.get("notices")))
        return registry

    @property
    def basis(self) -> object:
        """The same object in every registry that has the same node types and no others.

        None once projects, the running program or the shapes of results were looked at as well: those may be others
        the next time.
        """
        return self._origin if self._is_alone and self._observed is None and not self._brought else None

    @property
    def observed(self) -> Observed:
        """The observed shapes of tools' results."""
        if self._observed is None:
            from pflow.registry.observed import Observed  # lazy: most documents hold no tool that declares nothing

            self._observed = Observed(self._home, self.notices)
        return self._observed

    def keep_observed(self) -> None:
        """Write down what the results of tools were seen to look like, if any was seen."""
        if self._observed is not None:
            self._observed.flush()

    def rescan(self) -> None:
        """Read all source files again. Virtual entries stay; a file that cannot be used becomes a notice."""
        from pflow.registry.name_order import FIRST_BUILT_IN, NameOrder  # lazy: most loads read no source
        from pflow.registry.package_scan import scan_packages  # lazy: most loads read no source
        from pflow.registry.scan import scan_built_in, scan_file  # lazy: parsing Python costs 10 ms of imports

        sources = fingerprints(self._folder)
        later: Nodes = {}
        order = NameOrder()
        for path, fingerprint in sources.items():
            if reason := why_unused(fingerprint):
                order.notices.append(f"`{Path(path).name}` {reason}; its nodes are left out")
                continue
            module = str(fingerprint[0])
            scan = scan_built_in(Path(path), module, tuple(fingerprint)) if module else scan_file(Path(path), None)
            order.notices.extend(scan.notices)
            if fingerprint[0]:
                later |= {name: scan.entries.pop(name) for name in scan.entries.keys() - FIRST_BUILT_IN}
            order.add(f"`{Path(path).name}`", scan.entries)
        packages = scan_packages()
        order.notices.extend(packages.notices)
        for name, data in packages.entries.items():
            order.add(f"package `{data[PACKAGE]}`", {name: data})
        order.add("pflow", later)
        for name, data in _virtual(self._nodes).items():
            order.add(f"`{data['file_path']}`", {name: data})
        self._nodes, self._entries, self._origin = order.nodes, {}, object()
        self._head = {
            "made_by": MAKER,
            "sources": sources,
            "folders": folder_stamps(),
            "files": file_stamps(packages.files),
            "shared": packages.shared,
            "notices": order.notices,
        }
        self.notices.extend(notice for notice in order.notices if notice not in self.notices)

    def save(self, *, backup: bool = False) -> None:
        """Write `registry.json`, keeping virtual entries that other processes added in the meantime.

        `backup` keeps what it held before as `registry.json.bak`. Raises `StorageError`.
        """
        path = self._file.path
        with self._file.lock():
            nodes = dict(self._nodes)
            if (found := self._file.read_locked()) is not None:
                nodes = {name: data for name, data in nodes.items() if not _is_virtual(data)}
                nodes |= {name: data for name, data in _virtual(_nodes_of(found)).items() if name not in nodes}
            for name, change in self._changes.items():
                _change(nodes, name, change)
            data = orjson.dumps({HEAD: self._head, **nodes})
            if len(data) > JSON_LIMIT:
                raise StorageError(
                    f"`{path.name}` would have {len(data):,} bytes; at most {JSON_LIMIT:,} are allowed",
                    suggestions=[Advice("remove MCP servers that you do not need with `{remove_server}`")],
                )
            if backup and (before := self._file.data()) is not None:
                write_atomic(path.with_name(f"{path.name}.bak"), before)
            self._file.write(data)
        self._nodes, self._entries, self._origin = nodes, {}, object()
        self._changes.clear()

    def bring(self, entries: Mapping[str, Entry]) -> None:
        """Add the node types of the running program, which are not kept. Raises `UsageError` for a built-in name."""
        for name, entry in entries.items():
            if name in self._nodes and not _is_virtual(self._nodes[name]):
                if not self.get(name).is_user:
                    raise UsageError(
                        f"`{entry.program}` cannot be the node type `{name}`, which is built in",
                        suggestions=['give it another name: `@pflow.node(name="…")`'],
                    )
                self.notices.append(f"node type `{name}` is `{entry.program}` of this program, not the installed one")
            self._brought[name] = entry

    def get(self, name: str) -> Entry:
        """The node type of that name. Raises `NotFoundError` with the names it may have meant."""
        if name in self._brought:
            return self._brought[name]
        if name not in self:
            self._check_shared(name)
            from pflow.core.other_words import advise_type  # lazy: only for this error

            near, hint = advise_type(name, self.names())
            raise NotFoundError(f"there is no node type `{name}`", details={"similar": near}, suggestions=[hint])
        if name not in self._entries:
            data = self._nodes.get(name)
            source = None
            if data is None:
                data, source = self._project_nodes[name].data, self._project_nodes[name].source
            self._entries[name] = Entry(name, data, self._folder, self._observations, source)
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._nodes or name in self._brought or name in self._all()

    def __len__(self) -> int:
        return len(self._all())

    def names(self) -> list[str]:
        """All node types, sorted."""
        return sorted(self._all())

    def bring_projects(self, nodes: FindNodes) -> None:
        """Let projects bring node types along. They are asked only for names that are not known otherwise.

        What they bring never replaces another node type, and is never saved.
        """
        self._find_nodes = nodes

    def search(self, query: str) -> list[Entry]:
        """Node types that match the words of `query`, best first; an empty query lists all."""
        from pflow.registry.search import search_names  # lazy: runs search for nothing

        return [self.get(name) for name in search_names(self._all(), query)]

    def set_entry(self, name: str, data: Mapping[str, object]) -> None:
        """Add or replace a virtual entry; `save` makes it last.

        Raises `UsageError` for an entry that is not virtual or takes the name of one that was scanned.
        """
        if not _is_virtual(data):
            raise UsageError(f"the `file_path` of entry `{name}` must start with `{VIRTUAL}`")
        if not name or name.startswith("__"):
            raise UsageError(f"`{name}` cannot be the name of a node type")
        if name in self._nodes and not _is_virtual(self._nodes[name]):
            raise UsageError(f"`{name}` is already the name of another node type")
        self._change(name, dict(data))

    @contextmanager
    def lending(self, entries: Mapping[str, object]) -> Iterator[None]:
        """Have virtual entries that are not known otherwise, for as long as this takes; they are never saved."""
        lent = {name: dict(data) for name, data in entries.items() if isinstance(data, Mapping) and name not in self}
        lent = {name: data for name, data in lent.items() if _is_virtual(data)}
        self._nodes, self._origin = {**self._nodes, **lent}, object()
        try:
            yield
        finally:
            self._origin = object()
            self._nodes = {name: data for name, data in self._nodes.items() if name not in lent}
            for name in lent:
                self._entries.pop(name, None)

    def remove(self, name: str) -> None:
        """Take a virtual entry out; `save` makes it last.

        Raises `NotFoundError`, and `UsageError` for an entry that was scanned.
        """
        if not self.get(name).is_virtual:
            raise UsageError(f"`{name}` comes from a file; delete the file to remove it")
        self._change(name, None)

    def _all(self) -> Nodes:
        """Every node type, with those of projects and of the running program."""
        find, self._find_nodes = self._find_nodes, None
        if find is not None:
            self._is_alone = False
            from pflow.registry.name_order import collision  # lazy: most directories belong to no project

            found, notices = find()
            self.notices.extend(notices)
            known: Nodes = {name: dict(entry.data) for name, entry in self._brought.items()} | self._nodes
            for each in found:
                if taken := known.get(each.name):
                    self.notices.append(collision(each.name, f"`{each.file}`", taken))
                else:
                    self._project_nodes[each.name] = each
                    known[each.name] = each.data
        projects = {name: each.data for name, each in self._project_nodes.items()}
        return {**projects, **self._nodes, **{name: dict(entry.data) for name, entry in self._brought.items()}}

    def _is_current(self) -> bool:
        """Whether this version of pflow scanned the source files as they are now."""
        return (
            self._head.get("made_by") == MAKER
            and self._head.get("sources") == fingerprints(self._folder)
            and self._has_same_packages()
        )

    def _has_same_packages(self) -> bool:
        files = object_in(self._head, "files")
        return self._head.get("folders") == folder_stamps() and files == file_stamps(files)

    def _check_shared(self, name: str) -> None:
        """Raise `NotFoundError` for a name that several packages have: which one is meant cannot be known."""
        owners = _strings(object_in(self._head, "shared").get(name))
        if owners:
            listed = " and ".join(f"`{owner}`" for owner in owners)
            raise NotFoundError(
                f"node type `{name}` is in several packages: {listed}",
                details={"similar": []},
                suggestions=["uninstall all but one of them"],
            )

    def _is_still_current(self) -> bool:
        """Whether the source files are as they were when this was loaded."""
        known = object_in(self._head, "sources")
        own = own_fingerprints(self._folder)
        mine = str(self._folder)
        kept = {path: found for path, found in known.items() if path.startswith(mine)}
        return self._builtin == builtin_stamp() and own == kept and self._has_same_packages()

    def _observations(self, name: str, manifest_hash: str) -> tuple[Schema, int] | None:
        return self.observed.schema(name, manifest_hash)

    def _change(self, name: str, data: dict[str, object] | None) -> None:
        self._changes[name], self._origin = data, object()
        self._entries.pop(name, None)
        _change(self._nodes, name, data)

    def _read(self) -> Json:
        try:
            return self._file.read() or {}
        except StorageError as error:
            self.notices.append(f"{error.message}; node types of MCP servers are not known")
            return {}

    def _salvage(self, damage: Damage) -> Json:
        """The entries that are still whole; without the head, so that source files are scanned again."""
        self.notices.append(
            f"`{damage.path.name}` was damaged; {damage.kept} and rebuilt from the source files. "
            + Advice("Tools of MCP servers that are missing now come back with `{sync_servers}`")
        )
        return {name: data for name, data in _nodes_of(damage.rest).items() if name != HEAD}


def _change(nodes: Nodes, name: str, data: dict[str, object] | None) -> None:
    if data is None:
        nodes.pop(name, None)
    else:
        nodes[name] = data


def _is_valid(content: Json) -> bool:
    return set(map(type, content.values())) <= {dict}


def _nodes_of(content: Json) -> Nodes:
    return {name: data for name, data in content.items() if isinstance(data, dict)}


def _is_virtual(data: Mapping[str, object]) -> bool:
    return str(data.get("file_path", "")).startswith(VIRTUAL)


def _virtual(nodes: Nodes) -> Nodes:
    return {name: data for name, data in nodes.items() if _is_virtual(data)}


def _stamp(path: Path) -> object:
    """A value that changes whenever the file does; None if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _strings(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []
