"""Reads a regular expression, in the language of RE2, into states: no back-references, no looking around."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pflow.core.expression.fault import Fault
from pflow.core.printable import shorten

MOST_CHARACTERS = 1000
MOST_STATES = 2000
MOST_REPEATS = 1000
MOST_GROUPS = 20
"""Groups inside groups."""

Range = tuple[str, str]

DIGIT: tuple[Range, ...] = (("0", "9"),)
WORD: tuple[Range, ...] = (("0", "9"), ("A", "Z"), ("_", "_"), ("a", "z"))
SPACE: tuple[Range, ...] = (("\t", "\n"), ("\f", "\r"), (" ", " "))
_CLASSES = {"d": DIGIT, "w": WORD, "s": SPACE}
_NAMED: dict[str, tuple[Range, ...]] = {
    "alnum": (("0", "9"), ("A", "Z"), ("a", "z")),
    "alpha": (("A", "Z"), ("a", "z")),
    "ascii": (("\x00", "\x7f"),),
    "blank": (("\t", "\t"), (" ", " ")),
    "cntrl": (("\x00", "\x1f"), ("\x7f", "\x7f")),
    "digit": DIGIT,
    "graph": (("!", "~"),),
    "lower": (("a", "z"),),
    "print": ((" ", "~"),),
    "punct": (("!", "/"), (":", "@"), ("[", "`"), ("{", "~")),
    "space": (("\t", "\r"), (" ", " ")),
    "upper": (("A", "Z"),),
    "word": WORD,
    "xdigit": (("0", "9"), ("A", "F"), ("a", "f")),
}
_ESCAPES = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_ASSERTIONS = {"b": "word-edge", "B": "no-word-edge", "A": "start", "z": "end"}


class State(NamedTuple):
    """One state: it takes a character, or leads on at once to others, if what it asserts holds."""

    takes: Callable[[str], bool] | None = None
    leads: tuple[int, ...] = ()
    asserts: str = ""


class Flags(NamedTuple):
    """`(?i)`, `(?s)` and `(?m)`."""

    i: bool = False
    s: bool = False
    m: bool = False


ACCEPT = 0
"""The state that ends a match."""


class Reader:
    """Builds states from the end to the beginning: each part is given the state that follows it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.states: list[State] = [State()]
        self.depth = 0
        self.built = 0

    # A part of a pattern is a function from the state behind it to its own first state, so that `x{2}` can
    # build `x` twice.

    def whole(self) -> int:
        """Read all of the pattern; its first state."""
        part = self.alternatives(Flags())
        if self.at < len(self.text):
            raise self.wrong("`)` closes no group", "write `\\)` for the character")
        return part(ACCEPT)

    def alternatives(self, flags: Flags) -> Part:
        row, flags = self.row(flags)
        parts = [row]
        while self.take("|"):
            row, flags = self.row(flags)
            parts.append(row)
        return parts[0] if len(parts) == 1 else lambda after: self.add(leads=tuple(part(after) for part in parts))

    def row(self, flags: Flags) -> tuple[Part, Flags]:
        parts: list[Part] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            if self.text.startswith("(?", self.at) and (changed := self.change_flags(flags)):
                flags = changed
                continue
            parts.append(self.repeated(self.atom(flags)))

        return _in_row(parts), flags

    def repeated(self, part: Part) -> Part:
        times = self.times()
        if times is None:
            return part
        self.take("?")  # lazy or greedy: whether there is a match is the same
        if self.times() is not None:
            raise self.wrong("a repetition of a repetition", "put a group around the first: `(?:a+)*`")
        least, most = times

        def build(after: int) -> int:
            if most is None:
                loop = self.add()
                self.states[loop] = State(leads=(part(loop), after))
                after = loop
            else:
                for _ in range(most - least):
                    after = self.add(leads=(part(after), after))
            for _ in range(least):
                self.count()
                after = part(after)
            return after

        return build

    def times(self) -> tuple[int, int | None] | None:
        for mark, least, most in (("*", 0, None), ("+", 1, None), ("?", 0, 1)):
            if self.take(mark):
                return least, most
        close = self.text.find("}", self.at)
        if not self.text.startswith("{", self.at) or close < 0:
            return None
        low, comma, high = self.text[self.at + 1 : close].partition(",")
        if not (_is_number(low) and (not high or _is_number(high))):
            return None  # then it is the character `{`, as in RE2
        bounds = int(low), int(high or low) if high or not comma else None
        if max(bounds[0], bounds[1] or 0) > MOST_REPEATS or (bounds[1] is not None and bounds[1] < bounds[0]):
            raise self.wrong(f"`{{m,n}}` goes from less to more, at most {MOST_REPEATS:,} times")
        self.at = close + 1
        return bounds

    def atom(self, flags: Flags) -> Part:
        letter = self.text[self.at]
        if letter == "(":
            return self.group(flags)
        if letter in "*+?":
            raise self.wrong(f"`{letter}` repeats nothing", f"write `\\{letter}` for the character")
        self.at += 1
        match letter:
            case "[":
                return self.taking(self.char_class(flags))
            case ".":
                return self.taking(lambda found: flags.s or found != "\n")
            case "^":
                return self.asserting("line-start" if flags.m else "start")
            case "$":
                return self.asserting("line-end" if flags.m else "end")
            case "\\":
                return self.escape(flags)
        return self.taking(_one_of(((letter, letter),), flags))

    def group(self, flags: Flags) -> Part:
        start = self.at
        self.depth += 1
        if self.depth > MOST_GROUPS:
            raise self.wrong(f"groups are at most {MOST_GROUPS} deep")
        self.at += 1
        if self.take("?"):
            if self.take("P<") or (
                self.text[self.at : self.at + 1] == "<" and self.text[self.at + 1 : self.at + 2] not in "=!"
            ):
                close = self.text.find(">", self.at)
                self.at = close + 1 if close >= 0 else len(self.text)
            elif self.text[self.at : self.at + 1] in ("=", "!", "<"):
                raise self.wrong("patterns cannot look ahead or behind", "write two `matches` joined by `&&`")
            else:
                flags = self.flags(flags)
                if not self.take(":"):
                    raise self.wrong("`(?` begins a group that patterns do not have", "write `(?:…)` for a group")
        inner = self.alternatives(flags)
        if not self.take(")"):
            self.at = start
            raise self.wrong("a group that begins with `(` does not end", "write `\\(` for the character")
        self.depth -= 1
        return inner

    def change_flags(self, flags: Flags) -> Flags | None:
        """Flags for what follows, `(?i)`; None if this is a group."""
        start = self.at
        self.at += 2
        changed = self.flags(flags)
        if self.at > start + 2 and self.take(")"):
            return changed
        self.at = start
        return None

    def flags(self, flags: Flags) -> Flags:
        on = True
        while (letter := self.text[self.at : self.at + 1]) and letter in "imsU-":
            on = on and letter != "-"
            if letter in "ims":
                flags = flags._replace(**{letter: on})
            self.at += 1
        return flags

    def escape(self, flags: Flags) -> Part:
        letter = self.text[self.at : self.at + 1]
        if letter in _ASSERTIONS and letter:
            self.at += 1
            return self.asserting(_ASSERTIONS[letter])
        if letter == "Q":
            close = self.text.find("\\E", self.at)
            quoted = self.text[self.at + 1 : close if close >= 0 else None]
            self.at = close + 2 if close >= 0 else len(self.text)
            parts = [self.taking(_one_of(((one, one),), flags)) for one in quoted]
            return _in_row(parts)
        ranges, inverted = self.escaped()
        return self.taking(_one_of(ranges, flags, inverted))

    def escaped(self) -> tuple[tuple[Range, ...], bool]:
        """The characters that an escape stands for, and whether it is all the others."""
        letter = self.text[self.at : self.at + 1]
        self.at += 1
        if letter.lower() in _CLASSES and letter:
            return _CLASSES[letter.lower()], letter.isupper()
        if letter == "x":
            found = chr(self.code_point())
        elif letter in _ESCAPES and letter:
            found = _ESCAPES[letter]
        elif letter and not (letter.isalnum() and letter.isascii()):
            found = letter
        else:
            hint = "there are no back-references" if letter.isdigit() else "write `\\\\` for a backslash"
            raise self.wrong(f"`\\{letter}` is not an escape of patterns", hint)
        return ((found, found),), False

    def code_point(self) -> int:
        close = self.text.find("}", self.at) if self.text.startswith("{", self.at) else -1
        digits = self.text[self.at + 1 : close] if close >= 0 else self.text[self.at : self.at + 2]
        self.at = close + 1 if close >= 0 else self.at + 2
        if not (
            (0 < len(digits) <= 6 if close >= 0 else len(digits) == 2)
            and all(one in "0123456789abcdefABCDEF" for one in digits)
        ):
            raise self.wrong("`\\x` needs two hexadecimal digits, or some in braces: `\\x{20AC}`")
        if int(digits, 16) > 0x10FFFF:
            raise self.wrong(f"`{digits}` is not a character of Unicode")
        return int(digits, 16)

    def char_class(self, flags: Flags) -> Callable[[str], bool]:
        """What stands in `[…]`."""
        start = self.at
        inverted = self.take("^")
        tests: list[Callable[[str], bool]] = []
        ranges: list[Range] = []
        first = True
        while first or not self.text.startswith("]", self.at):
            first = False
            if self.at >= len(self.text):
                self.at = start - 1
                raise self.wrong("a class that begins with `[` does not end", "write `\\[` for the character")
            if self.text.startswith("[:", self.at) and (close := self.text.find(":]", self.at)) > 0:
                name = self.text[self.at + 2 : close]
                if name.removeprefix("^") not in _NAMED:
                    raise self.wrong(f"`[:{shorten(name)}:]` is not a class of characters")
                tests.append(_one_of(_NAMED[name.removeprefix("^")], flags, name.startswith("^")))
                self.at = close + 2
                continue
            low, low_inverted = self.member()
            if len(low) > 1 or low_inverted or low in _CLASSES.values() or not self.is_range():
                tests.append(_one_of(low, flags, low_inverted))
                continue
            self.at += 1
            high, high_inverted = self.member()
            if len(high) > 1 or high_inverted or high in _CLASSES.values() or high[0][0] < low[0][0]:
                raise self.wrong("a range of characters goes from a lower to a higher one, such as `a-z`")
            ranges.append((low[0][0], high[0][0]))
        self.at += 1
        tests.append(_one_of(tuple(ranges), flags))
        return lambda letter: any(test(letter) for test in tests) != inverted

    def member(self) -> tuple[tuple[Range, ...], bool]:
        letter = self.text[self.at : self.at + 1]
        self.at += 1
        return self.escaped() if letter == "\\" else (((letter, letter),), False)

    def is_range(self) -> bool:
        return self.text.startswith("-", self.at) and self.text[self.at + 1 : self.at + 2] not in ("]", "")

    # ---- states

    def taking(self, test: Callable[[str], bool]) -> Part:
        return lambda after: self.add(takes=test, leads=(after,))

    def asserting(self, what: str) -> Part:
        return lambda after: self.add(leads=(after,), asserts=what)

    def add(self, *, takes: Callable[[str], bool] | None = None, leads: tuple[int, ...] = (), asserts: str = "") -> int:
        self.count()
        self.states.append(State(takes, leads, asserts))
        return len(self.states) - 1

    def count(self) -> None:
        """Bound the work: repetitions of repetitions multiply, even those of nothing."""
        self.built += 1
        if self.built > MOST_STATES:
            raise Fault("limit", f"the pattern has more than {MOST_STATES:,} parts once its repetitions are counted")

    def take(self, mark: str) -> bool:
        if self.text.startswith(mark, self.at):
            self.at += len(mark)
            return True
        return False

    def wrong(self, message: str, hint: str = "") -> Fault:
        return Fault(
            "value", f"the pattern is not valid at character {min(self.at, len(self.text)) + 1}: {message}", hint
        )


Part = Callable[[int], int]


def read(text: str) -> tuple[list[State], int]:
    """The states of a pattern, and the first of them."""
    if len(text) > MOST_CHARACTERS:
        raise Fault("limit", f"a pattern has at most {MOST_CHARACTERS:,} characters; this one has {len(text):,}")
    reader = Reader(text)
    first = reader.whole()
    return reader.states, first


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 6


def _in_row(parts: list[Part]) -> Part:
    def build(after: int) -> int:
        for part in reversed(parts):
            after = part(after)
        return after

    return build


def _one_of(ranges: tuple[Range, ...], flags: Flags, inverted: bool = False) -> Callable[[str], bool]:
    def takes(letter: str) -> bool:
        return any(low <= letter <= high for low, high in ranges)

    if flags.i:
        return lambda letter: (takes(letter) or takes(letter.lower()) or takes(letter.upper())) != inverted
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1] and not inverted:
        only = ranges[0][0]
        return lambda letter: letter == only
    return lambda letter: takes(letter) != inverted
