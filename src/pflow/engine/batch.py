"""Runs a node once per item: bounded concurrency, each item durable on its own, partial results kept."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from pflow.core.advice import to_text
from pflow.core.errors import BudgetError, DeclinedError, NotYetError, PflowError, StepError, StepTimeout
from pflow.core.event import Event, ItemCompleted, ItemFailed, ItemNotYet, ItemStarted, StepCompleted, StepStarted
from pflow.core.json_type import describe
from pflow.core.template.compiled import Lookup
from pflow.engine.attempt.pause import Pauses
from pflow.engine.attempt.turn import take_turn
from pflow.engine.credential import learn_item, learn_params
from pflow.engine.failure import Halted, retry_wait
from pflow.engine.history import same_work, withheld_item
from pflow.engine.name_lookup import StepLookup
from pflow.engine.template_size import check_sizes
from pflow.engine.value import INLINE_BYTES, ITEMS, MOST_BYTES, withheld_error

if TYPE_CHECKING:
    from pflow.engine.launch import Launch
    from pflow.engine.plan import PlanNode
    from pflow.engine.run import Run
    from pflow.engine.scope import Result, Scope
    from pflow.engine.state import Sets


_MORE = "raise the batch's `max_failed` if more may fail"
_ALL = 'give the batch `max_failed: "100%"` if it may complete with nothing done'


def batch_items(node: PlanNode, lookup: Lookup) -> Sequence[object]:
    """What a batch node goes through: a list, or an object's keys with their values; only what its condition keeps."""
    assert node.batch is not None
    items = node.batch.items.render(lookup)
    if isinstance(items, Mapping):
        items = [{"key": key, "value": value} for key, value in items.items()]
    if not isinstance(items, list | tuple):
        raise StepError(
            f"the items of batch node `{node.id}` must be a list, not {describe(items)}",
            details={"items": str(items)[:200]},
        )
    if node.batch.where is None:
        return items
    keeps: Any = node.batch.where.render(lookup)
    return [item for index, item in enumerate(items) if keeps(item, index)]


def recall_items(scope: Scope, event: Event) -> None:
    """Look up again what a batch of the past went through, if a template wants it: only its number is recorded."""
    node = scope.plan.by_id.get(event.node) if scope.plan.reads_done and isinstance(event, StepStarted) else None
    if node is None or node.batch is None:
        return
    number = node.number
    try:
        lookup = StepLookup(scope.names, number, scope.state.visits.get(number, 0))
        scope.state.begun[number] = batch_items(node, lookup)
    except PflowError:
        scope.state.begun.pop(number, None)  # the template that wants them says that they are not known


def count_lost(run: Run, node: PlanNode, done: StepCompleted) -> StepCompleted:
    """A completed step with the number of its items that failed, which the run remembers for its result."""
    errors = done.writes.get("errors") if node.batch is not None else None
    if not isinstance(errors, list) or not errors:
        return done
    counted = done._replace(failed_items=len(errors), declined_items=sum(map(_was_declined, errors)))
    run.lost.append(counted)
    return counted


def _was_declined(lost: object) -> bool:
    error = lost.get("error") if isinstance(lost, Mapping) else None  # who settles a batch may write anything here
    return isinstance(error, Mapping) and error.get("type") == DeclinedError.code


def items_apart(done: StepCompleted) -> StepCompleted:
    """How the end of a batch is recorded: its results stand in the events of its items."""
    return done._replace(writes={**done.writes, "results": ITEMS})


async def run_batch(scope: Scope, launch: Launch) -> Result:
    """All items of a batch step; what an earlier process completed is not run again."""
    work = Batch(scope, launch)
    await see_through([asyncio.create_task(work.loop()) for _ in range(work.places)])
    return end_batch(scope, work)


def end_batch(scope: Scope, work: Batch) -> Result:
    """What a batch gives whose items are over; raises what it failed with, and `Halted` if some are left."""
    if work.failure is not None:
        raise work.failure
    if scope.run.stopping and (work.halted or work.left()):
        raise Halted
    work.check_failed()
    scope.run.values.know_parts(work.results)
    return "default", work.outputs(), {}, work.all_sets()


async def see_through(workers: list[asyncio.Task[None]]) -> None:
    """Let workers run to their end; if one of them cannot, end the others."""
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


class Batch:
    """The items of one batch step: what is done, what is left, and what failed."""

    def __init__(self, scope: Scope, launch: Launch) -> None:
        self.scope = scope
        self.launch = launch
        self.node = launch.node
        assert launch.node.batch is not None
        self.batch = launch.node.batch
        self.results: list[Mapping[str, object] | None] = [None] * len(launch.items)
        self.errors: dict[int, Mapping[str, object]] = {}
        self.sets: dict[int, Sets] = {}
        history = scope.run.history
        past = history.past.get(launch.step)
        same = past is not None and same_work(past.started, launch.definition, launch.inputs)
        self._held = 0
        self._refused = 0
        self._past = history.items.get(launch.step, {}) if same else {}
        self._again = history.again.get(launch.step)
        self._lost_before = history.lost.get(launch.step, {}) if same and history.waited else {}
        if held := withheld_item(self._past.values()):
            raise withheld_error(f"`{launch.step}.results`", held)
        self.todo = [index for index in range(len(launch.items)) if not self._known(index)]
        self._next: Iterator[int] = iter(self.todo)
        self._taken = 0
        self.failure: StepError | None = None
        self.halted = False
        self._turns = scope.run.shared.turns.of(launch.node)
        self.pauses = Pauses(scope.run.pauses)
        self._may_fail = self.batch.max_failed.of(len(launch.items)) if self.batch.max_failed else len(launch.items)

    @property
    def places(self) -> int:
        """How many items run at a time."""
        return min(self.batch.concurrency, len(self.todo))

    def _known(self, index: int) -> bool:
        item = self._past.get(index)
        if isinstance(item, ItemCompleted):
            self.results[index] = item.writes
            if f"{self.launch.step}[{index}]" not in self.scope.run.history.real:
                self.sets[index] = item.state
            self._held += self.scope.run.values.recorded_size(item.writes.values())
            return True
        if isinstance(item, ItemFailed) and self._again is not None and index not in self._again:
            self.errors[index] = item.error
            self._refused += item.error.get("type") == DeclinedError.code
            return True
        if index in self._lost_before:  # what had failed when the run was left waiting is not tried again by its answer
            self.errors[index], refused = self._lost_before[index]
            self._refused += refused
            return True
        return False

    def left(self) -> bool:
        """Whether there are items that nobody has taken."""
        return self._taken < len(self.todo)

    async def loop(self) -> None:
        """One worker: the end of an item and the start of the next become durable together."""
        step, run = self.launch.step, self.scope.run
        done: list[Event] = []
        try:
            for index in self._next:
                if run.stopping or self.failure is not None:
                    break
                if self._turns:  # what has ended does not wait for what may not begin yet
                    if done:
                        await run.emit_grouped(*done)
                        done = []
                    await self._turn(index)
                self._taken += 1
                await run.emit_grouped(*done, ItemStarted(step=step, item=index, at=time.time()))
                done = []
                done = [await self.item(index)]
        except Halted:
            self.halted = True
        if done:
            await run.emit_grouped(*done)

    async def _turn(self, index: int) -> None:
        """Wait until an attempt at an item may begin; raises `Halted` once there is no need for it."""
        name = f"{self.launch.step}[{index}]"
        for limiter in self._turns:
            await self.pauses.wait(take_turn(limiter, lambda text: self.scope.run.report(name, text)))

    async def item(self, index: int) -> Event:
        """One item with its attempts: how it ended."""
        step, run, node = self.launch.step, self.scope.run, self.node
        attempt = 1
        while True:
            try:
                writes, sets = await self._once(index)
                learn_item(self.scope.plan, node, writes, run.shared.redactor.keep)
                if node.until is not None:
                    from pflow.engine.attempt.until import check_until  # lazy: few steps have a condition to meet

                    check_until(self.scope.names, node, self.launch.visit, attempt, writes, self._given(index))
                done = ItemCompleted(step=step, item=index, writes=writes, at=time.time())
                done = run.encode(done._replace(state=sets) if sets else done)
                self._hold(writes)
                self.results[index], self.sets[index] = writes, sets
                run.steps += 1
                return done
            except Halted:
                raise
            except (Exception, SystemExit) as error:  # noqa: BLE001 the step boundary, per item
                described = run.describe(error, node.id)
                wait = retry_wait(node.retry, attempt, error)
                if wait is None:
                    return self.failed(index, error, described)
                ended = time.time()
                again: Event = ItemFailed(step=step, item=index, error=described, final=False, at=ended)
                if isinstance(error, NotYetError):
                    run.history.forget_inside(f"{step}[{index}]")
                    again = ItemNotYet(
                        step=step, item=index, reason=error.reason, attempt=attempt, retry_in=wait, at=ended
                    )
            await run.emit_grouped(again)
            await run.pauses.wait(asyncio.sleep(0 if run.shared.tape is not None else wait))
            await self._turn(index)
            attempt += 1
            await run.emit_grouped(ItemStarted(step=step, item=index, attempt=attempt, at=time.time()))

    def failed(
        self, index: int, error: BaseException, described: Mapping[str, object], *, unapproved: bool = False
    ) -> Event:
        """Count an item that failed for good, and end the batch if that is one too many.

        What somebody declined, or nobody approved, stops nothing.
        """
        refused = unapproved or isinstance(error, DeclinedError)
        self._refused += refused
        if isinstance(error, BudgetError) and self.failure is None:
            self.failure = error  # no item is to spend more
        if not refused and not self.batch.keep_going and self.failure is None:
            self.failure = _stopped(error, self.node.id, index, self._done_count())
        self.errors[index] = described
        if len(self.errors) - self._refused > self._may_fail and self.failure is None:
            self.failure = self._lost()
        if self.failure is not None:
            self.pauses.end()
        return ItemFailed(step=self.launch.step, item=index, error=described, at=time.time())

    def _given(self, index: int) -> Mapping[str, object]:
        """The names that only one item has."""
        return {self.batch.name: self.launch.items[index], f"{self.batch.name}_index": index}

    def lookup(self, index: int) -> StepLookup:
        """Looks up what one item names."""
        return StepLookup(self.scope.names, self.node.number, self.launch.visit, self._given(index))

    def params(self, index: int) -> dict[str, Any]:
        """The params of one item."""
        scope, node, lookup = self.scope, self.node, self.lookup(index)
        params: Any = node.params.render(lookup)
        if lookup.seen:
            measured = ((reference, scope.run.values.size(value)) for reference, value in lookup.seen)
            if sizes := [(reference, size) for reference, size in measured if size > INLINE_BYTES]:
                check_sizes(node, sizes)
        learn_params(node, params, scope.run.shared.redactor.keep)
        return params  # type: ignore[no-any-return]

    async def _once(self, index: int) -> tuple[Mapping[str, object], Sets]:
        scope, node, params = self.scope, self.node, self.params(index)
        step, what = f"{self.launch.step}[{index}]", f"item {index} of `{node.id}`"
        if node.child is not None:
            _, writes, _, sets = await scope.run_child(node, params, step, what)
        else:
            _, writes, _, sets = await scope.run_timed(node, params, step, what)
        return writes, sets

    def _hold(self, writes: Mapping[str, object]) -> None:
        """Count what the items gave: together they are one value of the run."""
        self._held += self.scope.run.values.recorded_size(writes.values())
        if self._held > MOST_BYTES:
            raise StepError(
                f"the results of `{self.node.id}` are larger than {MOST_BYTES // 1_000_000} MB together, "
                "the most that a run can hold in one value",
                suggestions=["have each item write a file and give its path"],
            )

    def check_failed(self) -> None:
        """Raise `StepError` when every item failed, unless the document allows that."""
        allowed = self.batch.max_failed is not None and self.batch.max_failed.allows_all
        if self.errors and len(self.errors) == len(self.results) and not allowed:
            raise self._lost()

    def _lost(self) -> StepError:
        """What the step fails with when too many of its items did."""
        index = min(self.errors)
        first = self.errors[index]
        actions = {str(error.get("action", "error")) for error in self.errors.values()}
        failed, count = len(self.errors), len(self.results)
        most = f", and at most {self._may_fail:,} may" if failed < count else ""
        return StepError(
            f"{failed:,} of {count:,} items of `{self.node.id}` failed{most}; item {index}: {first.get('message')}",
            action=actions.pop() if len(actions) == 1 else "error",
            details={"failed_items": failed, "items": count, "completed_items": self._done_count()},
            suggestions=[*_suggestions(first), _MORE if failed < count else _ALL],
        )

    def _done_count(self) -> int:
        return sum(result is not None for result in self.results)

    def all_sets(self) -> Sets:
        """What the items have set, in their order."""
        found = [self.sets[index] for index in sorted(self.sets) if self.sets[index]]
        if not found:
            return {}
        from pflow.engine.keeping.merge import join_sets  # lazy: few workflows keep something

        return reduce(lambda earlier, later: join_sets(self.scope.plan.keeps, earlier, later), found)

    def outputs(self) -> Mapping[str, object]:
        errors = [
            {"index": index, "item": self.launch.items[index], "error": to_text(self.errors[index])}
            for index in sorted(self.errors)
        ]
        return {"results": self.results, "errors": errors, "count": len(self.results)}


def _suggestions(error: Mapping[str, object]) -> list[str]:
    found = error.get("suggestions")
    return list(found) if isinstance(found, list | tuple) else []


def _stopped(error: BaseException, node: str, index: int, done: int) -> StepError:
    message = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
    details = {**getattr(error, "details", {}), "item": index, "completed_items": done}
    if isinstance(error, NotYetError):
        return StepTimeout(f"item {index} of `{node}` failed: {message}", details=details)
    if isinstance(error, StepTimeout):
        return StepTimeout(message, details=details)
    return StepError(
        f"item {index} of `{node}` failed: {message}",
        action=getattr(error, "action", "error"),
        details=details,
        suggestions=getattr(error, "suggestions", ()),
    )
