"""A workflow of the library or a draft as it is listed."""

from __future__ import annotations

from typing import Literal

from pflow.core.advice import Advice
from pflow.core.errors import NotFoundError
from pflow.core.frozen import Frozen
from pflow.core.json_type import Json, JsonView
from pflow.core.suggest import did_you_mean


class SavedWorkflow(Frozen):
    """What is known of a workflow without its document; `metadata` is all that its file and its statistics say."""

    name: str
    description: str
    runs: int
    last_run_at: str
    metadata: JsonView
    is_draft: bool = False
    path: str = ""
    """The file of a project's workflow; "" for all others."""

    hidden_by: str = ""
    """The folder of a project whose workflow of this name is used instead."""

    @property
    def origin(self) -> Literal["library", "draft", "project"]:
        """Where it comes from."""
        return "project" if self.path else "draft" if self.is_draft else "library"

    def as_dict(self) -> Json:
        """The metadata, as files hold it, and where the workflow comes from."""
        where = {"origin": self.origin, "path": self.path, "hidden_by": self.hidden_by}
        return {**self.metadata, **{name: value for name, value in where.items() if value}}


def read_metadata(metadata: JsonView, *, is_draft: bool = False) -> SavedWorkflow:
    """A workflow from its metadata, which a person may have edited."""
    runs = metadata.get("execution_count")
    return SavedWorkflow(
        name=str(metadata.get("name", "")),
        description=str(metadata.get("description") or ""),
        runs=runs if isinstance(runs, int) else 0,
        last_run_at=str(metadata.get("last_execution_at") or ""),
        metadata=metadata,
        is_draft=is_draft,
    )


def missing_workflow(message: str, name: str, names: list[str]) -> NotFoundError:
    """That there is no such workflow, and which there are."""
    advice = did_you_mean(name, names, limit=3) or "there are: " + ", ".join(f"`{other}`" for other in names[:10])
    if not names:
        advice = Advice("nothing is saved yet; `{save_workflow}` saves a document")
    return NotFoundError(message, details={"available": names[:100]}, suggestions=[advice])
