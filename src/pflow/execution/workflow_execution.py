"""`execute_workflow`, under the name that the product's documents fix: one call for Python programs."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.file.home import Home, find_home
from pflow.engine.ports import Observer
from pflow.execution.begin import begin_run
from pflow.execution.check import check_source
from pflow.execution.outcome import Outcome
from pflow.execution.wiring import Wiring
from pflow.execution.workflow_source import find_source

_NO_REPAIR = "repair is off: no model is configured"


def execute_workflow(
    workflow_ir: Mapping[str, object],
    execution_params: Mapping[str, object] | None = None,
    output: Observer | None = None,
    enable_repair: bool = False,
    *,
    home: Home | None = None,
) -> Outcome:
    """Run a document with its inputs, for Python programs.

    `output` watches the run. Repair needs a model, and none is connected: asking for it adds a notice to the
    outcome and changes nothing. Raises `DocumentError` and `InputError` when the run cannot begin.
    """
    wiring = Wiring(home or find_home())
    try:
        checked = check_source(wiring, find_source(workflow_ir, wiring.home))
        outcome = begin_run(wiring, checked, execution_params or {}, observer=output).wait()
    finally:
        wiring.close()
    return outcome._replace(notices=(_NO_REPAIR, *outcome.notices)) if enable_repair else outcome
