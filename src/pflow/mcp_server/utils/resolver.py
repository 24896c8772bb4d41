"""What the `workflow` of a call means: a document, as an object or as text, or a name or path of one."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.document.parse import parse_text
from pflow.execution.workflow_source import Workflow


def read_workflow(given: str | Mapping[str, object]) -> Workflow:
    """The workflow that was given. Names and paths stay as they are, and are found as everywhere else.

    No name or path begins with a brace or has two lines, so text that does is a document.
    """
    if isinstance(given, str) and ("\n" in given or given.lstrip().startswith("{")):
        return parse_text(given)
    return given
