"""The use cases of finding: what to run, and what to build a workflow from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from pflow.core.advice import Advice
from pflow.core.errors import NoModelError
from pflow.core.file.home import Home
from pflow.planning.catalogue import Kind
from pflow.planning.discovery import MOST_WORKFLOWS, Discovery, Findings
from pflow.registry.registry import Registry

if TYPE_CHECKING:
    from pflow.core.project.project import Project
    from pflow.engine.model.llm import LLM

MOST_NODES = 10
_NODES: tuple[Kind, ...] = ("node",)


class Finder:
    """Finds node types and workflows of a home and of projects by a description of the task."""

    def __init__(
        self,
        home: Home,
        registry: Registry,
        projects: Sequence[Project] = (),
        llm: Callable[[], LLM | None] = lambda: None,
    ) -> None:
        self._home = home
        self._registry = registry
        self._projects = projects
        self._llm = llm

    @cached_property
    def _discovery(self) -> Discovery:
        return Discovery(self._home, registry=self._registry, projects=self._projects)

    def discover_workflows(
        self, query: str, *, drafts: bool = False, limit: int = MOST_WORKFLOWS, rerank: bool = False
    ) -> Findings:
        """Saved workflows that fit, the best first, with their inputs and outputs.

        With `rerank` the configured model orders them; raises `NoModelError` without one.
        """
        kinds: tuple[Kind, ...] = ("workflow", "draft") if drafts else ("workflow",)
        return self._which(rerank=rerank).find(query, kinds=kinds, limit=limit)

    def describe_node(self, name: str, focus: str = "") -> dict[str, object]:
        """A node type for a program with little room: its whole description, and its interface as deep as fits."""
        return self._discovery.describe_node(name, focus)

    def discover_nodes(self, task: str, *, limit: int = MOST_NODES, rerank: bool = False) -> Findings:
        """Node types to build with, the best first, with their whole interfaces; tools of MCP servers among them.

        A task of several parts gets something for each. With `rerank` the configured model orders them; raises
        `NoModelError` without one.
        """
        return self._which(rerank=rerank).find_parts(task, kinds=_NODES, limit=limit)

    def _which(self, *, rerank: bool) -> Discovery:
        if not rerank:
            return self._discovery
        llm = self._llm()
        if llm is None or not llm.is_available():
            raise NoModelError(
                "no model is configured that could order what is found",
                suggestions=[
                    "search without reranking: words, and meaning with the extra `semantic`, need no model",
                    Advice("`{add_model}` configures a model", name="NAME"),
                ],
            )
        return Discovery(self._home, registry=self._registry, projects=self._projects, llm=llm)
