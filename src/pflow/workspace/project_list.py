"""Workflows of projects among the saved ones, and which of them hide others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pflow.core.library.saved_workflow import SavedWorkflow
from pflow.core.library.workflow_manager import matches
from pflow.core.project.project import Project


def with_projects(projects: Iterable[Project], saved: Sequence[SavedWorkflow], query: str) -> list[SavedWorkflow]:
    """What projects bring, nearest first, then what is saved; each knows the project that hides it."""
    listed: list[SavedWorkflow] = []
    owner: dict[str, str] = {}
    for project in projects:
        for name, file in project.files().items():
            description = project.description(name)
            found = SavedWorkflow(
                name=name,
                description=description,
                runs=0,
                last_run_at="",
                metadata={"name": name, "description": description},
                path=str(project.folder / file),
                hidden_by=owner.get(name, ""),
            )
            owner.setdefault(name, str(project.folder))
            if matches(query, name, description):
                listed.append(found)
    return [*listed, *(each._replace(hidden_by=owner.get(each.name, "")) for each in saved)]
