"""The `format` node: a value into text."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pflow.nodes import param
from pflow.nodes.data.structure import write_json
from pflow.nodes.data.table import read_delimiter, write_csv, write_markdown
from pflow.nodes.output_node import OutputNode


class Format(OutputNode):
    """Write a value as JSON, CSV or a Markdown table, and give the text."""

    name = "format"
    synonyms = (
        "export a list as csv",
        "make a markdown table",
        "convert data to text",
        "encode, serialize, dump or stringify json",
        "report",
        "pretty print",
        "spreadsheet",
        "render results as a table",
        "produce a csv for excel",
        "turn into json text",
        "lay out, print nicely",
        "html, yaml output",
    )
    purity = "pure"
    actions = ("default", "error")

    class Params:
        value: Annotated[Any, "The value; for `csv` and `markdown` an array of objects or of arrays"]
        as_: Annotated[Literal["json", "csv", "markdown"], "The format"] = "json"
        indent: Annotated[bool, "For `json`: whether to spread it over lines"] = False
        header: Annotated[bool, "For `csv`: whether a first row names the columns"] = True
        delimiter: Annotated[str, "For `csv`: what stands between fields"] = ","

    class Outputs:
        text: Annotated[str, "The text"]

    def exec(self, prep_res: object) -> dict[str, object]:
        """Write the value."""
        params, value = self.params, self.params.get("value")
        kind = param.choice(params, "as", ("json", "csv", "markdown"))
        if kind == "json":
            return {"text": write_json(value, param.flag(params, "indent"))}
        if kind == "markdown":
            return {"text": write_markdown(value)}
        header = params.get("header") is None or param.flag(params, "header")
        return {"text": write_csv(value, header=header, delimiter=read_delimiter(param.text(params, "delimiter", ",")))}
