"""The use cases of sharing: what a workflow needs, what an offered one can do, and taking it into the library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pflow.core.document.document import Requirements
from pflow.core.document.issue import Issue
from pflow.core.errors import DocumentError, ExistsError
from pflow.core.file.home import Home
from pflow.core.frozen import Frozen
from pflow.core.library.reference import is_path
from pflow.core.library.workflow_manager import WorkflowManager
from pflow.core.library.workflow_text import WorkflowText, text_of_parsed
from pflow.execution.check import Checked
from pflow.execution.describe import missing_of
from pflow.execution.need.ability import Ability, abilities_of
from pflow.execution.workflow_source import Workflow
from pflow.workspace.library import Comparison, compare_texts
from pflow.workspace.sharing.git_source import FETCH_SECONDS
from pflow.workspace.sharing.offer import Offered, Origin, read_offer

_LACKING = ("unknown-type", "unknown-workflow")
"""Codes of errors that go away once what is missing is there."""


class Candidate(Frozen):
    """A workflow that may be taken into the library. `replaces` says how it differs from what has its name now.

    `is_same`: the library has this very text under this name already.
    """

    name: str
    description: str
    origin: Origin
    text: WorkflowText
    abilities: Sequence[Ability]
    requires: Requirements | None = None
    missing: Sequence[str] = ()
    replaces: Comparison | None = None
    is_same: bool = False

    def as_dict(self) -> dict[str, object]:
        """The candidate as JSON, without its text."""
        shown = {name: value for name, value in super().as_dict().items() if name not in ("text", "replaces")}
        return {**shown, "replaces": self.replaces.as_dict()} if self.replaces else shown


class Candidates(Frozen):
    """What an offer would add, files of nodes that it would not, and what was left out."""

    workflows: Sequence[Candidate]
    nodes: Sequence[str] = ()
    skipped: Sequence[str] = ()


class Sharing:
    """Workflows of others, and the library that they are taken into. Nothing of theirs is run."""

    def __init__(self, home: Home, check: Callable[[Workflow], Checked]) -> None:
        self._check = check
        self._manager = WorkflowManager(home)

    def look(self, reference: str, *, name: str = "", ref: str = "", timeout: float = FETCH_SECONDS) -> Candidates:
        """What a file, a directory or a git repository offers: what each workflow can do, requires and lacks.

        Raises `DocumentError` for a document that no library could hold.
        """
        offer = read_offer(reference, name=name, ref=ref, timeout=timeout)
        found = [self._candidate(each) for each in offer.documents]
        return Candidates(workflows=found, nodes=offer.nodes, skipped=offer.skipped)

    def take(self, candidates: Iterable[Candidate], *, overwrite: bool = False) -> list[str]:
        """Save what was looked at, as its text; returns the names. Raises `ExistsError` before anything is saved."""
        chosen = [each for each in candidates if not each.is_same]
        taken = [each.name for each in chosen if each.replaces is not None]
        if taken and not overwrite:
            raise ExistsError(
                f"there is already a workflow {', '.join(f'`{name}`' for name in taken)}, and it differs",
                suggestions=["choose another name with `--as`, or replace it with `--overwrite`; versions are kept"],
            )
        for each in chosen:
            self._manager.save(each.name, each.text, overwrite=overwrite, origin=each.origin.as_dict())
        return [each.name for each in chosen]

    def _candidate(self, offered: Offered) -> Candidate:
        parsed, name = offered.parsed, offered.name
        self._manager.check_new_name(name)
        _check_includes(offered)
        checked = self._check(parsed)
        wrong = [issue for issue in checked.errors if not _is_lacking(issue)]
        if wrong:
            shown = offered.origin.file or offered.origin.source
            raise DocumentError(f"`{shown}` is not valid", issues=wrong)
        text = text_of_parsed(parsed)
        saved = self._manager.text(name) if self._manager.exists(name) else None
        is_same = saved == text
        document = parsed.document
        return Candidate(
            name=name,
            description=document.description if document else "",
            origin=offered.origin,
            text=text,
            abilities=abilities_of(checked.source),
            requires=document.requires if document else None,
            missing=missing_of(checked),
            replaces=None if saved is None or is_same else compare_texts((name, saved), (f"{name}, offered", text)),
            is_same=is_same,
        )


def _check_includes(offered: Offered) -> None:
    """Refuse a document that includes others by path: in the library they are found by name."""
    document = offered.parsed.document
    for index, spec in enumerate(document.nodes if document is not None else ()):
        wanted = spec.params.get("workflow")
        if spec.type == "workflow" and isinstance(wanted, str) and is_path(wanted):
            issue = offered.parsed.places.issue(
                "unknown-workflow",
                f"node `{spec.id}` includes the workflow `{wanted}` by its path, which leads nowhere from a library",
                ("nodes", index, "params", "workflow"),
                hint="save that one under a name, and name it here",
            )
            raise DocumentError(issue.message, issues=[issue])


def _is_lacking(issue: Issue) -> bool:
    return issue.code in _LACKING and issue.path.startswith("nodes[")
