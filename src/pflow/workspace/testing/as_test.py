"""Makes a run a test: its cassette, and an entry in the test file of its workflow."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import orjson

from pflow.core.cassette.cassette import Cassette
from pflow.core.cassette.cassette_file import write_cassette
from pflow.core.document.parse import read_file
from pflow.core.errors import ExistsError, PflowError, UsageError
from pflow.core.event import RunStarted
from pflow.core.file.atomic import write_atomic
from pflow.core.frozen import Frozen
from pflow.core.library.workflow_manager import WorkflowManager
from pflow.core.suite.edit import add_case
from pflow.core.suite.read import is_test_file, parse_suite
from pflow.engine.codec import decode_event
from pflow.engine.value import ShownValues
from pflow.execution.begin import check_again, read_history
from pflow.execution.past.whole import WholeValues
from pflow.execution.replay.record import record_run
from pflow.execution.replay.replay import replay_checked
from pflow.execution.replay.rule import plain
from pflow.execution.wiring import Wiring

_MOST_FILES = 500
"""Documents of a directory that are looked at."""


class MadeTest(Frozen):
    """What was written: the test file, the cassette, and the document, if it was nowhere."""

    name: str
    file: Path
    cassette: Path
    calls: int
    document: Path | None = None


class _Place(Frozen):
    folder: Path
    stem: str
    workflow: str
    document: object = None


def make_test(wiring: Wiring, run_id: str, name: str, *, file: Path | None = None, folder: Path) -> MadeTest:
    """Write a run that is over as a test. `folder` is for runs whose document is in no file that is still there.

    Raises `ExistsError` for a name that is taken, and `SecurityError` if a secret would be in the cassette.
    """
    if not name.strip() or len(name) > 200 or not name.isprintable():
        raise UsageError("a test needs a name of printable text, up to 200 characters")
    cassette = record_run(wiring, run_id)
    place = _find_place(wiring, run_id, folder)
    file = file or place.folder / f"{place.stem}.test.yaml"
    if not is_test_file(file):
        raise UsageError(f"`{file}` is not the name of a test file", suggestions=["let it end in `.test.yaml`"])
    workflow = place.workflow
    if place.document is None and workflow.endswith((".yaml", ".yml", ".json")) and file.parent != place.folder:
        workflow = str(place.folder / workflow)
    tape = file.with_name(f"{_stem(file)}.{_slug(name)}.cassette.jsonl")
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    changed = add_case(text, workflow, name, _body(wiring, run_id, cassette, tape))
    problems = parse_suite(changed).issues
    if problems:
        raise UsageError(
            f"`{file}` cannot be added to: {problems[0].message}", suggestions=[f"`pflow test {file}` shows all of it"]
        )
    document = _write_document(file.parent / place.workflow, place.document) if place.document is not None else None
    write_cassette(tape, cassette, wiring.redactor.names_in)
    write_atomic(file, changed.encode())
    return MadeTest(name=name, file=file, cassette=tape, calls=len(cassette.calls), document=document)


def _body(wiring: Wiring, run_id: str, cassette: Cassette, tape: Path) -> dict[str, object]:
    """What the test expects: what the run gives when it is played, which shows that it can be."""
    checked = check_again(wiring, run_id, read_history(wiring, run_id, {}))
    played = replay_checked(wiring, checked, cassette, {})
    if played.unrecorded:
        step = played.unrecorded[0].step
        raise UsageError(
            f"run `{run_id}` cannot be played again: what `{step}` was asked depends on more than was recorded",
            suggestions=["steps that compute from the clock or from chance give the same only while they are played"],
        )
    expect: dict[str, object] = {"status": played.status}
    if played.status == "completed" and played.outputs:
        expect["outputs"] = plain(dict(played.outputs))
    if played.error is not None:
        expect["error"] = {name: played.error[name] for name in ("type", "message") if name in played.error}
    if calls := Counter(call.type for call in played.asked):
        expect["calls"] = dict(sorted(calls.items()))
    return {"cassette": tape.name, "expect": expect}


def _find_place(wiring: Wiring, run_id: str, folder: Path) -> _Place:
    """Where the tests of a run's workflow belong: beside its document, with its project, or in the home."""
    started = _started(wiring, run_id)
    name = started.workflow or "workflow"
    project = wiring.projects.find(name)
    if project is not None:
        return _Place(folder=project.folder / "tests", stem=name, workflow=name)
    if WorkflowManager(wiring.home).exists(name):
        return _Place(folder=wiring.home.tests, stem=name, workflow=name)
    recorded = WholeValues(wiring.journal, run_id).whole(started.document)
    document = recorded.get("document") if isinstance(recorded, Mapping) else None
    if started.directory:
        for path in _documents(Path(started.directory), name):
            if _holds(path, document):
                return _Place(folder=path.parent, stem=path.name.partition(".")[0], workflow=path.name)
    stem = _slug(name)
    return _Place(folder=folder, stem=stem, workflow=f"{stem}.json", document=document)


def _documents(folder: Path, name: str) -> Iterator[Path]:
    """The documents of a directory, the one that is named like the workflow first."""
    suffixes = (".yaml", ".yml", ".json")
    try:
        found = sorted(path for path in folder.iterdir() if path.suffix in suffixes and not is_test_file(path))
    except OSError:
        return
    yield from sorted(found[:_MOST_FILES], key=lambda path: path.name.partition(".")[0] != name)


def _holds(path: Path, document: object) -> bool:
    try:
        found = read_file(path).document
    except PflowError:
        return False
    return found is not None and found.raw == document


def _started(wiring: Wiring, run_id: str) -> RunStarted:
    for record in wiring.journal.read(run_id):
        if record.kind == "RunStarted":
            event = decode_event(record, ShownValues())
            if isinstance(event, RunStarted):
                return event
    raise UsageError(f"run `{run_id}` has no beginning")


def _write_document(path: Path, document: object) -> Path:
    data = orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    if path.exists() and path.read_bytes() != data:
        raise ExistsError(
            f"`{path}` holds another document than the run had",
            suggestions=["save the workflow under a name, or give the test file with `--file`"],
        )
    write_atomic(path, data)
    return path


def _stem(file: Path) -> str:
    return re.sub(r"\.test\.(yaml|yml|json)$", "", file.name)


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:60] or "run"
