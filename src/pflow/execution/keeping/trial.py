"""Checks the values that a run is to find as its state, in place of what its workflow has kept."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from pflow.core.document.state_key import MOST_BYTES
from pflow.core.errors import InputError, UsageError
from pflow.core.json_type import describe, fits, with_article
from pflow.core.printable import shorten
from pflow.core.suggest import did_you_mean
from pflow.engine.plan import Plan


def check_trial(plan: Plan, values: Mapping[str, object]) -> None:
    """Raise `InputError` with everything that is wrong with the values, `UsageError` for a plan that keeps nothing."""
    if not plan.keeps:
        raise UsageError(
            "the workflow keeps no state",
            suggestions=["leave the state out, or declare `state` in the document"],
        )
    problems: list[str] = []
    hints: list[str] = []
    for name, value in values.items():
        key = plan.state.get(name)
        if key is None:
            problems.append(f"the workflow keeps no `{shorten(name)}`")
            hints.append(did_you_mean(name, plan.state))
        elif not fits(value, key.type):
            problems.append(f"`{name}` must be {with_article(key.type)}, not {describe(value)}")
        elif len(orjson.dumps(value)) > MOST_BYTES:
            problems.append(f"`{name}` is larger than {MOST_BYTES >> 10} kB")
    if problems:
        known = {name: key.type for name, key in plan.state.items()}
        raise InputError(
            problems[0] if len(problems) == 1 else f"{len(problems)} problems with the state: {'; '.join(problems)}",
            details={"problems": problems, "state": known},
            suggestions=[hint for hint in hints if hint],
        )
