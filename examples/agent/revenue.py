"""What the two agents of `mend_in_shell.py` and `mend_over_mcp.py` build: the sum of a column of a CSV file.

It is right for the first file and wrong for the second, where an amount has a comma in it.
"""

from __future__ import annotations

from pathlib import Path

NAME = "revenue"
TASK = "read a file of orders and add up the amounts"

PLAIN = "customer,amount\nAda,120\nGrace,80\n"
QUOTED = 'customer,amount\n"Lovelace, Ada",120\nGrace,80\n'
RIGHT = 200

DOCUMENT = """\
description: Add up the amounts of a file of orders
inputs:
  file: {type: string, description: "A CSV file with the columns customer and amount"}
nodes:
  - id: read
    type: read-file
    params: {path: "${file}"}
  - id: rows
    type: code
    params:
      inputs: {text: "${read.content}"}
      code: |
        rows = [line.split(",") for line in text.splitlines()[1:]]
        result = [{"customer": row[0], "amount": row[1]} for row in rows]
  - id: total  # what is not a number is no amount
    type: code
    params:
      inputs: {rows: "${rows.result}"}
      code: |
        result = sum(int(row["amount"]) for row in rows if row["amount"].isdigit())
outputs:
  total: {type: integer, source: "${total.result}"}
"""

_WRONG = """\
        rows = [line.split(",") for line in text.splitlines()[1:]]
        result = [{"customer": row[0], "amount": row[1]} for row in rows]
"""
_MENDED = """\
        import csv
        result = list(csv.DictReader(text.splitlines()))
"""


def mend(text: str) -> str:
    """The document with the step that reads rows as CSV has them."""
    assert _WRONG in text
    return text.replace(_WRONG, _MENDED)


def write_orders(folder: Path) -> tuple[Path, Path]:
    """The two files of orders."""
    plain, quoted = folder / "orders.csv", folder / "quoted.csv"
    plain.write_text(PLAIN)
    quoted.write_text(QUOTED)
    return plain, quoted
