"""Plans a task in words: finds what there is, has a model choose and write, checks, and keeps a draft. Runs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from pflow.core.advice import Advice
from pflow.core.document.issue import CREDENTIAL, Issue
from pflow.core.errors import InputError, ModelError, UsageError
from pflow.core.file.file_name import MAX_NAME, is_name
from pflow.core.library.workflow_manager import WorkflowManager
from pflow.core.library.workflow_text import WorkflowText, now_text, text_of_parsed
from pflow.core.printable import shorten
from pflow.engine.binding import bind_inputs, coerce_text
from pflow.engine.model.llm import Report
from pflow.engine.plan import Plan
from pflow.execution.check import Checked, check_workflow
from pflow.execution.need.ability import abilities_of
from pflow.execution.wiring import Wiring
from pflow.planning.discovery import Hit
from pflow.planning.query_word import slug
from pflow.planning.writing.answer import Choice, Written
from pflow.planning.writing.exchange import Exchange
from pflow.planning.writing.writer import Offer, choose, write_document
from pflow.workspace.finder import Finder
from pflow.workspace.planning.judge import Allowed, check_text, drafts_of, free_name, judge, with_metadata
from pflow.workspace.planning.model import find_model, open_exchange, run_alone, writing_guide
from pflow.workspace.planning.planned import Authorship, Estimate, Planned

MOST_TASK_CHARACTERS = 10_000
_MOST_TYPES = 20
_MOST_WORKFLOWS = 5
_NAME_WORDS = 5
_DESCRIPTION_CHARACTERS = 200

GLUE = (
    *("let", "switch", "filter", "map", "parse", "format", "fail", "ask", "wait", "llm"),
    *("read-file", "write-file", "list-files", "http", "shell", "code"),
)
"""Node types that are offered for every task; others only if the words of the task find them."""

_INSTEAD = (
    Advice('without a model, `{discover_nodes} "TASK"` and `{discover_workflows} "TASK"` find what there is'),
    "`pflow guide` shows how to write a workflow, and `pflow validate` checks it",
)


class Planner:
    """Makes workflows of tasks in words, in one home."""

    def __init__(self, wiring: Wiring, finder: Finder) -> None:
        self._wiring = wiring
        self._finder = finder

    def plan(self, task: str, *, model: str, report: Report) -> Planned:
        """A workflow for a task: one that is saved, or one that a model writes, kept as a draft."""
        task = _checked(task)
        llm = find_model(self._wiring, "planning a task in words", _INSTEAD, model)
        exchange = open_exchange(self._wiring, llm, model, report)
        return run_alone(lambda: self._plan(exchange, task, report), "plan")

    async def _plan(self, exchange: Exchange, task: str, report: Report) -> Planned:
        workflows = self._finder.discover_workflows(task, limit=_MOST_WORKFLOWS).hits
        types = self._offered(self._finder.discover_nodes(task, limit=_MOST_TYPES).hits)
        report(f"choosing among {len(types)} node types and {len(workflows)} saved workflows")
        settled = await choose(exchange, task, [_workflow_offer(hit) for hit in workflows], types)
        choice = settled.answer
        if choice is None:
            raise ModelError(settled.issues[0].message, suggestions=["try again, or with another model"])
        names = [hit.name for hit in workflows]
        if choice.workflow in names:
            report(f"reusing the workflow {choice.workflow}")
            return self._reuse(exchange, task, choice)
        return await self._write(exchange, task, choice, types, names, report)

    def _offered(self, hits: Sequence[Hit]) -> list[Offer]:
        """What the words of a task find, and the node types that hold everything together."""
        found = [Offer(name=hit.name, about=_line(hit.to_json())) for hit in hits]
        known = {hit.name for hit in hits}
        registry = self._wiring.registry
        glue = [name for name in GLUE if name not in known and name in registry]
        return [*found, *(Offer(name=name, about=registry.get(name).interface.description) for name in glue)]

    # Reusing

    def _reuse(self, exchange: Exchange, task: str, choice: Choice) -> Planned:
        wiring = self._wiring
        checked = check_workflow(wiring, choice.workflow)
        inputs, missing, notes = self._bound(checked.plan, choice.inputs)
        return Planned(
            task=task,
            kind="reused",
            workflow=choice.workflow,
            why=choice.reason,
            text=text_of_parsed(checked.source.parsed).data.decode(),
            inputs=inputs,
            authorship=_authorship(exchange, 0),
            checked=checked,
            missing=missing,
            effects=abilities_of(checked.source),
            estimate=_estimate(checked.plan, exchange),
            issues=(*checked.errors, *checked.missing),
            notes=notes,
        )

    # Writing

    async def _write(
        self,
        exchange: Exchange,
        task: str,
        choice: Choice,
        types: Sequence[Offer],
        workflows: Sequence[str],
        report: Report,
    ) -> Planned:
        names = tuple(one.name for one in types)
        chosen = [name for name in choice.types if name in names] or list(names)
        allowed = Allowed(types=names, workflows=tuple(workflows))
        offers = [Offer(name=name, about=_line(self._finder.describe_node(name))) for name in chosen]
        report(f"writing a workflow with {', '.join(chosen[:_NAME_WORDS])}")
        settled = await write_document(
            exchange,
            task,
            choice.structure,
            offers,
            writing_guide(),
            lambda written: judge(self._wiring, written.text, allowed),
        )
        written = settled.answer or Written(text="", inputs={}, why="")
        notes = (f"the model gave up mending: {settled.failure}",) if settled.failure else ()
        planned = self._planned(exchange, task, written, settled.mends, settled.issues)
        return planned._replace(why=written.why or choice.reason, notes=(*planned.notes, *notes))

    def _planned(
        self, exchange: Exchange, task: str, written: Written, rounds: int, issues: tuple[Issue, ...]
    ) -> Planned:
        authorship = _authorship(exchange, rounds)
        text = with_metadata(written.text, self._metadata(task, authorship)) if written.text else None
        checked = check_text(self._wiring, text) if text is not None else None
        plan = checked.plan if checked is not None else None
        inputs, missing, notes = self._bound(plan, written.inputs)
        draft, path, more = self._keep(task, text, checked, issues)
        return Planned(
            task=task,
            kind="written",
            workflow=draft or _name(task, checked),
            why=written.why,
            text=text.data.decode() if text is not None else "",
            inputs=inputs,
            authorship=authorship,
            checked=checked,
            missing=missing,
            effects=abilities_of(checked.source) if checked is not None else (),
            estimate=_estimate(plan, exchange),
            issues=issues or (checked.missing if checked is not None else ()),
            notes=(*notes, *more),
            draft=draft,
            path=path,
        )

    def _metadata(self, task: str, authorship: Authorship) -> dict[str, object]:
        return {
            "planner_version": " ".join(authorship.prompts),
            "created_at": now_text(),
            "prompt": self._wiring.redactor.text(task),
            "model": authorship.model,
            "rounds": authorship.rounds,
        }

    def _keep(
        self, task: str, text: WorkflowText | None, checked: Checked | None, issues: tuple[Issue, ...]
    ) -> tuple[str, str, tuple[str, ...]]:
        """The name and the file of the draft that a document is kept as; otherwise a note that says why it is not."""
        value = checked.source.parsed.places.value if checked is not None else None
        if text is None or checked is None or not isinstance(value, Mapping) or "nodes" not in value:
            return "", "", ()
        if any(issue.code == CREDENTIAL for issue in issues):
            return "", "", ("what the model wrote is not kept: it holds what looks like a credential",)
        managers = (WorkflowManager(self._wiring.home), WorkflowManager.for_drafts(self._wiring.home))
        name = free_name(_name(task, checked), lambda name: any(manager.exists(name) for manager in managers))
        saved = drafts_of(self._wiring).save(checked.source.parsed, name, shorten(task, _DESCRIPTION_CHARACTERS))
        return name, str(saved.path), ()

    def _bound(
        self, plan: Plan | None, given: Mapping[str, str]
    ) -> tuple[dict[str, object], tuple[str, ...], tuple[str, ...]]:
        """The inputs that a model took from a task, those that are missing, and what was left out of the former."""
        kept: dict[str, object] = {}
        notes: list[str] = []
        if plan is None:
            return {}, (), ()
        for name, value in given.items():
            declared = plan.inputs.get(name)
            if declared is None:
                notes.append(f"the workflow has no input `{shorten(name)}`, for which the model gave a value")
            elif declared.secret:
                notes.append(f"the input `{name}` is secret, and not taken from a model")
            else:
                try:
                    kept[name] = coerce_text(value, declared.type, name)
                except InputError as error:
                    notes.append(f"what the model gave is left out: {error.message}")
        return kept, self._missing(plan, kept), tuple(notes)

    def _missing(self, plan: Plan, given: Mapping[str, object]) -> tuple[str, ...]:
        has_secrets = any(declared.secret for declared in plan.inputs.values())
        try:
            bind_inputs(plan, given, secrets=self._wiring.settings.step_variables() if has_secrets else {})
        except InputError as error:
            return error.missing
        return ()


def _checked(task: str) -> str:
    if not task.strip():
        raise UsageError(
            "the task is empty", suggestions=['say what is to be done: `pflow "count the lines of notes.txt"`']
        )
    if len(task) > MOST_TASK_CHARACTERS:
        raise UsageError(
            f"the task has {len(task):,} characters, at most {MOST_TASK_CHARACTERS:,} are read",
            suggestions=["say it in a few sentences; put data into files and name them"],
        )
    return task.strip()


def _name(task: str, checked: Checked | None) -> str:
    document = checked.source.parsed.document if checked is not None else None
    own = document.name if document is not None else ""
    if own and is_name(own):
        return own
    words = slug(task, telling=True).split("-")[:_NAME_WORDS]
    name = "-".join(words)[: MAX_NAME - 4].strip("-_.")
    return name if is_name(name) else "plan"


def _line(about: Mapping[str, object]) -> str:
    return orjson.dumps({key: value for key, value in about.items() if key not in _NOT_TOLD}, default=str).decode()


_NOT_TOLD = frozenset(("name", "kind", "score", "reason", "matched"))


def _workflow_offer(hit: Hit) -> Offer:
    return Offer(name=hit.name, about=_line(hit.to_json()))


def _authorship(exchange: Exchange, rounds: int) -> Authorship:
    prompts = tuple(prompt.label for prompt in exchange.used)
    return Authorship(model=exchange.model, prompts=prompts, rounds=rounds, spent=exchange.spent)


def _estimate(plan: Plan | None, exchange: Exchange) -> Estimate:
    """What a plan will ask of models, at the price of those who planned it."""
    asking = [node for node in plan.nodes if node.type == "llm"] if plan is not None else []
    spent = exchange.spent
    each = spent.cost / spent.calls if spent.cost is not None and spent.calls else None
    return Estimate(
        calls=len(asking),
        batches=sum(node.batch is not None for node in asking),
        usd=round(each * len(asking), 6) if each is not None else None,
    )
