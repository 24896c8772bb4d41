"""A terminal's screen, as far as pflow's progress uses one: text, colours, cursor up, erase."""

from __future__ import annotations

import re

_PART = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|([\s\S])")


class Screen:
    """Lines of text that grow downward; `lines` is what a person sees, history included."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.rows: list[list[str]] = [[]]
        self.row = self.column = 0

    def feed(self, text: str) -> Screen:
        """Take what a program wrote."""
        for number, command, letter in _PART.findall(text):
            if letter:
                self._letter(letter)
            else:
                self._command(command, number)
        return self

    @property
    def lines(self) -> list[str]:
        """What stands on the screen, without the empty rest."""
        return "\n".join("".join(row).rstrip() for row in self.rows).rstrip("\n").split("\n")

    def _letter(self, letter: str) -> None:
        if letter == "\n":
            self._down()
            self.column = 0
        elif letter == "\r":
            self.column = 0
        else:
            assert letter >= " ", f"the terminal got {letter!r}"
            if self.column == self.columns:
                self._down()
                self.column = 0
            row = self.rows[self.row]
            row.extend(" " * (self.column + 1 - len(row)))
            row[self.column] = letter
            self.column += 1

    def _down(self) -> None:
        self.row += 1
        if self.row == len(self.rows):
            self.rows.append([])

    def _command(self, command: str, number: str) -> None:
        if command == "F":
            assert self.row >= int(number), "the cursor left the screen"
            self.row, self.column = self.row - int(number), 0
        elif command == "K":
            del self.rows[self.row][self.column :]
        elif command == "J":
            del self.rows[self.row][self.column :]
            del self.rows[self.row + 1 :]
        else:
            assert command == "m", f"the terminal got CSI {number}{command}"
