"""Runs that become cassettes and tests, from the command line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from pflow.cli.console import Console
from pflow.cli.run_report import show_outcome
from pflow.core.errors import SecurityError, UsageError
from pflow.core.printable import escape

if TYPE_CHECKING:
    from pflow.workspace import Outcome


def cassette_path(name: str, word: str) -> Path:
    """Where a run is recorded: the file that was named, else one named after its workflow, here."""
    if word and not word.endswith(".jsonl"):
        raise UsageError(
            f"`{word}` is not the name of a cassette", suggestions=["let it end in `.cassette.jsonl`, or leave it out"]
        )
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "workflow"
    return Path(word or f"{stem}.cassette.jsonl").absolute()


def record_outcome(console: Console, outcome: Outcome, name: str, word: str) -> int:
    """Show how a run went, and write its cassette; the exit code is that of the run, unless the cassette is refused."""
    path = cassette_path(name, word)
    code = show_outcome(console, outcome)
    if outcome.status not in ("completed", "failed"):
        console.remark(
            f"not recorded: the run is {outcome.status}; "
            f"when it is over, `pflow runs show {outcome.run_id} --as-test NAME` makes it a test"
        )
        return code
    try:
        made = console.workspace().record(outcome.run_id, path)
    except SecurityError as error:
        console.remark(f"error: {escape(error.message)}", *(f"hint: {escape(one)}" for one in error.suggestions))
        return error.exit_code
    count = len(made.calls)
    console.remark(f"recorded {count} call{'s' * (count != 1)} to {escape(path.name)}")
    return code


def make_test(console: Console, run: str, name: str, file: str | None) -> None:
    """Make a run a test, and say what was written."""
    chosen = None if file is None else Path(file).absolute()
    made = console.workspace().tests.add(run, name, file=chosen, folder=Path.cwd())
    written = [made.file, made.cassette, *([made.document] if made.document else [])]
    data = {
        "name": made.name,
        "file": str(made.file),
        "cassette": str(made.cassette),
        "calls": made.calls,
        **({"document": str(made.document)} if made.document else {}),
    }
    lines = [f"test `{escape(made.name)}` of {made.calls} call{'s' * (made.calls != 1)}"]
    console.reply(data, "\n".join([*lines, *(f"  {escape(str(path))}" for path in written)]))
