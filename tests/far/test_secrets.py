"""A secret input that only a worker knows: steps use it, and it is found nowhere afterwards, in any form."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from pg8000.native import Connection

import dev_cluster
from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.far.conftest import Far
from tests.far.test_worker_list import copy_settings

pytestmark = pytest.mark.needs("postgres", "temporal")

SECRET = f"tulip/{secrets.token_hex(12)}+moss?"

LOUD = """printf '%s\\n' "$WORD" "$(printf %s "$WORD" | base64)" "$(printf %s "user:$WORD" | base64)" >&2
printf %s "$WORD" | od -An -v -tx1 | tr -d ' \\n'; printf %s "$WORD" | sha256sum"""
"""Shows a secret in all forms, and what proves that the command had it."""


class Echo(ThreadingHTTPServer):
    """Answers with the header that it was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Echoing)
        self.url = f"http://127.0.0.1:{self.server_port}/"
        self.heard: list[str] = []


class Echoing(BaseHTTPRequestHandler):
    server: Echo

    def do_GET(self) -> None:
        heard = self.headers.get("Authorization", "")
        self.server.heard.append(heard)
        self.send_response(200)
        self.send_header("Content-Length", str(len(heard)))
        self.end_headers()
        self.wfile.write(heard.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[Echo]:
    """A service of this process."""
    made = Echo()
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def forms(secret: str) -> list[bytes]:
    """The secret as it is, in hex, and in base64 wherever it begins in what is encoded."""
    data = secret.encode()
    inside = [base64.b64encode(b"?" * before + data)[4 if before else 0 : -4] for before in range(3)]
    return [data, data.hex().encode(), data.hex().upper().encode(), *inside]


def dump(far: Far) -> bytes:
    """All that is in the database of the place, bytes also as what they stand for."""
    postgres = far.cluster.postgres
    database = Connection(
        *(dev_cluster.USER, "127.0.0.1", "postgres", postgres.port, postgres.password), ssl_context=False
    )
    tables = [str(name) for (name,) in database.run("SELECT tablename FROM pg_tables WHERE schemaname = 'pflow'") or ()]
    rows = [str(row) for name in tables for (row,) in database.run(f"SELECT whole::text FROM pflow.{name} whole") or ()]
    database.close()
    text = "\n".join(rows)
    return b"\n".join([text.encode(), *(bytes.fromhex(found) for found in re.findall(r"\\x((?:[0-9a-f]{2})+)", text))])


@pytest.mark.slow
def test_a_secret_that_a_worker_looks_up_is_found_nowhere_afterwards(far: Far, tmp_path: Path, service: Echo) -> None:
    assert far.pflow("settings", "set", "http.allow_hosts", "127.0.0.1").code == 0
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    copy_settings(far.home, other)
    with Workspace(Home(other)) as workspace:
        workspace.set_setting("API_WORD", SECRET)
    worker = far.worker(home=other)
    document = far.scene.write(
        {"id": "env", "type": "shell", "params": {"command": LOUD, "env": {"WORD": "${api_word}"}}},
        {
            "id": "get",
            "type": "http",
            "params": {"url": service.url, "headers": {"Authorization": "Bearer ${api_word}"}},
        },
        inputs={"api_word": {"type": "string", "secret": True}},
        outputs={name: {"source": f"${{{name}}}"} for name in ("env", "get")},
    )
    said = far.pflow("run", document, "--on", "dev", "--json")
    assert said.code == 0, said
    assert service.heard == [f"Bearer {SECRET}"]
    run_id, proof = said.json["data"]["run_id"], hashlib.sha256(SECRET.encode()).hexdigest()
    assert proof in said.out
    assert said.json["data"]["outputs"]["get"]["response"] == "Bearer «secret:API_WORD»"

    folder = far.cluster.keeper.folder
    kept = {"the database": dump(far)}
    kept |= {file.name: file.read_bytes() for file in (*folder.glob("temporal*"), *folder.glob("*.log"))}
    kept |= {str(file): file.read_bytes() for file in far.home.rglob("*") if file.is_file()}
    kept |= {"what was printed": (said.out + said.err).encode(), "what the worker said": worker.said.encode()}
    assert proof.encode() in kept["the database"]
    assert any(run_id.encode() in data for name, data in kept.items() if name.startswith("temporal.db"))
    assert [(name, form) for name, data in kept.items() for form in forms(SECRET) if form in data] == []
