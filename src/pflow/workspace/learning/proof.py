"""Plays what was learnt with what the session recorded: every call must be made again, and only for its reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pflow.core.cassette.cassette import Cassette, Recorded
from pflow.core.json_type import JsonView
from pflow.core.setting.redactor import Redactor
from pflow.execution.check import Checked
from pflow.execution.replay.matching import Matching
from pflow.execution.replay.player import Player
from pflow.execution.replay.replay import Replayed
from pflow.planning.learning.act import Act
from pflow.planning.learning.learned import Learned, LearnedStep
from pflow.planning.learning.mutate import Mutation, find_mutation
from pflow.workspace.learning.lesson import Proof

Play = Callable[[Checked, Cassette, Callable[[Cassette, Redactor], Player]], Replayed]
"""Plays a workflow with the player that is made of a cassette."""


class Answers:
    """Answers steps with the recorded results of the calls that ask the same.

    `changes` are outputs that steps give instead; then a step that asks for something else gets the result of the call
    in its place, and is noted.
    """

    def __init__(self, steps: tuple[LearnedStep, ...], changes: Mapping[str, JsonView] | None = None) -> None:
        self._left = {step.id: list(step.acts) for step in steps}
        self._steps = {step.id: step for step in steps}
        self._changes = changes
        self.equal = 0
        self.changed: list[str] = []
        self._prompts: dict[str, JsonView] = {}

    def __call__(self, path: str, kind: str, index: int, asked: JsonView) -> JsonView | None:
        """See `Answer`."""
        step = self._steps.get(path)
        if step is None:
            return None
        if step.text is not None:
            self._prompts[path] = asked
            return gap_outputs(step)
        return self._find(step, path, index, asked)

    def _find(self, step: LearnedStep, path: str, index: int, asked: JsonView) -> JsonView | None:
        act = self._take(step, asked)
        if act is not None:
            self.equal += 1
        elif self._changes is not None:
            self.changed.append(f"{path}[{index}]" if len(step.acts) > 1 else path)
            act = step.acts[index] if index < len(step.acts) else None
        if act is None:
            return None
        return (self._changes or {}).get(path, act.outputs) if len(step.acts) == 1 else act.outputs

    @property
    def prompts(self) -> Mapping[str, JsonView]:
        """What gaps were asked."""
        return self._prompts

    @property
    def left(self) -> tuple[str, ...]:
        """The calls that nobody asked for, as steps name them."""
        return tuple(f"{step} (call {act.number})" for step, acts in self._left.items() for act in acts)

    def _take(self, step: LearnedStep, asked: JsonView) -> Act | None:
        for act in self._left[step.id]:
            if _same(act.params, asked):
                self._left[step.id].remove(act)
                return act
        return None


def gap_outputs(step: LearnedStep) -> JsonView:
    """What a gap gives: the text that the agent wrote."""
    if step.type == "ask":
        return {"choice": None, "answer": {"text": step.text}, "by": "session", "via": "session", "at": ""}
    usage = {"input": 0, "output": 0, "cached": 0}
    return {"response": step.text, "text": step.text, "usage": usage, "cost": None, "model": "session"}


def prove(play: Play, checked: Checked, learned: Learned, cassette: Cassette) -> tuple[Proof, tuple[Recorded, ...]]:
    """The proof, and what the steps were asked and given on the way."""
    answers = Answers(learned.steps)
    made: list[Recorded] = []
    replayed = play(checked, cassette, _matching(answers, made))
    total = sum(len(step.acts) for step in learned.steps)
    proof = Proof(
        equal=answers.equal,
        total=total,
        outputs=replayed.outputs,
        error=_failure(replayed),
        differing=answers.left,
    )
    mutation = find_mutation(learned.steps) if proof.is_equal else None
    if mutation is not None:
        changed = _mutated(play, checked, learned, cassette, mutation, answers.prompts)
        proof = proof._replace(mutated=mutation.name, changed=changed, dependent=mutation.dependent)
    return proof, tuple(made)


def _mutated(
    play: Play,
    checked: Checked,
    learned: Learned,
    cassette: Cassette,
    mutation: Mutation,
    prompts: Mapping[str, JsonView],
) -> tuple[str, ...]:
    """The steps that ask for something else."""
    answers = Answers(learned.steps, {mutation.step: mutation.outputs})
    play(checked, cassette, _matching(answers, []))
    gaps = [path for path, asked in answers.prompts.items() if asked != prompts.get(path)]
    return tuple(sorted([*answers.changed, *gaps]))


def _matching(answers: Answers, made: list[Recorded]) -> Callable[[Cassette, Redactor], Player]:
    def make(cassette: Cassette, redactor: Redactor) -> Player:
        player = Matching(answers, cassette, redactor)
        player.made = made
        return player

    return make


def _failure(replayed: Replayed) -> str:
    if replayed.unrecorded:
        first = replayed.unrecorded[0]
        return f"step `{first.step}` asks for what the session did not: {_shortened(first.params)}"
    if replayed.status != "completed":
        return str((replayed.error or {}).get("message") or f"the replay is {replayed.status}")
    return ""


def _shortened(params: JsonView) -> str:
    shown = ", ".join(f"{name}={str(value)[:60]!r}" for name, value in params.items())
    return shown[:300]


def _same(params: Mapping[str, Any], asked: JsonView) -> bool:
    return dict(params) == dict(asked)
