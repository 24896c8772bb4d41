"""The only place where adapters are chosen: a home's journal, settings, registry and services, made on first use."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Mapping
from functools import cached_property

from pflow.core.event import Event, ItemFailed, RunFailed, StepFailed
from pflow.core.option import OPTIONS
from pflow.core.path import Home
from pflow.core.secret import Redactor
from pflow.core.settings import Settings
from pflow.engine.executor import Executor
from pflow.engine.ports import Journal, Observer, Services
from pflow.registry.registry import Registry


class Wiring:
    """Everything that a process needs to check and run workflows of one home."""

    def __init__(self, home: Home, *, environ: Mapping[str, str] | None = None, journal: Journal | None = None) -> None:
        self.home = home
        self._environ = os.environ if environ is None else environ
        self._journal = journal

    @cached_property
    def settings(self) -> Settings:
        """Options and credentials. Raises `CorruptError` while they are lost."""
        return Settings.load(self.home, environ=self._environ)

    @cached_property
    def registry(self) -> Registry:
        """Node types."""
        return Registry.load(self.home)

    @cached_property
    def redactor(self) -> Redactor:
        """Keeps every known secret out of what is recorded and shown."""
        return Redactor(self.settings.secrets())

    @cached_property
    def journal(self) -> Journal:
        """Where runs are kept."""
        if self._journal is not None:
            return self._journal
        from pflow.adapters.sqlite_journal import (
            SqliteJournal,  # lazy: listing and validating open no database
        )

        return SqliteJournal(self.home.journal, sync=str(self.settings.option("journal.sync")))

    @cached_property
    def services(self) -> Services:
        """What steps may use."""
        values = {key: self.settings.option(key) for key in OPTIONS}
        options = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in values.items()}
        return Services(home=self.home.root, settings=ChainMap(options, dict(self.settings.variables())))

    def executor(self, observer: Observer | None, *, use_cache: bool = True) -> Executor:
        """An executor for one event loop."""
        watched = None if observer is None else _Discreet(observer, self.redactor)
        return Executor(self.journal, self.services, observer=watched, redactor=self.redactor, use_cache=use_cache)

    def notices(self) -> list[str]:
        """What the parts that were used have to say, each thing once."""
        found: list[str] = []
        for name in ("settings", "registry", "journal"):
            part = self.__dict__.get(name)
            found.extend(getattr(part, "notices", ()))
        return list(dict.fromkeys(found))

    def close(self) -> None:
        """Let the journal go."""
        journal = self.__dict__.pop("journal", None)
        if journal is not None:
            journal.close()


class _Discreet:
    """Passes on to whoever watches, without the secrets in what went wrong and in what steps say."""

    def __init__(self, observer: Observer, redactor: Redactor) -> None:
        self._observer = observer
        self._redactor = redactor

    def notify(self, run_id: str, event: Event) -> None:
        """An event took effect."""
        if isinstance(event, StepFailed | ItemFailed | RunFailed):
            shown = {name: self._redactor.value(value) for name, value in event.error.items()}
            event = event._replace(error=shown)
        self._observer.notify(run_id, event)

    def report(self, run_id: str, step: str, message: str) -> None:
        """A step says what it is doing."""
        self._observer.report(run_id, step, self._redactor.text(message))
