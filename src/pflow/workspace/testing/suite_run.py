"""Runs the tests of a file: each is checked, played from its cassette, and judged."""

from __future__ import annotations

from pathlib import Path

from pflow.core.cassette.cassette import Cassette
from pflow.core.cassette.cassette_file import read_cassette, write_cassette
from pflow.core.document.issue import Issue
from pflow.core.document.position import Places
from pflow.core.errors import DocumentError, InputError, PflowError, UsageError
from pflow.core.frozen import Frozen
from pflow.core.suggest import did_you_mean
from pflow.core.suite.match import mismatches
from pflow.core.suite.read import ReadSuite, read_suite
from pflow.core.suite.suite import Case
from pflow.engine.plan import Plan
from pflow.execution.check import Checked, check_source
from pflow.execution.replay.coverage import Reached
from pflow.execution.replay.expectation import Cause, differences, find_cause, judge
from pflow.execution.replay.names import CaseCheck
from pflow.execution.replay.record import record_run
from pflow.execution.replay.replay import Replayed, replay_checked, run_for_real
from pflow.execution.replay.rule import path_of, plain
from pflow.execution.replay.stale import MOST_DRIFT, shape_drift, stale_tools
from pflow.execution.replay.step import Played
from pflow.execution.wiring import Wiring
from pflow.execution.workflow_source import find_source
from pflow.workspace.testing.find import stem_of
from pflow.workspace.testing.result import CaseResult, Recording, SuiteResult

_DOCUMENTS = (".yaml", ".yml", ".json", ".pflow.md")


class Choice(Frozen):
    """Which tests run, and how: those with `text` in their name, or with this very `name`.

    With `live` they run for real; with `update`, expected outputs become those that there are.
    """

    text: str = ""
    name: str = ""
    record: Recording = "none"
    update: bool = False
    strict: bool = False
    live: bool = False


class SuiteRun:
    """The tests of one file."""

    def __init__(self, wiring: Wiring, file: Path, choice: Choice) -> None:
        self._wiring = wiring
        self._file = file
        self._choice = choice
        self._reached = Reached()
        self._plan: Plan | None = None
        self._source = ""

    def run(self) -> SuiteResult:
        """Run them. What is wrong with the file, or with the workflow, is a part of the result."""
        try:
            read = read_suite(self._file)
        except PflowError as error:
            return SuiteResult(file=self._file, error=error)
        workflow = read.suite.workflow or self._beside()
        if read.issues:
            return self._wrong(workflow, _file_error(self._file, read.issues), read.places)
        text, name = self._choice.text.lower(), self._choice.name
        chosen = [case for case in read.suite.cases if text in case.name.lower() and name in ("", case.name)]
        results: list[CaseResult] = []
        for case in chosen:
            try:
                results.append(self._case(case, workflow, read))
            except _DocumentWrong as wrong:
                return self._wrong(workflow, wrong.error, wrong.places, wrong.source)
            except InputError as error:  # whose details are for callers that ask for what is missing
                plainly = InputError(error.message, suggestions=error.suggestions)
                results.append(CaseResult(name=case.name, outcome="wrong", error=plainly))
            except PflowError as error:
                results.append(CaseResult(name=case.name, outcome="wrong", error=error))
        if self._choice.update:
            results = self._update(results, read)
        coverage = None if self._plan is None else self._reached.coverage(self._plan)
        return SuiteResult(
            file=self._file,
            workflow=workflow,
            cases=tuple(results),
            coverage=coverage,
            places=read.places,
            source=str(self._file),
        )

    def _wrong(self, workflow: str, error: PflowError, places: Places | None, source: str = "") -> SuiteResult:
        shown = source or str(self._file)
        return SuiteResult(file=self._file, workflow=workflow, error=error, places=places, source=shown)

    def _beside(self) -> str:
        """The document that a test file is named after, else the workflow of that name."""
        stem = stem_of(self._file)
        found = (self._file.with_name(f"{stem}{suffix}") for suffix in _DOCUMENTS)
        return next((str(path) for path in found if path.is_file()), stem)

    def _case(self, case: Case, workflow: str, read: ReadSuite) -> CaseResult:
        cassette = self._cassette(case, read)
        wiring = self._wiring
        with wiring.registry.lending(cassette.definitions):
            checked = self._checked(workflow)
            plan = checked.ready()
            issues = tuple(CaseCheck(plan, read.places, wiring.registry.names()).check(case))
            if issues:
                raise _file_error(self._file, issues)
            self._plan = plan
            stale = stale_tools(wiring.registry, cassette, plan)
            if self._choice.record != "none":
                return self._recorded(case, checked, cassette, set(stale))
            if self._choice.live:
                return self._live(case, checked, cassette)
            if stale:
                raise self._stale_error(case, stale)
            replayed = replay_checked(wiring, checked, cassette, case.inputs, stubs=case.stubs, real=case.real)
            return self._judged(case, plan, cassette, replayed)

    def _checked(self, workflow: str) -> Checked:
        source = find_source(workflow, self._wiring.home, self._wiring.projects, self._file.parent)
        checked = check_source(self._wiring, source)
        try:
            checked.ready()
        except DocumentError as error:
            raise _DocumentWrong(error, source.parsed.places, source.shown) from None
        return checked

    def _cassette(self, case: Case, read: ReadSuite) -> Cassette:
        if not case.cassette:
            if self._choice.record != "none":
                raise UsageError(
                    f"the test `{case.name}` has no cassette to record to",
                    suggestions=[f"add `cassette: {stem_of(self._file)}.NAME.cassette.jsonl` to it"],
                )
            return Cassette(workflow="")
        path = self._file.parent / case.cassette
        if not path.is_file():
            if self._choice.record != "none" or self._choice.live:
                return Cassette(workflow="")
            near = did_you_mean(case.cassette, [one.name for one in self._file.parent.glob("*.jsonl")])
            hint = near or "record it: `pflow test --record new`"
            message = f"there is no cassette `{case.cassette}`"
            place = ("tests", case.name, "cassette")
            raise _file_error(self._file, (read.places.issue("no-cassette", message, place, hint=hint),))
        if self._choice.record == "all":
            return self._inputs_only(path)
        return read_cassette(path)

    def _inputs_only(self, path: Path) -> Cassette:
        """The inputs of a cassette whose calls are all made again; a damaged one is replaced."""
        try:
            return Cassette(workflow="", inputs=read_cassette(path).inputs)
        except UsageError:
            return Cassette(workflow="")

    def _judged(self, case: Case, plan: Plan, cassette: Cassette, replayed: Replayed) -> CaseResult:
        played = Played(replayed.events)
        self._reached.add(played.steps.values())
        findings = judge(case, plan, replayed, played)
        failed = bool(findings) or (self._choice.strict and bool(replayed.unused))
        cause = find_cause(cassette, played, played.digests(self._wiring.redactor)) if findings else None
        return CaseResult(
            name=case.name,
            outcome="failed" if failed else "passed",
            findings=findings,
            unrecorded=replayed.unrecorded,
            replayed=len(replayed.asked),
            stubbed=replayed.stubbed,
            live=replayed.live,
            ms=round(replayed.ms, 3),
            unused=replayed.unused,
            cause=cause or Cause(),
            outputs=plain(dict(replayed.outputs)),
        )

    def _recorded(self, case: Case, checked: Checked, cassette: Cassette, stale: set[str]) -> CaseResult:
        """Run what is not recorded for real, and write the cassette anew."""
        wiring = self._wiring
        run_id, replayed = run_for_real(wiring, checked, cassette, case.inputs, stubs=case.stubs, stale=stale)
        path = self._file.parent / case.cassette
        made = record_run(wiring, run_id)
        stubbed = frozenset(case.stubs)
        made = made._replace(calls=tuple(call for call in made.calls if path_of(call.step) not in stubbed))
        changed = write_cassette(path, made, wiring.redactor.names_in)
        judged = self._judged(case, checked.ready(), made, replayed)
        return judged._replace(
            unused=(),
            recorded=case.cassette if changed else "",
            outcome="failed" if judged.findings else "passed",
        )

    def _live(self, case: Case, checked: Checked, cassette: Cassette) -> CaseResult:
        """Run it for real, and say how what it gives differs from what was recorded."""
        wiring = self._wiring
        before = None
        if cassette.calls:
            before = replay_checked(wiring, checked, cassette, case.inputs, stubs=case.stubs, real=case.real)
        empty = Cassette(workflow="", inputs=cassette.inputs)
        _, replayed = run_for_real(wiring, checked, empty, case.inputs, stubs=case.stubs)
        judged = self._judged(case, checked.ready(), cassette, replayed)
        if before is None or before.status != replayed.status:
            return judged
        was, now = plain(dict(before.outputs)), plain(dict(replayed.outputs))
        drift = tuple(shape_drift(was, now))
        changes = tuple(differences("outputs", mismatches(was, now)))[:MOST_DRIFT]
        return judged._replace(drift=drift, changes=changes, outcome="failed" if drift else judged.outcome)

    def _stale_error(self, case: Case, stale: dict[str, tuple[str, ...]]) -> UsageError:
        name, changes = next(iter(stale.items()))
        return UsageError(
            f"the cassette `{case.cassette}` is stale: `{name}` has changed since ({'; '.join(changes)})",
            details={"tools": list(stale)},
            suggestions=[f"`pflow test {self._file.name} --record new` calls it again, for real"],
        )

    def _update(self, results: list[CaseResult], read: ReadSuite) -> list[CaseResult]:
        """Write the outputs and counts that there are where others are expected."""
        from pflow.workspace.testing.update import update_expected  # lazy: most tests are not changed

        return update_expected(self._file, results, read.suite.cases)


class _DocumentWrong(Exception):
    """The workflow cannot run: its own text shows why."""

    def __init__(self, error: DocumentError, places: Places, source: str) -> None:
        super().__init__(error.message)
        self.error = error
        self.places = places
        self.source = source


def _file_error(file: Path, issues: tuple[Issue, ...]) -> DocumentError:
    message = issues[0].message if len(issues) == 1 else f"{len(issues)} issues in `{file.name}`"
    return DocumentError(message, issues=issues)
