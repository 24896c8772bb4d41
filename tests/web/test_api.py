"""What the page asks for: the same envelopes as the command line, live news that resumes exactly, bounded answers."""

from __future__ import annotations

import http.client
import json
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pflow.testing import ScriptedLLM
from pflow.web.data import MOST_DRAWN, PAGE_RUNS
from pflow.web.feed import MOST_CLIENTS
from pflow.workspace import Workspace
from tests.web.serving import TOKEN, Served, serve

TWO = {"name": "two", "nodes": [{"id": n, "type": "echo", "params": {"text": n}} for n in ("a", "b")]}

KEY_OF = "(SELECT key FROM runs WHERE run_id = '{}')"


class News:
    """Server-sent events, one after the other."""

    def __init__(self, page: Served, path: str, **headers: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", page.place.port, timeout=60)
        head = {"Cookie": f"pflow_{page.place.port}={TOKEN}", **headers}
        self._connection.request("GET", path, headers=head)
        self._response = self._connection.getresponse()
        self.status = self._response.status

    def __iter__(self) -> Iterator[tuple[int, str, Any]]:
        facts: dict[str, str] = {}
        while line := self._response.readline().decode():
            name, _, value = line.rstrip("\n").partition(": ")
            if name:
                facts[name] = value
            elif "event" in facts:
                yield int(facts["id"]) if facts["id"].isdecimal() else 0, facts["event"], json.loads(facts["data"])
                facts = {}

    def close(self) -> None:
        self._response.close()
        self._connection.close()


def test_what_the_page_opened_is_closed_when_it_ends_at_once(home: Path) -> None:
    before = set(threading.enumerate())
    with serve(home) as page:
        assert page.ask("/api/runs").status == 200
        [reader] = [one for one in threading.enumerate() if one not in before and one.name.startswith("pflow-page")]
    reader.join(60)
    assert not reader.is_alive()


def test_the_list_has_what_the_command_line_tells(page: Served) -> None:
    run = page.run(TWO)
    [told] = page.ask("/api/runs").json["data"]["runs"]
    assert (told["run_id"], told["workflow"], told["status"]) == (run, "two", "completed")


def test_the_list_tells_the_time_that_was_worked_and_not_that_of_waiting(page: Served) -> None:
    node = {"id": "go", "type": "ask", "params": {"prompt": "Go?", "choices": ["yes", "no"]}}
    run = page.run({"name": "asks", "nodes": [node]})
    page.do(lambda workspace: workspace.answer(run, "go", choice="yes"))
    page.do(lambda workspace: workspace.resume(run))
    [told] = page.ask("/api/runs").json["data"]["runs"]
    whole = page.ask(f"/api/runs/{run}").json["data"]
    assert told["duration_ms"] == whole["duration_ms"] < (told["ended_at"] - told["started_at"]) * 1000


def test_the_list_is_filtered_and_paged(page: Served) -> None:
    runs = [page.run(TWO) for _ in range(3)]
    data = page.ask(f"/api/runs?before={runs[2]}").json["data"]
    assert [one["run_id"] for one in data["runs"]] == [runs[1], runs[0]]
    assert page.ask("/api/runs?status=failed").json["data"]["runs"] == []
    assert len(page.ask("/api/runs?workflow=two&text=tw").json["data"]["runs"]) == 3
    assert PAGE_RUNS == 100


@pytest.mark.parametrize(
    ("path", "status", "kind"),
    [
        ("/api/runs?status=odd", 400, "usage"),
        ("/api/runs?before=none", 404, "not_found"),
        ("/api/runs/none", 404, "not_found"),
        ("/api/runs/%3Cscript%3E", 404, "not_found"),
        ("/api/runs/none/events", 404, "not_found"),
        ("/api/runs/{run}/step?step=none", 404, "not_found"),
        ("/api/runs/{run}/items?step=a", 404, "not_found"),
        ("/api/runs/{run}/values/none", 404, "not_found"),
        ("/api/runs/{run}/values/none?offset=-1", 400, "usage"),
        ("/api/runs/{run}/events?after=x", 400, "usage"),
        ("/api/workflows/none", 404, "not_found"),
        ("/api/compare?a={run}&b=none", 404, "not_found"),
    ],
)
def test_what_is_not_there_gets_an_error_like_that_of_the_command_line(
    page: Served, path: str, status: int, kind: str
) -> None:
    run = page.run(TWO)
    answer = page.ask(path.format(run=run))
    assert (answer.status, answer.json["success"], answer.json["error"]["type"]) == (status, False, kind)


def test_a_run_is_told_step_by_step_with_its_attempts(page: Served, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    command = f"test -e '{flag}' || {{ touch '{flag}'; exit 1; }}"
    node = {"id": "flaky", "type": "shell", "params": {"command": command}, "retry": {"attempts": 2, "wait": 0}}
    run = page.run({"name": "flaky", "nodes": [node]})
    [row] = page.ask(f"/api/runs/{run}").json["data"]["steps"]
    assert [(bar[2], bar[3]) for bar in row["bars"]] == [("failed", 1), ("done", 2)]
    assert all(begin <= end for begin, end, *_ in row["bars"])


def test_parameters_are_told_as_the_node_got_them_without_secrets(page: Served) -> None:
    document = {
        "name": "keyed",
        "inputs": {"key": {"type": "string", "secret": True}, "who": {"type": "string"}},
        "nodes": [
            {"id": "a", "type": "echo", "params": {"text": "${who} is", "all": "${run.id}"}},
            {"id": "b", "type": "echo", "params": {"text": "${who} has ${key}"}},
        ],
    }
    run = page.run(document, key="s3cret-s3cret", who="Ada")
    answer = page.ask(f"/api/runs/{run}/params?step=a")
    assert answer.json["data"] == {"text": "Ada is", "all": run}
    assert page.ask(f"/api/runs/{run}/params?step=b").json["data"] == {"text": "Ada has ${key}"}
    assert b"s3cret" not in page.ask(f"/api/runs/{run}").body


def test_large_parameters_are_told_by_reference_or_by_their_beginning(page: Served) -> None:
    taking = {
        "code": "result = 1",
        "inputs": {"same": "${big.result}", "made": "of ${big.result}", "few": "${few.result}"},
    }
    nodes = [
        {"id": "big", "type": "code", "params": {"code": "result = 'ä' * 50_000"}},
        {"id": "few", "type": "code", "params": {"code": "result = 'text ' * 1_000"}},
        {"id": "takes", "type": "code", "params": taking},
        {
            "id": "each",
            "type": "code",
            "batch": {"items": ["${big.result}"]},
            "params": {**taking, "code": "result = len(item)", "inputs": {"item": "${item}"}},
        },
    ]
    run = page.run({"name": "large", "nodes": nodes})
    given = page.ask(f"/api/runs/{run}/params?step=takes").json["data"]["inputs"]
    assert given["few"] == "text " * 1_000
    assert given["made"] == {"$preview": "of " + "ä" * 19_997, "size": 100_005}
    assert given["same"]["size"] == 100_002
    shown = page.ask(f"/api/runs/{run}/values/{given['same']['$value']}?limit=1").json["data"]
    assert (shown["text"], shown["size"]) == ("ä", 50_000)
    [item] = page.ask(f"/api/runs/{run}/params?step=each").json["data"]["items"]
    assert item == given["same"]
    assert page.ask(f"/api/runs/{run}/params?step=each[0]").json["data"]["inputs"] == {"item": given["same"]}


def test_items_of_a_batch_are_told_one_by_one(page: Served) -> None:
    node = {
        "id": "each",
        "type": "code",
        "batch": {"items": [1, 0, 2], "as": "n", "on_error": "continue"},
        "params": {"code": "result = 1 / n", "inputs": {"n": "${n}"}},
    }
    run = page.run({"name": "batch", "nodes": [node]})
    [row] = page.ask(f"/api/runs/{run}").json["data"]["steps"]
    assert row["items"] == {"count": 3, "strip": "dfd", "completed": 2, "failed": 1}
    items = page.ask(f"/api/runs/{run}/items?step=each").json["data"]
    assert [one["status"] for one in items] == ["completed", "failed", "completed"]
    assert items[2]["outputs"]["result"] == 0.5
    assert "division" in items[1]["error"]["message"]
    one = page.ask(f"/api/runs/{run}/step?step=each[2]").json["data"]
    assert one["outputs"]["result"] == 0.5


def test_items_have_times_of_their_own_and_a_bar_for_each_attempt(page: Served, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    node = {
        "id": "each",
        "type": "shell",
        "batch": {"items": [0, 1], "as": "n"},
        "params": {"command": f"test ${{n}} = 0 || test -e '{flag}' || {{ touch '{flag}'; exit 1; }}"},
        "retry": {"attempts": 2, "wait": 0},
    }
    run = page.run({"name": "batch", "nodes": [node]})
    now = time.time()
    [row] = page.ask(f"/api/runs/{run}").json["data"]["steps"]
    first, second = page.ask(f"/api/runs/{run}/items?step=each").json["data"]
    assert [(bar[2], bar[3]) for bar in first["bars"]] == [("done", 1)]
    assert [(bar[2], bar[3]) for bar in second["bars"]] == [("failed", 1), ("done", 2)]
    assert [one["status"] for one in second["attempts"]] == ["failed", "completed"]
    [[begun, *_]] = row["bars"]
    for begin, end, *_ in [*first["bars"], *second["bars"]]:
        assert begun <= begin <= end <= now + 0.001  # they are rounded
    assert 0 < sum(one["ms"] for one in second["attempts"]) <= second["ms"] <= row["ms"]


def test_the_time_of_an_item_is_without_that_in_which_it_waited(page: Served) -> None:
    node = {
        "id": "each",
        "type": "ask",
        "batch": {"items": ["a", "b"], "as": "name"},
        "params": {"prompt": "Take ${name}?", "choices": ["yes", "no"]},
    }
    run = page.run({"name": "batch", "nodes": [node]})
    page.do(lambda workspace: workspace.answer(run, "each", choice="yes", every=True))
    page.do(lambda workspace: workspace.resume(run))
    whole = page.ask(f"/api/runs/{run}").json["data"]
    waits = page.ask(f"/api/runs/{run}/step?step=each").json["data"]["waits"]
    for item, wait in zip(page.ask(f"/api/runs/{run}/items?step=each").json["data"], waits, strict=True):
        assert item["ms"] / 1000 + wait["waited"] <= whole["ended_at"] - item["started_at"] + 0.001


def test_news_resume_exactly_after_the_last_that_was_seen(page: Served) -> None:
    run = page.run(TWO)
    whole = page.ask(f"/api/runs/{run}").json["data"]
    for after in range(whole["seq"] + 1):
        news = News(page, f"/api/runs/{run}/events", **{"Last-Event-ID": str(after)})
        if after == whole["seq"]:  # nothing is new; what comes is the next thing that happens
            news.close()
            continue
        number, kind, data = next(iter(news))
        news.close()
        assert (number, kind, data["status"]) == (whole["seq"], "run", "completed")
        known = {row["step"]: row for row in data["steps"]}
        assert all(row == known[row["step"]] for row in whole["steps"] if row["step"] in known)
        assert ("b" in known) == (after < whole["seq"] - 1)


def test_whoever_begins_to_listen_is_told_once_that_the_list_may_be_older(page: Served) -> None:
    heard = [News(page, "/api/events") for _ in range(2)]
    assert [next(iter(one))[1] for one in heard] == ["runs", "runs"]
    late = News(page, "/api/events")
    assert next(iter(late))[1] == "runs"
    page.run(TWO)
    assert [next(iter(one))[1] for one in (*heard, late)] == ["runs"] * 3
    for one in (*heard, late):
        one.close()


def test_at_most_32_pages_are_told_live(page: Served) -> None:
    open_news = []
    for _ in range(MOST_CLIENTS):
        one = News(page, "/api/events")
        one._response.readline()  # it is there once it has said something
        open_news.append(one)
    refused = News(page, "/api/events")
    assert refused.status == 503
    for one in (*open_news, refused):
        one.close()


def test_a_large_value_comes_in_pages(page: Served) -> None:
    code = "result = 'ä' * 2_000_000"
    run = page.run({"name": "large", "nodes": [{"id": "big", "type": "code", "params": {"code": code}}]})
    reference = page.ask(f"/api/runs/{run}/step?step=big").json["data"]["outputs"]["result"]
    first = page.ask(f"/api/runs/{run}/values/{reference['$value']}?limit=10").json["data"]
    assert first == {"text": "ä" * 10, "is_text": True, "offset": 0, "next": 10, "size": 2_000_000}
    rest = page.ask(f"/api/runs/{run}/values/{reference['$value']}?offset=1999999&limit=99999999").json["data"]
    assert (rest["text"], rest["next"]) == ("ä", None)


def test_a_very_large_graph_is_drawn_only_when_it_is_asked_for(page: Served) -> None:
    nodes = [{"id": f"n{n}", "type": "echo", "params": {"text": "x"}} for n in range(MOST_DRAWN + 1)]
    page.do(lambda workspace: workspace.save({"name": "many", "nodes": nodes}, "many"))
    assert page.ask("/api/workflows/many/graph.svg").status == 204
    drawn = page.ask("/api/workflows/many/graph.svg?all")
    assert drawn.body.count(b"data-node=") == MOST_DRAWN + 1
    assert b"<style" not in drawn.body
    run = page.run("many")
    assert page.ask(f"/api/runs/{run}/graph.svg").status == 204
    assert page.ask(f"/api/runs/{run}/graph.svg?all").body.count(b"data-node=") == MOST_DRAWN + 1


def test_homes_of_earlier_versions_are_shown(tmp_path: Path) -> None:
    folder = Path(__file__).parent.parent / "homes" / "0.1.0"
    home = tmp_path / "old"
    shutil.copytree(folder, home)
    with serve(home) as page:
        runs = page.ask("/api/runs").json["data"]["runs"]
        assert runs
        for one in runs:
            data = page.ask(f"/api/runs/{one['run_id']}").json["data"]
            assert data["status"] == one["status"]
            for row in data["steps"]:
                assert page.ask(f"/api/runs/{one['run_id']}/step?step={row['step']}").status == 200


def tamper(page: Served, statement: str) -> None:
    """Change the journal behind the back of whoever reads it."""
    with closing(sqlite3.connect(page.home.journal)) as database, database:
        assert database.execute(statement).rowcount == 1


@pytest.mark.parametrize(
    ("statement", "status"),
    [
        ("UPDATE events SET data = x'7b' WHERE id = (SELECT max(id) FROM events) - 1", "completed"),
        ("UPDATE events SET data = 'x' WHERE id = (SELECT max(id) FROM events) - 1", "damaged"),
        ("UPDATE events SET kind = x'ff' WHERE id = (SELECT max(id) FROM events) - 1", "damaged"),
        ("DELETE FROM events WHERE id = (SELECT max(id) FROM events) - 1", "damaged"),
    ],
    ids=["no-json", "no-bytes", "no-kind", "missing"],
)
def test_of_a_damaged_journal_what_can_be_read_is_shown(page: Served, statement: str, status: str) -> None:
    run, other = page.run(TWO), page.run(TWO)
    tamper(page, statement.replace("FROM events)", f"FROM events WHERE id >> 32 = {KEY_OF.format(run)})"))
    for _ in range(2):
        answer = page.ask(f"/api/runs/{run}")
        assert answer.status == 200
        data = answer.json["data"]
        assert data["damaged"] == f"the journal of run `{run}` cannot be read to its end"
        assert data["status"] == status
        assert [row["step"] for row in data["steps"]][0] == "a"
        assert data["steps"][0]["status"] == "completed"
    assert page.ask(f"/api/runs/{run}/step?step=a").json["data"]["outputs"] == {"text": "a"}
    assert "damaged" not in page.ask(f"/api/runs/{other}").json["data"]


def test_a_page_of_the_journal_that_was_overwritten_leaves_what_is_before_it(page: Served) -> None:
    nodes = [{"id": f"n{number:03}", "type": "echo", "params": {"text": f"{number:03}" * 300}} for number in range(60)]
    run = page.run({"name": "long", "nodes": nodes})
    with closing(sqlite3.connect(page.home.journal)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        query = "SELECT data FROM events WHERE kind = 'StepCompleted' AND instr(data, CAST('n045' AS BLOB))"
        [(data,)] = database.execute(query).fetchall()
    place = page.home.journal.read_bytes().index(data) // 8192 * 8192
    with page.home.journal.open("r+b") as file:
        file.seek(place)
        file.write(b"\xff" * 8192)
    told = page.ask(f"/api/runs/{run}").json["data"]
    assert "cannot be read to its end" in told["damaged"]
    shown = [row["step"] for row in told["steps"]]
    assert shown == [node["id"] for node in nodes][: len(shown)]
    assert 10 < len(shown) < 50


def test_a_value_that_is_missing_or_changed_is_said_to_be(page: Served) -> None:
    run = page.run({"name": "large", "nodes": [{"id": "a", "type": "echo", "params": {"text": "x" * 100_000}}]})
    [row] = page.ask(f"/api/runs/{run}").json["data"]["steps"]
    digest = page.ask(f"/api/runs/{run}/step?step=a").json["data"]["outputs"]["text"]["$value"]
    tamper(page, f"UPDATE run_values SET data = x'2232' WHERE digest = '{digest}'")
    answer = page.ask(f"/api/runs/{run}/values/{digest}")
    assert (answer.status, answer.json["error"]["type"]) == (500, "damaged")
    tamper(page, f"DELETE FROM run_values WHERE digest = '{digest}'")
    answer = page.ask(f"/api/runs/{run}/values/{digest}")
    assert answer.status == 404 and digest in answer.json["error"]["message"]
    assert page.ask(f"/api/runs/{run}").json["data"]["steps"] == [row]


def test_an_answer_that_does_not_fit_says_what_would(page: Served) -> None:
    node = {"id": "q", "type": "ask", "params": {"prompt": "?", "choices": ["yes"]}, "on": {"yes": "end"}}
    run = page.run({"name": "asks", "nodes": [node]})
    answer = page.ask(f"/api/runs/{run}/answer", method="POST", body={"step": "q", "choice": "maybe"})
    assert (answer.status, answer.json["error"]["type"]) == (400, "template_error")
    wrong: list[dict[str, object]] = [{"fields": []}, {"fields": {"a": 1}}]
    for body in wrong:
        assert page.ask(f"/api/runs/{run}/answer", method="POST", body=body).status == 400
    assert page.ask(f"/api/runs/{run}/answer", method="POST", body={"choice": "yes"}).status == 200
    assert page.ask(f"/api/runs/{run}/answer", method="POST", body={"choice": "yes"}).status in (400, 404, 409)


def test_tokens_and_cost_are_told_of_the_step_and_of_the_run(page: Served) -> None:
    def ask(workspace: Workspace) -> str:
        return workspace.run({"name": "asks", "nodes": [{"id": "m", "type": "llm", "params": {"prompt": "hi"}}]}).run_id

    run = page.do(ask, llm=ScriptedLLM(["hello"]))
    data = page.ask(f"/api/runs/{run}").json["data"]
    trace = page.do(lambda workspace: workspace.show_run(run))
    assert data["tokens"] == data["steps"][0]["tokens"] == trace["tokens"]
    assert data["tokens"] > 0


def test_a_run_is_made_a_test_once_under_one_name(page: Served) -> None:
    run = page.run(TWO)
    made = page.ask(f"/api/runs/{run}/test", method="POST", body={"name": "two steps"})
    assert made.status == 200, made.json
    assert Path(made.json["data"]["file"]) == page.home.tests / "two.test.yaml"
    again = page.ask(f"/api/runs/{run}/test", method="POST", body={"name": "two steps"})
    assert again.json["error"]["type"] == "exists"
