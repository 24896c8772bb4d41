"""Lines and CSV: text into rows, and rows into CSV or a Markdown table."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from pflow.core.errors import StepError
from pflow.core.json_type import describe
from pflow.core.printable import shorten
from pflow.core.template.compiled import as_text

_SHOWN = 8


def read_lines(text: str) -> list[str]:
    """The lines of a text without their ends, `\\n` or `\\r\\n`; one at the very end begins no further line."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def read_csv(text: str, *, header: bool, delimiter: str) -> list[dict[str, str]] | list[list[str]]:
    """The rows of CSV, blank lines left out: objects by the names in the first row, or arrays without `header`."""
    rows = _rows(text, delimiter)
    if not header:
        return [row for _, row in rows]
    if not rows:
        return []
    names = _names(rows[0][1])
    found = []
    for number, (line, row) in enumerate(rows[1:], 1):
        if len(row) != len(names):
            raise _ragged(number, line, row, names)
        found.append(dict(zip(names, row, strict=True)))
    return found


def write_csv(value: object, *, header: bool, delimiter: str) -> str:
    """An array of objects or of arrays as CSV with `\\n` after each row; values that are not text as JSON."""
    names, rows = _table(value)
    lines = [names] if names and header else []
    lines += [[_cell(cell) for cell in row] for row in rows]
    return "".join(f"{_csv_row(line, delimiter)}\n" for line in lines)


def write_markdown(value: object) -> str:
    """An array of objects or of arrays as a Markdown table; of arrays, the first is the head."""
    names, rows = _table(value)
    if names is None:
        names, rows = ([_cell(cell) for cell in rows[0]], rows[1:]) if rows else ([], [])
    if not names:
        return ""
    width = max([len(names), *(len(row) for row in rows)])
    lines = [names, ["---"] * width, *([_cell(cell) for cell in row] for row in rows)]
    return "".join(_markdown_row(line, width) for line in lines)


def read_delimiter(value: str) -> str:
    """The character between the fields of CSV; `\\t`, as some write it in a document, is a tab."""
    character = "\t" if value == "\\t" else value
    if len(character) != 1 or character in '"\r\n':
        raise StepError(
            f"`delimiter` is `{shorten(value)}`; it must be one character and not a quote or a line break",
            suggestions=['use `","`, `";"` or `"\\t"`'],
        )
    return character


def _rows(text: str, delimiter: str) -> list[tuple[int, list[str]]]:
    """Every row that is not blank, with the line that it begins on."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[tuple[int, list[str]]] = []
    line = 1
    try:
        for row in reader:
            if row:
                rows.append((line, row))
            line = reader.line_num + 1
    except csv.Error as error:
        raise StepError(
            f"`text` is not valid CSV: {error}, in the row that begins at line {line:,}",
            details={"line": line},
            suggestions=['a field with a quote in it is written `"a ""quoted"" word"`; is a quote left open?'],
        ) from None
    return rows


def _names(row: Sequence[str]) -> list[str]:
    names = [name.strip() for name in row]
    for position, name in enumerate(names, 1):
        if not name:
            raise StepError(
                f"column {position} has no name in the header of the CSV: {_shown(row)}",
                suggestions=["give `header: false` if the first row holds data"],
            )
        if name in names[: position - 1]:
            raise StepError(
                f"the header of the CSV has the name `{shorten(name)}` twice",
                suggestions=["give `header: false` and use the columns by their position"],
            )
    return names


def _ragged(number: int, line: int, row: Sequence[str], names: Sequence[str]) -> StepError:
    count = f"{len(row)} field{'s' * (len(row) != 1)}"
    return StepError(
        f"row {number:,} of the CSV (line {line:,}) has {count}, and the header has {len(names)}: {_shown(row)}",
        details={"row": number, "line": line},
        suggestions=[
            f"the header is {_shown(names)}; check the `delimiter` and the quotes, or give `header: false`",
        ],
    )


def _shown(row: Sequence[str]) -> str:
    more = ", …" if len(row) > _SHOWN else ""
    return ", ".join(f"`{shorten(cell, 24)}`" for cell in row[:_SHOWN]) + more


def _table(value: object) -> tuple[list[str] | None, list[list[object]]]:
    """The names of the columns, None for rows that are arrays, and the rows."""
    if not isinstance(value, list | tuple):
        hint = "put a single object in an array: `[…]`" if isinstance(value, Mapping) else ""
        hint = "a `parse` step makes an array of text" if isinstance(value, str) else hint
        raise StepError(
            f"`value` must be an array of objects or of arrays, not {describe(value)}",
            suggestions=[hint] if hint else [],
        )
    objects = [row for row in value if isinstance(row, Mapping)]
    if len(objects) == len(value):
        names = list(dict.fromkeys(str(name) for row in objects for name in row))
        return names, [[row.get(name) for name in names] for row in objects]
    for position, row in enumerate(value):
        if not isinstance(row, list | tuple):
            raise StepError(f"`value[{position}]` is {describe(row)}; the rows must be all objects or all arrays")
    return None, [list(row) for row in value]


def _csv_row(cells: Sequence[str], delimiter: str) -> str:
    """One row of CSV. The standard library leaves a lone carriage return without quotes and could not read it again."""
    if list(cells) == [""]:
        return '""'
    special = frozenset(('"', "\r", "\n", delimiter))
    quoted = (f'"{cell.replace(chr(34), chr(34) * 2)}"' if not special.isdisjoint(cell) else cell for cell in cells)
    return delimiter.join(quoted)


def _cell(value: object) -> str:
    return "" if value is None else as_text(value)


def _markdown_row(cells: Sequence[str], width: int) -> str:
    padded = [*cells, *[""] * (width - len(cells))]
    return "| " + " | ".join(_markdown_cell(cell) for cell in padded) + " |\n"


def _markdown_cell(text: str) -> str:
    one_line = "<br>".join(line.strip() for line in text.replace("\r", "\n").split("\n")) if "\n" in text else text
    return one_line.replace("\\", "\\\\").replace("|", "\\|") if "|" in one_line else one_line
