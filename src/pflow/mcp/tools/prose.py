"""What a tool's description says in full, and what it says about single parameters. Pure; guesses nothing.

Servers written in Python put a function's docstring there, whose `Args:` may be all that is known of a parameter.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from inspect import cleandoc

from pflow.core.json_type import object_in
from pflow.core.printable import cut
from pflow.mcp.tools.text import one_line

MOST_CHARACTERS = 64 << 10
"""Characters of a description that are read."""

_ARGUMENTS = r"(?:args?|arguments?|param(?:eter)?s?|keyword (?:args|arguments)|inputs?|other parameters)"
_HEADING = re.compile(rf"(\s*)(?:#+ *|\*\*)?{_ARGUMENTS} ?:?(?:\*\*)? ?:?\s*\Z", re.IGNORECASE)
_UNDERLINE = re.compile(r"\s*-{3,}\s*\Z")
_QUOTE = r"[`\"'*]{0,2}"
_ENTRY = re.compile(
    rf"(\s*)(?:[-*•+] +)?{_QUOTE}([A-Za-z_][\w.-]*){_QUOTE}"
    rf"(?: ?\(([^()]*(?:\([^()]*\)[^()]*)*)\))?{_QUOTE} ?(?::|[-–—] ){_QUOTE}\s*(.*)\Z"
)
_NUMPY = re.compile(r"(\s*)([A-Za-z_]\w*(?:, ?[A-Za-z_]\w*)*)(?: ?: ?.*)?\s*\Z")
_SPHINX = re.compile(
    r"\s*(?::param(?:eter)?(?: [^:]*?)? (\w+):|[@\\]param(?: \{[^}]*\})? \[?(\w+)\]?(?:=\S*)?(?: -)?)\s*(.*)\Z"
)
_MOST_SECTIONS = 20
_FIELD = re.compile(r"\s*(?::\w+[^:]*:|[@\\]\w+)")


def whole_description(definition: Mapping[str, object]) -> str:
    """A tool's description as its server wrote it, without the indentation of its source; else its title or name."""
    given = definition.get("description")
    text = clean_prose(given) if isinstance(given, str) else ""
    if text:
        return text
    title = definition.get("title") or object_in(definition, "annotations").get("title")
    return clean_prose(title) if isinstance(title, str) and title.strip() else str(definition.get("name", ""))


def clean_prose(text: str) -> str:
    """Text of several lines without common indentation, blanks at its ends and more than one empty line in a row."""
    lines = [line.rstrip() for line in cleandoc(cut(text, MOST_CHARACTERS)).splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")


def describe_params(text: str, names: Collection[str]) -> dict[str, str]:
    """What a description says of the parameters with these names, in the styles of Google, NumPy and Sphinx."""
    lines = clean_prose(text).splitlines()
    found: dict[str, str] = {}
    for name, said in (*_sphinx(lines), *_sections(lines)):
        if name in names and said and name not in found:
            found[name] = one_line(said)
    return found


def _sections(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    headings = [number for number, line in enumerate(lines) if _HEADING.match(line)]
    for number in headings[:_MOST_SECTIONS]:
        line, below = lines[number], lines[number + 1 :]
        if below and _UNDERLINE.match(below[0]):
            yield from _entries(below[1:], _NUMPY, deeper_than=-1)
        elif line.rstrip().endswith((":", "*")) or line.lstrip().startswith("#"):
            yield from _entries(below, _ENTRY, deeper_than=_indent(line))


def _entries(lines: Sequence[str], form: re.Pattern[str], *, deeper_than: int) -> Iterator[tuple[str, str]]:
    """The entries of one section: those at the depth of its first line, each with the deeper lines below it."""
    depth: int | None = None
    names: list[str] = []
    said: list[str] = []
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        indent = _indent(line)
        bullet = line.lstrip().startswith(("-", "*", "•", "+", "`"))
        if depth is None:
            if indent < deeper_than or (indent == deeper_than and not bullet):
                break
            depth = indent
        if indent < depth or (form is _NUMPY and number + 1 < len(lines) and _UNDERLINE.match(lines[number + 1])):
            break
        if indent > depth:
            said.append(line.strip())
            continue
        entry = form.match(line)
        if entry is None:
            break
        yield from ((name, " ".join(said)) for name in names)
        names = [name.strip() for name in entry[2].split(",")]
        said = [] if form is _NUMPY else [entry[4]]
    yield from ((name, " ".join(said)) for name in names)


def _sphinx(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    name, said = "", ""
    for line in lines:
        entry = _SPHINX.match(line)
        if entry is not None:
            yield name, said
            name, said = entry[1] or entry[2], entry[3]
        elif not line.strip() or _FIELD.match(line) or not name:
            yield name, said
            name, said = "", ""
        else:
            said = f"{said} {line.strip()}"
    yield name, said


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
