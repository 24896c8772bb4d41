"""What a task is for: the results that the agent's last words quote become the outputs of the document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from pflow.planning.learning.bind import seen_outputs
from pflow.planning.learning.leaf import MOST_LEAVES, leaves, named, says_enough, spell_path
from pflow.planning.learning.source import Produced

_MOST = 5
_LONGEST = 400


def find_outputs(answer: str, produced: Sequence[Produced]) -> dict[str, str]:
    """Names of outputs with the templates that give them: what an answer quotes, the latest result first."""
    found: dict[str, str] = {}
    quoted: set[str] = set()
    for one in reversed(produced):
        for path, value in islice(leaves(seen_outputs(one.outputs)), MOST_LEAVES):
            text = str(value)
            if len(found) == _MOST or text in quoted or not _is_quoted(value, text, answer):
                continue
            quoted.add(text)
            if one.is_loop:
                found.setdefault("results", f"${{{one.id}.results}}")
                break
            name = re.sub(r"[^a-z0-9_]", "_", named(path)) or "result"
            template = f"${{{one.id}{spell_path(path)}}}"
            if name in found:
                name = f"{re.sub(r'[^a-z0-9]', '_', one.id)}_{name}"
            found.setdefault(name, template)
    return found


def _is_quoted(value: object, text: str, answer: str) -> bool:
    if not says_enough(value) or len(text) > _LONGEST or "\n" in text:
        return False
    return text in answer and re.search(rf"(?<![\w]){re.escape(text)}(?![\w])", answer) is not None
