"""Every use case as one typed method: the only door to pflow for command line, MCP server, pages and Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pflow.core.document.issue import Issue
from pflow.core.document.parse import Parsed, parse_text
from pflow.core.errors import NotFoundError, UsageError
from pflow.core.file.home import Home, find_home
from pflow.core.library.workflow_manager import WorkflowManager
from pflow.core.setting.settings import Settings
from pflow.engine.executor import new_run_id
from pflow.engine.plan import Plan
from pflow.engine.ports import Cache, Journal, Observer, RunInfo, RunQuery
from pflow.execution.outcome import Outcome
from pflow.execution.trace import build_trace, find_trace
from pflow.execution.wiring import Wiring
from pflow.execution.workflow_execution import Work, bind, block_on
from pflow.execution.workflow_source import Checked, Workflow, find_source
from pflow.registry.entry import Entry
from pflow.workspace.one_step import one_step
from pflow.workspace.preparation import check_source, count_run, take_up

if TYPE_CHECKING:
    from pflow.mcp.pool import Pool
    from pflow.process.standby import Spare
    from pflow.registry.registry import Registry
    from pflow.workspace.drafts import Drafts
    from pflow.workspace.finder import Finder
    from pflow.workspace.live_run import LiveRun
    from pflow.workspace.servers import Servers


class Workspace:
    """pflow over one home. Cheap to make; parts are loaded when they are needed."""

    def __init__(
        self,
        home: Home,
        *,
        observer: Observer | None = None,
        environ: Mapping[str, str] | None = None,
        journal: Journal | None = None,
        cache: Cache | None = None,
        pool: Pool | None = None,
        spare: Spare | None = None,
        registry: Callable[[], Registry] | None = None,
    ) -> None:
        self.home = home
        self._observer = observer
        self._environ = environ
        self._wiring = Wiring(
            home, environ=environ, journal=journal, cache=cache, pool=pool, spare=spare, registry=registry
        )
        self._own_notices: list[str] = []

    @classmethod
    def open(cls, *, observer: Observer | None = None) -> Workspace:
        """The workspace that the environment names: `PFLOW_HOME`, else `~/.pflow`."""
        return cls(find_home(), observer=observer)

    def close(self) -> None:
        """Let the journal go."""
        self._wiring.close()

    async def disconnect(self) -> None:
        """End the MCP servers that runs on this event loop have started; `run` does so by itself."""
        await self._wiring.tools.close()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def notices(self) -> list[str]:
        """What a person should know of: files set aside, nodes that could not be read."""
        return [*self._wiring.notices(), *self._own_notices]

    # Checking and running

    def parse(self, text: bytes | str, *, suffix: str = "") -> Parsed:
        """A document from text, with its places."""
        return parse_text(text, suffix=suffix)

    def check(self, workflow: Workflow) -> Checked:
        """Everything that would keep a workflow from running. Starts nothing."""
        return check_source(self._wiring, find_source(workflow, self.home))

    def run(
        self,
        workflow: Workflow | Checked,
        params: Mapping[str, object] | None = None,
        *,
        text: bool = False,
        cache: bool = True,
        signals: bool = False,
        run_id: str | None = None,
    ) -> Outcome:
        """Check a workflow, bind its inputs and run it to its end.

        With `text` the params are words of a command line. With `signals` SIGINT and SIGTERM stop the run,
        resumable. Raises `PflowError` when it cannot begin; a failure on the way is an outcome.
        """
        checked = workflow if isinstance(workflow, Checked) else self.check(workflow)
        plan = checked.ready()
        inputs = bind(self._wiring, plan, params or {}, text=text)
        outcome = self._block(lambda executor: executor.run(plan, inputs, run_id=run_id), plan, cache, signals)
        self._own_notices.extend(count_run(self.home, checked, outcome))
        return outcome

    async def run_async(
        self,
        workflow: Workflow,
        params: Mapping[str, object] | None = None,
        *,
        cache: bool = True,
        run_id: str | None = None,
    ) -> Outcome:
        """Like `run`, on the caller's event loop."""
        return await self.begin(workflow, params, cache=cache, run_id=run_id).finish()

    def begin(
        self,
        workflow: Workflow,
        params: Mapping[str, object] | None = None,
        *,
        cache: bool = True,
        run_id: str | None = None,
    ) -> LiveRun:
        """A run that is ready to be awaited on an event loop, and can be stopped there."""
        checked = self.check(workflow)
        plan = checked.ready()
        inputs = bind(self._wiring, plan, params or {})
        chosen = run_id or new_run_id()
        return self._live(checked, chosen, lambda executor: executor.run(plan, inputs, run_id=chosen), cache=cache)

    def take_up(
        self,
        run_id: str,
        *,
        edited: Workflow | None = None,
        params: Mapping[str, object] | None = None,
        rerun_in_doubt: bool = False,
    ) -> LiveRun:
        """Like `resume`, for an event loop."""
        run_id = self.find_run(run_id)
        checked, inputs = take_up(self._wiring, run_id, edited, params)
        plan = checked.ready()
        is_edited = edited is not None
        return self._live(
            checked,
            run_id,
            lambda executor: executor.resume(run_id, plan, inputs, edited=is_edited, rerun_in_doubt=rerun_in_doubt),
        )

    def resume(
        self,
        run_id: str,
        *,
        edited: Workflow | None = None,
        params: Mapping[str, object] | None = None,
        text: bool = False,
        rerun_in_doubt: bool = False,
        cache: bool = True,
        signals: bool = False,
    ) -> Outcome:
        """Take up a run where it ended. With `edited` only steps whose definition or inputs changed run again.

        Raises `InDoubtError` when steps were in flight whose effect is unknown, unless `rerun_in_doubt`.
        """
        run_id = self.find_run(run_id)
        checked, inputs = take_up(self._wiring, run_id, edited, params, text=text)
        plan = checked.ready()
        return self._block(
            lambda executor: executor.resume(
                run_id, plan, inputs, edited=edited is not None, rerun_in_doubt=rerun_in_doubt
            ),
            plan,
            cache,
            signals,
        )

    def cancel(self, run_id: str) -> str:
        """End a run for good: its owner is asked to, or, if that is gone, it is marked. Returns the new state."""
        run_id = self.find_run(run_id)
        journal = self._wiring.journal
        info = journal.info(run_id)
        if info.status in ("completed", "cancelled"):
            raise UsageError(f"run `{run_id}` is {info.status} already")
        if info.alive:
            journal.request_cancel(run_id)
            return "requested"
        self._wiring.executor(None).cancel_orphan(run_id)
        return "cancelled"

    def run_flow(
        self, start: object, shared: MutableMapping[str, object] | None = None, *, cache: bool = True
    ) -> Outcome:
        """Run a PocketFlow flow, or the nodes after `start`, and leave what they wrote in `shared`."""
        from pflow.workspace.flow_run import run_flow  # lazy: only for compositions in Python

        return run_flow(lambda work, plan: self._block(work, plan, cache, False), start, shared)

    # Runs and traces

    def runs(self, limit: int = 50) -> list[RunInfo]:
        """The newest runs first."""
        return list(self._wiring.journal.runs(RunQuery(limit=limit)))

    def find_runs(self, prefix: str) -> list[str]:
        """Ids of runs that begin with `prefix`."""
        return [run.run_id for run in self._wiring.journal.runs(RunQuery(prefix=prefix, limit=None))]

    def find_run(self, reference: str) -> str:
        """The one run that `reference` means: `latest`, an id, or the beginning of one."""
        if reference == "latest":
            runs = self.runs(limit=1)
            if runs:
                return runs[0].run_id
        found = self.find_runs(reference) if reference and reference != "latest" else []
        if reference in found or len(found) == 1:
            return reference if reference in found else found[0]
        if found:
            raise UsageError(f"`{reference}` is the beginning of {len(found)} runs", suggestions=found[:5])
        raise NotFoundError(f"there is no run `{reference}`", suggestions=["`pflow runs list` shows what there is"])

    def show_run(self, run_id: str) -> dict[str, object]:
        """One run: its state, its steps and what each wrote."""
        run_id = self.find_run(run_id)
        info = self._wiring.journal.info(run_id)
        trace = build_trace(run_id, self._wiring.journal.read(run_id))
        status = info.status if info.alive or info.status != "running" else "interrupted"
        return {**trace, "status": status, "alive": info.alive}

    def trace(
        self,
        reference: str = "latest",
        *,
        step: str | None = None,
        field: str | None = None,
        offset: int = 0,
        limit: int | None = None,
    ) -> object:
        """A run's trace, one step of it, or one value in it, paged by characters of JSON or text."""
        from pflow.workspace.trace_page import select  # lazy: not for runs

        trace = find_trace(self.home.debug, reference, self._wiring.journal)
        return select(trace, self._wiring.journal, step=step, field=field, offset=offset, limit=limit)

    # The library

    def describe(self, workflow: Workflow) -> dict[str, object]:
        """What a workflow takes, gives and does."""
        checked = self.check(workflow)
        plan = checked.ready()
        from pflow.execution.describe import describe_plan  # lazy: not for runs

        found = describe_plan(plan)
        if checked.library or checked.draft:
            manager = self._library() if checked.library else WorkflowManager.for_drafts(self.home)
            found["statistics"] = manager.load(checked.library or checked.draft).get("metadata", {})
        return found

    def save(
        self,
        workflow: Workflow,
        name: str,
        description: str = "",
        *,
        overwrite: bool = False,
        draft: bool = False,
    ) -> Path:
        """Keep a checked workflow under a name; raises `ExistsError` for one that is taken.

        A draft that goes to the library is a draft no more.
        """
        checked = self.check(workflow)
        raw: Any = checked.ready().raw["document"]
        about = description or str(raw.get("description", ""))
        if checked.draft and not draft and not overwrite:
            return self._library().promote(checked.draft, name, about)
        manager = WorkflowManager.for_drafts(self.home) if draft else self._library()
        return manager.save(name, raw, about, overwrite=overwrite)

    @property
    def drafts(self) -> Drafts:
        """Workflows that are still being worked on."""
        from pflow.workspace.drafts import Drafts  # lazy: runs keep nothing

        return Drafts(self.home, self.check)

    def workflows(self, query: str = "", *, drafts: bool = False) -> list[dict[str, object]]:
        """Saved workflows, those that match `query`."""
        library = self._library()
        found = library.search(query) if query else library.list_all()
        if drafts:
            manager = WorkflowManager.for_drafts(self.home)
            found = [*found, *(manager.search(query) if query else manager.list_all())]
        return found

    def delete(self, name: str) -> None:
        """Remove a workflow from the library."""
        self._library().delete(name)

    def clean_drafts(self, older_than_seconds: float) -> list[str]:
        """Delete old drafts; returns their names."""
        return list(WorkflowManager.for_drafts(self.home).clean(older_than_seconds))

    # Node types

    def node_types(self, query: str = "") -> list[Entry]:
        """Node types, those that match `query`."""
        return self._wiring.registry.search(query)

    def node_type(self, name: str) -> Entry:
        """One node type; raises `NotFoundError`."""
        return self._wiring.registry.get(name)

    def run_node(
        self, name: str, params: Mapping[str, object], *, text: bool = False, signals: bool = False
    ) -> Outcome:
        """Run one node on its own, as a workflow of one step."""
        return self.run(one_step(self.node_type(name), params, text=text), signals=signals)

    def begin_node(self, name: str, params: Mapping[str, object]) -> LiveRun:
        """Like `run_node`, for an event loop."""
        return self.begin(one_step(self.node_type(name), params, text=False))

    @property
    def discovery(self) -> Finder:
        """Node types and workflows by what is said about a task."""
        from pflow.workspace.finder import Finder  # lazy: runs look for nothing

        return Finder(self.home, self._wiring.registry)

    def scan(self) -> list[str]:
        """Read all node sources again; returns what could not be used."""
        self._wiring.registry.rescan()
        self._wiring.registry.save()
        return list(self._wiring.registry.notices)

    def validate_registry(self, *, tools_only: bool = False) -> tuple[int, list[Issue]]:
        """How many node types there are, or tools of MCP servers, and what keeps some from being used."""
        from pflow.workspace.registry_check import check_entries  # lazy: not for runs

        return check_entries(self._wiring.registry, self.home, tools_only=tools_only)

    # Settings and servers

    def setting(self, key: str) -> dict[str, object]:
        """One setting; a credential comes back masked."""
        return self._wiring.settings.get(key)

    def settings(self) -> list[dict[str, object]]:
        """Every setting."""
        return self._wiring.settings.list()

    def set_setting(self, key: str, value: str) -> None:
        """Store a credential or an option."""
        Settings(self.home).set(key, value)  # not the loaded ones: they may be what has to be replaced

    def unset_setting(self, key: str) -> None:
        """Forget a credential or an option."""
        Settings(self.home).unset(key)

    @property
    def servers(self) -> Servers:
        """The configured MCP servers."""
        from pflow.workspace.servers import Servers  # lazy: runs need no configuring

        return Servers(self._wiring, environ=self._environ, notices=self._own_notices)

    @property
    def output_limit(self) -> int:
        """Bytes of a value that an agent gets to see at once."""
        return self._wiring.settings.number("output.limit_kb") << 10

    def redact(self, value: object) -> object:
        """The value without any secret that is known here."""
        return self._wiring.redactor.value(value)

    # Inside

    def _live(self, checked: Checked, run_id: str, work: Work, *, cache: bool = True) -> LiveRun:
        from pflow.workspace.live_run import LiveRun  # lazy: most programs wait for their runs

        return LiveRun(self._wiring, self._wiring.executor(self._observer, use_cache=cache), checked, run_id, work)

    def _block(self, work: Work, plan: Plan, cache: bool, signals: bool) -> Outcome:
        outcome = block_on(self._wiring, work, plan, self._observer, cache=cache, signals=signals)
        self._own_notices.extend(outcome.notices)
        return outcome

    def _library(self) -> WorkflowManager:
        return WorkflowManager(self.home)
