"""A workflow and the ones that it includes, as documents: what they say, whether or not they can run."""

from __future__ import annotations

from collections.abc import Iterator

from pflow.core.document.parse import Parsed
from pflow.core.errors import DocumentError, PflowError
from pflow.core.frozen import Frozen
from pflow.engine.plan import MAX_DEPTH
from pflow.execution.compiler import Load, child_key

MOST_DOCUMENTS = 500
"""Documents of one workflow. Two that include each other twice, level by level, would be a million."""


class Included(Frozen):
    """One document of a workflow. `trail` are the nodes that lead to it, and `name` is what the last one calls it."""

    parsed: Parsed
    trail: tuple[str, ...] = ()
    name: str = ""


def documents_of(parsed: Parsed, load: Load) -> list[Included]:
    """A document and all that it includes, itself first; what cannot be found is left out.

    Raises `DocumentError` if there are too many.
    """
    found: list[Included] = []
    for document in _walk(Included(parsed=parsed), load, ()):
        found.append(document)
        if len(found) > MOST_DOCUMENTS:
            raise DocumentError(
                f"the workflow includes more than {MOST_DOCUMENTS} others",
                suggestions=["include each workflow once, in one place"],
            )
    return found


def _walk(here: Included, load: Load, keys: tuple[str, ...]) -> Iterator[Included]:
    yield here
    document = here.parsed.document
    for spec in document.nodes if document is not None and len(keys) < MAX_DEPTH else ():
        wanted = spec.params.get("workflow")
        if spec.type != "workflow" or not isinstance(wanted, str | dict):
            continue
        key = child_key(wanted)
        if key in keys:
            continue
        try:
            parsed, inner = load(wanted)
        except PflowError:
            continue
        name = wanted if isinstance(wanted, str) else ""
        yield from _walk(Included(parsed=parsed, trail=(*here.trail, spec.id), name=name), inner, (*keys, key))
