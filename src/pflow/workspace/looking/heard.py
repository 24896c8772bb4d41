"""What following a run gives, for those who show it."""

from pflow.adapters.live_output import LiveLine
from pflow.execution.past.follow import Ending, Heard

__all__ = ["Ending", "Heard", "LiveLine"]
