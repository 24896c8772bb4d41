"""Large JSON is loaded without making work for the garbage collector."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import gc, sys
import orjson
from pflow.core.json_type import load_json

large = orjson.dumps([{"a": [index, {"b": index}]} for index in range(20_000)])
gc.collect()
if "frozen" in sys.argv:
    gc.freeze()
before = gc.get_freeze_count()
value = load_json(large)
young = len(gc.get_objects(generation=0)) + len(gc.get_objects(generation=1))
print(gc.isenabled(), young > 20_000, gc.get_freeze_count() >= before > 1_000, gc.get_freeze_count() < 1_000)
"""


def said(*words: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_what_was_loaded_counts_as_old() -> None:
    assert said() == ["True", "False", "False", "True"]


def test_what_a_program_has_frozen_stays_so() -> None:
    assert said("frozen") == ["True", "True", "True", "False"]
