"""How a use case ended, as every edge shows it: one envelope, redacted, with large values cut to a preview."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

import orjson

from pflow.core.advice import Advice
from pflow.core.errors import RunError
from pflow.core.json_type import type_of
from pflow.engine.result import RunResult

if TYPE_CHECKING:
    from pflow.execution.asking.answer import Waiting

_PREVIEW_CHARACTERS = 400
_SHAPE_KEYS = 20


class Outcome(RunResult):
    """A run's result without secrets, as every edge shows it.

    `primary` names the main output when the document declares none. `open_waits` is what a run waits for that has the
    status `waiting`.
    """

    exit_code: int
    primary: str | None = None
    trace_path: str | None = None
    notices: tuple[str, ...] = ()
    limit: int = 20 << 10
    open_waits: tuple[Waiting, ...] = ()

    @property
    def success(self) -> bool:
        """Whether the run completed."""
        return self.status == "completed"

    def raise_for_status(self) -> Self:
        """The outcome itself if the run completed; otherwise raises a `RunError` that says why it did not."""
        if self.success:
            return self
        if self.status == "waiting":
            raise self._waiting_error()
        error = self.error or {}
        message = str(error.get("message") or f"the run is {self.status}")
        raise RunError(message, details={**self.checkpoint, "error": dict(error)})

    def _waiting_error(self) -> RunError:
        """Why a run that waits has no outputs yet, with the first thing that it waits for."""
        waits = [f"`{one.place}` waits {one.phrase}" for one in self.open_waits]
        more = f", and {len(waits) - 1:,} more" if len(waits) > 1 else ""
        return RunError(
            f"the run is waiting: {waits[0]}{more}" if waits else "the run is waiting",
            details=self._waiting(),
            suggestions=[_advise(one) for one in self.open_waits[:1]],
        )

    @property
    def output_data(self) -> Mapping[str, object]:
        """The outputs, by the name that Python programs know them under."""
        return self.outputs

    @property
    def checkpoint(self) -> dict[str, object]:
        """Where a failed run stands: what `resume` goes on from."""
        return {"run_id": self.run_id, "completed_nodes": list(self.completed), "failed_node": self.failed_node}

    @property
    def shared_after(self) -> dict[str, object]:
        """The checkpoint, in the place where Python programs look for it."""
        return {"__execution__": self.checkpoint}

    @property
    def losses(self) -> list[str]:
        """What batches went on without, and what failed in sections, in words."""
        items = [self._loss(*lost) for lost in self.failed_items]
        sections = [
            f"step `{step}` of `{section}` failed: {error.get('message')}"
            for section, step, error in self.failed_in_sections
        ]
        return items + sections

    def _loss(self, step: str, failed: int, items: int) -> str:
        from pflow.core.error_text import render_loss  # lazy: most runs lose nothing

        return render_loss(failed, self.declined_items.get(step, 0), items, step)

    def _waiting(self) -> dict[str, object]:
        """What a result says of a run that waits."""
        from pflow.execution.asking.answer import waits_data  # lazy: many documents never wait

        data = {"status": "waiting", "run_id": self.run_id, **waits_data(self.open_waits, self.limit), **self._costs()}
        return {**data, "error": dict(self.error)} if self.error else data

    def _costs(self) -> dict[str, object]:
        """What language models took for the run, in all its processes; nothing if none was asked."""
        return {} if self.spent is None else {"cost": self.spent.cost, "tokens": self.spent.tokens}

    def envelope(self) -> dict[str, object]:
        """The object that `--json` prints and MCP tools return."""
        if self.status == "waiting":
            result: dict[str, object] = {"success": True, "data": self._waiting()}
        elif self.success:
            data: dict[str, object] = {
                "outputs": shorten_all(self.outputs, self.limit, f"{self.run_id} outputs"),
                "run_id": self.run_id,
                "duration_ms": self.duration_ms,
                "steps": self.steps,
            }
            if self.reused or self.reran:
                data["reused"] = list(self.reused)
                data["reran"] = [{"step": step, "reason": reason} for step, reason in self.reran]
            if self.failed_items:
                declined = self.declined_items
                data["failed_items"] = [
                    {"step": step, "failed": failed, "items": items}
                    | ({"declined": declined[step]} if step in declined else {})
                    for step, failed, items in self.failed_items
                ]
            data |= self._costs()
            result = {"success": True, "data": data}
        else:
            checkpoint = {**self.checkpoint, **self._costs()}
            result = {"success": False, "error": dict(self.error or {}), "checkpoint": checkpoint}
        if self.failed_in_sections:
            result["failed_in_sections"] = [
                {"section": section, "step": step, "error": dict(error)}
                for section, step, error in self.failed_in_sections
            ]
        if self.trace_path:
            result["trace_path"] = self.trace_path
        return result


def _advise(one: Waiting) -> Advice:
    if one.kind == "question":
        return Advice("answer with `{answer}`", run=one.run_id, step=one.place)
    if one.kind == "message":
        return Advice("send it with `{send_message}`", run=one.run_id, name=one.message)
    return Advice("go on later with `{resume}`", run=one.run_id)


def shorten_all(values: Mapping[str, object], limit: int, handle: str) -> dict[str, object]:
    """The values, the largest of them in short until all together keep to the limit."""
    shown = {name: shorten(value, limit, f"{handle}.{name}") for name, value in values.items()}
    sizes = {name: len(orjson.dumps(value)) for name, value in shown.items()}
    room = limit - sum(sizes.values())
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        if room >= 0 or sizes[name] <= _PREVIEW_CHARACTERS:
            break
        shown[name] = shorten(values[name], _PREVIEW_CHARACTERS, f"{handle}.{name}")
        room += sizes[name] - len(orjson.dumps(shown[name]))
    return shown


def shorten(value: object, limit: int, handle: str) -> object:
    """The value, or, over the limit, a preview with its shape and the handle under which all of it can be read."""
    try:
        data = orjson.dumps(value)
    except TypeError:
        return {"$opaque": type(value).__name__}
    if len(data) <= limit:
        return value
    text = value if isinstance(value, str) else data[: 4 * _PREVIEW_CHARACTERS].decode(errors="ignore")
    return {"$preview": text[:_PREVIEW_CHARACTERS], "size": len(data), "shape": shape_of(value), "handle": handle}


def shape_of(value: object, depth: int = 3) -> object:
    """What a value is made of, without its contents."""
    if isinstance(value, Mapping):
        if not depth:
            return "object"
        shown = {str(key): shape_of(value[key], depth - 1) for key in list(value)[:_SHAPE_KEYS]}
        return {**shown, "…": f"{len(value) - _SHAPE_KEYS} more"} if len(value) > _SHAPE_KEYS else shown
    if isinstance(value, list | tuple):
        return [shape_of(value[0], depth - 1) if value and depth else "…", f"{len(value)} items"]
    return type_of(value)
