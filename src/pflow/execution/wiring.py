"""The only place where adapters are chosen: a home's journal, settings, registry and services, made on first use."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypedDict, Unpack

from pflow.core.errors import CorruptError, PflowError
from pflow.core.file.atomic import check_folder
from pflow.core.file.home import Home
from pflow.core.project.projects import Projects
from pflow.core.rate import Rate
from pflow.core.setting.redactor import Redactor
from pflow.core.setting.secret_seal import KEY_BYTES
from pflow.core.setting.secret_search import MIN_SECRET
from pflow.core.setting.settings import GivenOptions, Settings
from pflow.engine.ports import Asker, Cache, Dispatch, Journal, Observer, Schedules, Services, Spread, Staying
from pflow.registry.entry import Entry
from pflow.registry.registry import Registry

if TYPE_CHECKING:
    from types import ModuleType

    from pflow.adapters.driving_process import DrivingProcesses
    from pflow.adapters.live_output import LiveOutput
    from pflow.adapters.model.models import Models
    from pflow.adapters.postgres.database import PostgresDatabase
    from pflow.adapters.postgres.roster import Roster
    from pflow.adapters.sqlite_journal import SqliteJournal
    from pflow.adapters.telemetry import Telemetry
    from pflow.core.setting.place import Place
    from pflow.engine.asking.waits import Patience
    from pflow.engine.attempt.turn import Limits
    from pflow.engine.executor import Executor
    from pflow.engine.model.llm import LLM
    from pflow.engine.plan import Plan
    from pflow.execution.plan_memo import PlanMemo
    from pflow.mcp.pool import Connections, Pool
    from pflow.process.workers import Workers
    from pflow.registry.project_node import ProjectNode


_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
"""Variables that name a collector."""


class Parts(TypedDict, total=False):
    """What a process that lives on keeps from one piece of work to the next; what is missing is made when needed.

    `secrets` are those of the process itself, by name, which nothing that is stored or shown may hold. `nodes` are
    functions, PocketFlow classes and modules of the program, which are node types here and nowhere else. `driven` says
    that the process drives runs for others, and `ticket` is what it was given for one of them, which it surely has as
    long as it `holds` it. `on` names a place in the settings, where runs are kept instead of in the home, and `queue`
    the one of its queues that is meant, instead of the one that the settings name. `staying` is told what a run waits
    for; with it, the process stays with its runs while nobody else would take them up when they can go on. `llm` asks
    language models, in place of what is configured. `lends` says that whoever starts runs answers prompts for which
    there is no model. `roster` tells who works at the place, and `spread` has items of batches driven by others.
    `plans` are those of documents that were checked before.
    """

    environ: Mapping[str, str]
    on: str
    queue: str
    secrets: Mapping[str, str]
    journal: Journal
    cache: Cache
    schedules: Schedules
    dispatch: Dispatch
    driven: bool
    ticket: int
    holds: Callable[[], bool]
    pool: Pool
    workers: Workers | None
    limits: Limits
    registry: Callable[[], Registry]
    nodes: Sequence[Callable[..., object] | ModuleType]
    projects: Projects
    asker: Asker
    patience: Patience
    staying: Staying
    llm: LLM
    lends: bool
    roster: Roster
    spread: Spread
    plans: PlanMemo
    settings: Callable[..., Settings]


class Wiring:
    """Everything that a process needs to check and run workflows of one home.

    Raises `SecurityError` for a home that other users could have changed.
    """

    def __init__(self, home: Home, **parts: Unpack[Parts]) -> None:
        check_folder(home.root)
        self.home = home
        self._parts = parts
        self._said: list[str] = []
        self._telemetry: list[Telemetry] = []
        self._short: dict[str, dict[str, str]] = {}
        self.spread = parts.get("spread")
        self.plans = parts.get("plans")
        self._brought: Mapping[str, Entry] = {}
        if parts.get("nodes"):
            from pflow.registry.brought import brought_entries  # lazy: only for programs with nodes of their own

            self._brought = brought_entries(parts["nodes"])

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment that settings, servers and steps are read from."""
        return self._parts.get("environ", os.environ)

    @cached_property
    def projects(self) -> Projects:
        """What projects bring along; nothing, unless the caller says where to look for them."""
        return self._parts.get("projects") or Projects(self.home)

    @cached_property
    def settings(self) -> Settings:
        """Options and credentials. Raises `CorruptError` while they are lost."""
        load = self._parts.get("settings") or partial(Settings.load, self.home, environ=self.environ)
        return load(given=self._project_options)

    @cached_property
    def registry(self) -> Registry:
        """Node types."""
        load = self._parts.get("registry") or partial(Registry.load, self.home)
        registry = load()
        registry.bring(self._brought)
        if "projects" in self._parts:
            registry.bring_projects(self._project_nodes)
        return registry

    @cached_property
    def redactor(self) -> Redactor:
        """Keeps every known secret out of what is recorded and shown."""
        redactor = Redactor({**self.settings.secrets(), **self._parts.get("secrets", {})}, key=self._key)
        if self.home.servers.exists():
            self._know_servers(redactor)
        return redactor

    def find_redactor(self) -> Redactor:
        """The redactor, for what needs no settings otherwise; damaged ones are left as they are: `CorruptError`."""
        if "settings" not in self.__dict__ and self.home.settings.exists():
            # lazy: without settings there is nothing to look at
            from pflow.core.file.atomic import JSON_LIMIT, parse_object, read_private

            if parse_object(read_private(self.home.settings, JSON_LIMIT)) is None:
                raise CorruptError(f"`{self.home.settings}` is damaged")
        return self.redactor

    @cached_property
    def journal(self) -> Journal:
        """Where runs are kept: in the home, or at the place that the caller names."""
        return self._parts.get("journal") or (self._place_journal if self.place else self.own_journal)

    @cached_property
    def place(self) -> Place | None:
        """The place where runs are kept, if it is not the home."""
        name = self._parts.get("on")
        if not name:
            return None
        from pflow.core.setting.place import FAMILY, read_place  # lazy: most runs are kept at home

        place = read_place(name, self.settings.family(FAMILY))
        return place._replace(queue=self._parts.get("queue") or place.queue)

    @cached_property
    def place_database(self) -> PostgresDatabase:
        """The database of the place; connected to when it is first used. Raises `UsageError` without a place."""
        from pflow.execution.place.database import open_place  # lazy: most runs are kept at home

        return open_place(self.place, self.settings.lookup, self.redactor)

    @cached_property
    def roster(self) -> Roster:
        """Who works at the place. Raises `UsageError` without a place."""
        if "roster" in self._parts:
            return self._parts["roster"]
        database = self.place_database  # before what follows: it says what is missing
        from pflow.adapters.postgres.roster import Roster  # lazy: most runs are driven at home

        return Roster(database)

    @cached_property
    def _place_journal(self) -> Journal:
        database = self.place_database  # before what follows: it says what is missing
        from pflow.adapters.postgres.journal import PostgresJournal  # lazy: most runs are kept at home

        return PostgresJournal(database)

    @cached_property
    def cache(self) -> Cache:
        """Where results of pure steps are kept: beside the runs, or in memory, if the caller brought the journal."""
        if "cache" in self._parts:
            return self._parts["cache"]
        if "journal" in self._parts:
            from pflow.adapters.memory_cache import MemoryCache  # lazy: for tests and throw-away runs

            return MemoryCache()
        from pflow.adapters.sqlite_cache import SqliteCache  # lazy: listing and validating open no database

        return SqliteCache(self.own_journal.database)

    @cached_property
    def schedules(self) -> Schedules:
        """Where schedules are kept: beside the runs, or in memory, if the caller brought the journal."""
        if "schedules" in self._parts:
            return self._parts["schedules"]
        if "journal" in self._parts:
            from pflow.adapters.memory_schedules import MemorySchedules  # lazy: for tests

            return MemorySchedules()
        from pflow.adapters.sqlite_schedules import SqliteSchedules  # lazy: runs look at no schedules

        return SqliteSchedules(self.own_journal.database)

    @cached_property
    def dispatch(self) -> Dispatch:
        """Who has runs driven by others: nobody but the program, if it brought the journal."""
        if "dispatch" in self._parts:
            return self._parts["dispatch"]
        if self.place is not None and self.place.temporal is not None:
            from pflow.execution.place.queue import open_queue  # lazy: most runs are driven at home

            return open_queue(self)
        if "journal" in self._parts or self.place:
            from pflow.adapters.memory_dispatch import MemoryDispatch  # lazy: for tests and throw-away runs

            return MemoryDispatch(self.journal)
        from pflow.adapters.process_dispatch import ProcessDispatch  # lazy: most runs are driven by their caller

        return ProcessDispatch(self.home, self.journal, lambda: self.driving_processes)

    @cached_property
    def driving_processes(self) -> DrivingProcesses:
        """Starts processes that drive a run each."""
        from pflow.adapters.driving_process import DrivingProcesses  # lazy: few processes start others

        return DrivingProcesses(self.home, self.environ)

    @cached_property
    def own_journal(self) -> SqliteJournal:
        """The journal of the home, wherever runs are kept."""
        from pflow.adapters.sqlite_journal import SqliteJournal  # lazy: listing and validating open no database

        return SqliteJournal(self.home.journal, sync=str(self.settings.option("journal.sync")))

    @cached_property
    def tools(self) -> Connections:
        """The tools of MCP servers; nothing is started before one is needed."""
        from pflow.mcp.pool import Connections, Pool  # lazy: asyncio costs 20 ms, only to run

        pool = self._parts.get("pool") or Pool(
            self.home,
            variables=self.settings.variables,
            warn=self._say,
            learn=lambda token: self.redactor.add("token", token),
        )
        return Connections(
            pool, registry=lambda: self.registry, starting=lambda: self._know_servers(self.redactor), heard=self._heard
        )

    @cached_property
    def services(self) -> Services:
        """What steps may use."""
        return Services(
            home=self.home.root,
            settings=ChainMap(self.settings.options(), self.settings.step_variables()),
            tools=self.tools,
            workers=lambda: self._workers,
            llm=lambda: self.llm,
            live=lambda run_id, step, stream, text: self.live_output(run_id, step, stream, text),
            files=self.place.shared_files if self.place is not None else None,
        )

    @cached_property
    def live_output(self) -> LiveOutput:
        """What steps say while they run, for those who follow."""
        from pflow.adapters.live_output import LiveOutput  # lazy: most steps are short and say nothing

        return LiveOutput(self.home.live, self.redactor.text)

    def end_live(self, run_id: str) -> None:
        """A run is over here, and says nothing more."""
        if "live_output" in self.__dict__:
            self.live_output.end(run_id)

    @cached_property
    def llm(self) -> LLM:
        """Who answers prompts: what the caller brought, else what the settings and the environment name."""
        return self._parts.get("llm") or self.models

    @cached_property
    def models(self) -> Models:
        """The language models of the settings and the environment."""
        from pflow.execution.model.configured import open_models  # lazy: few documents ask a model

        return open_models(self)

    @cached_property
    def _workers(self) -> Workers | None:
        from pflow.process.workers import make_workers  # lazy: only for steps that need a process

        return self.given_workers or make_workers(lives_long=False)

    @property
    def given_workers(self) -> Workers | None:
        """The child processes that a process keeps ready which lives on after a run."""
        return self._parts.get("workers")

    def executor(self, observer: Observer | None, *, use_cache: bool = True) -> Executor:
        """An executor for one event loop."""
        from pflow.engine.attempt.turn import Turns  # lazy: asyncio costs 20 ms, only to run
        from pflow.engine.executor import Executor  # lazy: asyncio and the engine cost 30 ms, only to run

        return Executor(
            self.journal,
            self.services,
            observer=observer,
            redactor=self.redactor,
            cache=self.cache if use_cache else None,
            turns=Turns(self.limits, self._server_rate),
            asker=self._parts.get("asker"),
            patience=self._patience,
            staying=self._parts.get("staying"),
            secret=self._key if self.place is None else lambda: self.roster.key(),
            driven=self.is_driving,
            lends=self.lends,
            ticket=self._parts.get("ticket", 0),
            holds=self._parts.get("holds"),
            spread=self.spread,
        )

    @property
    def has_workers(self) -> bool:
        """Whether others drive what is begun here: the workers of the place."""
        return self.place is not None and self.place.temporal is not None and not self.is_driving

    @property
    def wants_telemetry(self) -> bool:
        """Whether runs are told to a collector of OpenTelemetry."""
        return any(self.environ.get(name) for name in _ENDPOINTS) and self.environ.get("OTEL_SDK_DISABLED") != "true"

    def telemetry(self, run_id: str, plan: Plan, observer: Observer | None) -> Telemetry | None:
        """An observer that tells a collector of a run; None, with a notice, if what it needs is not installed."""
        try:
            from pflow.adapters.telemetry import Telemetry  # lazy: only where a collector is configured
        except ImportError:
            self._said.append(
                "OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry is not installed: `pip install 'pflow[otel]'`"
            )
            return None
        told = Telemetry(run_id, plan, redact=self.redactor.text, tool_of=self._tool_of, then=observer)
        self._telemetry = [*(one for one in self._telemetry if not one.is_done), told]
        return told

    def _tool_of(self, kind: str) -> str:
        tool = self.registry.get(kind).tool if kind in self.registry else None
        return kind if tool is None else tool.tool

    @property
    def is_driving(self) -> bool:
        """Whether runs are driven here for others."""
        return self._parts.get("driven", False)

    @property
    def lends(self) -> bool:
        """Whether whoever starts runs here answers prompts for which there is no model."""
        return self._parts.get("lends", False)

    def _patience(self) -> Patience:
        """How long this process waits when there is nothing else to do."""
        from pflow.engine.asking.waits import Patience  # lazy: many documents never wait

        given = self._parts.get("patience")
        if given is not None:
            return given
        seconds = float(self.settings.number("wait.in_process_seconds"))
        return Patience(seconds=seconds, stays="staying" in self._parts and not self.dispatch.is_driven())

    @cached_property
    def limits(self) -> Limits:
        """How fast steps may start, over all runs."""
        from pflow.engine.attempt.turn import Limits  # lazy: asyncio costs 20 ms, only to run

        return self._parts.get("limits") or Limits()

    def _server_rate(self, server: str) -> Rate | None:
        """How often a server may be called, as it is configured when a run first calls it."""
        try:
            return self.tools.rate(server)
        except PflowError:
            return None  # the call says what is wrong

    def notices(self) -> list[str]:
        """What the parts that were used have to say, each thing once."""
        used = (self.__dict__.get(name) for name in ("settings", "registry", "journal"))
        found = [notice for part in used for notice in getattr(part, "notices", ())]
        return list(dict.fromkeys([*found, *self.projects.notices, *self._said]))

    def _project_options(self) -> GivenOptions:
        """The options of projects. Nobody is asked for these: a step or a redactor may be what reads them."""
        projects = self.projects.agreed_already()
        if not projects:
            return {}
        from pflow.core.project.project import merge_options  # lazy: most directories belong to no project

        return merge_options(projects)

    def _project_nodes(self) -> tuple[list[ProjectNode], list[str]]:
        projects = self.projects.with_nodes()
        if not projects:
            return [], []
        from pflow.registry.project_node import project_nodes  # lazy: most directories belong to no project

        return project_nodes(projects)

    def _key(self) -> bytes:
        """The key to what the journal holds encrypted: of the place, else of the home, made when first needed."""
        if self.place is not None and self.place.key:
            from pflow.execution.place.key import place_key  # lazy: most runs are kept at home

            return place_key(self.place, self.settings.lookup)
        # lazy: few runs come by a credential
        from pflow.core.file.atomic import locked, read_private, write_atomic

        with locked(self.home.key):
            if not self.home.key.exists():
                write_atomic(self.home.key, os.urandom(KEY_BYTES))
            return read_private(self.home.key, KEY_BYTES)

    def derive_key(self, purpose: str) -> bytes:
        """A secret of the home for one purpose, the same in every process."""
        # lazy: only for what leaves the home and has to be recognised when it comes back
        import hmac

        return hmac.digest(self._key(), f"pflow {purpose}".encode(), "sha256")

    def _know_servers(self, redactor: Redactor) -> None:
        """Know the secrets that servers are given, as they are configured by now."""
        from pflow.mcp.server.server_secret import secrets_by_server  # lazy: only where servers are configured

        self._short = {}
        for server, secrets in secrets_by_server(self.home, self.settings.variables()).items():
            for name, value in secrets.items():
                if len(value) >= MIN_SECRET:
                    redactor.add(name, value)
                else:
                    self._short.setdefault(server, {})[name] = value

    def _heard(self, server: str, result: object) -> None:
        """Hide a short secret of a server from when the server gives it: elsewhere the same word is not a secret."""
        if server in self._short:
            # lazy: few servers have short secrets
            from pflow.engine.credential import leaves

            words = {text for _, text in leaves("", result)}
            for name, value in self._short[server].items():
                if value in words:
                    self.redactor.keep(name, value)

    def _say(self, warning: str) -> None:
        self._said.append(self.redactor.text(warning))

    def close(self) -> None:
        """Close everything that is stored, and end child processes that wait, unless the caller brought them."""
        for telemetry in self._telemetry if self.given_workers is None else ():
            telemetry.join()  # a process that lives on need not wait for it
        self.__dict__.pop("journal", None)
        for name in ("dispatch", "schedules", "cache", "_place_journal", "place_database", "own_journal"):
            part = self.__dict__.pop(name, None)
            if part is not None and name not in self._parts:
                part.close()
        workers = self.__dict__.pop("_workers", None)
        if workers is not None and workers is not self.given_workers:
            workers.close()
