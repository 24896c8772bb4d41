"""`pflow test`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from pflow.cli.argument import find_workflow
from pflow.cli.command_group import with_console
from pflow.cli.completion import complete_file, complete_run
from pflow.cli.console import Console
from pflow.cli.testing.junit import junit_text
from pflow.cli.testing.text import case_details, case_line, coverage_lines
from pflow.core.error_text import render_error
from pflow.core.errors import UsageError
from pflow.core.file.author_file import write_file
from pflow.core.printable import escape

if TYPE_CHECKING:
    from pflow.workspace.testing.result import Recording, SuiteResult

_EXAMPLE = """\b
  pflow run report.yaml --record                record a run as a test
  pflow runs show latest --as-test "two rows"   the same, of a run that is over
  pflow test                                    play all tests of this directory
  pflow test report --record new                call what is not recorded, and record it
  pflow test report.yaml --against latest       play a run with an edited document
"""


@click.command("test", short_help="Test workflows from what their runs recorded.", epilog=_EXAMPLE)
@click.argument("paths", nargs=-1, metavar="[PATH]...", shell_complete=complete_file)
@click.option("-k", "text", default="", metavar="TEXT", help="Only tests with this in their name.")
@click.option(
    "--record",
    type=click.Choice(("none", "new", "all")),
    default="none",
    show_default=True,
    help="Call what is not recorded, or everything, for real, and write the cassettes.",
)
@click.option("--update", is_flag=True, help="Write the outputs and counts that there are where others are expected.")
@click.option("--strict", is_flag=True, help="Fail a test that does not use all of its recordings.")
@click.option("--live", is_flag=True, help="Run the workflows for real, and say how outputs drifted from recordings.")
@click.option(
    "--against",
    metavar="RUN",
    shell_complete=complete_run,
    help="Play this run with the workflow at PATH, and say what would differ.",
)
@click.option("--cov-min", type=click.FloatRange(0, 100), metavar="N", help="Fail below this percentage of coverage.")
@click.option("--junit", metavar="FILE", shell_complete=complete_file, help="Write the results as JUnit XML, too.")
@with_console
def test(
    console: Console,
    paths: tuple[str, ...],
    text: str,
    record: str,
    update: bool,
    strict: bool,
    live: bool,
    against: str | None,
    cov_min: float | None,
    junit: str | None,
) -> int:
    """Play tests: steps get what was recorded, nothing is started or reached, and the results are compared.

    PATH is a test file, a directory, or a workflow. Without one: every `*.test.yaml` of this directory and of the home.
    Exit code: 0 passed, 1 failed, 2 a wrong test file or a stale cassette, 3 refused.
    """
    if against is not None:
        return _play_against(console, paths, against)
    if live and record != "none":
        raise UsageError(
            "`--live` and `--record` exclude each other", suggestions=["`--record all` runs for real, too"]
        )
    from pflow.workspace.testing.suite_run import Choice  # lazy: with the tests

    tests = console.workspace().tests
    files = tests.find(paths)
    recording = cast("Recording", record)
    choice = Choice(text=text, record=recording, update=update, strict=strict, live=live)
    results: list[SuiteResult] = []
    details: dict[int, str] = {}
    for file in files:
        result = tests.run(file, choice)
        if result.source == str(file):
            result = result._replace(source=_short(file))
        if result.cases or result.error is not None:
            results.append(result)
            _show(console, result, details, strict=strict)
    if not results:
        raise UsageError(
            f"no test has `{text}` in its name" if text and files else "there are no tests here",
            suggestions=["make one of a run: `pflow runs show RUN --as-test NAME`"],
        )
    if junit:
        write_file(Path(junit).absolute(), junit_text(results, details).encode())
    code = max(result.exit_code for result in results)
    short = [one for one in results if cov_min is not None and one.coverage and one.coverage.percent < cov_min]
    for one in short:
        console.remark(f"error: the tests of `{escape(one.workflow)}` cover less than {cov_min:g} %")
    code = max(code, 1 if short else 0)
    _summarise(console, results, code)
    return code


def _show(console: Console, result: SuiteResult, details: dict[int, str], *, strict: bool) -> None:
    lines = [escape(_short(result.file))]
    if result.error is not None:
        text = render_error(result.error, result.places, source=result.source)
        details[id(result)] = text
        lines += text.split("\n")
    for case in result.cases:
        found = case_details(result, case, strict=strict)
        details[id(case)] = "\n".join(found)
        lines += [case_line(case), *found]
    lines += coverage_lines(result)
    if not console.json:
        console.text("\n".join([*lines, ""]))


def _short(file: Path) -> str:
    here = Path.cwd()
    return str(file.relative_to(here)) if file.is_relative_to(here) else str(file)


def _summarise(console: Console, results: Sequence[SuiteResult], code: int) -> None:
    cases = [case for result in results for case in result.cases]
    counts = {name: sum(case.outcome == name for case in cases) for name in ("passed", "failed", "wrong")}
    counts["wrong"] += sum(result.error is not None for result in results)
    parts = [f"{count} {name}" for name, count in counts.items() if count or name == "passed"]
    data = {"ok": code == 0, **counts, "files": [result.as_json() for result in results]}
    console.reply(data, ", ".join(parts))


def _play_against(console: Console, paths: tuple[str, ...], run: str) -> int:
    if len(paths) != 1:
        raise UsageError("`--against` takes one workflow", suggestions=["pflow test WORKFLOW --against RUN"])
    from pflow.cli.testing.against_text import against_json, against_text  # lazy: only for this

    workflow = find_workflow(console, paths[0])
    checked = console.workspace().check(workflow)
    console.places, console.source = checked.source.parsed.places, checked.source.shown
    found = console.workspace().tests.against(workflow, run)
    console.show(against_json(found), against_text(found))
    return 0 if found.is_same else 1
