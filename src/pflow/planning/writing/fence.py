"""Foreign text inside of a prompt: marked as data, with an end that it cannot write itself."""

from __future__ import annotations

from hashlib import sha256

from pflow.core.printable import cut, escape

_MARK_DIGITS = 12


def fence(name: str, text: str, most: int) -> str:
    """At most `most` characters of a text, between two lines with a mark that does not stand in it.

    What cannot be seen is written as an escape: a model would read what a person who looks at the prompt does not.
    """
    shown = cut("\n".join(map(escape, text.split("\n"))), most)
    mark = sha256(shown.encode()).hexdigest()[:_MARK_DIGITS]
    while mark in shown:
        mark = sha256(mark.encode()).hexdigest()[:_MARK_DIGITS]
    return f"<data {name} {mark}>\n{shown}\n</data {mark}>"
