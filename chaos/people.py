"""Whoever has work done at the place: has documents run, answers what is asked, and settles what is in doubt."""

from __future__ import annotations

import json
import random
import threading
import traceback
from collections import Counter

from chaos.document import Sample, samples
from chaos.ground import Ground
from chaos.judge import Expected, read
from pflow.core.errors import ConflictError, InDoubtError, NotFoundError, PflowError, RunError, UsageError
from pflow.workspace import Workspace

_LOOK_SECONDS = 0.1
_OVER = ("completed", "cancelled", "failed")
_DONE: dict[str, dict[str, object]] = {"code": {"result": 1}, "shell": {"stdout": "", "stderr": "", "exit_code": 0}}
"""What a person who saw the effect says that a step gave."""


class People(threading.Thread):
    """A thread of its own, so that faults come at moments that have nothing to do with it."""

    def __init__(self, ground: Ground, seed: int, most: int) -> None:
        super().__init__(name="people", daemon=True)
        self._ground = ground
        self._chance = random.Random(seed)
        self._samples = samples()
        self._most = most
        self._feeding = False
        self._ending = threading.Event()
        self._made = 0
        self._live: dict[str, str] = {}
        self._unsure: set[str] = set()
        """Runs whose submitting failed, which may be there nevertheless."""

        self.problems: list[str] = []
        """What was said while parts of the place were away."""

        self.broken: list[str] = []
        self.group = ""
        self.expected: dict[str, dict[str, Expected]] = {}
        """Runs by what was done meanwhile, and by token."""

        self.tokens: dict[str, str] = {}
        """The token of each run by its id."""

        self.samples: dict[str, Sample] = {}
        self.yeses: Counter[tuple[str, str]] = Counter()
        self.answered: Counter[tuple[str, str]] = Counter()
        """How often a question of a run was answered."""

        self.asked: Counter[str] = Counter()
        """Doubts that were settled, by group."""

        self.doubted: set[str] = set()
        """Runs that were in doubt."""

        self.failed: list[str] = []

    def feed(self, group: str) -> None:
        """From now on, have documents run; what they are disturbed by is called `group`."""
        self.group = group
        self.expected.setdefault(group, {})
        self._feeding = True

    def drain(self) -> None:
        """Have no more documents run."""
        self._feeding = False

    @property
    def live(self) -> dict[str, str]:
        """The runs that have not ended: their tokens by id."""
        return dict(self._live)

    def findings(self) -> list[str]:
        """What must not be of what they saw, one line each."""
        begun = {sample.name for sample in self.samples.values()}
        tried = {self._samples[number % len(self._samples)].name for number in range(1, self._made + 1)}
        return [
            *(f"no run of `{name}` could be begun: {'; '.join(self.problems)}" for name in sorted(tried - begun)),
            *(f"did not complete: {one}" for one in self.failed),
            *(f"asked again after an answer: {run_id}: {step}" for (run_id, step), n in self.answered.items() if n > 1),
            *(f"did not end: {token} ({run_id})" for run_id, token in self.live.items()),
            *(f"the people failed:\n{one}" for one in self.broken),
        ]

    def end(self) -> None:
        """Stop."""
        self._ending.set()
        self.join()

    def run(self) -> None:
        """Look after runs until told to end."""
        workspace = self._ground.open()
        try:
            while not self._ending.wait(_LOOK_SECONDS):
                try:
                    if self._feeding and len(self._live) < self._most:
                        self._submit(workspace)
                    for run_id in list(self._live):
                        self._look(workspace, run_id)
                except (ConflictError, InDoubtError):
                    continue  # somebody has it just now
                except PflowError as error:  # a part of the place is away; a person would try again
                    self._note(error)
        except BaseException:
            self.broken.append(traceback.format_exc())
            raise
        finally:
            workspace.close()

    def _submit(self, workspace: Workspace) -> None:
        self._made += 1
        token = f"r{self._made}"
        sample = self._samples[self._made % len(self._samples)]
        run = workspace.begin(sample.text, {"token": token, "file": str(self._ground.effects)})
        self.samples[token] = sample
        self.tokens[run.run_id] = self._live[run.run_id] = token
        self._unsure.add(run.run_id)
        self.expected[self.group][token] = Expected(sample.effects, accepted=False)
        workspace.detach(run)
        self._unsure.discard(run.run_id)
        self.expected[self.group][token] = Expected(sample.effects)

    def _look(self, workspace: Workspace, run_id: str) -> None:
        try:
            info = workspace.driving.info(run_id)
        except NotFoundError:
            if run_id not in self._unsure:
                raise
            del self._live[run_id]  # its submitting failed, and nothing of it is there
            return
        if info.status in _OVER:
            if info.status != "completed":
                self.failed.append(f"{self._live[run_id]} ({run_id}): {info.status}")
            del self._live[run_id]
        elif info.status == "waiting" and not info.has_mail:
            for one in workspace.waiting(run_id):
                if one.choices:
                    workspace.answer(run_id, one.place, "yes")
                    self.answered[run_id, one.place] += 1
        elif info.state in ("stopped", "interrupted"):
            self._settle(workspace, run_id)

    def _settle(self, workspace: Workspace, run_id: str) -> None:
        """Say what became of the steps in doubt, if there are any, and have the run go on."""
        try:
            workspace.detach(workspace.begin_resume(run_id))
        except InDoubtError as error:
            token = self._live[run_id]
            self.doubted.add(run_id)
            steps = error.details["steps"]
            assert isinstance(steps, list)
            for step in steps:
                self._say(workspace, run_id, token, str(step))
            workspace.detach(workspace.begin_resume(run_id))

    def _say(self, workspace: Workspace, run_id: str, token: str, step: str) -> None:
        """Look whether a step took effect. If it did, say so, or say now and then that it may do so again."""
        effects = self.samples[token].effects
        key = step if step in effects else f"{step}#1"
        node = step.partition("[")[0].partition("#")[0]
        is_there = any(line.token == token and line.step == key for line in read(self._ground.effects.read_text()))
        kind = self._kinds(token).get(node, "")
        if is_there and kind in _DONE and self._chance.random() < 0.5:
            workspace.again.settle(run_id, [step], "done", outputs=_DONE[kind])
        else:
            self.yeses[token, key] += 1
            try:
                workspace.again.settle(run_id, [step], "rerun")
            except (ConflictError, RunError, UsageError):  # all but a lost answer: then it may have been recorded
                self.yeses[token, key] -= 1
                raise
        self.asked[self.group] += 1

    def _kinds(self, token: str) -> dict[str, str]:
        return {node["id"]: node["type"] for node in json.loads(self.samples[token].text)["nodes"]}

    def _note(self, error: PflowError) -> None:
        """Keep what was said, without what differs from time to time."""
        if error.message not in self.problems:
            self.problems.append(error.message)
