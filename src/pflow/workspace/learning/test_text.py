"""The test of a workflow that was learnt, as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import orjson

from pflow.core.json_type import Json
from pflow.planning.learning.document_text import write_yaml
from pflow.planning.learning.learned import LearnedStep
from pflow.workspace.learning.lesson import Proof

_LARGE_BYTES = 8 << 10


def test_text(workflow: str, cassette: str, proof: Proof, steps: Sequence[LearnedStep]) -> str:
    """A test file: the workflow, played from the cassette, has these outputs and makes these calls."""
    calls = Counter(step.type for step in steps for _ in step.acts or (None,))
    expected: Json = {"status": "completed"}
    outputs = {name: _expected(value) for name, value in proof.outputs.items()}
    if outputs:
        expected["outputs"] = outputs
    expected["calls"] = dict(sorted(calls.items()))
    case = {"cassette": cassette, "expect": expected}
    return write_yaml({"workflow": workflow, "tests": {"as in the session": case}})


def _expected(value: object) -> object:
    """A value to be equal to; of a large one, its type and size."""
    is_odd = isinstance(value, Mapping) and (set(value) == {"~"} or value.keys() <= {"type", "size"})
    if len(orjson.dumps(value)) <= _LARGE_BYTES and not is_odd:
        return value
    if isinstance(value, str):
        return {"type": "string", "size": len(value)}
    if isinstance(value, list):
        return {"type": "array", "size": len(value)}
    return {"type": "object"}
