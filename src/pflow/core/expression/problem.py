"""What checking an expression finds: its type, and what is wrong with it."""

from __future__ import annotations

from typing import Literal

from pflow.core.expression.tree import Expression
from pflow.core.frozen import Frozen
from pflow.core.value_type import ValueType

Code = Literal["unknown-name", "unknown-field", "expression-type", "never-true", "hidden-name", "misplaced-template"]


class Problem(Frozen):
    """What checking found: where in the expression, and what to write instead. A warning may be right in a run.

    `unknown` is the name that nothing has, if that is the problem.
    """

    code: Code
    message: str
    line: int
    column: int
    hint: str = ""
    known: tuple[str, ...] = ()
    is_warning: bool = False
    unknown: str = ""


class Checked(Frozen):
    """The type of the result, what was found, and the expression to evaluate: it knows where numbers are doubles."""

    type: ValueType
    problems: tuple[Problem, ...]
    expression: Expression
