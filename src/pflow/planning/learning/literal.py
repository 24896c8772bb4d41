"""What a literal argument may be an input for: the folder, secrets, dates, what the user named, what is repeated."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, date, datetime

from pflow.core.frozen import Frozen
from pflow.core.json_type import Json
from pflow.core.template.compiled import ValuePath
from pflow.planning.learning.leaf import escaped, leaves, named, says_enough

MARK = re.compile(r"«secret:([^»]+)»")
"""What stands for a secret in a session that holds none any more."""

_DATE = re.compile(r"(?<![\d-])(\d{4})-(\d{2})-(\d{2})(?![\d-])")
_REPEATED_STEPS = 3
_MOST_REPEATED = 3
_SMALLEST_NUMBER = 2
_SAID = "As the user named it"
_VERSION = re.compile(r"v?\d+(\.\d+)+([-+.]?\w+)*")
_NAME = re.compile(r"[^a-z0-9]+")


class Task(Frozen):
    """What is known of a task beside its calls: where, when, and what the user wrote."""

    folder: str = ""
    words: str = ""
    at: float | None = None


class Inputs:
    """The inputs of a document, found while its arguments are written."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._folder = task.folder.rstrip("/")
        self._values: dict[str, object] = {}
        self._declared: dict[str, Json] = {}
        self._repeated: dict[str, str] = {}
        self.option = ""
        """The option of a command that the argument at hand is the value of."""

    @property
    def declared(self) -> dict[str, Json]:
        """As documents declare them, those without a default first."""
        return dict(sorted(self._declared.items(), key=lambda item: "default" in item[1]))

    @property
    def names(self) -> Collection[str]:
        """The names that are declared, also those to come."""
        return self._declared.keys()

    @property
    def values(self) -> dict[str, object]:
        """What they were in the session; secrets have none."""
        return dict(self._values)

    def count(self, params: Iterable[Mapping[str, object]]) -> None:
        """See which literals are repeated from step to step."""
        seen: Counter[str] = Counter()
        names: dict[str, str] = {}
        for given in params:
            for value, path in {str(value): path for path, value in leaves(given) if _may_repeat(path, value)}.items():
                seen[value] += 1
                names.setdefault(value, named(path))
        most = [(value, count) for value, count in seen.most_common(_MOST_REPEATED) if count >= _REPEATED_STEPS]
        self._repeated = {value: names[value] for value, _ in most}

    def said(self, value: object, path: ValuePath) -> object | None:
        """A template for an argument that the user wrote as a whole; None for any other."""
        if isinstance(value, bool) or not isinstance(value, str | int) or path[0] == "cwd":
            return None
        if isinstance(value, int):
            return self._take(path, value) if value >= _SMALLEST_NUMBER and self.is_said(str(value)) else None
        if path[0] == "command":
            return self._named(value, path) if self._is_value(value, path) else None
        is_said = len(value) >= 4 and "\n" not in value and self.is_said(value)
        return self._take(path, value) if is_said and not MARK.search(value) else None

    def whole(self, value: object, path: ValuePath) -> object | None:
        """A template for an argument that several steps share as a whole; None for any other."""
        if path[0] == "command" or not isinstance(value, str):
            return None
        return self._take(path, value) if value in self._repeated and not self._is_inside(value) else None

    def literal(self, text: str, path: ValuePath) -> str:
        """A text with templates in place of what inputs give, everything else escaped."""
        begin = ""
        if self._is_inside(text):
            self._declare("folder", self._folder, "string", "Where the files of the task are")
            begin, text = "${folder}", text[len(self._folder) :]
        found = MARK.split(escaped(text))
        for position in range(1, len(found), 2):
            found[position] = f"${{{self._secret(found[position])}}}"
        found[::2] = [self._dated(self._named(part, path)) for part in found[::2]]
        return begin + "".join(found)

    def items(self, name: str, values: list[object]) -> str:
        """An input that is a list to go through."""
        return self._declare(name, values, "array", "What is gone through, one after the other", is_list=True)

    def _named(self, text: str, path: ValuePath) -> str:
        """With inputs for words that look like values and that the user wrote."""
        if len(path) > 1 and path[0] == "command" and path[-1] == 0:
            return text
        if self._is_value(text, path):
            return f"${{{self._declare(self.option or _name_of(text, path), text, 'string', _SAID)}}}"
        for word in sorted(set(re.findall(r"[\w@.+-]+", text)), key=len, reverse=True):
            is_value = len(word) >= 4 and any(char in ".@_" or char.isdigit() for char in word[1:-1])
            if is_value and not _DATE.fullmatch(word) and not word.startswith("-") and self.is_said(word):
                name = self._declare(_name_of(word, path), word, "string", _SAID)
                left, _, right = re.split(rf"(?<![\w@.+-])({re.escape(word)})(?![\w@.+-])", text, maxsplit=1)
                return f"{left}${{{name}}}{right}"
        return text

    def _is_value(self, word: str, path: ValuePath) -> bool:
        """Whether a word of a command looks like a value, and the user wrote it."""
        if len(path) < 2 or path[0] != "command" or path[-1] == 0 or word.startswith("-"):
            return False
        if len(word) < 4:
            return word.isdigit() and int(word) >= _SMALLEST_NUMBER and self.is_said(word)
        looks_so = any(char in "./@_:" or char.isdigit() for char in word)
        return looks_so and not _DATE.search(word) and not MARK.search(word) and self.is_said(word)

    def _dated(self, text: str) -> str:
        def put(match: re.Match[str]) -> str:
            try:
                day = date(*map(int, match.groups()))
            except ValueError:
                return match[0]
            return f"${{{self._declare('since', match[0], 'string', self._distance(day))}}}"

        return _DATE.sub(put, text)

    def _distance(self, day: date) -> str:
        if self._task.at is None:
            return "A date"
        days = (datetime.fromtimestamp(self._task.at, UTC).date() - day).days
        if days == 0:
            return "A date: the day of the session"
        return f"A date: {abs(days)} day{'s' * (abs(days) != 1)} {'before' if days > 0 else 'after'} the session"

    def _is_inside(self, text: str) -> bool:
        return bool(self._folder) and (text == self._folder or text.startswith(f"{self._folder}/"))

    def is_said(self, value: str) -> bool:
        """Whether the user wrote it."""
        return re.search(rf"(?<![\w-]){re.escape(value)}(?![\w-])", self._task.words) is not None

    def _take(self, path: ValuePath, value: str | int) -> str:
        kind = "string" if isinstance(value, str) else "integer"
        said = _SAID if self.is_said(str(value)) else "The same in several steps"
        return f"${{{self._declare(_name_of(str(value), path), value, kind, said)}}}"

    def _secret(self, mark: str) -> str:
        name = _NAME.sub("_", mark.lower()).strip("_") if not mark.isidentifier() else mark
        self._declared.setdefault(name, {"type": "string", "secret": True, "description": "A secret of the session"})
        return name

    def _declare(self, wanted: str, value: object, kind: str, said: str, *, is_list: bool = False) -> str:
        same = [name for name, known in self._values.items() if known == value and type(known) is type(value)]
        if same and wanted not in ("folder", "since") and not is_list:
            return same[0]
        name, number = wanted, 1
        while name in self._declared and (name not in self._values or self._values[name] != value or is_list):
            number += 1
            name = f"{wanted}_{number}"
        self._values[name] = value
        self._declared[name] = {"type": kind, "default": value, "description": said}
        return name


def _may_repeat(path: ValuePath, value: object) -> bool:
    return path[0] not in ("command", "cwd") and isinstance(value, str) and says_enough(value) and len(value) < 120


def _name_of(value: str, path: ValuePath) -> str:
    """A name for an input: that of its argument, or what the value looks like."""
    if path[0] != "command":
        own = _NAME.sub("_", str(next(key for key in reversed(path) if isinstance(key, str))).lower()).strip("_")
        return own or "value"
    if "://" in value:
        return "url"
    if value.isdigit():
        return "number"
    if _VERSION.fullmatch(value):
        return "version"
    return "file" if "." in value.strip(".") else "value"
