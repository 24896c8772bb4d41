"""The part of Temporal's client that a process has once, and what it may log: nothing, unless somebody asks for it.

By itself it writes coloured lines to stderr, some for each call that it tries again. What of that matters is said by
those who call it.
"""

from __future__ import annotations

import logging
import os
from functools import cache

from temporalio.runtime import LogForwardingConfig, LoggingConfig, Runtime, TelemetryConfig, TelemetryFilter

_LOGGER = "temporalio"
"""Parent of all loggers of the client."""


@cache
def own_runtime() -> Runtime:
    """The runtime of this process: each has threads of its own.

    It logs where `PFLOW_DEBUG` is set, or a program has given the logger `temporalio` a level before.
    """
    logger = logging.getLogger(_LOGGER)
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING if os.environ.get("PFLOW_DEBUG") else logging.CRITICAL)
    told = LoggingConfig(
        filter=TelemetryFilter(core_level="WARN", other_level="ERROR"), forwarding=LogForwardingConfig(logger)
    )
    return Runtime(telemetry=TelemetryConfig(logging=told if logger.isEnabledFor(logging.WARNING) else None))
