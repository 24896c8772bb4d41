"""Every error pflow raises, as one tree with stable codes. What checking finds is an issue, not an error.

PflowError              pflow             1
    DocumentError       validation        2
    InputError          template_error    2
    UsageError          usage             2
    NotFoundError       not_found         2
    ExistsError         exists            2
    SecurityError       security          3
    StorageError        storage           1
        CorruptError    corrupt           1
    RunError            execution         1
        ConflictError   already_running   1
        EndedError      execution         1
        AnsweredError   already_answered  1
        InDoubtError    in_doubt          4
        DamagedError    damaged           1
        StateConflict   state_conflict    1
        NoWorkerError   no_worker         1
    StepError           execution         1
        DeclinedError   declined          1
        DeliberateError failed_on_purpose 1
        StepTimeout     timeout           1
            NotYetError timeout           1
        UnresolvedError template_error    1
        ExpressionError expression        1
        ModelError      model             1
            NoModelError no_model         1
        BudgetError     budget            1
        ServerError     mcp               1
            ServerGone  mcp_gone          1
            ReplyError  mcp_reply         1
            InputNeeded mcp_input         1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from typing import TypedDict, Unpack

    from pflow.core.document.issue import Issue

    class _More(TypedDict, total=False):
        """What every error may carry besides its message; see `PflowError`."""

        details: Mapping[str, object] | None
        suggestions: Sequence[str]


class PflowError(Exception):
    """The root: a message for people, a `code` for programs, and what to do next."""

    code = "pflow"
    exit_code = 1

    def __init__(
        self, message: str, *, details: Mapping[str, object] | None = None, suggestions: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.message = str(message)  # plain, also where it was made from advice
        self.details = dict(details or {})
        self.suggestions = tuple(suggestions)

    def as_dict(self) -> dict[str, object]:
        """The error as programs get it."""
        return {
            "type": self.code,
            "message": self.message,
            "details": self.details,
            "suggestions": list(self.suggestions),
        }


class DocumentError(PflowError):
    """A document that cannot become a plan; `issues` holds everything that is wrong with it."""

    code = "validation"
    exit_code = 2

    def __init__(self, message: str, *, issues: Sequence[Issue] = (), suggestions: Sequence[str] = ()) -> None:
        lists = {
            "issues": [issue.as_dict() for issue in issues if issue.severity == "error"],
            "warnings": [issue.as_dict() for issue in issues if issue.severity == "warning"],
        }
        details = {name: found for name, found in lists.items() if found}
        super().__init__(message, details=details, suggestions=suggestions)
        self.issues = tuple(issues)


class InputError(PflowError):
    """Workflow inputs that are missing, by name, or wrong, each in a sentence."""

    code = "template_error"
    exit_code = 2

    def __init__(
        self, message: str, *, missing: Sequence[str] = (), wrong: Sequence[str] = (), **more: Unpack[_More]
    ) -> None:
        super().__init__(message, **more)
        self.missing = tuple(missing)
        self.wrong = tuple(wrong)


class UsageError(PflowError):
    """A command or call that does not make sense."""

    code = "usage"
    exit_code = 2


class NotFoundError(PflowError):
    """A workflow, node type, run or setting that does not exist."""

    code = "not_found"
    exit_code = 2


class ExistsError(PflowError):
    """A name that is already taken."""

    code = "exists"
    exit_code = 2


class SecurityError(PflowError):
    """Refused by policy. The message never repeats the path or secret in question."""

    code = "security"
    exit_code = 3


class StorageError(PflowError):
    """One of pflow's files that could not be read or written; names the file."""

    code = "storage"


class CorruptError(StorageError):
    """One of pflow's files is damaged; it was set aside, not lost."""

    code = "corrupt"


class RunError(PflowError):
    """A run that cannot go on as asked."""

    code = "execution"


class ConflictError(RunError):
    """Another process owns the run."""

    code = "already_running"


class EndedError(RunError):
    """The run is over, for good."""


class AnsweredError(RunError):
    """Somebody else has answered the question before."""

    code = "already_answered"


class InDoubtError(RunError):
    """Steps were in flight when the process died; the caller must say whether they may run again."""

    code = "in_doubt"
    exit_code = 4


class DamagedError(RunError):
    """The journal of this run cannot be read to its end."""

    code = "damaged"


class StateConflict(RunError):
    """Another run, or a person, has changed a value that this one read and wants to replace."""

    code = "state_conflict"


class NoWorkerError(RunError):
    """No worker of a place could run it; nothing was begun."""

    code = "no_worker"


class StepError(PflowError):
    """A step failed. `action` picks its error edge: the most specific one, then `error`."""

    code = "execution"

    def __init__(self, message: str, *, action: str = "error", **more: Unpack[_More]) -> None:
        super().__init__(message, **more)
        self.action = action


class DeclinedError(StepError):
    """Somebody was asked and said no."""

    code = "declined"

    def __init__(self, message: str, **more: Unpack[_More]) -> None:
        super().__init__(message, action="declined", **more)


class DeliberateError(StepError):
    """A step failed because its document says so."""

    code = "failed_on_purpose"


class StepTimeout(StepError):
    """A step took longer than it may. `waited` ends a sentence that begins with the name of the request."""

    code = "timeout"

    def __init__(self, message: str, *, details: Mapping[str, object] | None = None, waited: str = "") -> None:
        super().__init__(message, action="timeout", details=details)
        self.waited = waited


class NotYetError(StepTimeout):
    """A step succeeded without meeting its condition, in all of its attempts. `reason` is what the condition read."""

    def __init__(self, message: str, *, reason: str, suggestions: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.reason = reason
        self.suggestions = tuple(suggestions)


class UnresolvedError(StepError):
    """A template that cannot be filled in when its step starts: what it names does not exist, or is too large."""

    code = "template_error"


ExpressionFault = Literal["syntax", "type", "absent", "value", "limit"]
"""What is wrong with an expression: its text, a value's type, a missing value, a value itself, or its cost."""


class ExpressionError(StepError):
    """An expression that cannot be read, or evaluated over the values of a run; `line` and `column` count from 1."""

    code = "expression"

    def __init__(
        self, message: str, *, kind: ExpressionFault, line: int, column: int, suggestions: Sequence[str] = ()
    ) -> None:
        details = {"kind": kind, "line": line, "column": column}
        super().__init__(message, details=details, suggestions=suggestions)
        self.kind = kind
        self.line = line
        self.column = column

    def within(self, what: str) -> ExpressionError:
        """The same error with what it is about before its message."""
        message, suggestions = f"{what}: {self.message}", self.suggestions
        return ExpressionError(message, kind=self.kind, line=self.line, column=self.column, suggestions=suggestions)


class ModelError(StepError):
    """A language model gave no usable answer; what it did give took `tokens` and was worth `cost` US dollars."""

    code = "model"

    def __init__(
        self, message: str, *, action: str = "error", tokens: int = 0, cost: float | None = None, **more: Unpack[_More]
    ) -> None:
        super().__init__(message, action=action, **more)
        self.tokens = tokens
        self.cost = cost


class NoModelError(ModelError):
    """No model is configured that could answer."""

    code = "no_model"


class BudgetError(StepError):
    """What a document may spend on language models is spent. No edge and no further attempt makes up for that."""

    code = "budget"


class ServerError(StepError):
    """An MCP server that cannot be started or does not speak the protocol."""

    code = "mcp"


class ServerGone(ServerError):
    """The connection to an MCP server ended; the next call needs a new one."""

    code = "mcp_gone"


class ReplyError(ServerError):
    """An MCP server answered with an error: its JSON-RPC `number`, and what it said in `details`."""

    code = "mcp_reply"

    def __init__(self, message: str, *, number: int, **more: Unpack[_More]) -> None:
        super().__init__(message, **more)
        self.number = number


class InputNeeded(ServerError):
    """A tool asks for something that only a person can give, and no person is there to answer."""

    code = "mcp_input"
