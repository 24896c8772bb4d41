"""The database of a place, opened when it is first needed and again after it was lost; knows no runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pflow.adapters.postgres.migration import check_version, migrate
from pflow.adapters.postgres.session import Session, SessionError
from pflow.core.advice import Advice
from pflow.core.errors import StorageError
from pflow.core.setting.place import Place, journal_of

_BEGIN = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '10s'"
"""A process that is frozen amid a transaction must not keep others from its rows for longer."""

_AUTHENTICATION = ("28P01", "28000")
_NO_STATEMENT = "26000"


class PostgresDatabase:
    """One session at a time, for one process. `on_open` is called with each new one, before anything else uses it."""

    def __init__(self, place: Place, password: str = "") -> None:
        self.place = place
        self.address = journal_of(place)
        self.on_open: list[Callable[[Session], None]] = []
        self.lock = threading.RLock()
        self.is_closed = False
        self._password = password
        self._session: Session | None = None
        self._depth = 0
        self._broken: StorageError | None = None

    @property
    def in_transaction(self) -> bool:
        """Whether something is under way that becomes durable together."""
        return self._depth > 0

    @property
    def is_open(self) -> bool:
        """Whether there is a session."""
        return self._session is not None

    @contextmanager
    def using(self) -> Iterator[Session]:
        """The session; its errors come as `StorageError`, and a lost session is opened again by the next use."""
        with self.lock:
            if self._broken is not None:
                raise self._broken
            try:
                yield self._open()
            except SessionError as error:
                failure = self.failure(error)
                if self._depth:
                    self._broken = failure
                if error.lost:
                    self._let_go()
                raise failure from error
            except (KeyboardInterrupt, SystemExit):
                self._let_go()  # amid an answer, the rest of which would be taken for that to the next question
                raise

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """All or nothing. One inside another is a part of it that can fail alone."""
        with self.lock:
            nested = self._depth > 0
            with self.using() as session:
                session.script("SAVEPOINT part" if nested else _BEGIN)
            self._depth += 1
            try:
                yield session
                with self.using() as session:
                    session.script("RELEASE SAVEPOINT part" if nested else "COMMIT")
            except SessionError as error:
                failure = self.failure(error)
                if error.lost:
                    self._let_go()
                    self._broken = failure
                self._undo(nested)
                raise failure from error
            except BaseException:  # undone, and raised again
                self._undo(nested)
                raise
            finally:
                self._depth -= 1
                if not nested:
                    self._broken = None

    def migrate(self) -> tuple[int, int]:
        """Bring the schema up to date; its versions before and after."""
        with self.lock:
            try:
                session = Session(self.address, self._password, prepares=False)
                try:
                    return migrate(session, self.place.name)
                finally:
                    session.close()
            except SessionError as error:
                raise self.failure(error) from error

    def close(self) -> None:
        """End the session for good."""
        with self.lock:
            self.is_closed = True
            self._let_go()

    def failure(self, error: SessionError) -> StorageError:
        """What to raise for what went wrong, with the address and without the password."""
        where = f"the journal of place `{self.place.name}` at `{self.address}`"
        key = f"on.{self.place.name}"
        if error.code in _AUTHENTICATION:
            advice = Advice("store the password with `{store_secret}`", name=self.place.journal_password or "NAME")
            named = Advice("name the credential with `{set_option}`", name=f"{key}.journal_password", value="NAME")
            hints = [advice] if self.place.journal_password else [advice, named]
            return self._error(f"{where} refuses us: {error.message}", error, hints)
        if error.code == _NO_STATEMENT:
            hint = Advice("if a pooler stands before it, say so: `{set_option}`", name=f"{key}.pooler", value="true")
            return self._error(f"{where} does not know a statement that was prepared", error, [hint])
        if error.lost:
            hint = Advice("see that it runs and that `{get_setting}` is right", name=f"{key}.journal")
            return self._error(f"{where} cannot be reached: {error.message}", error, [hint])
        return self._error(f"{where} failed: {error.message}", error, [])

    def _error(self, message: str, error: SessionError, hints: list[Advice]) -> StorageError:
        code = {"sqlstate": error.code} if error.code else {}
        details = {"place": self.place.name, "address": str(self.address), **code}
        return StorageError(message, details=details, suggestions=hints)

    def _open(self) -> Session:
        if self.is_closed:
            raise StorageError("the journal is closed")
        if self._session is None:
            session = Session(self.address, self._password, prepares=not self.place.pooler)
            try:
                check_version(session, self.place.name)
                for tell in self.on_open:
                    tell(session)
            except BaseException:  # undone, and raised again
                session.close()
                raise
            self._session = session
        return self._session

    def _undo(self, nested: bool) -> None:
        if self._session is None:
            return
        try:
            self._session.script("ROLLBACK TO SAVEPOINT part" if nested else "ROLLBACK")
        except SessionError as error:
            self._broken = self._broken or self.failure(error)
            self._let_go()
        else:
            if nested:
                self._broken = None

    def _let_go(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()
