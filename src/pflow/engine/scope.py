"""Runs one plan: starts what is ready, turns how steps end into events, and asks the state what comes next."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Awaitable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pocketflow import AsyncNode

from pflow.core.errors import PflowError, StepError
from pflow.core.event import Event, StepCompleted, StepFailed, StepStarted
from pflow.engine.attempt.trial import only_reads, since, try_in_time, try_step
from pflow.engine.batch import batch_items, count_lost, items_apart, recall_items, run_batch
from pflow.engine.credential import learn_outputs, learn_params
from pflow.engine.ending.limit import TimeLimit, limit_of
from pflow.engine.ending.parts import Hold, end_all, number_on, see_through, wait_idle
from pflow.engine.failure import pick_edge, shown_params, within, within_countdown
from pflow.engine.launch import Launch
from pflow.engine.name_lookup import Names, StepLookup
from pflow.engine.plan import Plan, PlanNode
from pflow.engine.run import Run, own_defaults
from pflow.engine.state import ScopeState, Sets
from pflow.engine.store import NodeAwareSharedStore, StepStore
from pflow.engine.template_size import check_sizes
from pflow.engine.value import digest_all

if TYPE_CHECKING:
    from pflow.engine.asking.parking import Group, Pausable, Seat

Result = tuple[str, Mapping[str, object], Mapping[str, str], Sets]
"""How a node ended: its action, what it wrote, what it read under natural keys, and what it set to be kept."""


_CHAIN = 16
"""Steps of a sequence that one task runs before it lets others have a turn."""


class Scope:
    """One execution of one plan: the run itself, or a sub-workflow inside it."""

    def __init__(
        self,
        run: Run,
        plan: Plan,
        inputs: Mapping[str, object],
        *,
        prefix: str = "",
        depth: int = 0,
        seed: Mapping[str, object] | None = None,
        paused: Pausable | None = None,
        is_over: bool = False,
    ) -> None:
        self.run = run
        self.plan = plan
        self.depth = depth
        self.state = ScopeState(plan, prefix, run.history.real)
        self.names = Names(self.state, inputs, seed, run.about, run.kept.seen_by(plan))
        self.limit: TimeLimit | None = None
        self.is_over = is_over
        """Whether nothing more of the main part may start, because the run was cancelled while nobody drove it."""

        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.group: Group | None = self._group_steps(paused) if plan.may_wait else None
        if plan.budget is not None:
            run.budgets[prefix] = plan.budget

    def _group_steps(self, paused: Pausable | None) -> Group:
        """Know when all steps wait. The time that the sub-workflow may take, `paused`, does not count meanwhile."""
        from pflow.engine.asking.parking import SEAT, Group  # lazy: many documents never wait

        above = SEAT.get() if self.state.prefix else None
        waits = self.run.expect_waits()
        return Group(above or waits, lambda: len(self._tasks), lambda: self.limit, lambda: paused)

    async def execute(self) -> None:
        """Run until nothing is live, or nothing more may start; sections come last."""
        for event in self.run.history.steps.get(self.state.prefix, ()):
            recall_items(self, event)
            self.state.apply(event)
        self.state.revive(failed=not self.run.history.waited)
        number_on(self)
        self._loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()
        self.limit = limit_of(self)
        await see_through(self)

    async def run_live(self, hold: Hold | None = None) -> None:
        """Run what is live. A cancellation that is to be held back waits until that is over."""
        self._idle = self._loop.create_future()
        try:
            self._spawn(await self._advance([]))
            await (self._idle if hold is None else wait_idle(self._idle, hold))
        finally:
            await end_all(list(self._tasks.values()))
            self._tasks.clear()

    async def _advance(self, events: list[Event]) -> list[Launch]:
        """Record what ended together with what starts next, and return that.

        The state runs ahead of the journal within this call only: nothing is visible or started before the
        events are durable, and if they cannot be, the run is over.
        """
        state, nodes = self.state, self.plan.nodes
        launches: list[Launch] = []
        again = True
        while again and self._may_start():
            again = False
            for number in state.ready():
                if self._prepare(nodes[number], events, launches):
                    again = True
        if events:
            if self.run.is_alone:
                self.run.emit(*events)
            else:
                await self.run.emit_grouped(*events)
        return launches

    def _may_start(self) -> bool:
        if self.run.stopping or self.state.failed or (self.is_over and self.state.ending is None):
            return False
        return self.limit is None or not (self.state.waiting and self.limit.is_over())

    def _spawn(self, launches: list[Launch]) -> None:
        for launch in launches:
            task = self._loop.create_task(self._work(launch), context=self._context.copy())
            self._tasks[launch.step] = task
        if not self._tasks and not self._idle.done():
            self._idle.set_result(None)
        if self.group is not None:
            self.group.check()

    async def _work(self, launch: Launch) -> None:
        """Run a step, and the steps that follow it one by one.

        A chain of short steps need not go through the event loop for each, but must not block it for others.
        """
        for _ in range(_CHAIN):
            event = await self._step(launch)
            if self.group is not None:
                self.group.leave(launch.step)
            try:
                if isinstance(event, StepCompleted):
                    self.state.complete(launch.node.number, event)
                elif event is not None:
                    self.state.fail(launch.node.number, event)
                launches = await self._advance([] if event is None or launch.is_recorded else [event])
            except PflowError as error:
                if not self._idle.done():
                    self._idle.set_exception(error)
                return
            task = self._tasks.pop(launch.step)
            if len(launches) != 1 or self._tasks:
                break
            [launch] = launches
            self._tasks[launch.step] = task
        self._spawn(launches)

    def _prepare(self, node: PlanNode, events: list[Event], launches: list[Launch]) -> bool:
        """Start a node's next step, or end it at once: from the cache, from before an edit, or because it cannot.

        Returns whether it ended.
        """
        state = self.state
        visit = state.visits.get(node.number, 0) + 1
        launch = Launch(node, state.step_name(node.number, visit), visit)
        known: StepCompleted | StepFailed | None = None
        try:
            if visit > node.max_visits:
                raise StepError(
                    f"node `{node.id}` was visited {node.max_visits} times; the loop does not end",
                    suggestions=["check the action that leaves the loop", "raise the node's `max_visits`"],
                )
            if node.when is not None and not node.when.render(StepLookup(self.names, node.number, visit)):
                return self._pass(launch, events, "default", source="skipped")
            if node.choice is not None:
                return self._pass(launch, events, str(node.choice.render(self._lookup_of_choice(node))))
            self._resolve(launch)
            if node.only_reads is not None:
                launch.repeatable = only_reads(self.names, launch)
            if node.purity == "pure" or self.run.history.past:
                from pflow.engine.again.reuse import find_known  # lazy: only for what can be known

                known = find_known(self, launch)
        except PflowError as error:
            known = self.failure(launch, error, 0.0)
            if visit > node.max_visits:
                known = known._replace(action=None)  # an error edge may well be what closes the loop
        # Under a limit it begins when it is its turn, and if it has to be approved, then. In a batch that is for items.
        launch.begun = known is not None or node.batch is not None or not self._begins_later(node)
        if launch.begun and not (node.may_wait and known is None and self.run.history.is_waiting(launch.step)):
            events.append(self.started(launch))
        state.start(node.number, launch.step, visit)
        if node.batch is not None:
            state.begun[node.number] = launch.items
        if known is None:
            launches.append(launch)
            return False
        events.append(known)
        if isinstance(known, StepCompleted):
            state.complete(node.number, known)
        else:
            state.fail(node.number, known)
        return True

    def _begins_later(self, node: PlanNode) -> bool:
        return node.approve is not None or bool(self.run.shared.turns.of(node))

    def _pass(self, launch: Launch, events: list[Event], action: str, source: str = "run") -> bool:
        """End a step that only decides, or that its condition leaves out: nothing runs, and nothing is written."""
        passed = StepCompleted(step=launch.step, action=action, writes={}, ms=0.0, source=source)
        events += [self.started(launch), passed]
        self.state.start(launch.node.number, launch.step, launch.visit)
        self.state.complete(launch.node.number, passed)
        return True

    def _lookup_of_choice(self, node: PlanNode) -> StepLookup:
        """What the conditions of a node's edges see: `visit` counts that node."""
        [chooser] = self.plan.predecessors[node.number]
        return StepLookup(self.names, node.number, self.state.visits.get(chooser, 0))

    def started(self, launch: Launch) -> StepStarted:
        """What is recorded of an attempt that begins."""
        return StepStarted(
            step=launch.step,
            node=launch.node.id,
            definition=launch.definition,
            inputs=launch.inputs,
            at=time.time(),
            attempt=launch.attempt,
            items=len(launch.items),
            repeatable=launch.repeatable,
        )

    def _resolve(self, launch: Launch) -> None:
        node = launch.node
        inside = node.child.keeps if node.child is not None else {}
        if node.batch is None and not node.params.references and not node.reads and not inside:
            launch.params = node.params.render(StepLookup(self.names, node.number, launch.visit))  # type: ignore[assignment]
            launch.inputs = node.definition
            return  # credentials that stand in the document are known already
        lookup = StepLookup(self.names, node.number, launch.visit)
        if node.batch is None:
            params: Any = node.params.render(lookup)
            learn_params(node, params, self.run.shared.redactor.keep)
            launch.params = params
        else:
            launch.items = batch_items(node, lookup)
            own = (node.batch.name, f"{node.batch.name}_index")
            for reference in node.params.references:
                if reference.root not in own:
                    lookup(reference)
        # Only now: a credential must be known before the value that holds it is encoded.
        measured = [(reference, *self.run.values.measure(value)) for reference, value in lookup.seen]
        check_sizes(node, [(reference, size) for reference, _, size in measured])
        keys = [key for _, key, _ in measured]
        for name in node.reads:
            try:
                keys.append(self.run.values.key(self.names.read(node.number, name)))
            except KeyError:
                keys.append(b"")
        keys += [self.run.values.key(self.run.kept.values.get(scope)) for scope in inside]
        launch.values = keys
        launch.identify(node.definition)

    def _step(self, launch: Launch) -> Awaitable[StepCompleted | StepFailed | None]:
        """One step with its attempts; None when it stopped half-way because the run is stopping."""
        return try_step(self, launch) if self.limit is None else try_in_time(self, launch, self.limit)

    async def attempt(self, launch: Launch, begin: float) -> StepCompleted:
        """One attempt at a step that has begun; raises what it failed with."""
        node = launch.node
        if node.may_wait:
            self._take_seat(launch.step)
        if node.batch is not None:
            action, writes, reads, sets = await self._run_batch(launch)
        elif node.child is not None:
            action, writes, reads, sets = await self.run_child(node, launch.params, launch.step, f"node `{node.id}`")
        else:
            action, writes, reads, sets = await self.run_timed(node, launch.params, launch.step, f"node `{node.id}`")
        if action != "default" and node.edges and action not in node.edges:
            raise StepError(
                f"node `{node.id}` returned action `{action}`, which has no edge",
                details={"edges": sorted(node.edges)},
                suggestions=[f"add an edge with action `{action}` from `{node.id}`"],
            )
        if launch.cache_key and not reads.keys() - set(node.reads):
            from pflow.engine.again.reuse import remember  # lazy: only for what is cached

            remember(self.run, launch, action, writes)
        learn_outputs(self.plan, node, writes, self.run.shared.redactor.keep)
        if node.until is not None and node.batch is None:
            from pflow.engine.attempt.until import check_until  # lazy: few steps have a condition to meet

            check_until(self.names, node, launch.visit, launch.attempt, writes)
        done = StepCompleted(step=launch.step, action=action, writes=writes, ms=since(begin), reads=reads)
        done = count_lost(self.run, node, done)
        if sets:
            done = done._replace(state=sets)
            from pflow.engine.keeping.step import record_sets  # lazy: few workflows keep something

            launch.is_recorded = record_sets(self, node, done)
        self.run.steps += 1
        return done if launch.is_recorded else self.run.encode(done, done if node.batch is None else items_apart(done))

    async def _run_batch(self, launch: Launch) -> Result:
        if not launch.node.may_wait:
            return await run_batch(self, launch)
        from pflow.engine.asking.batch import run_waiting_batch  # lazy: many documents never wait

        return await run_waiting_batch(self, launch)

    def _take_seat(self, step: str) -> Seat:
        """Let what waits in this task wait on behalf of a step."""
        from pflow.engine.asking.parking import SEAT  # lazy: many documents never wait

        assert self.group is not None
        seat = self.group.seat(step)
        SEAT.set(seat)
        return seat

    async def approve(self, launch: Launch) -> None:
        """Wait until somebody agrees to a step; raises `DeclinedError` or `StepTimeout`."""
        from pflow.engine.asking.approval import ask_approval  # lazy: few steps have to be approved

        if self.run.shared.tape is not None:
            self.run.shared.tape.approve(launch.node, launch.params, launch.step)
            return
        node, seat = launch.node, self._take_seat(launch.step)
        lookup = StepLookup(self.names, node.number, launch.visit)
        await ask_approval(self.run, node, launch.step, launch.params, lookup, seat)

    def failure(self, launch: Launch, error: BaseException, ms: float) -> StepFailed:
        """What is recorded of a failure."""
        node = launch.node
        return StepFailed(
            step=launch.step,
            error=self.run.describe(error, node.id),
            ms=ms,
            attempt=launch.attempt,
            action=pick_edge(node.edges, error),
            params=shown_params(launch.params),
        )

    def run_timed(self, node: PlanNode, params: dict[str, Any], step: str, what: str) -> Awaitable[Result]:
        """One execution of a node's code in the time that it has; while it waits, that does not count."""
        work = self.run_node(node, params, step)
        if node.timeout is None:
            return work
        if not node.may_wait:
            return within(node.timeout, work, what)
        from pflow.engine.asking.parking import within_seat  # lazy: many documents never wait

        return within_seat(node.timeout, work, what)

    async def run_node(self, node: PlanNode, params: dict[str, Any], step: str) -> Result:
        """One execution of a node's code, as a transaction."""
        run = self.run
        if run.shared.tape is not None:
            from pflow.engine.attempt.tape import play_step  # lazy: most runs are not played again

            played = play_step(self, node, params, step)
            if played is not None:
                return played
        instance = run.instance(node)
        defaults = {} if node.trusted else own_defaults(instance, params)
        instance.set_params({**defaults, **params} if defaults else params)
        store = StepStore(self.names, node.number, trusted=node.trusted)
        shared: Any = store
        if node.mapping is not None:
            shared = NodeAwareSharedStore(
                store, node.mapping.input_mappings, node.mapping.output_mappings, params=params, defaults=defaults
            )
        elif not node.trusted and (params or defaults):
            shared = NodeAwareSharedStore(store, params=params, defaults=defaults)
        run.enter(node, step)
        if run.shared.holds is not None:
            run.check_hold()
        if isinstance(instance, AsyncNode):
            action = await instance._run_async(shared)
        else:
            action = await run.shared.threads.call(instance._run, shared)
        writes = store.commit()
        if node.sets_state:
            from pflow.engine.keeping.step import take_sets  # lazy: few workflows keep something

            return "default", {}, {}, take_sets(self, writes)
        if node.mapping is not None:
            for name, key in node.mapping.output_mappings.items():
                if key in writes:
                    writes[name] = writes[key]
        if node.outputs:
            from pflow.engine.declared_output import check_outputs  # lazy: few nodes declare their outputs

            check_outputs(node.id, node.outputs, writes)
        reads = {}
        if store.reads:
            reads = {key: digest_all([run.values.key(value)]) for key, value in store.reads.items()}
        return (action if isinstance(action, str) and action else "default"), writes, reads, {}

    async def run_child(self, node: PlanNode, params: Mapping[str, Any], step: str, what: str) -> Result:
        """One execution of a sub-workflow, journalled inside this run; `what` it is for a message about its time."""
        from pflow.engine.ending.child import child_inputs, child_outputs  # lazy: few workflows have others inside

        assert node.child is not None
        inputs = child_inputs(self, node.child, params)
        make = partial(Scope, self.run, node.child, inputs, prefix=step + "/", depth=self.depth + 1)
        if node.timeout is not None and node.may_wait:
            from pflow.engine.asking.parking import Countdown  # lazy: many documents never wait

            countdown = Countdown(node.timeout)
            scope = make(paused=countdown)
            await within_countdown(countdown, scope.execute(), what, node.timeout)
        else:
            scope = make()
            await within(node.timeout, scope.execute(), what)
        return "default", child_outputs(scope, self.state.prefix), {}, scope.state.sets
