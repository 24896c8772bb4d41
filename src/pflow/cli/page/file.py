"""Writes a run as one HTML file, for `pflow trace --html`."""

from __future__ import annotations

from pathlib import Path

from pflow.cli.console import Console
from pflow.core.errors import StorageError
from pflow.core.printable import escape
from pflow.web.export import export_run


def write_page(console: Console, run: str, path: str) -> None:
    """Write the file, or print it where the path is `-`."""
    page = export_run(console.workspace(), run)
    if path == "-":
        console.reply({"html": page}, page)
        return
    try:
        Path(path).write_text(page, encoding="utf-8")
    except OSError as error:
        raise StorageError(
            f"the page was not written to `{escape(path)}`: {error.strerror}",
            suggestions=["give another file, or `--html -` to print it"],
        ) from error
    console.reply({"html_path": path}, None)
    console.remark(f"written to {escape(path)}; open it in any browser")
