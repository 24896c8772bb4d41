"""Runs one plan: starts what is ready, turns how steps end into events, and asks the state what comes next."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Mapping
from typing import Any

import orjson
from pocketflow import AsyncNode

from pflow.core.errors import PflowError, StepError, StepTimeout
from pflow.core.event import Event, StepCompleted, StepFailed, StepStarted
from pflow.core.setting.redactor import has_marker
from pflow.engine.attempt.trial import only_reads, since, try_step
from pflow.engine.attempt.until import check_until
from pflow.engine.batch import batch_items, count_lost, items_apart, recall_items, run_batch
from pflow.engine.credential import learn_outputs, learn_params
from pflow.engine.declared_output import check_outputs
from pflow.engine.ending.child import child_inputs, child_outputs
from pflow.engine.ending.limit import TimeLimit, limit_of
from pflow.engine.ending.parts import Hold, end_all, number_on, see_through, wait_idle
from pflow.engine.failure import pick_edge, shown_params, within
from pflow.engine.launch import Launch
from pflow.engine.name_lookup import Names, StepLookup
from pflow.engine.plan import Plan, PlanNode
from pflow.engine.run import Run, own_defaults
from pflow.engine.state import ScopeState
from pflow.engine.store import NodeAwareSharedStore, StepStore
from pflow.engine.template_size import check_sizes
from pflow.engine.value import Withheld, digest_all

Result = tuple[str, Mapping[str, object], Mapping[str, str]]


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
    ) -> None:
        self.run = run
        self.plan = plan
        self.depth = depth
        self.state = ScopeState(plan, prefix)
        self.names = Names(self.state, inputs, seed, run.about)
        self.limit: TimeLimit | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def execute(self) -> None:
        """Run until nothing is live, or nothing more may start; sections come last."""
        for event in self.run.history.steps.get(self.state.prefix, ()):
            recall_items(self, event)
            self.state.apply(event)
        self.state.revive()
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
        if self.run.stopping or self.state.failed:
            return False
        return self.limit is None or not (self.state.waiting and self.limit.is_over())

    def _spawn(self, launches: list[Launch]) -> None:
        for launch in launches:
            task = self._loop.create_task(self._work(launch), context=self._context.copy())
            self._tasks[launch.step] = task
        if not self._tasks and not self._idle.done():
            self._idle.set_result(None)

    async def _work(self, launch: Launch) -> None:
        """Run a step, and the steps that follow it one by one.

        A chain of short steps need not go through the event loop for each, but must not block it for others.
        """
        for _ in range(_CHAIN):
            event = await self._step(launch)
            try:
                if isinstance(event, StepCompleted):
                    self.state.complete(launch.node.number, event)
                elif event is not None:
                    self.state.fail(launch.node.number, event)
                launches = await self._advance([] if event is None else [event])
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
                self._recognise(launch)
                launch.attempt = self._next_attempt(launch)
                known = self._known_result(launch)
        except PflowError as error:
            known = self.failure(launch, error, 0.0)
            if visit > node.max_visits:
                known = known._replace(action=None)  # an error edge may well be what closes the loop
        # Under a limit it begins when it is its turn. The items of a batch wait, not the batch.
        launch.begun = known is not None or node.batch is not None or not self.run.shared.turns.of(node)
        if launch.begun:
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
        if node.batch is None and not node.params.references and not node.reads:
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
        launch.values = keys
        launch.identify(node.definition)

    def _recognise(self, launch: Launch) -> None:
        """Go on under the definition that an earlier release recorded for the same work, if there is one."""
        past = self.run.history.past.get(launch.step)
        if past is None or past.started.definition == launch.definition or launch.node.former is None:
            return
        if past.started.definition in launch.node.former():
            launch.identify(past.started.definition)

    def _next_attempt(self, launch: Launch) -> int:
        """Attempts are counted across crashes, but a resume always gets at least one."""
        past = self.run.history.past.get(launch.step)
        retry = launch.node.retry
        if past is None or past.completed or retry is None or past.attempts >= retry.attempts:
            return 1
        return past.attempts + 1

    def _known_result(self, launch: Launch) -> StepCompleted | None:
        node, step, run = launch.node, launch.step, self.run
        past = run.history.past.get(step)
        reason = "it is new" if past is None else "it had not completed"
        if past is not None and past.completed is not None and past.completed.source == "skipped":
            reason = "it was skipped"
        if past is not None and past.completed is not None and past.completed.source != "skipped":
            reason = self._why_rerun(launch, past.started, past.completed)
            if not reason:
                run.reused.append(step)
                return count_lost(run, node, past.completed._replace(ms=0.0, source="reuse"))
        if run.edited:
            run.reran.append((step, reason))
        if node.purity == "pure" and run.shared.cache is not None and node.batch is None and node.child is None:
            launch.cache_key = digest_all([node.node_hash.encode(), launch.inputs.encode()])
            cached = run.shared.cache.get(launch.cache_key)
            if cached is not None:
                action, writes = orjson.loads(cached)
                known = run.values.unseal(writes) if has_marker(cached) else writes
                if isinstance(known, dict):
                    return StepCompleted(step=step, action=action, writes=known, ms=0.0, source="cache")
        return None

    def _why_rerun(self, launch: Launch, started: StepStarted, completed: StepCompleted) -> str:
        if started.definition != launch.definition:
            return "its definition changed"
        if started.inputs != launch.inputs:
            return "its inputs changed"
        if any(isinstance(value, Withheld) for value in completed.writes.values()):
            return "a secret in what it wrote changed"
        for key, recorded in completed.reads.items():
            try:
                now = digest_all([self.run.values.key(self.names.read(launch.node.number, key))])
            except KeyError:
                now = ""
            if now != recorded:
                return f"`{key}` changed"
        return ""

    async def _step(self, launch: Launch) -> StepCompleted | StepFailed | None:
        """One step with its attempts; None when it stopped half-way because the run is stopping."""
        if self.limit is None:
            return await try_step(self, launch)
        begin = time.perf_counter()
        try:
            return await self.limit.within(try_step(self, launch), launch.step)
        except StepTimeout as error:
            return self.failure(launch, error, since(begin))._replace(action=None)  # no edge: the run has no time

    async def attempt(self, launch: Launch, begin: float) -> StepCompleted:
        """One attempt at a step that has begun; raises what it failed with."""
        node = launch.node
        if node.batch is not None:
            action, writes, reads = await run_batch(self, launch)
        else:
            run = self.run_child if node.child is not None else self.run_node
            work = run(node, launch.params, launch.step)
            if node.timeout is not None:
                work = within(node.timeout, work, f"node `{node.id}`")
            action, writes, reads = await work
        if action != "default" and node.edges and action not in node.edges:
            raise StepError(
                f"node `{node.id}` returned action `{action}`, which has no edge",
                details={"edges": sorted(node.edges)},
                suggestions=[f"add an edge with action `{action}` from `{node.id}`"],
            )
        if launch.cache_key and not reads.keys() - set(node.reads):
            self._remember(launch, action, writes)
        learn_outputs(self.plan, node, writes, self.run.shared.redactor.keep)
        if node.until is not None and node.batch is None:
            check_until(self.names, node, launch.visit, launch.attempt, writes)
        done = StepCompleted(step=launch.step, action=action, writes=writes, ms=since(begin), reads=reads)
        done = count_lost(self.run, node, done)
        self.run.steps += 1
        return self.run.encode(done, done if node.batch is None else items_apart(done))

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

    async def run_node(self, node: PlanNode, params: dict[str, Any], step: str) -> Result:
        """One execution of a node's code, as a transaction."""
        run = self.run
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
        run.enter(node.id, step)
        if isinstance(instance, AsyncNode):
            action = await instance._run_async(shared)
        else:
            action = await run.shared.threads.call(instance._run, shared)
        writes = store.commit()
        if node.mapping is not None:
            for name, key in node.mapping.output_mappings.items():
                if key in writes:
                    writes[name] = writes[key]
        if node.outputs:
            check_outputs(node.id, node.outputs, writes)
        reads = {}
        if store.reads:
            reads = {key: digest_all([run.values.key(value)]) for key, value in store.reads.items()}
        return (action if isinstance(action, str) and action else "default"), writes, reads

    async def run_child(self, node: PlanNode, params: Mapping[str, Any], step: str) -> Result:
        """One execution of a sub-workflow, journalled inside this run."""
        assert node.child is not None
        inputs = child_inputs(self, node.child, params)
        scope = Scope(self.run, node.child, inputs, prefix=step + "/", depth=self.depth + 1)
        await scope.execute()
        return "default", child_outputs(scope, self.state.prefix), {}

    def _remember(self, launch: Launch, action: str, writes: Mapping[str, object]) -> None:
        if self.run.shared.cache is None:
            return
        try:
            data = orjson.dumps([action, writes], option=orjson.OPT_PASSTHROUGH_DATACLASS)
        except TypeError:
            return  # a value that lives only in this process cannot be remembered
        self.run.shared.cache.put(launch.cache_key, self.run.values.seal(data))
