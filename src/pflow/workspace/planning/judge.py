"""Judges a document that a model wrote: the checks of any document, and those for an author whom nobody knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import orjson

from pflow.core.document.issue import CREDENTIAL, Issue
from pflow.core.document.parse import Parsed, parse_text, parse_value
from pflow.core.frozen import Frozen
from pflow.core.library.workflow_text import WorkflowText, text_of_value
from pflow.execution.check import Checked, check_workflow
from pflow.execution.wiring import Wiring
from pflow.planning.writing.writer import not_offered
from pflow.registry.registry import Registry
from pflow.workspace.drafts import Drafts

_INCLUDING = "workflow"
"""The node type that runs other workflows, and its parameter that names them."""


class Allowed(Frozen):
    """What a document of a model may use: node types, and saved workflows as steps."""

    types: tuple[str, ...]
    workflows: tuple[str, ...] = ()


def check_text(wiring: Wiring, text: WorkflowText | str) -> Checked:
    """A document that was written here, checked like any other."""
    parsed = parse_text(text) if isinstance(text, str) else text.parse()
    return check_workflow(wiring, parsed)


def judge(wiring: Wiring, text: str, allowed: Allowed) -> tuple[Issue, ...]:
    """Everything that a model has to mend in a document: errors, credentials, and what it was not offered."""
    checked = check_text(wiring, text)
    credentials = [issue._replace(severity="error") for issue in checked.issues if issue.code == CREDENTIAL]
    strangers = _strangers(checked.source.parsed, wiring.registry, allowed)
    return (*checked.errors, *credentials, *strangers)


def _strangers(parsed: Parsed, registry: Registry, allowed: Allowed) -> Iterator[Issue]:
    """The node types and workflows that were not offered, also in documents inside of this one."""
    places = parsed.places
    for number, spec in enumerate(parsed.document.nodes if parsed.document is not None else ()):
        if spec.type in registry and spec.type not in allowed.types:
            yield not_offered("node type", spec.type, allowed.types, places, ("nodes", number))
        wanted = spec.params.get(_INCLUDING) if spec.type == _INCLUDING else None
        if isinstance(wanted, Mapping):
            yield from _strangers(parse_value(wanted), registry, allowed)
        elif wanted is not None and wanted not in allowed.workflows:
            yield not_offered(
                "workflow", str(wanted), allowed.workflows, places, ("nodes", number, "params", _INCLUDING)
            )


def with_metadata(text: str, metadata: Mapping[str, object]) -> WorkflowText:
    """A document with its metadata, in the words of its author where that is possible."""
    parsed = parse_text(text)
    value = parsed.places.value
    wanted = {**value, "metadata": dict(metadata)} if isinstance(value, Mapping) else {}
    if not parsed.places.is_json:
        lines = [f"  {name}: {orjson.dumps(one).decode()}" for name, one in metadata.items()]
        appended = "\n".join([text.rstrip(), "metadata:", *lines, ""])
        if parse_text(appended, suffix=".yaml").places.value == wanted:
            return WorkflowText(data=appended.encode(), form="yaml")
    return text_of_value(wanted)


def drafts_of(wiring: Wiring) -> Drafts:
    """The drafts of a home, where documents of models are kept."""
    return Drafts(wiring.home, lambda workflow: check_workflow(wiring, workflow))


def free_name(wanted: str, is_taken: Callable[[str], bool]) -> str:
    """A name that nothing is saved under: the wanted one, or with a number."""
    name, number = wanted, 1
    while is_taken(name):
        number += 1
        name = f"{wanted}-{number}"
    return name
