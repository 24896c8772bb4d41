"""Node types that projects bring along: from the bytes that were agreed to, never from the registry's file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from pflow.core.frozen import Frozen

if TYPE_CHECKING:
    from pflow.core.project.project import Project


class ProjectNode(Frozen):
    """A node type of a project: its entry, and the source that its class comes from."""

    name: str
    data: dict[str, object]
    source: bytes

    @property
    def file(self) -> str:
        """Where the source is, for people."""
        return str(self.data["file_path"])


FindNodes = Callable[[], tuple[Iterable[ProjectNode], Iterable[str]]]
"""Gives the node types of projects, nearest project first, and what could not be used."""


def project_nodes(projects: Iterable[Project]) -> tuple[list[ProjectNode], list[str]]:
    """The node types of these projects; their sources are read, not imported."""
    from pflow.registry.scan import scan_text  # lazy: parsing Python costs 10 ms of imports

    found: list[ProjectNode] = []
    notices: list[str] = []
    for project in projects:
        sources: Mapping[str, bytes] = project.nodes()
        for file, source in sources.items():
            scan = scan_text(source, project.folder / "nodes" / file)
            notices.extend(scan.notices)
            for name, data in scan.entries.items():
                found.append(ProjectNode(name=name, data={**data, "project": str(project.folder)}, source=source))
    return found, notices
