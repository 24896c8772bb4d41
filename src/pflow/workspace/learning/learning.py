"""Learning as use cases: find a session, make a workflow of it, prove it, keep it with a test."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pflow import __version__
from pflow.core.advice import Advice
from pflow.core.cassette.cassette import Cassette, Recorded
from pflow.core.cassette.cassette_file import write_cassette
from pflow.core.document.parse import parse_text
from pflow.core.errors import ExistsError, NotFoundError, PflowError, UsageError
from pflow.core.file.atomic import make_folder, write_atomic
from pflow.core.file.file_name import is_name
from pflow.core.frozen import Frozen
from pflow.core.json_type import Json
from pflow.core.library.workflow_manager import WorkflowManager
from pflow.core.library.workflow_text import WorkflowText
from pflow.core.session.call import Session
from pflow.core.session.find import HOSTS, Found, find_sessions, read_session
from pflow.core.session.number_list import write_numbers
from pflow.execution.check import Checked, check_workflow
from pflow.execution.replay.replay import replay_checked
from pflow.execution.replay.rule import plain
from pflow.planning.learning.act import act_of
from pflow.planning.learning.document_text import write_yaml
from pflow.planning.learning.hide import hide_secrets
from pflow.planning.learning.learned import Learned, Question, Wishes
from pflow.planning.learning.learner import learn_document
from pflow.planning.learning.literal import Task
from pflow.planning.learning.select import Chosen, choose, task_range, task_words, without
from pflow.workspace.learning.lesson import Lesson, Proof
from pflow.workspace.learning.proof import prove
from pflow.workspace.learning.test_text import test_text
from pflow.workspace.learning.tool import tool_finder
from pflow.workspace.learning.wish import check_wishes

if TYPE_CHECKING:
    from pflow.execution.wiring import Wiring

LATEST = "latest"
_IMPORTED = ("claude", "codex", "cursor", "gemini")
_ROUNDS = 4
_NAME_WORDS = 5
_MOST_FITTING = 5


class _Selection(Frozen):
    """Which calls of a session to learn from: `first` to `last`, or `numbers`; without any, the last task."""

    first: int | None = None
    last: int | None = None
    numbers: frozenset[int] = frozenset()
    keep_all: bool = False


class Learning:
    """Sessions of agents on this machine, and workflows made of them."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring

    def sessions(self, directory: Path | None, *, host: str = "", limit: int = 20) -> list[Found]:
        """The newest sessions that agents had in a directory, or in any."""
        return find_sessions(directory=directory, host=host, limit=limit)

    def read(self, reference: str, directory: Path) -> Session:
        """The session that a path, a host's name, `latest`, or the beginning of an id means.

        Raises `NotFoundError`, which says what was looked for.
        """
        if reference in ("", LATEST, *HOSTS):
            host = "" if reference in ("", LATEST) else reference
            found = self.sessions(directory, host=host, limit=1)
            if not found:
                raise _no_session(host, directory)
            return read_session(found[0].path, found[0].id)
        path = Path(reference).expanduser()
        if path.exists() or os.sep in reference or path.suffix:
            return read_session(path)
        fitting = [one for one in self.sessions(None, limit=400) if one.id.startswith(reference)]
        if not fitting:
            raise NotFoundError(
                f"there is no session `{reference}`", suggestions=[Advice("run `{learn_list}` to see which there are")]
            )
        if len({one.id for one in fitting}) > 1:
            shown = ", ".join(f"`{one.id}`" for one in fitting[:_MOST_FITTING])
            raise UsageError(f"{len(fitting)} sessions begin with `{reference}`", suggestions=[f"such as {shown}"])
        return read_session(fitting[0].path, fitting[0].id)

    def without_secrets(self, session: Session) -> Session:
        """A session that may be shown, or learnt from."""
        return hide_secrets(session, self._wiring.find_redactor().value)

    def count_calls(self, found: Found) -> int:
        """How many calls a session has; 0 for one that cannot be read."""
        try:
            return len(read_session(found.path, found.id).calls)
        except PflowError:
            return 0

    def learn(
        self,
        session: Session,
        *,
        first: int | None = None,
        last: int | None = None,
        numbers: Collection[int] = (),
        keep_all: bool = False,
        llm: bool = True,
        bindings: Mapping[tuple[int, str], str] | None = None,
        name: str = "",
        file: Path | None = None,
        is_draft: bool = False,
        overwrite: bool = False,
        description: str = "",
    ) -> Lesson:
        """A workflow that does what was done in a session, proven by a replay and kept with a test.

        Of the calls, those from `first` to `last` count, or those with these `numbers`; else those of the last task.
        `bindings` say by number and argument of a call what it takes; "" keeps its value. The workflow goes to `file`,
        into the library under `name`, or is a draft; what is not proven is a draft, unless it goes to a file. Raises
        `UsageError` if there is nothing to learn from.
        """
        selection = _Selection(first=first, last=last, numbers=frozenset(numbers), keep_all=keep_all)
        wishes = Wishes(llm=llm, bindings=bindings or {})
        called = name or (file.stem if file is not None and is_name(file.stem) else "")
        lesson = self._study(session, selection, wishes, description, called)
        if not overwrite:
            self._check_free(name if not is_draft else "", file)
        return _Keeper(self._wiring).keep(lesson, name, file, is_draft=is_draft, overwrite=overwrite)

    def _check_free(self, name: str, file: Path | None) -> None:
        """Raise `ExistsError` rather than put something in the place of a workflow."""
        advice = ["choose another name, or add `--overwrite`"]
        if name and WorkflowManager(self._wiring.home).exists(name):
            raise ExistsError(f"a workflow `{name}` exists already", suggestions=advice)
        if file is not None and file.exists():
            raise ExistsError(f"the file `{file}` exists already", suggestions=advice)

    def _study(self, session: Session, selection: _Selection, wishes: Wishes, description: str, name: str) -> _Studied:
        """The same, with nothing kept."""
        session = self.without_secrets(session)
        first, last = _range(session, selection)
        calls = [call for call in session.calls if _is_wanted(call.number, first, last, selection.numbers)]
        if not session.calls:
            prompts = f"{len(session.prompts)} prompts were" if len(session.prompts) != 1 else "1 prompt was"
            raise UsageError(
                f"the session `{session.id}` has no calls of tools: {prompts} found",
                suggestions=["name another session", *session.notes],
            )
        find = tool_finder(self._wiring.registry)
        acts = [act_of(call, find) for call in calls]
        chosen = choose(acts, session.answer, keep_all=selection.keep_all or bool(selection.numbers))
        if not chosen.kept:
            raise UsageError(
                f"none of the {len(calls)} calls {first} to {last} of the session can be a step",
                suggestions=[*(one.text for one in _questions(chosen, session.host))][:5],
            )
        words = task_words(session, first, last)
        task = Task(folder=session.directory, words=words, at=session.started_at)
        answer = session.answer if last >= len(session.calls) else ""
        if not (selection.keep_all or selection.numbers):
            idle = learn_document(chosen.kept, task, answer, wishes).idle
            chosen = without(chosen, idle - {number for number, _ in wishes.bindings})
        about = description or _first_line(words) or f"What was done in a session of {session.host}"
        return self._proven(session, chosen, task, answer, wishes, {"name": name or _slug(about), "description": about})

    def _proven(
        self, session: Session, chosen: Chosen, task: Task, answer: str, wishes: Wishes, about: Mapping[str, object]
    ) -> _Studied:
        """Bindings that cannot be checked, or that give other calls, are taken back, step by step."""
        more: list[Question] = []
        for turn in range(_ROUNDS):
            learned = learn_document(chosen.kept, task, answer, wishes)
            check_wishes(wishes, chosen.kept, learned)
            document: Json = {**about, **learned.document}
            text = write_yaml(document, f"Learnt from a session of {session.host}. Check it with `pflow test`.")
            checked = check_document(self._wiring, text)
            cassette = self._cassette(learned, session, str(document["name"]))
            proof, made, wrong = self._prove(checked, learned, cassette)
            again = [step for step in learned.steps if step.id in wrong and step.acts]
            numbers = {act.number for step in again for act in step.acts} - wishes.literal
            if not numbers or turn == _ROUNDS - 1:
                break
            wishes = wishes._replace(literal=wishes.literal | numbers)
            more += [
                Question(text=f"the bindings of step `{step.id}` do not hold, so its arguments are kept as they were")
                for step in again
            ]
        return _Studied(
            session=session,
            chosen=chosen,
            learned=learned,
            document=document,
            text=text,
            checked=checked,
            cassette=cassette._replace(calls=made),
            proof=proof,
            questions=(*_questions(chosen, session.host), *learned.questions, *more),
        )

    def _prove(
        self, checked: Checked, learned: Learned, cassette: Cassette
    ) -> tuple[Proof, tuple[Recorded, ...], set[str]]:
        """The proof, the recorded calls, and the steps that have to change."""
        if checked.errors:
            total = sum(len(step.acts) for step in learned.steps)
            nodes = learned.document["nodes"]
            assert isinstance(nodes, list)
            places = [re.match(r"nodes\[(\d+)\]\.(?:params|batch)", issue.path) for issue in checked.errors]
            wrong = {str(nodes[int(place[1])]["id"]) for place in places if place}
            return Proof(equal=0, total=total, error=checked.errors[0].message), (), wrong

        def play(found: Checked, tape: Cassette, make: object) -> object:
            return replay_checked(self._wiring, found, tape, {}, make=make)  # type: ignore[arg-type]

        proof, made = prove(play, checked, learned, cassette)  # type: ignore[arg-type]
        wrong = {name.partition(" ")[0] for name in proof.differing[:1]} if not proof.is_equal else set()
        return proof, made, wrong

    def _cassette(self, learned: Learned, session: Session, name: str) -> Cassette:
        registry = self._wiring.registry
        types = sorted({step.type for step in learned.steps if step.type in registry})
        tools = {kind: registry.get(kind).manifest_hash for kind in types if registry.get(kind).manifest_hash}
        at = session.started_at or time.time()
        return Cassette(
            workflow=name,
            inputs=plain(learned.inputs),
            at=datetime.fromtimestamp(at, UTC).isoformat(),
            pflow=__version__,
            tools=tools,
            definitions={kind: plain(dict(registry.get(kind).data)) for kind in tools},
        )


class _Studied(Frozen):
    session: Session
    chosen: Chosen
    learned: Learned
    document: Json
    text: str
    checked: Checked
    cassette: Cassette
    proof: Proof
    questions: tuple[Question, ...]

    def lesson(self) -> Lesson:
        session, chosen = self.session, self.chosen
        return Lesson(
            session=session.id,
            host=session.host,
            calls=len(chosen.kept) + len(chosen.explored) + chosen.failed,
            kept=len(chosen.kept),
            explored=chosen.explored,
            document=self.document,
            text=self.text,
            steps=self.learned.steps,
            questions=self.questions,
            notes=session.notes,
            proof=self.proof,
        )


class _Keeper:
    """Writes a workflow, its cassette and its test."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring

    def keep(self, studied: _Studied, name: str, file: Path | None, *, is_draft: bool, overwrite: bool) -> Lesson:
        lesson = studied.lesson()
        if file is not None:
            write_atomic(file, studied.text.encode())
            return self._with_test(studied, lesson._replace(path=file), file.parent, file.stem)
        home = self._wiring.home
        is_draft = is_draft or not (name and lesson.is_proven)
        name = name or str(studied.document["name"])
        manager = WorkflowManager.for_drafts(home) if is_draft else WorkflowManager(home)
        text = WorkflowText(data=studied.text.encode(), form="yaml")
        path = manager.save(name, text, str(studied.document["description"]), overwrite=is_draft or overwrite)
        lesson = lesson._replace(is_draft=is_draft)
        folder = home.tests
        make_folder(folder)
        return self._with_test(studied, lesson._replace(path=path, name=name), folder, name)

    def _with_test(self, studied: _Studied, lesson: Lesson, folder: Path, stem: str) -> Lesson:
        if not studied.cassette.calls or lesson.path is None:
            return lesson
        cassette = folder / f"{stem}.session.cassette.jsonl"
        write_cassette(cassette, studied.cassette._replace(workflow=stem), self._wiring.redactor.names_in)
        test = folder / f"{stem}.test.yaml"
        workflow = os.path.relpath(lesson.path, folder)
        write_atomic(test, test_text(workflow, cassette.name, studied.proof, studied.learned.steps).encode())
        return lesson._replace(cassette=cassette, test=test)


def check_document(wiring: Wiring, text: str) -> Checked:
    """A document that was written here, checked like any other."""
    return check_workflow(wiring, parse_text(text, suffix=".yaml"))


def _range(session: Session, selection: _Selection) -> tuple[int, int]:
    first, last = task_range(session)
    if selection.numbers:
        unknown = [number for number in selection.numbers if not 1 <= number <= len(session.calls)]
        if unknown:
            raise UsageError(f"the session has no call {min(unknown)}: they are 1 to {len(session.calls)}")
        return min(selection.numbers), max(selection.numbers)
    if selection.first is None and selection.last is None:
        return first, last
    chosen = selection.first or 1, selection.last or last
    if not chosen[0] <= chosen[1] <= len(session.calls):
        raise UsageError(f"the session has no calls {chosen[0]} to {chosen[1]}: they are 1 to {len(session.calls)}")
    return chosen


def _is_wanted(number: int, first: int, last: int, numbers: Collection[int]) -> bool:
    return number in numbers if numbers else first <= number <= last


def _questions(chosen: Chosen, host: str) -> list[Question]:
    settles = {
        "failed": f"--calls {write_numbers(act.number for act in chosen.kept) or 'LIST'}",
        "lacks": _import(host),
    }
    return [Question(text=text, settle=settles[kind]) for kind, text in chosen.questions]


def _import(host: str) -> str:
    return Advice("{import_servers}", host=host if host in _IMPORTED else "FILE")


def _first_line(text: str) -> str:
    return next((line.strip()[:200] for line in text.splitlines() if line.strip()), "")


def _slug(text: str) -> str:
    words = re.findall(r"[a-z0-9]+", text.lower())[:_NAME_WORDS]
    name = "-".join(words)[:50].strip("-")
    return name if is_name(name) else "learnt"


def _no_session(host: str, directory: Path) -> NotFoundError:
    looked = host or ", ".join(HOSTS)
    return NotFoundError(
        f"no session of {looked} was found for the directory `{directory}`",
        suggestions=[
            "start in the directory where the agent worked",
            "give the path of a session's file, or the beginning of its id",
        ],
    )
