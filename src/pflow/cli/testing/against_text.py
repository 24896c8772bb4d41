"""What would differ if a run had had another document, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pflow.cli.looking.diff_text import part_lines
from pflow.cli.testing.text import nearest_lines
from pflow.core.printable import columns, escape

if TYPE_CHECKING:
    from pflow.workspace.testing.tests import Against


def against_json(found: Against) -> dict[str, object]:
    """The comparison for programs."""
    from pflow.workspace.testing.result import unrecorded_json  # lazy: with what it is made of

    compared = found.comparison.to_json()
    return {
        "run_id": found.run_id,
        "same": found.is_same,
        "status": {"before": found.comparison.a.get("status"), "after": found.replayed.status},
        "document": compared["document"],
        "outputs": compared["outputs"],
        "error": compared["error"],
        "steps": compared["steps"],
        "unrecorded": [unrecorded_json(one) for one in found.replayed.unrecorded],
        "unused": [{"step": call.step, "type": call.type} for call in found.replayed.unused],
    }


def against_text(found: Against) -> str:
    """What the document changes, which steps would go another way, and what would be called that never was."""
    compared, replayed = found.comparison, found.replayed
    before = str(compared.a.get("status"))
    lines = [f"run {found.run_id} {before}; with this document it would have {_ended(replayed.status)}"]
    lines += part_lines("document", compared.document)
    missing = {missed.step.partition("[")[0] for missed in replayed.unrecorded}
    differing = [step for step in compared.steps if step.outcome not in ("same", "reused") and step.step not in missing]
    words = {"only in A": "would not run", "only in B": "new", "output differs": "gives something else"}
    if missing:
        differing = [step for step in differing if step.outcome != "only in A"]  # nobody knows how it would go on
    rows = [(escape(step.step), words.get(step.outcome, step.outcome)) for step in differing]
    if rows:
        lines += ["", "steps", *columns(rows)]
    for missed in replayed.unrecorded:
        lines += ["", f"would call, for real: `{escape(missed.step)}` ({escape(missed.type)}), which was not recorded"]
        lines += [f"  {line}" for line in nearest_lines(missed)]
    for step in differing:
        lines += part_lines(escape(step.step), step.differences)
    if not replayed.unrecorded:
        lines += part_lines("outputs", compared.outputs) + part_lines("error", compared.error)
    if replayed.unused and not replayed.unrecorded:
        names = ", ".join(f"{escape(call.step)} ({escape(call.type)})" for call in replayed.unused[:8])
        lines += ["", f"would no longer be called: {names}{', …' if len(replayed.unused) > 8 else ''}"]
    verdict = "nothing would differ" if found.is_same else "the run would differ"
    return "\n".join([*lines, "", verdict])


def _ended(status: str) -> str:
    return {"unrecorded": "gone on to a call that was not recorded"}.get(status, status)
