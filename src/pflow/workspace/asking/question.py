"""What those who ask people on behalf of runs need: questions as they are shown, and how replies are read."""

from pflow.engine.asking.form import Reply, is_optional, options_of, read_reply
from pflow.engine.ports import Given
from pflow.execution.asking.answer import Answer, Answered, Waiting, show_waiting, waits_data

__all__ = [
    "Answer",
    "Answered",
    "Given",
    "Reply",
    "Waiting",
    "is_optional",
    "options_of",
    "read_reply",
    "show_waiting",
    "waits_data",
]
