"""What programs that serve workspaces need beside them: runs on an event loop, and the limits they share."""

from pflow.engine.asking.waits import Patience
from pflow.engine.ports import STATUSES
from pflow.execution.live_run import SIGNALS, LiveRun, TimeLimit
from pflow.execution.null_output import NullOutput
from pflow.execution.outcome import shorten, shorten_all
from pflow.execution.wiring import Parts
from pflow.mcp.call.argument import ArgumentCheck
from pflow.mcp.protocol.handshake import LEGACY, MODERN
from pflow.mcp.protocol.json_line import LINE_LIMIT, decode

__all__ = [
    "LEGACY",
    "LINE_LIMIT",
    "MODERN",
    "SIGNALS",
    "STATUSES",
    "ArgumentCheck",
    "LiveRun",
    "NullOutput",
    "Parts",
    "Patience",
    "TimeLimit",
    "decode",
    "shorten",
    "shorten_all",
]
