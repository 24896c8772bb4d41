"""What planning and repairing give: a document that nobody has agreed to yet, and what a person needs to decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pflow.core.document.issue import Issue
from pflow.core.frozen import Frozen
from pflow.execution.check import Checked
from pflow.execution.need.ability import Ability
from pflow.execution.need.ability import Kind as AbilityKind
from pflow.planning.writing.exchange import Spent
from pflow.workspace.library import Comparison

LOOKED_AT: frozenset[AbilityKind] = frozenset(("command", "python"))
"""What a person looks at before it runs, if a model wrote it: it could be anything."""


class Authorship(Frozen):
    """How a model came to what it wrote: its id, the versions of the prompts, how often it mended, what that took."""

    model: str
    prompts: tuple[str, ...]
    rounds: int
    spent: Spent

    def to_json(self) -> dict[str, object]:
        """The authorship for programs."""
        usage = self.spent.usage
        return {
            "model": self.model,
            "prompts": list(self.prompts),
            "rounds": self.rounds,
            "calls": self.spent.calls,
            "usage": {"input": usage.input, "output": usage.output, "cached": usage.cached},
            "cost": self.spent.cost,
        }


class Estimate(Frozen):
    """What a run will ask of models: `calls`, of which `batches` are made once per item.

    `usd` is a guess in US dollars, at what the calls for the plan cost on average; None where no price is known.
    """

    calls: int = 0
    batches: int = 0
    usd: float | None = None


class Planned(Frozen):
    """A task in words as a workflow: one that is saved already, or one that a model wrote.

    `inputs` are those that the task gives, and `missing` those that it does not. `draft` is the name that a written
    document is kept under, at `path`. With `issues` it cannot run; `notes` are for the person.
    """

    task: str
    kind: Literal["reused", "written"]
    workflow: str
    why: str
    text: str
    inputs: Mapping[str, object]
    authorship: Authorship
    checked: Checked | None = None
    missing: tuple[str, ...] = ()
    effects: tuple[Ability, ...] = ()
    estimate: Estimate = Estimate()
    issues: tuple[Issue, ...] = ()
    notes: tuple[str, ...] = ()
    draft: str = ""
    path: str = ""

    @property
    def ok(self) -> bool:
        """Whether it can run, once its inputs are there and somebody has agreed."""
        return self.checked is not None and self.checked.ok and not self.issues

    @property
    def unseen(self) -> tuple[Ability, ...]:
        """The commands and the code that a model wrote, which a person has to look at first."""
        return tuple(one for one in self.effects if one.kind in LOOKED_AT) if self.kind == "written" else ()

    def to_json(self) -> dict[str, object]:
        """The plan for programs."""
        shown: dict[str, object] = {
            "task": self.task,
            "kind": self.kind,
            "workflow": self.workflow,
            "why": self.why,
            "valid": self.ok,
            "inputs": dict(self.inputs),
            "missing_inputs": list(self.missing),
            "effects": [one.as_dict() for one in self.effects],
            "estimate": self.estimate._asdict(),
            "planner": self.authorship.to_json(),
        }
        more: dict[str, object] = {
            "draft": self.draft,
            "path": self.path,
            "document": self.text if self.kind == "written" else "",
            "issues": [issue.as_dict() for issue in self.issues],
            "notes": list(self.notes),
        }
        return shown | {name: value for name, value in more.items() if value}


class Repair(Frozen):
    """The document of a failed run, edited by a model so that the run can go on.

    `gained` is what its steps can do now and could not do before. With `issues` or without changes it is of no use.
    """

    run_id: str
    step: str
    why: str
    text: str
    comparison: Comparison
    authorship: Authorship
    gained: tuple[Ability, ...] = ()
    issues: tuple[Issue, ...] = ()
    draft: str = ""

    @property
    def ok(self) -> bool:
        """Whether the run could go on with it."""
        return not self.issues and self.has_changes

    @property
    def has_changes(self) -> bool:
        """Whether the document means something else than before."""
        return bool(self.comparison.changes)

    @property
    def unseen(self) -> tuple[Ability, ...]:
        """The commands and the code that a model wrote, which a person has to look at first."""
        return tuple(one for one in self.gained if one.kind in LOOKED_AT)

    def to_json(self) -> dict[str, object]:
        """The repair for programs."""
        shown: dict[str, object] = {
            "run_id": self.run_id,
            "step": self.step,
            "why": self.why,
            "valid": self.ok,
            "changes": self.comparison.as_dict()["changes"],
            "gained": [one.as_dict() for one in self.gained],
            "planner": self.authorship.to_json(),
        }
        more: dict[str, object] = {"draft": self.draft, "issues": [issue.as_dict() for issue in self.issues]}
        return shown | {name: value for name, value in more.items() if value}
