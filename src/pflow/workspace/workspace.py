"""Every use case as one typed method: the only door to pflow for command line, MCP server, pages and Python."""

from __future__ import annotations

from collections.abc import Collection, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, Unpack

from pflow.core.document.issue import Issue
from pflow.core.document.parse import Parsed, parse_text
from pflow.core.file.home import Home, find_home
from pflow.core.frozen import Frozen
from pflow.core.library.saved_workflow import SavedWorkflow, read_metadata
from pflow.core.library.workflow_manager import WorkflowManager
from pflow.core.library.workflow_text import text_of_parsed
from pflow.core.project.projects import Ask, Projects
from pflow.core.setting.settings import Setting, Settings
from pflow.engine.ports import Observer, RunInfo, RunQuery
from pflow.execution.check import Checked, check_source, check_workflow
from pflow.execution.outcome import Outcome
from pflow.execution.trace import find_trace, read_trace
from pflow.execution.wiring import Parts, Wiring
from pflow.execution.workflow_source import Source, Workflow, find_source
from pflow.registry.entry import Entry
from pflow.workspace.looking.looking import Looking
from pflow.workspace.model.modelling import Modelling
from pflow.workspace.place.placing import Placing
from pflow.workspace.planning.planning import Planning
from pflow.workspace.testing.testing import Testing

if TYPE_CHECKING:
    from pflow.execution.describe import Description
    from pflow.execution.live_run import LiveRun
    from pflow.execution.need.requirement import Needs
    from pflow.mcp.tools.detail import NodeDetail
    from pflow.workspace.again.again import Again
    from pflow.workspace.asking.on_ask import OnAsk
    from pflow.workspace.drafts import Drafts
    from pflow.workspace.driving.driving import Driving
    from pflow.workspace.finder import Finder
    from pflow.workspace.formatting import Formatted
    from pflow.workspace.keeping.state import KeptState
    from pflow.workspace.library import Library
    from pflow.workspace.project import ProjectFolders
    from pflow.workspace.schedule.scheduling import Scheduling
    from pflow.workspace.servers import Servers
    from pflow.workspace.sharing.sharing import Sharing

F = TypeVar("F", bound=Frozen | str | Mapping[str, object])


class Workspace(Looking, Modelling, Planning, Placing, Testing):
    """pflow over one home. Cheap to make; parts are loaded when they are needed.

    `project` is a directory: what it and those above it bring along in `.pflow` is used where the person agreed to it.
    `nodes` are functions, PocketFlow classes and modules that are node types in this workspace only. `on_ask` is called
    with each question of its runs.
    """

    def __init__(
        self,
        home: Home,
        *,
        project: Path | None = None,
        observer: Observer | None = None,
        on_ask: OnAsk | None = None,
        **parts: Unpack[Parts],
    ) -> None:
        self.home = home
        self._start = project
        if project is not None:
            parts = {"projects": Projects(home, project), **parts}
        self._observer = observer
        self._own_notices: list[str] = []
        if on_ask is not None:
            from pflow.workspace.asking.on_ask import CallableAsker  # lazy: most programs leave questions to people

            parts = {**parts, "asker": CallableAsker(on_ask, self._own_notices.append)}
        self._wiring = Wiring(home, **parts)

    @classmethod
    def open(
        cls,
        *,
        project: Path | None = None,
        ask: Ask | None = None,
        observer: Observer | None = None,
        on_ask: OnAsk | None = None,
        **parts: Unpack[Parts],
    ) -> Workspace:
        """The workspace that the environment names: `PFLOW_HOME`, else `~/.pflow`.

        `ask` shows a person what a project brings and asks about it, where one is that is not agreed to.
        """
        home = find_home()
        parts = {"projects": Projects(home, project, ask=ask), **parts}
        return cls(home, project=project, observer=observer, on_ask=on_ask, **parts)

    def close(self) -> None:
        """Close the journal."""
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
        """Everything that would stop a workflow from running. Starts nothing."""
        return check_workflow(self._wiring, workflow)

    def begin(
        self,
        workflow: Workflow | Checked,
        params: Mapping[str, object] | None = None,
        *,
        text: bool = False,
        cache: bool = True,
        run_id: str | None = None,
        state: Mapping[str, object] | None = None,
        queue: str = "",
    ) -> LiveRun:
        """A run, checked and bound: `await run.finish()` sees it through on your event loop, `run.wait()` without one.

        With `text` the params are words of a command line. With `state` it is a trial: the workflow finds these values
        instead of those that it has kept, and keeps nothing. `queue` is one of the place, instead of the one that its
        settings name. Raises `PflowError` when it cannot begin.
        """
        from pflow.execution.begin import begin_run  # lazy: asyncio and the engine cost 30 ms, only to run

        checked = workflow if isinstance(workflow, Checked) else self.check(workflow)
        return begin_run(
            self._wiring,
            checked,
            params or {},
            text=text,
            observer=self._observer,
            cache=cache,
            run_id=run_id,
            trial=state,
            queue=queue,
        )

    def begin_resume(
        self,
        run_id: str,
        *,
        edited: Workflow | None = None,
        params: Mapping[str, object] | None = None,
        text: bool = False,
        rerun_in_doubt: bool = False,
        failed_items: Sequence[str] | None = None,
        cache: bool = True,
    ) -> LiveRun:
        """A run that goes on where it ended. With `edited` only steps whose definition or inputs changed run again.

        With `failed_items`, items that batches went on without run again, `["3", "fetch[17]"]` or all of them (`[]`),
        and then the steps whose inputs they change. Seeing it through raises `InDoubtError` when steps were in flight
        whose effect is unknown, unless `rerun_in_doubt`.
        """
        from pflow.execution.begin import begin_resume  # lazy: asyncio and the engine cost 30 ms, only to run

        return begin_resume(
            self._wiring,
            self.find_run(run_id),
            params or {},
            edited=edited,
            rerun_in_doubt=rerun_in_doubt,
            failed_items=failed_items,
            text=text,
            observer=self._observer,
            cache=cache,
        )

    def run(
        self,
        workflow: Workflow | Checked,
        params: Mapping[str, object] | None = None,
        *,
        cache: bool = True,
        run_id: str | None = None,
        state: Mapping[str, object] | None = None,
    ) -> Outcome:
        """Check a workflow, bind its inputs and run it to its end; a failure on the way is an outcome."""
        return self.wait(self.begin(workflow, params, cache=cache, run_id=run_id, state=state))

    def resume(
        self,
        run_id: str,
        *,
        edited: Workflow | None = None,
        params: Mapping[str, object] | None = None,
        rerun_in_doubt: bool = False,
        failed_items: Sequence[str] | None = None,
    ) -> Outcome:
        """Like `begin_resume`, to its end."""
        return self.wait(
            self.begin_resume(
                run_id, edited=edited, params=params, rerun_in_doubt=rerun_in_doubt, failed_items=failed_items
            )
        )

    def wait(self, run: LiveRun, *, signals: bool = False) -> Outcome:
        """See a run through; with `signals` SIGINT and SIGTERM stop it, resumable."""
        outcome = run.wait(signals=signals)
        self._own_notices.extend(outcome.notices)
        return outcome

    @property
    def again(self) -> Again:
        """Runs made from others, and doubts about their steps that someone settles."""
        from pflow.workspace.again.again import Again  # lazy: most runs begin with nothing

        return Again(self._wiring, self.check, self.wait, self._observer)

    def cancel(self, run_id: str) -> str:
        """End a run for good: ask its process to, or mark it if the process is gone. Returns the new state.

        Of one that waits, the steps of `finally` run before this returns; if they cannot, a notice says why.
        """
        from pflow.execution.asking.cancel import cancel_run  # lazy: few runs are cancelled

        return cancel_run(self._wiring, self.find_run(run_id), self._own_notices.append)

    def detach(self, run: LiveRun) -> RunInfo:
        """Leave a run that is about to begin, or to go on, to others to drive: it outlives this process.

        That is the daemon of the home, or a process for this run alone. Returns once it is taken up. Raises
        `UsageError` for a run that only this program can drive, and `RunError` if nobody takes it up.
        """
        return self.driving.detach(run)

    def is_driven(self) -> bool:
        """Whether a daemon or a server takes up the runs of this home that are due."""
        return self._wiring.dispatch.is_driven()

    @property
    def driving(self) -> Driving:
        """The runs of this home, for those who drive them for others."""
        from pflow.workspace.driving.driving import Driving  # lazy: most runs are driven by their caller

        return Driving(self._wiring)

    def run_flow(
        self, start: object, shared: MutableMapping[str, object] | None = None, *, cache: bool = True
    ) -> Outcome:
        """Run a PocketFlow flow, or the nodes after `start`, and leave what they wrote in `shared`."""
        from pflow.execution.flow_run import run_flow  # lazy: only for compositions in Python

        return run_flow(self._wiring, start, shared, observer=self._observer, cache=cache)

    @property
    def schedules(self) -> Scheduling:
        """Saved workflows that run at times: added, listed, paused, and started when they are due."""
        from pflow.workspace.schedule.scheduling import Scheduling  # lazy: most runs are not scheduled

        return Scheduling(self, self._wiring, self._own_notices)

    # Runs and traces

    def find_runs(self, prefix: str) -> list[str]:
        """Ids of runs that begin with `prefix`."""
        return [run.run_id for run in self._wiring.journal.runs(RunQuery(prefix=prefix, limit=None))]

    def show_run(self, run_id: str) -> dict[str, object]:
        """One run: its state, its steps and what each wrote."""
        run_id = self.find_run(run_id)
        alive = self._wiring.journal.info(run_id).alive
        return {**read_trace(self._wiring.journal, run_id), "alive": alive}

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
        from pflow.workspace.looking.trace_page import select  # lazy: not for runs

        trace = find_trace(self.home.debug, reference, self._wiring.journal)
        return select(trace, self._wiring.journal, step=step, field=field, offset=offset, limit=limit)

    # The library

    def describe(self, workflow: Workflow | Checked) -> Description:
        """What a workflow takes, gives, does and needs, whether or not all of that is there."""
        checked = workflow if isinstance(workflow, Checked) else self.check(workflow)
        from pflow.execution.describe import describe_checked  # lazy: not for runs

        source = checked.source
        if not (source.library or source.draft):
            return describe_checked(checked)
        manager = self._library() if source.library else WorkflowManager.for_drafts(self.home)
        return describe_checked(checked, manager.describe(source.library or source.draft))

    def document(self, workflow: Workflow) -> object:
        """The document that a reference means, as its author gave it, whether or not it is valid."""
        return find_source(workflow, self.home, self._wiring.projects).parsed.places.value

    def save(
        self,
        workflow: Workflow,
        name: str,
        description: str = "",
        *,
        overwrite: bool = False,
        draft: bool = False,
        with_included: bool = False,
    ) -> Path:
        """Keep a checked workflow under a name; raises `ExistsError` for one that is taken.

        A draft that goes to the library is a draft no more. What a workflow includes by a relative path is refused, or
        saved along `with_included`, and then included by its name.
        """
        checked = self.check(workflow)
        checked.ready()
        if draft:
            text = text_of_parsed(checked.source.parsed)
            return WorkflowManager.for_drafts(self.home).save(name, text, description, overwrite=overwrite)
        if with_included:
            return self.library.save_with_included(checked, name, description, overwrite=overwrite)
        self._own_notices += self.library.check_included(checked)
        if checked.source.draft and not overwrite:
            return self._library().promote(checked.source.draft, name, description)
        return self._library().save(name, text_of_parsed(checked.source.parsed), description, overwrite=overwrite)

    def format(self, workflow: Workflow, *, write: bool = False) -> Formatted:
        """A document in canonical form, comments and meaning unchanged; with `write` it takes the place of what was."""
        from pflow.workspace.formatting import form_workflow  # lazy: runs form nothing

        return form_workflow(workflow, self.home, write=write)

    @property
    def library(self) -> Library:
        """Saved workflows as texts: read, compared, edited, restored."""
        from pflow.workspace.library import Library  # lazy: runs change nothing

        return Library(self.home, self._check, self._wiring.projects, self.projects, self.state)

    @property
    def projects(self) -> ProjectFolders:
        """What projects bring along, and agreeing to it."""
        from pflow.workspace.project import ProjectFolders  # lazy: runs only use what was agreed to

        return ProjectFolders(self.home, self._wiring.projects, self._start, self.state)

    @property
    def sharing(self) -> Sharing:
        """Workflows of others: looked at, and taken into the library."""
        from pflow.workspace.sharing.sharing import Sharing  # lazy: runs take nothing

        return Sharing(self.home, self.check)

    def needs(self, workflow: Workflow) -> Needs:
        """What a workflow requires that is not there, or is there in another way."""
        from pflow.execution.need.requirement import find_needs  # lazy: runs ask when they are checked

        return find_needs(self._wiring, find_source(workflow, self.home, self._wiring.projects))

    @property
    def state(self) -> KeptState:
        """What workflows keep between runs."""
        from pflow.workspace.keeping.state import KeptState  # lazy: runs read it by themselves

        return KeptState(
            lambda: self._wiring.journal.states,
            lambda name: find_source(name, self.home, self._wiring.projects),
            self._wiring.find_redactor,
        )

    @property
    def drafts(self) -> Drafts:
        """Workflows that are still being worked on."""
        from pflow.workspace.drafts import Drafts  # lazy: runs keep nothing

        return Drafts(self.home, self.check)

    def workflows(self, query: str = "", *, drafts: bool = False) -> list[SavedWorkflow]:
        """Saved workflows, those that match `query`."""
        managers = [self._library(), *([WorkflowManager.for_drafts(self.home)] if drafts else [])]
        for manager in managers:
            self._own_notices.extend(manager.two_files())
        saved = [
            read_metadata(found, is_draft=manager.kind == "draft")
            for manager in managers
            for found in (manager.search(query) if query else manager.list_all())
        ]
        projects = self._wiring.projects.agreed()
        if not projects:
            return saved
        from pflow.workspace.project_list import with_projects  # lazy: most directories belong to no project

        return with_projects(projects, saved, query)

    def delete(self, name: str) -> None:
        """Remove a workflow from the library."""
        self.library.delete(name)

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

    def schema(self, types: Collection[str] = ()) -> dict[str, object]:
        """The JSON Schema of documents, with these node types, or with all that there are."""
        from pflow.workspace.document_schema import document_schema  # lazy: checking does not use it

        return document_schema([self.node_type(name) for name in types] or self.node_types())

    def describe_node(self, name: str, *, focus: str = "") -> NodeDetail:
        """What a node type does and takes, in full; with a `focus` only what stands at that path of a parameter."""
        from pflow.mcp.tools.detail import describe_entry  # lazy: not for runs

        return describe_entry(self.node_type(name), focus=focus)

    def one_step(self, name: str, params: Mapping[str, object], *, text: bool = False) -> dict[str, object]:
        """A workflow that runs one node on its own; with `text` the params are words of a command line."""
        from pflow.workspace.one_step import one_step  # lazy: runs of documents need none

        return one_step(self.node_type(name), params, text=text)

    def output_paths(self, name: str, outputs: Mapping[str, object]) -> list[str]:
        """What templates can name in the outputs of a node type, with types; also in text of a tool that holds JSON."""
        from pflow.workspace.output_path import output_paths  # lazy: not for runs

        return output_paths(self.node_type(name), outputs)

    @property
    def discovery(self) -> Finder:
        """Finds node types and workflows by a description of a task."""
        from pflow.workspace.finder import Finder  # lazy: runs look for nothing

        wiring = self._wiring
        return Finder(self.home, wiring.registry, wiring.projects.agreed(), lambda: wiring.services.llm())

    def scan(self) -> list[str]:
        """Read all node sources again; returns what could not be used."""
        self._wiring.registry.rescan()
        self._wiring.registry.save()
        return list(self._wiring.registry.notices)

    def validate_registry(self, *, tools_only: bool = False) -> tuple[int, list[Issue]]:
        """How many node types there are, or tools of MCP servers, and why some cannot be used."""
        from pflow.workspace.registry_check import check_entries  # lazy: not for runs

        return check_entries(self._wiring.registry, self.home, tools_only=tools_only)

    # Settings and servers

    def setting(self, key: str) -> Setting:
        """One setting; a credential comes back masked."""
        return self._wiring.settings.get(key)

    def settings(self) -> list[Setting]:
        """Every setting."""
        return self._wiring.settings.list()

    def set_setting(self, key: str, value: str) -> None:
        """Store a credential or an option."""
        settings = Settings(self.home)  # not the loaded ones: they may be what has to be replaced
        settings.set(key, value)
        self._own_notices += settings.notices

    def unset_setting(self, key: str) -> None:
        """Forget a credential or an option."""
        settings = Settings(self.home)
        settings.unset(key)
        self._own_notices += dict.fromkeys(settings.notices)

    @property
    def servers(self) -> Servers:
        """The configured MCP servers."""
        from pflow.workspace.servers import Servers  # lazy: runs need no configuring

        return Servers(self._wiring, self._own_notices)

    @property
    def output_limit(self) -> int:
        """Bytes of a value that an agent gets to see at once."""
        return self._wiring.settings.number("output.limit_kb") << 10

    def redact(self, value: object) -> object:
        """The value without any secret that is known here."""
        return self._wiring.find_redactor().value(value)

    def hidden_in(self, text: str) -> list[tuple[str, str]]:
        """Every marker that `redact` puts into a string, in order, with the secret that it stands for."""
        return self._wiring.find_redactor().hidden(text)

    def redact_report(self, report: F) -> F:
        """The same for a message or an answer whose strings may have been cut in the middle of a secret."""
        return self._wiring.find_redactor().report(report)

    def _check(self, source: Source) -> Checked:
        return check_source(self._wiring, source)

    def _library(self) -> WorkflowManager:
        return WorkflowManager(self.home)
