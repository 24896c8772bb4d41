"""Opens the queue of a place: its settings, the client of its service, and the key that a credential holds."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from pflow.core.advice import Advice
from pflow.core.errors import UsageError
from pflow.core.setting.place import Place

if TYPE_CHECKING:
    from pflow.adapters.temporal.calendar import Calendar
    from pflow.adapters.temporal.connection import Queue
    from pflow.adapters.temporal.dispatch import TemporalDispatch
    from pflow.engine.ports import Timetable
    from pflow.execution.wiring import Wiring


def open_queue(wiring: Wiring) -> TemporalDispatch:
    """The dispatch of the place, not yet connected. Raises `UsageError` for what is missing."""
    queue = find_queue(wiring)
    # lazy: the client of the service is an extra
    from pflow.adapters.temporal.connection import Connection
    from pflow.adapters.temporal.dispatch import TemporalDispatch

    return TemporalDispatch(Connection(queue), wiring.journal)


def open_calendar(wiring: Wiring) -> tuple[Timetable, Calendar]:
    """Where the schedules of the place are kept, and who fires them. Raises `UsageError` for what is missing."""
    queue = find_queue(wiring)
    database = wiring.place_database
    # lazy: the client of the service and the driver are extras
    from pflow.adapters.postgres.timetable import PostgresTimetable
    from pflow.adapters.temporal.calendar import Calendar
    from pflow.adapters.temporal.dispatch import TemporalDispatch

    dispatch = wiring.dispatch
    assert isinstance(dispatch, TemporalDispatch)
    return PostgresTimetable(database, queue.name), Calendar(dispatch.connection)


def find_queue(wiring: Wiring) -> Queue:
    """The queue of the place. Raises `UsageError` for what is missing."""
    place = wiring.place
    if place is None:
        raise UsageError("say at which place, with `--on PLACE`")
    if place.temporal is None:
        key = f"on.{place.name}.temporal"
        raise UsageError(
            f"place `{place.name}` has no workers, because `{key}` is not set",
            suggestions=[Advice("name its Temporal with `{set_option}`", name=key, value="HOST:PORT/NAMESPACE")],
        )
    if find_spec("temporalio") is None:
        raise UsageError(
            f"place `{place.name}` needs the client of Temporal, which is not installed",
            suggestions=["install it with `pip install 'pflow[cluster]'`"],
        )
    from pflow.adapters.temporal.connection import Queue  # lazy: the client of the service is an extra

    return Queue(
        place=place.name,
        address=place.temporal,
        name=place.queue,
        lease_seconds=float(place.lease_seconds),
        api_key=_api_key(wiring, place),
    )


def _api_key(wiring: Wiring, place: Place) -> str:
    if not place.temporal_api_key:
        return ""
    key = wiring.settings.lookup(place.temporal_api_key)
    if not key:
        raise UsageError(
            f"the key of place `{place.name}` is not set: `on.{place.name}.temporal_api_key` names "
            f"`{place.temporal_api_key}`",
            suggestions=[Advice("store it with `{store_secret}`", name=place.temporal_api_key)],
        )
    wiring.redactor.add(place.temporal_api_key, key)
    return key
