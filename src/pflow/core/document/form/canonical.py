"""The canonical form of a document's text, given only where its meaning is provably the same."""

from __future__ import annotations

import orjson

from pflow.core.document.form.field_order import value_in_order
from pflow.core.document.form.json_form import form_json
from pflow.core.document.parse import Parsed, parse_text
from pflow.core.errors import DocumentError


def canonical_text(parsed: Parsed) -> str:
    """The text of a document in canonical form; raises `DocumentError` if it is not valid or cannot be formed."""
    text = parsed.places.text
    if parsed.issues or text is None:
        raise DocumentError("the document is not valid, and was left as it is", issues=parsed.issues)
    reason = "its form could not be changed without changing what it means"
    for reorder in (True, False):
        formed, problem = _form(text, parsed.places.is_json, reorder)
        if formed is not None and _means_the_same(parsed, formed):
            return formed
        reason = problem or reason
    raise DocumentError(
        f"the document was left as it is: {reason}",
        suggestions=["write that part in a simpler way; the document is valid as it is"],
    )


def _form(text: str, is_json: bool, reorder: bool) -> tuple[str | None, str]:
    if is_json:
        return form_json(text), ""
    # lazy: most documents are JSON
    from pflow.core.document.form.yaml_form import form_yaml
    from pflow.core.document.form.yaml_tree import CannotForm

    try:
        return form_yaml(text, reorder=reorder), ""
    except CannotForm as error:
        return None, str(error)


def _means_the_same(parsed: Parsed, formed: str) -> bool:
    """Whether both texts hold the same document, down to the order of everything but its own and its nodes' fields."""
    again = parse_text(formed, suffix=".json" if parsed.places.is_json else ".yaml")
    if again.issues:
        return False
    before, after = (orjson.dumps(value_in_order(each.places.value)) for each in (parsed, again))
    return before == after
