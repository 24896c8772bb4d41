"""Where values are while a script runs: in which variables and arguments, and whether on its standard input."""

from __future__ import annotations

from typing import Literal

from pflow.core.printable import shorten
from pflow.core.template.compiled import Given
from pflow.core.template.shell_code import DYNAMIC, LATER, SLOT, Refusal

Quotes = Literal["none", "double", "single", "comment"]


class Slot:
    """A place where a value stands: a template (`variable` is empty), a variable with a value, `stdin`, or `<file`."""

    __slots__ = ("quotes", "refusal", "variable")

    def __init__(self, quotes: Quotes = "none", refusal: Refusal | None = None, variable: str = "") -> None:
        self.quotes = quotes
        self.refusal = refusal
        self.variable = variable


class Flow:
    """What is known so far of where values are. It only grows: which of two assignments comes last is not followed."""

    __slots__ = ("arguments", "files", "functions", "given", "grew", "input", "names", "shifts")

    def __init__(self, given: Given) -> None:
        self.given = given
        self.names = set(given.variables)
        self.arguments: set[int] = set()
        self.files: set[str] = set()
        self.functions: set[str] = set()
        self.input = bool(given.stdin)
        self.shifts = False
        self.grew = False

    def inner(self, arguments: set[int]) -> Flow:
        """The flow in a script that gets these of its arguments as values, and the same variables."""
        flow = Flow(self.given)
        flow.names = set(self.names)
        flow.arguments = arguments
        flow.input = self.input
        return flow

    def add_name(self, name: str) -> None:
        """A variable is assigned a value."""
        if name not in self.names:
            self.names.add(name)
            self.grew = True

    def add_arguments(self, positions: set[int]) -> None:
        """Arguments of the script, or of a function in it, are values."""
        if not positions <= self.arguments:
            self.arguments |= positions
            self.grew = True

    def add_file(self, path: str) -> None:
        """A value is written to a file."""
        if SLOT not in path and DYNAMIC not in path and not self.has_file(path) and not path.startswith("/dev/"):
            self.files.add(path.removeprefix("./"))
            self.grew = True

    def has_file(self, path: str) -> bool:
        """Whether a value was written to the file."""
        return path.removeprefix("./") in self.files

    def add_input(self) -> None:
        """Something in the script gets a value on its standard input."""
        if not self.input:
            self.input = self.grew = True

    def read(self, name: str) -> str:
        """What stands for a variable in the text of a word."""
        if name.isdigit():
            held = int(name) in self.arguments or (self.shifts and bool(self.arguments) and name != "0")
            return SLOT if held else DYNAMIC
        if name in ("@", "*"):
            if not self.arguments:
                return DYNAMIC
            return SLOT if 1 in self.arguments or self.shifts else LATER
        return SLOT if name in self.names or (self.given.every and name.isidentifier()) else DYNAMIC

    def holds(self, name: str) -> bool:
        """Whether a variable holds a value."""
        return self.read(name) != DYNAMIC

    def origin(self, variable: str) -> str:
        """Whose value a variable or file holds, for people, as far as that is plain."""
        template = self.given.variables.get(variable, self.given.every)
        template = self.given.stdin if variable == "stdin" else template
        return f"`{shorten(template)}`" if template else "a value"
