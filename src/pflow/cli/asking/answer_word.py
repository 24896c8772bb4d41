"""The words of `pflow answer` and `pflow send`: which is the step, which the choice, and which are fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import orjson

from pflow.cli.argument import read_params
from pflow.core.errors import UsageError
from pflow.core.frozen import Frozen
from pflow.core.printable import shorten

if TYPE_CHECKING:
    from pflow.workspace.asking.question import Waiting


class Words(Frozen):
    """What the words of an answer mean."""

    step: str | None = None
    choice: str | None = None
    fields: Mapping[str, object] = {}

    @property
    def says_something(self) -> bool:
        """Whether there is an answer in them."""
        return self.choice is not None or bool(self.fields)


def read_answer_words(questions: Sequence[Waiting], words: Sequence[str], *, decline: bool = False) -> Words:
    """The step, the choice and the fields among some words; who declines can only name a step.

    One word alone is the choice if there is one question and it has that choice, else the step if a question has that
    name, else the choice. A word with `=` is a field, unless it is the name of a choice or of a step.
    """
    choices = {choice.lower() for one in questions for choice in one.choices}
    places = {name for one in questions for name in (one.place, one.key, one.step)}
    fields = [word for word in words if "=" in word and word.lower() not in choices and word not in places]
    plain = [word for word in words if word not in fields]
    given = read_params(fields)
    if decline:
        if given or len(plain) > 1:
            raise UsageError("`--decline` and an answer exclude each other", suggestions=["leave one of them out"])
        return Words(step=plain[0] if plain else None)
    if len(plain) > 2:
        raise UsageError(
            f"`{shorten(plain[2])}` is one word too many",
            suggestions=["fields are written `name=value`, and what has blanks in it stands in quotes"],
        )
    if len(plain) == 2:
        return Words(step=plain[0], choice=plain[1], fields=given)
    if not plain:
        return Words(fields=given)
    word = plain[0]
    if word in places and not (len(questions) == 1 and word.lower() in choices):
        return Words(step=word, fields=given)
    return Words(choice=word, fields=given)


def read_message(values: Mapping[str, str], json_value: str | None) -> dict[str, object]:
    """What a message says: words of which each that is JSON is read as that, or one JSON object."""
    if json_value is None:
        return {name: _read(word) for name, word in values.items()}
    if values:
        raise UsageError("give either `key=value` words or `--json-value`, not both")
    try:
        found = orjson.loads(json_value)
    except ValueError as error:
        raise UsageError(f"`{shorten(json_value)}` is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise UsageError("a message is a JSON object", suggestions=["""write --json-value '{"sum": 7}'"""])
    return found


def _read(word: str) -> object:
    try:
        found: object = orjson.loads(word)
    except ValueError:
        return word
    return found
