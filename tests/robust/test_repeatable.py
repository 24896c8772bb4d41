"""Steps that only read are not in doubt: after `kill -9`, a resume just goes on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pflow import Home, Workspace
from tests.robust.world import PATIENCE, Ended, environment, program, until


class Site:
    """A local server that counts what it is asked, and answers some of it only when it is let go."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.open = threading.Event()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                site.asked[f"{self.command} {self.path}"] += 1
                if self.path.startswith("/slow"):
                    site.open.wait(PATIENCE)
                self.rfile.read(int(self.headers.get("content-length") or 0))
                body = json.dumps({"n": site.asked[f"{self.command} {self.path}"]}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            do_GET = do_HEAD = do_POST = answer

            def log_message(self, *_: object) -> None:
                """Be quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self.open.set()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def site(home: Path) -> Iterator[Site]:
    with Workspace(Home(home)) as workspace:
        workspace.set_setting("http.allow_hosts", "127.0.0.1")
    served = Site()
    yield served
    served.close()


def killed_at(site: Site, document: str, folder: Path, asked: int) -> None:
    """Run a document until so many calls hang in the site, and kill it there."""
    file = folder / "doc.yaml"
    file.write_text(document)
    words = [sys.executable, "-m", "pflow", "run", str(file)]
    running = subprocess.Popen(words, env=environment({}), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: sum(n for what, n in site.asked.items() if "/slow" in what) >= asked, "the calls")
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait(PATIENCE)
    site.open.set()


def resume(*words: str) -> Ended:
    return program("runs", "resume", "latest", "--json", *words)


def shown() -> dict[str, str]:
    found: Any = program("runs", "show", "latest", "--json").json["data"]
    return {step["step"]: step["status"] for step in found["steps"]}


@pytest.mark.slow
def test_twenty_gets_that_were_cut_off_are_made_again_without_a_question(site: Site, tmp_path: Path) -> None:
    document = f"""
nodes:
  - id: pages
    type: http
    params: {{url: "{site.url}/slow/${{item}}"}}
    batch: {{items: {list(range(20))}, concurrency: 20}}
  - {{id: count, type: echo, params: {{n: "${{pages.count}}"}}}}
"""
    killed_at(site, document, tmp_path, 20)
    assert shown() == {"pages": "interrupted"}
    done = resume()
    assert (done.code, done.json["data"]["outputs"]) == (0, {"n": 20})
    assert set(site.asked.values()) == {2}


def test_a_post_that_was_cut_off_is_in_doubt(site: Site, tmp_path: Path) -> None:
    document = f"nodes:\n- {{id: send, type: http, params: {{url: '{site.url}/slow', json: {{}}}}}}"
    killed_at(site, document, tmp_path, 1)
    assert shown() == {"send": "in_doubt"}
    assert resume().code == 4
    assert site.asked == {"POST /slow": 1}


@pytest.mark.parametrize(("method", "code"), [("get", 0), ("HEAD", 0), ("POST", 4)])
def test_a_method_from_a_template_counts_as_what_it_turned_out_to_be(
    site: Site, tmp_path: Path, method: str, code: int
) -> None:
    document = f"""
nodes:
  - {{id: how, type: echo, params: {{method: {method}}}}}
  - {{id: call, type: http, params: {{url: "{site.url}/slow", method: "${{how.method}}"}}}}
"""
    killed_at(site, document, tmp_path, 1)
    assert resume().code == code
    assert sum(site.asked.values()) == (2 if code == 0 else 1)


@pytest.mark.parametrize(("methods", "code"), [(["GET", "HEAD"], 0), (["GET", "POST"], 4)])
def test_a_batch_with_methods_from_its_items_only_reads_if_all_of_them_do(
    site: Site, tmp_path: Path, methods: list[str], code: int
) -> None:
    document = f"""
nodes:
  - id: calls
    type: http
    params: {{url: "{site.url}/slow", method: "${{item}}"}}
    batch: {{items: {methods}, concurrency: 2}}
"""
    killed_at(site, document, tmp_path, 2)
    assert resume().code == code


def test_what_its_author_calls_repeatable_runs_again_and_what_he_calls_not_does_not(site: Site, tmp_path: Path) -> None:
    def document(name: str, repeatable: str, params: str) -> str:
        return (
            f"name: {name}\nnodes:\n- {{id: a, type: http, {repeatable}params: {{url: '{site.url}/slow', {params}}}}}"
        )

    killed_at(site, document("a", "repeatable: true, ", "json: {}"), tmp_path, 1)
    assert resume().code == 0
    site.open.clear()
    site.asked.clear()
    killed_at(site, document("b", "repeatable: false, ", ""), tmp_path, 1)
    assert shown() == {"a": "in_doubt"}
    assert resume().code == 4
    edited = tmp_path / "edited.yaml"
    edited.write_text(document("b", "repeatable: true, ", ""))
    assert resume("--with", str(edited)).code == 0


def test_a_get_is_never_taken_from_the_cache(site: Site, tmp_path: Path) -> None:
    file = tmp_path / "doc.yaml"
    file.write_text(f"nodes:\n- {{id: a, type: http, params: {{url: '{site.url}/x'}}}}")
    for number in (1, 2):
        assert program("run", str(file), "--json").json["data"]["outputs"]["response"] == {"n": number}


def test_pure_code_is_taken_from_the_cache_of_another_run(home: Path, tmp_path: Path) -> None:
    log = tmp_path / "did"

    def document(fields: dict[str, object], **params: object) -> dict[str, object]:
        code = f"open({str(log)!r}, 'a').write('x'); result = n + 1"
        return {
            "nodes": [{"id": "a", "type": "code", "params": {"code": code, "inputs": {"n": 1}, **params}, **fields}]
        }

    plain, pure = document({}), document({}, pure=True)
    with Workspace(Home(home)) as workspace:
        for written, ran in (
            (plain, 1),
            (plain, 2),
            (pure, 3),
            (pure, 3),
            (document({"repeatable": True}, pure=True), 4),
        ):
            assert workspace.run(written, {}).outputs["result"] == 2
            assert log.read_text() == "x" * ran


@pytest.mark.parametrize(
    ("fields", "message", "hint"),
    [
        (
            "params: {code: result = 1, pure: 'yes'}",
            "parameter `pure` of node `a` (code) must be boolean, not string",
            "",
        ),
        (
            "params: {code: result = 1, pure: '${b}'}",
            "whether code is pure must be known when checking; templates do not apply here",
            "",
        ),
        (
            "params: {code: result = 1}, repeatable: 'yes'",
            "`repeatable` must be true or false, not the string `yes`",
            "write true or false without quotes",
        ),
    ],
)
def test_what_cannot_say_that_a_step_may_be_repeated_is_an_issue(
    home: Path, fields: str, message: str, hint: str
) -> None:
    with Workspace(Home(home)) as workspace:
        checked = workspace.check(f"inputs: {{b: {{type: boolean}}}}\nnodes:\n- {{id: a, type: code, {fields}}}")
        [issue] = checked.issues
    assert (issue.message, issue.hint) == (message, hint)


def test_nodes_that_only_read_already_may_be_called_repeatable(home: Path) -> None:
    with Workspace(Home(home)) as workspace:
        text = "nodes:\n- {id: a, type: read-file, repeatable: true, params: {path: x}}\n- {id: echo, repeatable: true}"
        assert workspace.check(text).issues == ()
        assert [node["purity"] for node in workspace.describe(text).nodes] == ["read", "read"]
