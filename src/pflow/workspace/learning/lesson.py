"""What came of learning from a session, as values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pflow.core.frozen import Frozen
from pflow.core.json_type import Json
from pflow.planning.learning.learned import LearnedStep, Question


class Proof(Frozen):
    """How the document went with what the session recorded: how many of its calls it made again, the same.

    `differing` are steps whose calls were never made, `changed` and `dependent` those that ask for something else once
    `mutated` has another value: those that did, and those that should have.
    """

    equal: int
    total: int
    outputs: Mapping[str, object] = {}
    error: str = ""
    differing: tuple[str, ...] = ()
    mutated: str = ""
    changed: tuple[str, ...] = ()
    dependent: tuple[str, ...] = ()

    @property
    def is_equal(self) -> bool:
        """Whether every call was made again, and the run completed."""
        return self.equal == self.total and not self.error

    @property
    def is_sound(self) -> bool:
        """Whether what changed is what depends on the changed value."""
        return self.changed == self.dependent


class Lesson(Frozen):
    """A workflow that was learnt. `name` is that of a draft or of a workflow of the library, "" for a file."""

    session: str
    host: str
    calls: int
    kept: int
    explored: tuple[int, ...]
    document: Json
    text: str
    steps: tuple[LearnedStep, ...]
    questions: tuple[Question, ...]
    notes: tuple[str, ...]
    proof: Proof
    name: str = ""
    is_draft: bool = False
    path: Path | None = None
    cassette: Path | None = None
    test: Path | None = None

    @property
    def is_proven(self) -> bool:
        """Whether the replay gave what the session did, and the mutation changed what it should."""
        return self.proof.is_equal and self.proof.is_sound

    def as_dict(self) -> Json:
        """The lesson as JSON."""
        proof = self.proof
        mutation = {"value": proof.mutated, "changed": list(proof.changed), "dependent": list(proof.dependent)}
        return {
            "session": self.session,
            "host": self.host,
            "calls": self.calls,
            "kept": self.kept,
            "explored": list(self.explored),
            "steps": [_step(step) for step in self.steps],
            "inputs": dict(self.document.get("inputs") or {}),  # type: ignore[call-overload]
            "questions": [{"question": one.text, "settle": one.settle} for one in self.questions],
            "notes": list(self.notes),
            "proven": self.is_proven,
            "replay": {
                "equal": proof.equal,
                "total": proof.total,
                "differing": list(proof.differing),
                **({"error": proof.error} if proof.error else {}),
                **({"mutation": mutation} if proof.mutated else {}),
            },
            **({"name": self.name, "draft": self.is_draft} if self.name else {}),
            **{key: str(value) for key, value in self._files().items() if value is not None},
        }

    def _files(self) -> dict[str, Path | None]:
        return {"path": self.path, "cassette": self.cassette, "test": self.test}


def _step(step: LearnedStep) -> Json:
    bindings = [{"argument": one.argument, "source": one.source, "confidence": one.confidence} for one in step.bounds]
    return {"id": step.id, "type": step.type, "calls": [act.number for act in step.acts], "bindings": bindings}
