"""A step that sets what is kept, at its end; for all others, nothing of keeping is imported."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pflow.core.event import StepCompleted

if TYPE_CHECKING:
    from pflow.engine.plan import PlanNode
    from pflow.engine.scope import Scope
    from pflow.engine.state import Sets


def take_sets(scope: Scope, values: Mapping[str, object]) -> Sets:
    """What a node was given to keep; raises `StepError` for values that cannot be kept."""
    from pflow.engine.keeping.change import check_set  # lazy: few workflows keep something

    return check_set(scope.plan, values, scope.run.shared.redactor)


def record_sets(scope: Scope, node: PlanNode, done: StepCompleted) -> bool:
    """Record the end of a step, if something of what it sets is kept from then on; whether that is so."""
    if not node.sets_state:
        return False  # what steps inside of it have set
    from pflow.engine.keeping.change import complete_step  # lazy: few workflows keep something

    return complete_step(scope.run, scope.plan, done, time.time())
