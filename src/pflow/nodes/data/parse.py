"""The `parse` node: text into a value, by its format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pflow.core.errors import StepError
from pflow.nodes import param
from pflow.nodes.data.literal import read_literal
from pflow.nodes.data.regex import find_all
from pflow.nodes.data.structure import read_json, read_json_lines, read_yaml
from pflow.nodes.data.table import read_csv, read_delimiter, read_lines
from pflow.nodes.output_node import OutputNode

FORMATS = ("json", "yaml", "csv", "jsonl", "lines", "regex", "literal")

_WHOLE: Mapping[str, Callable[[str], object]] = {"json": read_json, "yaml": read_yaml, "literal": read_literal}
"""Formats in which an empty text does not hold a value."""


class Parse(OutputNode):
    """Read text as JSON, YAML, CSV, lines or another format, and give its value."""

    name = "parse"
    synonyms = (
        "read csv",
        "decode a json string",
        "load yaml or toml config",
        "convert text to data",
        "extract with a regex, regular expression or pattern",
        "split lines",
        "rows of a table",
        "match text against a pattern",
        "spreadsheet",
        "xml, html, ini",
        "interpret",
        "pull email addresses, dates, links or numbers out of a text",
        "find in text",
        "understand a format",
        "break text into pieces, tokens or columns",
        "read a table",
    )
    purity = "pure"
    actions = ("default", "error")

    class Params:
        text: Annotated[str, "The text"]
        as_: Annotated[
            Literal["json", "yaml", "csv", "jsonl", "lines", "regex", "literal"],
            "Its format; `literal` is what Python prints",
        ] = "json"
        pattern: Annotated[str | None, "For `regex`: what to find, with named groups", "slot:raw"] = None
        header: Annotated[bool, "For `csv`: whether the first row names the columns"] = True
        delimiter: Annotated[str, "For `csv`: what stands between fields"] = ","

    class Outputs:
        value: Annotated[Any, "The value that the text holds"]

    def exec(self, prep_res: object) -> dict[str, object]:
        """Read the text."""
        params = self.params
        text = param.text(params, "text").removeprefix("\ufeff")
        param.utf8("text", text)
        return {"value": _read(text, param.choice(params, "as", FORMATS), params)}


def _read(text: str, kind: str, params: param.Params) -> object:
    if kind == "csv":
        delimiter = read_delimiter(param.text(params, "delimiter", ","))
        return read_csv(text, header=params.get("header") is None or param.flag(params, "header"), delimiter=delimiter)
    if kind == "regex":
        return find_all(param.text(params, "pattern"), text)
    if kind in ("lines", "jsonl"):
        return read_lines(text) if kind == "lines" else read_json_lines(text)
    if not text.strip():
        raise StepError("`text` is empty", suggestions=["look at the step that gave it"])
    return _WHOLE[kind](text)
