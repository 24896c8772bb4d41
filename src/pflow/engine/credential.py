"""Where the credentials of a plan come from, as far as its document tells, so that none is recorded before it is used.

A credential is what goes into a param that is called like one, or into a secret input of a sub-workflow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pflow.core.frozen import Frozen
from pflow.core.json_type import objects_in
from pflow.core.setting.credential import credentials_in
from pflow.core.setting.secret_search import MIN_SECRET
from pflow.core.template.template import references_of

if TYPE_CHECKING:
    from pflow.engine.plan import Plan, PlanNode

Keep = Callable[[str, str], None]
Path = tuple[str | int, ...]

EACH = ""
"""In a path: every item of a list."""


class Credentials(Frozen):
    """What a plan's document tells of its credentials.

    `literals` stand in the document, with where; `inputs` become credentials; `outputs` are the paths of what nodes
    write that does, by node.
    """

    literals: tuple[tuple[str, str], ...] = ()
    inputs: Mapping[str, str] = {}
    outputs: Mapping[str, tuple[tuple[Path, str], ...]] = {}


def find_credentials(plan: Plan) -> Credentials:
    """The credentials of a plan and of its sub-workflows."""
    literals: dict[tuple[str, str], None] = {}  # two nodes may run one and the same sub-workflow
    inputs: dict[str, str] = {}
    outputs: dict[str, tuple[tuple[Path, str], ...]] = {}
    document = plan.raw.get("document")
    nodes = objects_in(document.get("nodes")) if isinstance(document, Mapping) else []
    params = {node.get("id"): node.get("params") for node in nodes}
    for node in plan.nodes:
        if node.child is not None:
            literals.update(dict.fromkeys(node.child.credentials.literals))
        for name, text in _written(node, params.get(node.id)):
            sources = list(_sources(node, text))
            if not sources and "${" not in text:
                literals[name, text] = None
            for root, path in sources:
                if root in plan.inputs:
                    inputs.setdefault(root, name)
                elif root in plan.by_id:
                    outputs[root] = (*outputs.get(root, ()), (path, name))
    return Credentials(literals=tuple(literals), inputs=inputs, outputs=outputs)


def secret_inputs(plan: Plan) -> Mapping[str, str]:
    """The inputs whose values are to be hidden: those that say so, and those that become credentials."""
    declared = {name: name for name, one in plan.inputs.items() if one.secret}
    return {**plan.credentials.inputs, **declared}


def learn_params(node: PlanNode, params: Mapping[str, Any], keep: Keep) -> None:
    """Know the credentials that a step is about to be given."""
    if not params:
        return
    for name, text in credentials_in(params):
        if len(text) >= MIN_SECRET:
            keep(name, text)
    given = params.get("inputs")
    if node.child is not None and isinstance(given, Mapping):
        learn_inputs(node.child, given, keep)


def learn_inputs(plan: Plan, inputs: Mapping[str, object], keep: Keep) -> None:
    """Know the secrets among the inputs of a plan."""
    for name, shown in secret_inputs(plan).items():
        is_declared = plan.inputs[name].secret
        for place, text in leaves(shown, inputs.get(name)):
            if is_declared or len(text) >= MIN_SECRET:
                keep(place, text)


def learn_outputs(plan: Plan, node: PlanNode, writes: Mapping[str, object], keep: Keep) -> None:
    """Know what a step wrote that becomes a credential later."""
    for path, name in plan.credentials.outputs.get(node.id, ()):
        _learn_at(writes, path, name, keep)


def learn_item(plan: Plan, node: PlanNode, writes: Mapping[str, object], keep: Keep) -> None:
    """The same for one item of a batch, whose results are recorded one by one."""
    for path, name in plan.credentials.outputs.get(node.id, ()):
        if path[:1] == ("results",):
            _learn_at(writes, path[2:], name, keep)


def _learn_at(writes: object, path: Path, name: str, keep: Keep) -> None:
    for value in _at(writes, path):
        for place, text in credentials_in(value, name, inside=True):
            if len(text) >= MIN_SECRET:
                keep(place, text)


def leaves(name: str, value: object) -> Iterator[tuple[str, str]]:
    """Every string and number in a secret value, under a name of its own."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(f"{name}.{key}", item)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from leaves(f"{name}.{number}", item)
    elif value is not None and not isinstance(value, bool):
        yield name, str(value)


def _written(node: PlanNode, params: object) -> Iterator[tuple[str, str]]:
    """The credentials of a node as the document has them, templates included."""
    for name, text in credentials_in(params):
        if len(text) >= MIN_SECRET or "${" in text:
            yield name, text
    given = params.get("inputs") if isinstance(params, Mapping) else None
    if node.child is not None and isinstance(given, Mapping):
        for name in secret_inputs(node.child):
            yield from leaves(name, given.get(name))


def _sources(node: PlanNode, text: str) -> Iterator[tuple[str, Path]]:
    """What the templates of a text name, seen through the items of a batch."""
    for reference in references_of(text):
        if node.batch is None or reference.root != node.batch.name:
            yield reference.root, reference.path
            continue
        for items in node.batch.items.references:
            yield items.root, (*items.path, EACH, *reference.path)


def _at(value: object, path: Sequence[str | int]) -> Iterator[object]:
    """What stands at a path, as often as it is there."""
    if not path:
        yield value
        return
    key, rest = path[0], path[1:]
    if key == EACH and isinstance(value, list | tuple):
        for item in value:
            yield from _at(item, rest)
    elif isinstance(value, Mapping) and str(key) in value:
        yield from _at(value[str(key)], rest)
    elif isinstance(value, list | tuple) and isinstance(key, int) and key < len(value):
        yield from _at(value[key], rest)
