"""Settles doubts about steps of a run: holds the outputs that someone says a step had to what its node declares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pflow.core.advice import Advice
from pflow.core.errors import ConflictError, InputError, UsageError
from pflow.core.event import Settlement
from pflow.core.frozen import Frozen
from pflow.core.interface import MISSING, Interface
from pflow.core.json_type import describe, fits, with_article
from pflow.core.suggest import did_you_mean
from pflow.core.template.compiled import Reference
from pflow.engine.again.name import find_node, split_item, templates_of
from pflow.engine.again.settle import Verdict, find_doubts
from pflow.engine.binding import coerce_text
from pflow.engine.credential import learn_item, learn_outputs
from pflow.engine.plan import Plan, PlanNode
from pflow.execution.begin import check_again, read_history
from pflow.execution.place.transaction import at_once
from pflow.execution.wiring import Wiring


class Claim(Frozen):
    """What somebody says of steps in doubt: they are `done`, with these outputs and this action, or are to `rerun`."""

    steps: tuple[str, ...]
    outcome: Settlement
    outputs: Mapping[str, object] = {}
    action: str = "default"


class SettledDoubts(Frozen):
    """Which steps and items of a run were settled, and which are still in doubt."""

    run_id: str
    steps: tuple[str, ...]
    left: tuple[str, ...] = ()


def settle(wiring: Wiring, run_id: str, claims: Sequence[Claim], *, text: bool = False, by: str = "") -> SettledDoubts:
    """Record what became of steps in doubt, or nothing if one of the claims cannot be true.

    With `text` the outputs are words of a command line.
    """
    if any(claim.outcome == "rerun" and (claim.outputs or claim.action != "default") for claim in claims):
        raise UsageError("a step that is to run again has no outputs yet", suggestions=["leave them out"])
    if wiring.journal.info(run_id).alive:
        advice = Advice("wait for it, or stop it with `{cancel_run}`", run=run_id)
        raise ConflictError(f"run `{run_id}` is running: what its steps do is not in doubt", suggestions=[advice])
    history = read_history(wiring, run_id, {})
    plan = check_again(wiring, run_id, history).ready()
    verdicts: dict[str, Verdict] = {}
    for claim in claims:
        for step in find_doubts(run_id, plan, history, claim.steps):
            is_done = claim.outcome == "done"
            verdicts[step] = (
                _done(wiring, plan, step, claim.outputs, claim.action, text=text)
                if is_done
                else Verdict(step=step, outcome="rerun")
            )
    with at_once(wiring):
        left = wiring.executor(None).settle(run_id, plan, list(verdicts.values()), by)
    return SettledDoubts(run_id=run_id, steps=tuple(verdicts), left=tuple(left))


def _done(wiring: Wiring, plan: Plan, step: str, outputs: Mapping[str, object], action: str, *, text: bool) -> Verdict:
    """What is recorded of a step that took effect; raises `InputError` for outputs that it cannot have had."""
    found = find_node(plan, step)
    assert found is not None
    inner, node = found
    _, item = split_item(step)
    interface = wiring.registry.get(node.type).interface
    given = _check_names(step, node, interface, outputs)
    writes = {name: _fit(step, interface, name, value, text=text) for name, value in given.items()}
    if item is None:
        _check_read(step, inner, node, writes)
        _check_action(step, node, action)
    elif action != "default":
        raise UsageError(f"`{step}` is an item, and only whole steps end with an action")
    learn = learn_outputs if item is None else learn_item
    learn(inner, node, writes, wiring.redactor.keep)
    return Verdict(step=step, outcome="done", outputs=writes, action=action)


def _check_names(
    step: str, node: PlanNode, interface: Interface, outputs: Mapping[str, object]
) -> Mapping[str, object]:
    """The outputs, if the node has them."""
    names = [field.name for field in interface.outputs]
    if node.mapping is not None:
        names += [*node.mapping.output_mappings, *node.mapping.output_mappings.values()]
    unknown = [name for name in outputs if name not in names]
    if unknown and not (interface.open_outputs or interface.echo_params):
        raise InputError(
            f"`{step}` ({node.type}) has no output `{unknown[0]}`",
            details={"outputs": names},
            suggestions=[*filter(None, [did_you_mean(unknown[0], names)]), f"it has: {', '.join(names) or 'none'}"],
        )
    return outputs


def _fit(step: str, interface: Interface, name: str, value: object, *, text: bool) -> object:
    declared = interface.output(name)
    kind = declared.type if declared is not None else "any"
    if text and isinstance(value, str):
        return coerce_text(value, kind, name)
    if value is not None and not any(fits(value, one) for one in kind.split("|")):
        wanted = " or ".join(with_article(one) for one in kind.split("|"))
        raise InputError(f"output `{name}` of `{step}` is {wanted}, not {describe(value)}")
    return value


def _check_read(step: str, plan: Plan, node: PlanNode, writes: Mapping[str, object]) -> None:
    """Raise `InputError` if others read an output that is not given."""
    missing = {
        str(reference.path[0]): reader
        for reader, references in _readers(plan)
        for reference in references
        if reference.root == node.id and reference.root not in plan.inputs and reference.default is MISSING
        if reference.path and str(reference.path[0]) not in writes
    }
    if missing:
        names = ", ".join(f"`{name}`, which {reader} reads" for name, reader in missing.items())
        words = " ".join(f"{name}=…" for name in missing)
        raise InputError(
            f"`{step}` needs its output {names}",
            details={"missing": list(missing)},
            suggestions=[f"give what it was: `{words}`, or null with `--outputs`"],
        )


def _readers(plan: Plan) -> Iterable[tuple[str, Iterable[Reference]]]:
    for node in plan.nodes:
        yield f"`{node.id}`", templates_of(node)
    for name, source in plan.outputs.items():
        yield f"the output `{name}` of the workflow", source.references


def _check_action(step: str, node: PlanNode, action: str) -> None:
    if action != "default" and action not in node.edges:
        known = ", ".join(f"`{name}`" for name in node.edges) or "none"
        raise InputError(f"`{step}` has no edge for the action `{action}`", suggestions=[f"it has edges for: {known}"])
