"""A letter for each choice of a question, so that one key and Enter choose it."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase, digits

_LETTERS = ascii_lowercase + digits


def letters_of(choices: Sequence[str]) -> dict[str, str]:
    """The choices by letter, in their order: a letter of the word itself where one is free."""
    taken = {choice.lower() for choice in choices if len(choice) == 1}  # a choice of one letter has that one
    found: dict[str, str] = {}
    for choice in choices:
        own = choice.lower()
        if len(own) != 1 or own not in _LETTERS:
            own = next(letter for letter in own + _LETTERS if letter in _LETTERS and letter not in taken)
            taken.add(own)
        found[own] = choice
    return found


def show_choice(letter: str, choice: str) -> str:
    """`[p]ost`, or `[x] post` where the letter does not stand in the word."""
    at = choice.lower().find(letter)
    return f"[{letter}] {choice}" if at < 0 else f"{choice[:at]}[{choice[at]}]{choice[at + 1 :]}"
