"""The part of a workspace that records runs and plays them again."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pflow.core.json_type import JsonView
from pflow.execution.workflow_source import Workflow, find_source

if TYPE_CHECKING:
    from pflow.core.cassette.cassette import Cassette
    from pflow.execution.check import Checked
    from pflow.execution.replay.replay import Replayed
    from pflow.execution.wiring import Wiring
    from pflow.workspace.testing.tests import Tests


class Testing:
    """See `pflow.workspace.workspace.Workspace`."""

    _wiring: Wiring
    _start: Path | None

    @property
    def tests(self) -> Tests:
        """Tests of workflows: found, run, made from runs; and runs played against edited documents."""
        from pflow.workspace.testing.tests import Tests  # lazy: most runs are not tested

        return Tests(self._wiring, self._start or Path.cwd())

    def cassette(self, run_id: str) -> Cassette:
        """A run that is over as a cassette: what its steps were asked and what they gave, without secrets."""
        from pflow.execution.replay.record import record_run  # lazy: most runs are not recorded
        from pflow.execution.run_lookup import find_run  # lazy: most runs are not recorded

        return record_run(self._wiring, find_run(self._wiring.journal, run_id))

    def record(self, run_id: str, file: Path) -> Cassette:
        """Write a run that is over to a cassette's file. Raises `SecurityError` if a secret would be in it."""
        from pflow.core.cassette.cassette_file import write_cassette  # lazy: most runs are not recorded

        found = self.cassette(run_id)
        write_cassette(file, found, self._wiring.redactor.names_in)
        return found

    def replay(
        self,
        workflow: Workflow | Checked,
        cassette: Cassette,
        inputs: Mapping[str, object] | None = None,
        *,
        stubs: Mapping[str, JsonView] | None = None,
        real: Collection[str] = (),
    ) -> Replayed:
        """Play a workflow with the answers of a cassette: nothing is started, reached or kept.

        Inputs that are not given are those of the cassette. `stubs` answer steps by the path of their node, with
        outputs or `{"error": {…}}`; those in `real` run. A call that was not recorded stops it: `unrecorded` names it.
        Raises `DocumentError` for a workflow that cannot run, and `InputError`.
        """
        from pflow.execution.check import Checked, check_source  # lazy: with what follows
        from pflow.execution.replay.replay import replay_checked  # lazy: most runs are not played again

        with self._wiring.registry.lending(cassette.definitions):
            if not isinstance(workflow, Checked):
                source = find_source(workflow, self._wiring.home, self._wiring.projects)
                workflow = check_source(self._wiring, source)
            return replay_checked(self._wiring, workflow, cassette, inputs or {}, stubs=stubs, real=real)
