"""Files of a run that are on the machine of the worker that had it before."""

from __future__ import annotations

import re
from pathlib import Path

import orjson

from pflow.engine.ports import Journal

_WRITING = ("StepCompleted", "ItemCompleted")
_MOST = 100


def find_lost_files(journal: Journal, run_id: str) -> list[str]:
    """Files in the directory of the run that its steps have named, and that are not here. Large values are left out."""
    path = re.compile(rb'"((?:[^"\\]|\\.)*/' + re.escape(run_id.encode()) + rb'/(?:[^"\\]|\\.)+)"')
    named: dict[str, None] = {}
    for record in journal.read(run_id):
        if record.kind in _WRITING:
            for found in path.findall(record.data):
                named[str(orjson.loads(b'"' + found + b'"'))] = None
    return [name for name in named if Path(name).is_absolute() and not Path(name).exists()][:_MOST]
