"""Does to a place what a plan says, while people have their work done there, and tells what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from chaos.chapter import Chapter
from chaos.document import tell
from chaos.ground import PATIENCE_SECONDS, Ground, Machine, until
from chaos.judge import Verdict, judge, read, strays
from chaos.people import People
from chaos.plan import DOUBLE, KILL, POSTGRES, TEMPORAL, Fault, Size
from dev_install import SetupError

Say = Callable[[str], None]

_TOLD_SECONDS = 60.0
"""How often it is said how far things are."""

_TELLER = "state"
"""The token of the run that tells what the others kept."""


class Hit(NamedTuple):
    """Runs that were driven by a worker when it was killed."""

    at: float
    runs: frozenset[str]


class Campaign:
    """All kinds of faults, one after the other."""

    def __init__(self, ground: Ground, people: People, size: Size, say: Say) -> None:
        self._ground = ground
        self._people = people
        self._size = size
        self._say = say
        self._hits: list[Hit] = []

    def chapter(self, kind: str, faults: list[Fault], latest: float) -> Chapter:
        """Do all faults of a kind until `latest`, and wait until all runs that were begun meanwhile have ended."""
        began, said = time.monotonic(), time.monotonic()
        self._hits = []
        self._people.feed(kind)
        done = 0
        for fault in faults:
            if time.monotonic() > latest:
                break
            self._do(fault)
            done += 1
            if time.monotonic() - said > _TOLD_SECONDS:
                said = time.monotonic()
                self._say(f"  {kind}: {done} of {len(faults)}, {len(self._people.expected[kind])} runs")
        self._people.drain()
        self._wait_for_end()
        return Chapter(
            kind,
            done,
            len(faults),
            self._judge(kind),
            asked=self._people.asked[kind],
            hit=sum(len(one.runs) for one in self._hits),
            recoveries=tuple(self._recoveries()),
            seconds=time.monotonic() - began,
        )

    def judge_again(self, chapter: Chapter) -> Chapter:
        """The same when all is over: a worker that stood still could have acted after its runs had ended."""
        return chapter._replace(verdict=self._judge(chapter.kind))

    def strays(self) -> list[str]:
        """Lines of the effects file that no run should have left."""
        return strays(read(self._ground.effects.read_text()), {_TELLER, *self._people.samples})

    def check_state(self) -> str:
        """What is wrong with what the runs kept; "" if nothing is."""
        with self._ground.open() as workspace:
            workspace.run(tell(), {"token": _TELLER, "file": str(self._ground.effects)})
        lines = read(self._ground.effects.read_text())
        tokens = {token for token, sample in self._people.samples.items() if sample.name == "keeping"}
        kept = len({line.token for line in lines if line.token in tokens and line.step == "done"})
        told = next((line.step for line in lines if line.token == _TELLER), "nothing")
        return "" if told == f"total={kept}" else f"{kept} runs kept that they were there, but the state says {told}"

    def _judge(self, kind: str) -> Verdict:
        lines = read(self._ground.effects.read_text())
        return judge(lines, self._people.expected[kind], self._people.yeses)

    def _wait_for_end(self) -> None:
        """Until no run lives. Those that never end are lost, which the effects show."""
        end = time.monotonic() + PATIENCE_SECONDS
        while self._people.live and time.monotonic() < end and self._people.is_alive():
            time.sleep(0.1)

    def _do(self, fault: Fault) -> None:
        until(lambda: sum(one.is_ready() for one in self._ground.machines) >= min(2, self._size.workers), "workers")
        until(lambda: self._people.live, "runs")
        time.sleep(fault.delay)
        machine = self._ground.machines[fault.victim % len(self._ground.machines)]
        live = frozenset(self._people.live)
        match fault.kind:
            case kind if kind == KILL:
                self._kill(machine)
            case kind if kind == DOUBLE:
                self._freeze(machine, fault.away)
            case kind if kind == TEMPORAL:
                self._ground.cluster.temporal.kill()
                time.sleep(fault.away)
                self._hit(live)
                self._ground.cluster.temporal.start()
            case kind if kind == POSTGRES:
                self._ground.cluster.postgres.stop_at_once()
                time.sleep(fault.away)
                self._hit(live)
                self._ground.cluster.postgres.start()

    def _kill(self, machine: Machine) -> None:
        runs = frozenset(machine.has())
        machine.kill()
        self._hit(runs)

    def _freeze(self, machine: Machine, pause: float) -> None:
        """Let a worker stand still until another has taken over what it drove; wake it, and soon kill the other."""
        heir: Machine | None = None
        while heir is None:  # what it drove may have ended at that very moment
            until(lambda: machine.is_ready() and machine.has(), "a run of the worker that is to stand still")
            machine.freeze()
            heir = self._find_heir(machine)
            machine.wake()
        time.sleep(pause)
        self._kill(heir)

    def _find_heir(self, machine: Machine) -> Machine | None:
        """The worker that takes over a run of one that stands still; none if its runs are over."""
        others = [one for one in self._ground.machines if one is not machine]
        before = {id(one): len(one.took()) for one in others}
        runs = machine.has()
        over = time.monotonic() + PATIENCE_SECONDS
        while not runs.isdisjoint(self._people.live):
            if time.monotonic() > over:
                machine.wake()
                raise SetupError(f"never happened: somebody takes over {', '.join(runs)}")
            time.sleep(0.02)
            for one in others:
                if not runs.isdisjoint(one.took()[before[id(one)] :]):
                    return one
        return None

    def _hit(self, runs: frozenset[str]) -> None:
        self._hits.append(Hit(time.time(), runs))

    def _recoveries(self) -> list[float]:
        """How long each run stood still after a kill, unless somebody was asked about it."""
        tokens = self._people.tokens
        times: dict[str, list[float]] = {}
        for line in read(self._ground.effects.read_text()):
            times.setdefault(line.token, []).append(line.at)
        found = []
        for hit in self._hits:
            for run_id in hit.runs - self._people.doubted:
                after = [at for at in times.get(tokens.get(run_id, ""), ()) if at > hit.at]
                if after:
                    found.append((min(after) - hit.at) / self._ground.lease)
        return found
