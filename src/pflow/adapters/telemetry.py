"""Runs for OpenTelemetry: a run is a trace, a step a span; attempts and waits are events of its span.

Only imported where an endpoint is configured, and needs the packages of the extra `otel`. It tells names, times, states
and errors, which come without secrets, and no values. Nothing here blocks a run: spans wait in a bounded queue, and a
thread exports them. Every process that takes a run up adds to the same trace, as its id follows from that of the run.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections.abc import Callable, Mapping

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Span, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from pflow import __version__
from pflow.core.event import (
    Event,
    ItemFailed,
    ItemNotYet,
    RunCancelled,
    RunCompleted,
    RunEnding,
    RunFailed,
    RunResumed,
    RunStarted,
    RunStopped,
    StepAnswered,
    StepAsked,
    StepCompleted,
    StepFailed,
    StepNotYet,
    StepStarted,
)
from pflow.engine.again.name import find_node, outer_steps
from pflow.engine.plan import Plan
from pflow.engine.ports import Observer

Attributes = dict[str, str | int | float | bool]

_BATCH_SECONDS = 5
_EXPORT_SECONDS = 1.0
"""When an export is given up, unless the environment says otherwise: the end of a process waits for the last one."""

_LAST_SECONDS = 5.0
"""How long the end of a process waits at most."""

_TIMEOUTS = ("OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT")

_USAGE = {"input": "gen_ai.usage.input_tokens", "output": "gen_ai.usage.output_tokens"}


class _RunIds:
    """Gives all spans of a run the trace that belongs to it, and the first one the id that others are below."""

    def __init__(self, run_id: str) -> None:
        digest = hashlib.sha256(f"trace of {run_id}".encode()).digest()
        self.trace_id = int.from_bytes(digest[:16], "big") or 1
        self.root_id = int.from_bytes(digest[16:24], "big") or 1
        self.is_root = False
        self._random = RandomIdGenerator()

    def generate_span_id(self) -> int:
        """The id of the span that is about to begin."""
        return self.root_id if self.is_root else self._random.generate_span_id()

    def generate_trace_id(self) -> int:
        """The id of the run's trace."""
        return self.trace_id

    def is_trace_id_random(self) -> bool:
        """Whether samplers can rely on the bits of the id: those of a hash are as good as random."""
        return True


class Telemetry:
    """An observer of one run in this process that makes spans of its events, and passes them on to another observer."""

    def __init__(
        self,
        run_id: str,
        plan: Plan,
        *,
        redact: Callable[[str], str],
        tool_of: Callable[[str], str],
        then: Observer | None,
    ) -> None:
        """`tool_of` gives the name that a server knows the tool by which a node type calls."""
        for name in ("opentelemetry.exporter", "opentelemetry.sdk"):
            logging.getLogger(name).addHandler(logging.NullHandler())  # or failed exports would be printed
        self._run_id = run_id
        self._plan = plan
        self._redact = redact
        self._tool_of = tool_of
        self._then = then
        self._ids = _RunIds(run_id)
        timeout = None if any(os.environ.get(name) for name in _TIMEOUTS) else _EXPORT_SECONDS
        resource = Resource.create({"service.name": "pflow", "service.version": __version__})
        self._provider = TracerProvider(resource=resource, id_generator=self._ids, shutdown_on_exit=False)
        self._provider.add_span_processor(
            BatchSpanProcessor(OTLPSpanExporter(timeout=timeout), schedule_delay_millis=_BATCH_SECONDS * 1000)
        )
        self._tracer = self._provider.get_tracer("pflow", __version__)
        self._root: Span | None = None
        self._spans: dict[str, tuple[Span, float]] = {}
        self._ending: threading.Thread | None = None

    def notify(self, run_id: str, event: Event) -> None:
        """An event took effect."""
        if run_id == self._run_id:
            self._note(event)
        if self._then is not None:
            self._then.notify(run_id, event)

    def report(self, run_id: str, step: str, message: str) -> None:
        """A step says what it is doing; that is not for traces."""
        if self._then is not None:
            self._then.report(run_id, step, message)

    def close(self) -> None:
        """The run is over in this process: export what is left, on a thread of its own."""
        for step in list(self._spans):
            span, begun = self._spans.pop(step)
            span.set_attribute("pflow.step.status", "cut off")
            span.end(_nanoseconds(begun))
        if self._root is not None:
            self._root.end()
            self._root = None
        if self._ending is None:
            self._ending = threading.Thread(target=self._provider.shutdown, name="pflow-telemetry", daemon=True)
            self._ending.start()

    def join(self) -> None:
        """Wait a moment for the last spans to be exported; those that take longer are lost."""
        if self._ending is not None:
            self._ending.join(_LAST_SECONDS)

    @property
    def is_done(self) -> bool:
        """Whether everything is exported, or given up."""
        return self._ending is not None and not self._ending.is_alive()

    def _note(self, event: Event) -> None:
        match event:
            case RunStarted() | RunResumed():
                self._begin(event)
            case StepStarted():
                self._start(event)
            case StepCompleted():
                self._complete(event)
            case StepFailed():
                self._fail(event)
            case StepNotYet():
                self._tell(event.step, "attempt not yet", {"pflow.attempt": event.attempt, "reason": event.reason})
            case ItemFailed():
                failed: Attributes = {"pflow.item": event.item, "error.type": _type(event.error)}
                self._tell(event.step, "item failed", {**failed, "pflow.final": event.final})
            case ItemNotYet():
                self._tell(event.step, "item not yet", {"pflow.item": event.item, "pflow.attempt": event.attempt})
            case StepAsked():
                self._tell(event.step, "wait began", {"pflow.wait": event.kind}, at=event.at)
            case StepAnswered():
                waited: Attributes = {"pflow.wait": event.kind, "pflow.outcome": event.outcome}
                self._tell(event.step, "wait ended", {**waited, "pflow.waited_s": event.waited}, at=event.at)
            case RunEnding():
                self._tell("", event.section, {"pflow.scope": event.scope}, at=event.at)
            case RunCompleted() | RunFailed() | RunStopped() | RunCancelled():
                self._end(event)
            case _:
                pass

    def _begin(self, event: RunStarted | RunResumed) -> None:
        name = self._redact(event.workflow if isinstance(event, RunStarted) else self._plan.name) or "workflow"
        facts: Attributes = {"pflow.run.id": self._run_id, "pflow.workflow.name": name}
        if isinstance(event, RunStarted):
            self._ids.is_root = True
            span = self._tracer.start_span(f"run {name}", attributes=facts, start_time=_nanoseconds(event.at))
            self._ids.is_root = False
        else:  # the span of its beginning is that of another process, or has ended
            first = SpanContext(self._ids.trace_id, self._ids.root_id, True, TraceFlags(TraceFlags.SAMPLED))
            above = set_span_in_context(NonRecordingSpan(first))
            span = self._tracer.start_span(
                f"resume {name}", context=above, attributes=facts, start_time=_nanoseconds(event.at)
            )
        if isinstance(span, Span):
            self._root = span

    def _start(self, event: StepStarted) -> None:
        known = self._spans.get(event.step)
        if known is not None:
            known[0].add_event("attempt", {"pflow.attempt": event.attempt}, timestamp=_nanoseconds(event.at))
            return
        found = find_node(self._plan, event.step)
        node = found[1] if found is not None else None
        kind = node.type if node is not None else ""
        facts: Attributes = {"pflow.step": event.step, "pflow.node": event.node, "pflow.node.type": kind}
        if event.items:
            facts["pflow.items"] = event.items
        name, role = f"step {event.step}", SpanKind.INTERNAL
        if node is not None and node.server:
            tool = self._tool_of(kind)
            name, role = f"tools/call {tool}", SpanKind.CLIENT
            facts |= {
                "mcp.method.name": "tools/call",
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": tool,
                "pflow.mcp.server": node.server,
            }
        elif kind == "llm":
            role = SpanKind.CLIENT
            facts["gen_ai.operation.name"] = "chat"
        span = self._tracer.start_span(
            name,
            context=set_span_in_context(self._above(event.step)),
            kind=role,
            attributes=facts,
            start_time=_nanoseconds(event.at),
        )
        if isinstance(span, Span):
            self._spans[event.step] = span, event.at

    def _above(self, step: str) -> Span | NonRecordingSpan:
        """The span that one begins below: that of the step around it, or of the run."""
        for outer, _ in outer_steps(step):
            if outer in self._spans:
                return self._spans[outer][0]
        return self._root or NonRecordingSpan(
            SpanContext(self._ids.trace_id, self._ids.root_id, True, TraceFlags(TraceFlags.SAMPLED))
        )

    def _complete(self, event: StepCompleted) -> None:
        if event.step not in self._spans:
            return
        span, begun = self._spans.pop(event.step)
        span.set_attribute("pflow.step.source", event.source)
        span.set_attribute("pflow.step.action", event.action)
        if event.failed_items:
            span.set_attribute("pflow.items.failed", event.failed_items)
        attributes = span.attributes or {}
        if attributes.get("pflow.node.type") == "llm":
            self._tell_model(span, event.writes)
        span.end(_nanoseconds(begun + event.ms / 1000))

    def _tell_model(self, span: Span, writes: Mapping[str, object]) -> None:
        """What a step tells of the model that it asked: its name, tokens and price, and nothing that was said."""
        model, usage, cost = writes.get("model"), writes.get("usage"), writes.get("cost")
        if isinstance(model, str):
            name = self._redact(model)
            span.set_attribute("gen_ai.response.model", name)
            span.update_name(f"chat {name}")
        counts = usage if isinstance(usage, Mapping) else {}
        for key, attribute in _USAGE.items():
            count = counts.get(key, counts.get(f"{key}_tokens"))
            if isinstance(count, int):
                span.set_attribute(attribute, count)
        if isinstance(cost, float | int):
            span.set_attribute("pflow.cost.usd", cost)

    def _fail(self, event: StepFailed) -> None:
        if event.step not in self._spans:
            return
        span, begun = self._spans[event.step]
        message = self._redact(str(event.error.get("message", "")))
        facts: Attributes = {"pflow.attempt": event.attempt, "error.type": _type(event.error), "error.message": message}
        ended = _nanoseconds(begun + event.ms / 1000)
        if event.retry_in is not None:
            span.add_event("attempt failed", {**facts, "pflow.retry_in_s": event.retry_in}, timestamp=ended)
            return
        del self._spans[event.step]
        span.set_attribute("error.type", _type(event.error))
        if event.action is not None:
            span.set_attribute("pflow.step.action", event.action)
        span.set_status(Status(StatusCode.ERROR, message))
        span.end(ended)

    def _tell(self, step: str, name: str, facts: Attributes, *, at: float | None = None) -> None:
        span = self._spans[step][0] if step in self._spans else self._root
        if span is not None:
            named = facts if step in self._spans or not step else {"pflow.step": step, **facts}
            told = {key: self._redact(value) if isinstance(value, str) else value for key, value in named.items()}
            span.add_event(name, told, timestamp=None if at is None else _nanoseconds(at))

    def _end(self, event: RunCompleted | RunFailed | RunStopped | RunCancelled) -> None:
        root, self._root = self._root, None
        if root is None:
            return
        status = type(event).__name__.removeprefix("Run").lower()
        if isinstance(event, RunStopped):
            status = "waiting" if event.reason == "waiting" else "stopped"
        root.set_attribute("pflow.run.status", status)
        if isinstance(event, RunFailed):
            root.set_attribute("error.type", _type(event.error))
            root.set_status(Status(StatusCode.ERROR, self._redact(str(event.error.get("message", "")))))
        root.end(_nanoseconds(event.at))


def _type(error: Mapping[str, object]) -> str:
    return str(error.get("type") or "_OTHER")


def _nanoseconds(at: float) -> int:
    return int(at * 1e9)
