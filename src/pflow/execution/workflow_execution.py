"""`execute_workflow`, under the name that the product's documents fix: one call for Python programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pflow.core.file.home import Home, find_home
from pflow.engine.ports import Observer
from pflow.execution.begin import begin_run
from pflow.execution.check import check_workflow
from pflow.execution.outcome import Outcome
from pflow.execution.wiring import Wiring

if TYPE_CHECKING:
    from pflow.engine.model.llm import LLM

_NO_REPAIR = "repair is off: no model is configured"


def execute_workflow(
    workflow_ir: Mapping[str, object],
    execution_params: Mapping[str, object] | None = None,
    output: Observer | None = None,
    enable_repair: bool = False,
    *,
    home: Home | None = None,
    llm: LLM | None = None,
) -> Outcome:
    """Run a document with its inputs, for Python programs.

    `output` watches the run. With `enable_repair` a model, `llm` or the configured one, mends the document of a run
    that failed, which then goes on; notices of the outcome say what it did. Commands and code that it wrote are not
    run, since nobody has looked at them. Raises `DocumentError` and `InputError` when the run cannot begin.
    """
    wiring = Wiring(home or find_home()) if llm is None else Wiring(home or find_home(), llm=llm)
    try:
        checked = check_workflow(wiring, workflow_ir)
        outcome = begin_run(wiring, checked, execution_params or {}, observer=output).wait()
        return _repaired(wiring, outcome, output) if enable_repair else outcome
    finally:
        wiring.close()


def _repaired(wiring: Wiring, outcome: Outcome, output: Observer | None) -> Outcome:
    model = wiring.services.llm()
    if model is None or not model.is_available():
        return outcome._replace(notices=(_NO_REPAIR, *outcome.notices))
    if outcome.status != "failed":
        return outcome
    from pflow.workspace.planning.repairing import repair_outcome  # lazy: only for runs that failed

    return repair_outcome(wiring, outcome, output)
