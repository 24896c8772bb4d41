"""The use cases of finding: what to run, and what to build a workflow from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pflow.core.file.home import Home
from pflow.planning.catalogue import Kind
from pflow.planning.discovery import Discovery, Findings
from pflow.planning.nodes import MOST_WORKFLOWS
from pflow.registry.registry import Registry

if TYPE_CHECKING:
    from pflow.core.project.project import Project

MOST_NODES = 10
_NODES: tuple[Kind, ...] = ("node",)


class Finder:
    """Finds node types and workflows of a home and of projects by a description of the task."""

    def __init__(self, home: Home, registry: Registry, projects: Sequence[Project] = ()) -> None:
        self._discovery = Discovery(home, registry=registry, projects=projects)

    def discover_workflows(self, query: str, *, drafts: bool = False, limit: int = MOST_WORKFLOWS) -> Findings:
        """Saved workflows that fit, the best first, with their inputs and outputs."""
        kinds: tuple[Kind, ...] = ("workflow", "draft") if drafts else ("workflow",)
        return self._discovery.find(query, kinds=kinds, limit=limit)

    def describe_node(self, name: str, focus: str = "") -> dict[str, object]:
        """A node type for a program with little room: its whole description, and its interface as deep as fits."""
        return self._discovery.describe_node(name, focus)

    def discover_nodes(self, task: str, *, limit: int = MOST_NODES) -> Findings:
        """Node types to build with, the best first, with their whole interfaces; tools of MCP servers among them.

        A task of several parts gets something for each.
        """
        return self._discovery.find_parts(task, kinds=_NODES, limit=limit)
