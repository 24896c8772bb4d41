"""Runs told to a collector of OpenTelemetry: with the real SDK, over HTTP, to a receiver in the test."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import dev_needs
from tests.mcp.step.conftest import SCRIPT, tool

needs_telemetry = pytest.mark.needs("telemetry")

DOCUMENT = """
name: telling
inputs: {key: {type: string, secret: true}}
nodes:
  - {id: hello, type: echo, params: {text: "${key}"}}
  - id: flaky
    type: code
    retry: {attempts: 2, wait: 0}
    params: {inputs: {key: "${key}"}, code: "raise ValueError('not ' + key)\\nresult = 1"}
    on: {error: inner, default: end}
  - {id: inner, type: workflow, params: {workflow: {nodes: [{id: deep, type: echo, params: {x: 1}}]}}}
"""

_DECODE = """
import json, sys
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
for body in json.load(sys.stdin):
    print(json.dumps(MessageToDict(ExportTraceServiceRequest.FromString(bytes.fromhex(body)))))
"""


class Collector:
    """Takes what is sent to it; each body is there when its request is answered."""

    def __init__(self, status: int = 200) -> None:
        self.bodies: list[bytes] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["Content-Length"]))
                is_packed = self.headers.get("Content-Encoding") == "gzip"
                collector.bodies.append(gzip.decompress(data) if is_packed else data)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Be silent."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def spans(self) -> dict[str, dict[str, Any]]:
        """The spans that came, by name, with their attributes as an object."""
        told = json.dumps([body.hex() for body in self.bodies])
        done = subprocess.run(
            [sys.executable, "-c", _DECODE], input=told, capture_output=True, text=True, env=environment(), check=True
        )
        found = {}
        for line in done.stdout.splitlines():
            for resource in json.loads(line)["resourceSpans"]:
                for scope in resource["scopeSpans"]:
                    for span in scope["spans"]:
                        span["attributes"] = facts(span)
                        found[span["name"]] = span
        return found


def facts(told: dict[str, Any]) -> dict[str, Any]:
    return {one["key"]: next(iter(one["value"].values())) for one in told.get("attributes", [])}


@contextmanager
def collecting(status: int = 200) -> Iterator[Collector]:
    collector = Collector(status)
    thread = threading.Thread(target=collector.server.serve_forever)
    thread.start()
    try:
        yield collector
    finally:
        collector.server.shutdown()
        thread.join()
        collector.server.server_close()


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    return {**kept, "PYTHONPATH": str(dev_needs.telemetry_path()), **more}


def run(folder: Path, *words: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pflow", *words], cwd=folder, env=env, capture_output=True, text=True, check=False
    )


@needs_telemetry
def test_a_run_is_a_trace_and_a_step_a_span(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(DOCUMENT)
    with collecting() as collector:
        env = environment(OTEL_EXPORTER_OTLP_ENDPOINT=collector.address)
        done = run(tmp_path, "run", "a.yaml", "key=hush-hush-12345", "--json", env=env)
        assert done.returncode == 0, done.stderr
        spans = collector.spans()
    assert set(spans) == {"run telling", "step hello", "step flaky", "step inner", "step inner/deep"}
    root = spans["run telling"]
    assert root["attributes"]["pflow.run.id"] == json.loads(done.stdout)["data"]["run_id"]
    assert root["attributes"]["pflow.run.status"] == "completed"
    assert len({span["traceId"] for span in spans.values()}) == 1
    parents = {name: span.get("parentSpanId") for name, span in spans.items()}
    assert parents["run telling"] is None
    assert parents["step hello"] == parents["step inner"] == root["spanId"]
    assert parents["step inner/deep"] == spans["step inner"]["spanId"]
    flaky = spans["step flaky"]
    assert (flaky["status"]["code"], flaky["attributes"]["error.type"]) == ("STATUS_CODE_ERROR", "execution")
    assert [event["name"] for event in flaky["events"]] == ["attempt failed", "attempt"]
    assert b"hush-hush" not in b"".join(collector.bodies), "secrets are never told"


@needs_telemetry
def test_who_takes_a_run_up_adds_to_its_trace(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: late\nnodes: [{id: read, type: read-file, params: {path: later.txt}}]\n")
    with collecting() as collector:
        env = environment(OTEL_EXPORTER_OTLP_ENDPOINT=collector.address)
        assert run(tmp_path, "run", "a.yaml", env=env).returncode == 1
        (tmp_path / "later.txt").write_text("now")
        assert run(tmp_path, "runs", "resume", "late", env=env).returncode == 0
        spans = collector.spans()
    assert spans["run late"]["status"]["code"] == "STATUS_CODE_ERROR"
    assert spans["resume late"]["traceId"] == spans["run late"]["traceId"]
    assert spans["resume late"]["parentSpanId"] == spans["run late"]["spanId"]
    assert spans["step read"]["parentSpanId"] == spans["resume late"]["spanId"]


@needs_telemetry
def test_a_tool_of_a_server_is_told_by_the_conventions_of_mcp(tmp_path: Path) -> None:
    script = {"tools": [tool("look_up", needs={"word": "string"})]}
    (tmp_path / "server.json").write_text(json.dumps(script))
    server = [sys.executable, "-S", "-E", SCRIPT, str(tmp_path / "server.json")]
    document = {
        "name": "asking",
        "nodes": [{"id": "ask", "type": "mcp-words-look-up", "params": {"word": "hush-hush"}}],
    }
    (tmp_path / "a.json").write_text(json.dumps(document))
    with collecting() as collector:
        env = environment(OTEL_EXPORTER_OTLP_ENDPOINT=collector.address)
        for words in (["mcp", "add", "words", "--", *server], ["mcp", "sync", "words"], ["run", "a.json"]):
            done = run(tmp_path, *words, env=env)
            assert done.returncode == 0, done.stderr
        spans = collector.spans()
    call = spans["tools/call look_up"]
    assert call["kind"] == "SPAN_KIND_CLIENT"
    told = {name: call["attributes"][name] for name in call["attributes"] if not name.startswith("pflow.step")}
    assert told == {
        "pflow.node": "ask",
        "pflow.node.type": "mcp-words-look-up",
        "pflow.mcp.server": "words",
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look_up",
    }
    assert b"hush-hush" not in b"".join(collector.bodies), "arguments are not told"


@needs_telemetry
@pytest.mark.parametrize("status", [400, 503, None])
def test_a_collector_that_is_down_neither_fails_a_run_nor_says_a_word(tmp_path: Path, status: int | None) -> None:
    (tmp_path / "a.yaml").write_text("nodes: [{id: a, type: echo, params: {x: fine}}]\noutputs: {x: '${a.x}'}\n")
    with collecting(status or 200) as collector:
        address = collector.address if status else "http://127.0.0.1:1"
        done = run(tmp_path, "run", "a.yaml", env=environment(OTEL_EXPORTER_OTLP_ENDPOINT=address))
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")


def test_without_the_extra_there_is_one_notice_and_the_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("nodes: [{id: a, type: echo, params: {x: fine}}]\noutputs: {x: '${a.x}'}\n")
    env = {**environment(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1"), "PYTHONPATH": ""}
    done = run(tmp_path, "run", "a.yaml", env=env)
    assert (done.returncode, done.stdout) == (0, "fine\n")
    assert done.stderr == (
        "note: OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry is not installed: `pip install 'pflow[otel]'`\n"
    )
