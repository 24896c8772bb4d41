"""Has a model mend the document of a failed run, and shows what would change. Goes on with nothing by itself."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from pflow.core.document.document import Document
from pflow.core.document.issue import CREDENTIAL, Issue
from pflow.core.document.parse import parse_value
from pflow.core.errors import SecurityError, UsageError
from pflow.core.file.file_name import is_name
from pflow.core.library.workflow_manager import WorkflowManager
from pflow.core.library.workflow_text import WorkflowText, text_of_value
from pflow.engine.history import History
from pflow.engine.model.llm import Report
from pflow.execution.begin import read_history
from pflow.execution.check import Checked
from pflow.execution.need.ability import abilities_of
from pflow.execution.trace import read_trace
from pflow.execution.wiring import Wiring
from pflow.planning.writing.answer import Written
from pflow.planning.writing.exchange import Exchange
from pflow.planning.writing.writer import Offer, repair_document
from pflow.workspace.library import compare_texts
from pflow.workspace.planning.failure import failure_of
from pflow.workspace.planning.judge import Allowed, check_text, drafts_of, free_name, judge, with_metadata
from pflow.workspace.planning.model import find_model, open_exchange, run_alone, writing_guide
from pflow.workspace.planning.planned import Authorship, Repair

MOST_REPAIRS = 3
"""How often the document of one run may be mended by a model."""

COUNT = "repairs"
"""The entry of a document's metadata that counts them."""

HARMLESS = ("let", "filter", "map", "switch", "parse", "format", "fail")
"""Node types that a repair may add: they only compute."""

_INSTEAD = ("without a model, mend the document and go on with `--with`, see `pflow guide running`",)


class Repairer:
    """Mends the documents of failed runs, in one home."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring

    def propose(self, run_id: str, *, model: str, report: Report) -> Repair:
        """An edited document for a failed run; a `UsageError` if it did not fail, or was mended too often."""
        llm = find_model(self._wiring, "a repair", _INSTEAD, model)
        history = self._failed(run_id)
        exchange = open_exchange(self._wiring, llm, model, report)
        return run_alone(lambda: self._propose(exchange, run_id, history, report), "propose_repair")

    def _failed(self, run_id: str) -> History:
        status = self._wiring.journal.info(run_id).status
        if status != "failed":
            raise UsageError(f"run `{run_id}` is {status}; only a run that failed can be repaired")
        return read_history(self._wiring, run_id, {})

    async def _propose(self, exchange: Exchange, run_id: str, history: History, report: Report) -> Repair:
        before = _document_of(run_id, history)
        repairs = _repairs(before)
        if repairs >= MOST_REPAIRS:
            raise UsageError(
                f"run `{run_id}` was repaired {repairs} times already, at most {MOST_REPAIRS} times are tried",
                suggestions=["look at the document yourself, and go on with `--with`"],
            )
        self._check_document(run_id, before)
        failure = failure_of(read_trace(self._wiring.journal, run_id))
        registry = self._wiring.registry
        used = tuple(dict.fromkeys(spec.type for spec in before.nodes))
        types = [name for name in (*used, *HARMLESS) if name in registry]
        offers = [Offer(name=name, about=registry.get(name).interface.description) for name in dict.fromkeys(types)]
        allowed = Allowed(types=(*used, *HARMLESS), workflows=_included(before))
        original = text_of_value(_shown(before))
        report(f"mending step {failure.step}")
        settled = await repair_document(
            exchange,
            original.data.decode(),
            failure,
            offers,
            writing_guide(),
            lambda written: judge(self._wiring, written.text, allowed),
        )
        written = settled.answer or Written(text="", inputs={}, why="")
        return self._repair(exchange, run_id, failure.step, before, written, settled.mends, settled.issues)

    def _repair(
        self,
        exchange: Exchange,
        run_id: str,
        step: str,
        before: Document,
        written: Written,
        rounds: int,
        issues: tuple[Issue, ...],
    ) -> Repair:
        authorship = Authorship(
            model=exchange.model,
            prompts=tuple(prompt.label for prompt in exchange.used),
            rounds=rounds,
            spent=exchange.spent,
        )
        original = text_of_value(_shown(before))
        edited = _counted(written.text, before, authorship) if written.text else original
        checked = check_text(self._wiring, edited)
        known = abilities_of(check_text(self._wiring, original).source)
        repair = Repair(
            run_id=run_id,
            step=step,
            why=written.why,
            text=edited.data.decode(),
            comparison=compare_texts(("before", _bare(original)), ("after", _bare(edited))),
            authorship=authorship,
            gained=tuple(one for one in abilities_of(checked.source) if one not in known),
            issues=issues,
        )
        return repair._replace(draft=self._keep(repair, before, checked)) if repair.ok else repair

    def _keep(self, repair: Repair, before: Document, checked: Checked) -> str:
        name = before.name if is_name(before.name) else "workflow"
        home = self._wiring.home
        managers = (WorkflowManager(home), WorkflowManager.for_drafts(home))
        draft = free_name(f"{name[:40]}-repaired", lambda name: any(one.exists(name) for one in managers))
        drafts_of(self._wiring).save(checked.source.parsed, draft, f"run {repair.run_id}, mended by a model")
        return draft

    def _check_document(self, run_id: str, document: Document) -> None:
        checked = check_text(self._wiring, text_of_value(document.raw))
        if not checked.ok:
            raise UsageError(
                f"run `{run_id}` cannot be repaired: its document is not valid on its own",
                details={"issue": checked.errors[0].message},
                suggestions=["it may include workflows by relative paths; mend it by hand, and go on with `--with`"],
            )
        if any(issue.code == CREDENTIAL for issue in checked.issues):
            raise SecurityError(
                "refused to show the document to a model: it holds what looks like a credential",
                suggestions=["declare an input with `secret: true`, and write its template instead"],
            )


def _document_of(run_id: str, history: History) -> Document:
    recorded = history.document
    document = parse_value(recorded.get("document")).document if isinstance(recorded, Mapping) else None
    if document is None or history.only:
        raise UsageError(f"run `{run_id}` has no document of its own that could be repaired")
    return document


def _repairs(document: Document) -> int:
    count = document.metadata.get(COUNT)
    return count if isinstance(count, int) else 0


def _included(document: Document) -> tuple[str, ...]:
    """The workflows that a document includes by name or path."""
    wanted = (spec.params.get("workflow") for spec in document.nodes if spec.type == "workflow")
    return tuple(one for one in wanted if isinstance(one, str))


def _shown(document: Document) -> Mapping[str, object]:
    """A document without its metadata, which says nothing about what it does."""
    return {name: part for name, part in document.raw.items() if name != "metadata"}


def _bare(text: WorkflowText) -> WorkflowText:
    document = text.parse().document
    return text if document is None else text_of_value(_shown(document))


def _counted(text: str, before: Document, authorship: Authorship) -> WorkflowText:
    """The edited document with the metadata that it had, and this repair."""
    more = {
        COUNT: _repairs(before) + 1,
        "repaired_by": authorship.model,
        "repair_prompts": " ".join(authorship.prompts),
    }
    return with_metadata(text, {**_plain(before.metadata), **more})


def _plain(metadata: Mapping[str, object]) -> dict[str, object]:
    copied: dict[str, object] = orjson.loads(orjson.dumps(dict(metadata)))
    return copied
