"""What the workflows of a run had kept when it began: read once, recorded with the run, the same for every resume."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.errors import StateConflict
from pflow.core.frozen import Frozen
from pflow.core.json_type import JsonView
from pflow.engine.plan import Plan


class Snapshot(Frozen):
    """Values by key, under the scope that each belongs to, and the version of each: 0 if it was not set.

    A run whose snapshot `is_trial` keeps nothing. A value that holds secrets which are not known now is
    `Withheld`.
    """

    values: Mapping[str, JsonView] = {}
    versions: Mapping[str, Mapping[str, int]] = {}
    is_trial: bool = False

    def seen_by(self, plan: Plan) -> JsonView | None:
        """What the steps of a plan see as `state`; None if it declares none."""
        return self.values.get(plan.state_scope, {}) if plan.state else None

    def joined(self, other: Snapshot) -> Snapshot:
        """This one with what another one has besides, or has anew."""
        values, versions = dict(self.values), dict(self.versions)
        for scope, found in other.values.items():
            values[scope] = {**values.get(scope, {}), **found}
        for scope, numbers in other.versions.items():
            versions[scope] = {**versions.get(scope, {}), **numbers}
        return Snapshot(values=values, versions=versions, is_trial=self.is_trial)


NOTHING = Snapshot()


def is_conflict(error: Mapping[str, object]) -> bool:
    """Whether a run failed because another one was faster, be it in a workflow inside of it."""
    while True:
        if error.get("type") == StateConflict.code:
            return True
        details = error.get("details")
        cause = details.get("cause") if isinstance(details, Mapping) else None
        if not isinstance(cause, Mapping):
            return False
        error = cause
