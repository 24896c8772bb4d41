"""The model that answers in examples: for each command that needs one, what was recorded in tests/data/planner."""

from __future__ import annotations

from pathlib import Path

from pflow.adapters.scripted_llm import ScriptedLLM
from pflow.execution.wiring import Parts

_DATA = Path(__file__).parents[1] / "data" / "planner"

_RECORDINGS = {
    'pflow "count the lines of notes.txt"': "good",
    'pflow "count the lines of notes.txt" --yes': "good",
    'pflow "how many words has notes.txt?" --yes': "reuse",
    'pflow "how many files are here?" --yes': "shell",
    'pflow "count the lines of my notes" --yes': "never_valid",
    "pflow plan 'count the lines of notes.txt' --plan-only": "good",
    "pflow run greet.json --repair": "repair_good",
    "pflow run greet.json --repair --yes": "repair_good",
}


def parts_for(command: str) -> Parts | None:
    """What a command is given in place of a configured model."""
    name = _RECORDINGS.get(command)
    return None if name is None else {"llm": ScriptedLLM.from_file(_DATA / f"{name}.json")}
