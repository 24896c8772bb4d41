"""What a run does with branches, failures, batches, sub-workflows and PocketFlow nodes as they are."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pocketflow import AsyncNode, BatchNode, Node

from pflow.adapters.sqlite_journal import SqliteJournal
from pflow.core.errors import ConflictError, StepError
from pflow.core.event import RunFailed, StepFailed
from pflow.core.setting.redactor import Redactor
from pflow.engine.context import current_step
from pflow.engine.ports import Record, Status
from pflow.engine.result import RunResult
from pflow.testing import MemoryJournal, RecordingObserver
from tests.engine.building import executor_over, plan_of, run_plan


class Echo(AsyncNode):
    trusted = True

    async def post_async(self, shared: Any, _: object, __: object) -> None:
        for key, value in self.params.items():
            shared[key] = value


class Fail(AsyncNode):
    async def exec_async(self, _: object) -> None:
        raise StepError(self.params.get("message", "no"), action=self.params.get("action", "error"))


def test_a_template_keeps_the_type_of_its_value() -> None:
    document = {
        "inputs": {"n": {"type": "integer"}},
        "nodes": [
            {"id": "a", "type": "echo", "params": {"list": [1, {"x": None}], "n": "${n}"}},
            {"id": "b", "type": "echo", "params": {"same": "${a.list}", "text": "${n} and ${a.list[1]}"}},
        ],
    }
    result = run_plan(plan_of(document, echo=Echo), {"n": 7})
    assert result.outputs == {"same": [1, {"x": None}], "text": '7 and {"x":null}'}


def test_a_value_that_looks_like_a_template_stays_data() -> None:
    document = {
        "inputs": {"evil": {"type": "string"}},
        "nodes": [
            {"id": "a", "type": "echo", "params": {"v": "${evil}"}},
            {"id": "b", "type": "echo", "params": {"v": "<${a.v}>"}},
        ],
    }
    result = run_plan(plan_of(document, echo=Echo), {"evil": "${a.v}${secret}"})
    assert result.outputs == {"v": "<${a.v}${secret}>"}


@pytest.mark.parametrize(
    ("raised", "edges", "taken"),
    [
        ("rate_limited", ["rate_limited", "error"], "rate_limited"),
        ("rate_limited", ["error"], "error"),
        ("error", ["rate_limited", "error"], "error"),
        ("error", ["rate_limited"], None),
    ],
)
def test_a_failed_step_takes_its_most_specific_error_edge(raised: str, edges: list[str], taken: str | None) -> None:
    actions = ("default", "rate_limited", "error")
    kind = type("Fail", (Fail,), {"actions": actions})
    document = {
        "nodes": [
            {"id": "work", "type": "fail", "params": {"action": raised, "message": "too fast"}},
            *({"id": f"on-{e}", "type": "echo", "params": {"why": "${work.error.message}", "edge": e}} for e in edges),
        ],
        "edges": [{"from": "work", "to": f"on-{e}", "action": e} for e in edges],
    }
    result = run_plan(plan_of(document, fail=kind, echo=Echo))
    if taken is None:
        assert result.status == "failed" and result.failed_node == "work"
    else:
        assert result.outputs == {"why": "too fast", "edge": taken}


def test_running_siblings_finish_before_a_run_fails_and_nothing_new_starts() -> None:
    release = asyncio.Event()

    class Slow(AsyncNode):
        async def exec_async(self, _: object) -> None:
            await release.wait()

        async def post_async(self, shared: Any, _: object, __: object) -> None:
            shared["done"] = True

    class FailAndRelease(AsyncNode):
        async def exec_async(self, _: object) -> None:
            release.set()
            raise StepError("no")

    document = {
        "nodes": [
            {"id": "start", "type": "echo"},
            {"id": "slow", "type": "slow"},
            {"id": "bad", "type": "bad"},
            {"id": "after", "type": "echo"},
        ],
        "edges": [
            {"from": "start", "to": "slow"},
            {"from": "start", "to": "bad"},
            {"from": "slow", "to": "after"},
        ],
    }
    result = run_plan(plan_of(document, echo=Echo, slow=Slow, bad=FailAndRelease))
    assert result.status == "failed"
    assert result.completed == ("start", "slow")
    assert result.error is not None and result.error["message"] == "no"


def test_an_action_without_an_edge_is_an_error() -> None:
    class Odd(AsyncNode):
        async def post_async(self, shared: Any, _: object, __: object) -> str:
            return "sideways"

    document = {"nodes": [{"id": "a", "type": "odd"}, {"id": "b", "type": "echo"}]}
    result = run_plan(plan_of(document, odd=Odd, echo=Echo))
    assert result.status == "failed"
    assert (
        result.error is not None and result.error["message"] == "node `a` returned action `sideways`, which has no edge"
    )


def test_a_retry_counts_attempts_and_starts_each_from_nothing() -> None:
    tries: list[int] = []

    class Flaky(AsyncNode):
        async def prep_async(self, shared: Any) -> None:
            assert "half" not in shared
            shared["half"] = True

        async def exec_async(self, _: object) -> None:
            tries.append(1)
            if len(tries) < 3:
                raise StepError("again")

        async def post_async(self, shared: Any, _: object, __: object) -> None:
            shared["tries"] = len(tries)

    document = {"nodes": [{"id": "a", "type": "flaky", "retry": {"attempts": 3}}]}
    assert run_plan(plan_of(document, flaky=Flaky)).outputs == {"half": True, "tries": 3}
    tries.clear()
    document["nodes"][0]["retry"] = {"attempts": 2}
    result = run_plan(plan_of(document, flaky=Flaky))
    assert result.status == "failed" and len(tries) == 2


@pytest.mark.parametrize("base", [Node, AsyncNode])
def test_a_step_that_takes_too_long_follows_its_timeout_edge(base: type) -> None:
    stuck = threading.Event()

    class Hang(base):  # type: ignore[misc]
        actions = ("default", "timeout")

        def exec(self, _: object) -> None:
            stuck.wait(20)

        async def exec_async(self, _: object) -> None:
            await asyncio.Event().wait()

    document = {
        "nodes": [
            {"id": "hang", "type": "hang", "timeout": 0.02},
            {"id": "late", "type": "echo", "params": {"why": "${hang.error.type}"}},
        ],
        "edges": [{"from": "hang", "to": "late", "action": "timeout"}],
    }
    try:
        assert run_plan(plan_of(document, hang=Hang, echo=Echo)).outputs == {"why": "timeout"}
    finally:
        stuck.set()


def test_a_loop_that_does_not_end_is_stopped_at_its_visits() -> None:
    class Again(AsyncNode):
        async def post_async(self, shared: Any, _: object, __: object) -> str:
            return "again"

    document = {
        "nodes": [{"id": "a", "type": "again", "max_visits": 5}],
        "edges": [{"from": "a", "to": "a", "action": "again"}],
    }
    result = run_plan(plan_of(document, again=Again))
    assert result.completed == ("a", "a#2", "a#3", "a#4", "a#5")
    assert result.error is not None and "visited 5 times" in str(result.error["message"])


def test_a_loop_over_an_error_edge_is_stopped_as_well() -> None:
    class Fails(AsyncNode):
        async def exec_async(self, _: object) -> None:
            raise ValueError("not yet")

    document = {
        "nodes": [{"id": "poll", "type": "fails", "max_visits": 3}, {"id": "wait", "type": "echo"}],
        "edges": [{"from": "poll", "to": "wait", "action": "error"}, {"from": "wait", "to": "poll"}],
    }
    result = run_plan(plan_of(document, fails=Fails, echo=Echo))
    assert (result.status, result.failed_node) == ("failed", "poll#4")
    assert result.completed == ("wait", "wait#2", "wait#3")


class TestBatch:
    document: dict[str, Any] = {
        "inputs": {"items": {"type": "array"}},
        "nodes": [
            {
                "id": "each",
                "type": "half",
                "params": {"n": "${item}", "at": "${item_index}"},
                "batch": {"items": "${items}", "concurrency": 3, "on_error": "continue"},
            }
        ],
    }

    class Half(AsyncNode):
        async def post_async(self, shared: Any, _: object, __: object) -> None:
            if self.params["n"] % 2:
                raise StepError(f"{self.params['n']} is odd")
            shared["half"] = self.params["n"] // 2
            shared["at"] = self.params["at"]

    def test_results_keep_item_order_and_failures_are_listed(self) -> None:
        result = run_plan(plan_of(self.document, half=self.Half), {"items": [8, 3, 4]})
        assert result.outputs["results"] == [{"half": 4, "at": 0}, None, {"half": 2, "at": 2}]
        assert result.outputs["count"] == 3
        errors: Any = result.outputs["errors"]
        [error] = errors
        assert (error["index"], error["item"], error["error"]["message"]) == (1, 3, "3 is odd")

    def test_without_on_error_the_first_failure_fails_the_step(self) -> None:
        node = {**self.document["nodes"][0], "batch": {"items": "${items}"}}
        result = run_plan(plan_of({**self.document, "nodes": [node]}, half=self.Half), {"items": [8, 3, 4]})
        assert result.status == "failed"
        assert result.error is not None and result.error["message"] == "item 1 of `each` failed: 3 is odd"
        details: Any = result.error["details"]
        assert details["completed_items"] == 1

    def test_items_that_are_running_finish_before_the_step_fails(self) -> None:
        release = asyncio.Event()
        finished: list[int] = []

        class Race(AsyncNode):
            async def exec_async(self, _: object) -> None:
                if self.params["n"] == 1:
                    release.set()
                    raise StepError("no")
                await release.wait()
                finished.append(self.params["n"])

        node = {**self.document["nodes"][0], "batch": {"items": "${items}", "concurrency": 3}}
        result = run_plan(plan_of({**self.document, "nodes": [node]}, half=Race), {"items": [0, 1, 2, 3, 4]})
        assert result.status == "failed" and sorted(finished) == [0, 2]

    def test_no_items_is_a_result(self) -> None:
        result = run_plan(plan_of(self.document, half=self.Half), {"items": []})
        assert result.outputs == {"results": [], "errors": [], "count": 0}

    def test_no_more_items_run_at_once_than_asked_for(self) -> None:
        running: list[int] = []
        most: list[int] = []

        class Busy(AsyncNode):
            async def exec_async(self, _: object) -> None:
                running.append(1)
                most.append(len(running))
                await asyncio.sleep(0)
                running.pop()

        result = run_plan(plan_of(self.document, half=Busy), {"items": list(range(20))})
        assert result.status == "completed" and max(most) == 3


class TestSubWorkflow:
    child = {
        "inputs": {"who": {"type": "string"}},
        "nodes": [{"id": "greet", "type": "echo", "params": {"text": "hello ${who}"}}],
        "outputs": {"greeting": {"source": "${greet.text}"}},
    }

    def test_it_has_inputs_and_outputs_of_its_own(self) -> None:
        document = {
            "nodes": [
                {"id": "sub", "type": "workflow", "params": {"workflow": self.child, "inputs": {"who": "Ada"}}},
                {"id": "use", "type": "echo", "params": {"all": "${sub.greeting}!"}},
            ]
        }
        result = run_plan(plan_of(document, echo=Echo))
        assert result.outputs == {"all": "hello Ada!"}

    def test_it_can_be_batched(self) -> None:
        document = {
            "nodes": [
                {
                    "id": "sub",
                    "type": "workflow",
                    "params": {"workflow": self.child, "inputs": {"who": "${item}"}},
                    "batch": {"items": ["a", "b"], "concurrency": 2},
                }
            ]
        }
        result = run_plan(plan_of(document, echo=Echo))
        assert result.outputs["results"] == [{"greeting": "hello a"}, {"greeting": "hello b"}]

    def test_its_failure_names_the_inner_node(self) -> None:
        child = {"nodes": [{"id": "inner", "type": "fail", "params": {"message": "broken"}}]}
        document = {"nodes": [{"id": "sub", "type": "workflow", "params": {"workflow": child}}]}
        result = run_plan(plan_of(document, fail=Fail))
        assert result.error is not None
        assert result.error["message"] == "sub-workflow failed at node `sub/inner`: broken"


class TestStore:
    def test_a_step_sees_the_nearest_upstream_writer_of_a_key(self) -> None:
        class Read(Node):
            def post(self, shared: Any, _: object, __: object) -> None:
                shared["seen"] = shared["key"]

        document = {
            "nodes": [
                {"id": "far", "type": "echo", "params": {"key": "far"}},
                {"id": "near", "type": "echo", "params": {"key": "near"}},
                {"id": "read", "type": "read"},
            ]
        }
        assert run_plan(plan_of(document, echo=Echo, read=Read)).outputs == {"seen": "near"}

    def test_what_a_failed_step_wrote_is_never_seen(self) -> None:
        class Half(AsyncNode):
            async def prep_async(self, shared: Any) -> None:
                shared["half"] = 1
                raise StepError("in the middle")

        class Look(AsyncNode):
            async def post_async(self, shared: Any, _: object, __: object) -> None:
                shared["keys"] = sorted(shared)

        document = {
            "nodes": [{"id": "a", "type": "half"}, {"id": "b", "type": "look"}],
            "edges": [{"from": "a", "to": "b", "action": "error"}],
        }
        assert run_plan(plan_of(document, half=Half, look=Look)).outputs == {"keys": ["error"]}

    def test_changing_a_list_in_place_counts_as_writing_it(self) -> None:
        class Append(Node):
            def post(self, shared: Any, _: object, __: object) -> None:
                shared["list"].append(self.params["add"])

        document = {"nodes": [{"id": f"a{n}", "type": "append", "params": {"add": n}} for n in range(3)]}
        seed: dict[str, list[int]] = {"list": []}
        result = run_plan(plan_of(document, append=Append), seed=seed)
        assert result.outputs == {"list": [0, 1, 2]}
        assert seed == {"list": []}

    def test_a_proxy_mapping_translates_keys_both_ways(self) -> None:
        class Search(Node):
            reads = ("query",)

            def post(self, shared: Any, _: object, __: object) -> None:
                shared["search_results"] = f"found {shared['query']}"

        document = {
            "inputs": {"terms": {"type": "string"}},
            "nodes": [
                {"id": "search", "type": "search"},
                {"id": "show", "type": "echo", "params": {"a": "${matches}", "b": "${search.search_results}"}},
            ],
            "mappings": {
                "search": {"input_mappings": {"query": "terms"}, "output_mappings": {"search_results": "matches"}}
            },
        }
        result = run_plan(plan_of(document, search=Search, echo=Echo), {"terms": "x"})
        assert result.outputs == {"a": "found x", "b": "found x"}

    def test_reserved_keys_cannot_be_written(self) -> None:
        class Bad(Node):
            def post(self, shared: Any, _: object, __: object) -> None:
                shared["__run__"] = 1

        result = run_plan(plan_of({"nodes": [{"id": "a", "type": "bad"}]}, bad=Bad))
        assert result.error is not None and "reserved" in str(result.error["message"])

    def test_nan_fails_the_step_that_made_it(self) -> None:
        class Nan(Node):
            def post(self, shared: Any, _: object, __: object) -> None:
                shared["x"] = {"deep": [float("nan")]}

        result = run_plan(plan_of({"nodes": [{"id": "a", "type": "nan"}]}, nan=Nan))
        assert result.error is not None and result.failed_node == "a" and "NaN" in str(result.error["message"])

    def test_bytes_and_live_objects_pass_between_steps(self) -> None:
        lock = threading.Lock()

        class Make(Node):
            def post(self, shared: Any, _: object, __: object) -> None:
                shared["raw"] = b"\x00\xff"
                shared["lock"] = lock

        class Use(Node):
            def post(self, shared: Any, _: object, __: object) -> None:
                shared["ok"] = shared["lock"] is lock and shared["raw"] == b"\x00\xff"

        document = {"nodes": [{"id": "a", "type": "make"}, {"id": "b", "type": "use"}]}
        assert run_plan(plan_of(document, make=Make, use=Use)).outputs == {"ok": True}


def test_pocketflow_nodes_run_unchanged() -> None:
    class Doubles(BatchNode):
        def prep(self, shared: Any) -> list[int]:
            return list(shared["numbers"])

        def exec(self, item: int) -> int:
            return item * 2

        def post(self, shared: Any, _: object, results: list[int]) -> None:
            shared["doubled"] = results

    class Unsure(Node):
        def __init__(self) -> None:
            super().__init__(max_retries=3)

        def exec(self, _: object) -> str:
            raise RuntimeError(f"try {self.cur_retry}")

        def exec_fallback(self, _: object, error: Exception) -> str:
            return f"gave up after {error}"

        def post(self, shared: Any, _: object, result: str) -> None:
            shared["note"] = result

    document = {
        "nodes": [{"id": "a", "type": "doubles"}, {"id": "b", "type": "unsure"}],
        "outputs": {"doubled": {}, "note": {}},
    }
    result = run_plan(plan_of(document, doubles=Doubles, unsure=Unsure), seed={"numbers": [1, 2]})
    assert result.outputs == {"doubled": [2, 4], "note": "gave up after try 2"}


class TestStopping:
    document = {"nodes": [{"id": "a", "type": "echo"}, {"id": "b", "type": "wait"}, {"id": "c", "type": "echo"}]}

    def _stopped(self, *, graceful: bool) -> tuple[RunResult, list[str]]:
        log: list[str] = []

        async def go() -> RunResult:
            reached, release = asyncio.Event(), asyncio.Event()

            class Wait(AsyncNode):
                async def exec_async(self, _: object) -> None:
                    reached.set()
                    try:
                        await release.wait()
                        log.append("finished")
                    except asyncio.CancelledError:
                        log.append("cancelled")
                        raise

            executor = executor_over(MemoryJournal())
            task = asyncio.create_task(executor.run(plan_of(self.document, echo=Echo, wait=Wait), {}))
            await reached.wait()
            executor.stop(graceful=graceful)
            release.set()
            return await task

        return asyncio.run(go()), log

    def test_a_graceful_stop_records_the_running_step_and_starts_no_other(self) -> None:
        result, log = self._stopped(graceful=True)
        assert (result.status, result.completed, log) == ("stopped", ("a", "b"), ["finished"])

    def test_a_hard_stop_cancels_the_running_step(self) -> None:
        result, log = self._stopped(graceful=False)
        assert (result.status, result.completed, log) == ("stopped", ("a",), ["cancelled"])

    def test_a_cancel_asked_for_through_the_journal_ends_the_run(self) -> None:
        async def go() -> RunResult:
            reached = asyncio.Event()

            class Wait(AsyncNode):
                async def exec_async(self, _: object) -> None:
                    reached.set()
                    await asyncio.Event().wait()

            journal = MemoryJournal()
            executor = executor_over(journal)
            task = asyncio.create_task(executor.run(plan_of(self.document, echo=Echo, wait=Wait), {}, run_id="r1"))
            await reached.wait()
            journal.request_cancel("r1")
            return await task

        assert asyncio.run(go()).status == "cancelled"


def test_a_run_whose_journal_fails_does_not_take_others_with_it(tmp_path: Path) -> None:
    class Taken(SqliteJournal):
        """A journal in which somebody else has taken over one of the runs."""

        def append(
            self, run_id: str, seq: int, records: Sequence[Record], status: Status | None = None, **rest: Any
        ) -> None:
            if run_id == "bad" and seq > 3:
                raise ConflictError("another process took the run over")
            super().append(run_id, seq, records, status, **rest)

    async def go() -> list[Any]:
        document = {"nodes": [{"id": f"s{i}", "type": "echo", "params": {"v": i}} for i in range(9)]}
        plan = plan_of(document, echo=Pause)
        journal = Taken(tmp_path / "runs.db")
        executor = executor_over(journal)  # type: ignore[arg-type]
        try:
            ids = ["a", "bad", "b"]
            return await asyncio.gather(*(executor.run(plan, {}, run_id=i) for i in ids), return_exceptions=True)
        finally:
            journal.close()

    class Pause(Echo):
        async def exec_async(self, _: object) -> None:
            await asyncio.sleep(0)

    first, bad, second = asyncio.run(go())
    assert (first.status, second.status) == ("completed", "completed")
    assert isinstance(bad, ConflictError)


def test_a_hundred_runs_at_once_keep_apart() -> None:
    async def go() -> list[RunResult]:
        document = {
            "inputs": {"n": {"type": "integer"}},
            "nodes": [{"id": f"s{i}", "type": "echo", "params": {"v": "${n}"}} for i in range(5)],
        }
        plan = plan_of(document, echo=Echo)
        executor = executor_over(MemoryJournal())
        return await asyncio.gather(*(executor.run(plan, {"n": n}) for n in range(100)))

    results = asyncio.run(go())
    assert [result.outputs for result in results] == [{"v": n} for n in range(100)]
    assert len({result.run_id for result in results}) == 100


def test_observers_and_the_journal_get_errors_without_secrets() -> None:
    observer, journal = RecordingObserver(), MemoryJournal()
    document = {"nodes": [{"id": "a", "type": "fail", "params": {"message": "the key is a-long-secret"}}]}
    run_plan(
        plan_of(document, fail=Fail), journal=journal, observer=observer, redactor=Redactor({"KEY": "a-long-secret"})
    )
    told = [event.error["message"] for _, event in observer.events if isinstance(event, StepFailed | RunFailed)]
    assert told == ["the key is «secret:KEY»"] * 2
    [info] = journal.runs()
    assert b"a-long-secret" not in b"".join(record.data for record in journal.read(info.run_id))


def test_what_a_step_reports_comes_without_secrets() -> None:
    class Says(AsyncNode):
        async def exec_async(self, _: object) -> None:
            current_step().report("using a-long-secret")

    observer = RecordingObserver()
    plan = plan_of({"nodes": [{"id": "says"}]}, says=Says)
    run_plan(plan, observer=observer, redactor=Redactor({"KEY": "a-long-secret"}))
    assert [(step, message) for _, step, message in observer.reports] == [("says", "using «secret:KEY»")]
