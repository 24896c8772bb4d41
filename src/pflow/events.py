"""The events of a run, as observers get them."""

from pflow.core.event import *  # noqa: F403
from pflow.core.event import EVENTS as _EVENTS

__all__ = list(_EVENTS)
