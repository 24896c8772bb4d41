"""What checking finds: a message with its place and a hint. Collected, never raised one by one."""

from __future__ import annotations

from typing import Literal, get_args

from pflow.core.frozen import Frozen

Severity = Literal["error", "warning", "notice"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""The worst first."""

CREDENTIAL = "credential"
"""The code of an issue about a value that must not be shown."""


NO_SCOPE = "no-scope"
"""The code of state that would be kept under no name."""


class Issue(Frozen):
    """One finding about a document.

    `path` is where it is (`nodes[2].params.url`), `line` and `column` count from 1 and are 0 when the
    document did not come from text. `known` lists what exists instead, `hint` says what to do. A warning does
    not stop the document from running; a notice says what holds and may well be meant. `newer` marks a check
    that releases after 0.1.0 brought: for a document that a run has recorded, it is a warning.
    """

    code: str
    message: str
    path: str = ""
    line: int = 0
    column: int = 0
    known: tuple[str, ...] = ()
    hint: str = ""
    severity: Severity = "error"
    newer: bool = False

    def for_recorded(self) -> Issue:
        """The same about a document that a run has recorded, which newer checks must not stop from going on."""
        return self._replace(severity="warning") if self.newer and self.severity == "error" else self

    def as_dict(self) -> dict[str, object]:
        """The issue as JSON, without its empty fields."""
        return {name: value for name, value in super().as_dict().items() if name not in ("severity", "newer")}
