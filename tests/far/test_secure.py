"""Places as production has them: TLS before Temporal, keys as credentials, and a pooler before the database."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import dev_cluster
from dev_place import Cluster
from pflow.adapters.temporal.connection import connect
from pflow.core.file.home import Home
from pflow.execution.place.queue import find_queue
from pflow.execution.wiring import Wiring
from tests.far.conftest import Far
from tests.robust.world import until

pytestmark = pytest.mark.needs("postgres", "temporal")

KEY = "the-key-that-nobody-sees"


@pytest.mark.slow
@pytest.mark.needs("openssl")
def test_temporal_behind_tls_is_verified_and_shown_a_certificate(far: Far, tmp_path: Path) -> None:
    make_certificates(tmp_path)
    with tls_before(far.cluster, tmp_path) as port:
        address = f"127.0.0.1:{port}/default"
        set_all(far, temporal=address, temporal_tls="verify")
        document = far.scene.write(far.scene.mark("a"))
        refused = far.pflow("run", document, "--on", "dev")
        assert refused.code == 1, refused
        assert f"Temporal at `{address}` cannot be reached" in refused.err
        set_all(far, temporal_ca="ca.crt", temporal_cert="missing.crt", temporal_key="client.key")
        missing = far.pflow("run", document, "--on", "dev")
        assert "`missing.crt` cannot be read" in missing.err, missing
        set_all(far, **{f"temporal_{what}": str(tmp_path / file) for what, file in FILES.items()})
        worker = far.worker()
        done = far.pflow("run", document, "--on", "dev")
        assert done.code == 0, (done, worker.said)
    assert far.scene.did() == ["a"]


def test_the_api_key_of_temporal_is_a_credential_that_is_sent_and_not_shown(far: Far) -> None:
    set_all(far, temporal_api_key="TEMPORAL_KEY")
    unset = far.pflow("run", far.scene.write(far.scene.mark("a")), "--on", "dev")
    assert unset.code == 2, unset
    assert "`on.dev.temporal_api_key` names `TEMPORAL_KEY`" in unset.err
    assert far.pflow("settings", "set", "TEMPORAL_KEY", stdin=KEY).code == 0
    client = asyncio.run(connect(find_queue(Wiring(Home(far.home), on="dev"))))
    assert client.api_key == KEY
    worker = far.worker()
    shown = {
        "id": "show",
        "type": "shell",
        "params": {"command": 'echo "[$TEMPORAL_KEY]"; env'},
    }
    done = far.pflow("run", far.scene.write(shown), "--on", "dev", "--json")
    assert done.code == 0, (done, worker.said)
    told = [done.out, done.err, worker.said, far.pflow("settings", "list").out]
    told.append(far.pflow("trace", "latest", "--on", "dev", "--json").out)
    assert KEY not in "".join(told)


@pytest.mark.slow
@pytest.mark.needs("pgbouncer")
def test_workers_and_commands_reach_their_database_through_a_pooler_in_transaction_mode(far: Far) -> None:
    pooler = dev_cluster.Pooler(far.cluster.keeper, far.cluster.postgres)
    set_all(far, journal=f"{pooler.address}/postgres", pooler="true", lease="3")
    first = far.worker()
    asking = {"id": "ok", "type": "ask", "params": {"prompt": "go on?", "choices": ["yes", "no"]}}
    document = far.scene.write(far.scene.mark("a"), asking, far.scene.mark("b"), file="asks.json")
    asked = far.pflow("run", document, "--on", "dev", "--json")
    assert asked.code == 4, (asked, first.said)
    answered = far.pflow("answer", asked.json["data"]["run_id"], "yes", "--on", "dev")
    assert answered.code == 0, (answered, first.said)
    assert far.scene.did() == ["a", "b"]
    run_id = far.detach(far.scene.write(far.scene.hold("held"), far.scene.mark("c")))
    far.scene.until_began("held")
    first.end(signal.SIGKILL)
    second = far.worker()
    far.until_state(run_id, "in_doubt", "interrupted", "stopped")
    settled = far.pflow("runs", "settle", run_id, "held", "--done", "stdout=", "stderr=", "exit_code=0", "--on", "dev")
    assert settled.code == 0, settled
    resumed = far.pflow("runs", "resume", run_id, "--on", "dev")
    assert resumed.code == 0, (resumed, second.said)
    assert far.scene.did() == ["a", "b", "c"]
    waiting = far.pflow("run", document, "--on", "dev", "--json").json["data"]["run_id"]
    assert far.pflow("runs", "cancel", waiting, "--on", "dev").code == 0
    far.until_state(waiting, "cancelled")
    assert far.scene.did() == ["a", "b", "c", "a"]


FILES = {"ca": "ca.crt", "cert": "client.crt", "key": "client.key"}


def set_all(far: Far, **fields: str) -> None:
    """Set what the place is."""
    for name, value in fields.items():
        said = far.pflow("settings", "set", f"on.dev.{name}", value)
        assert said.code == 0, said


def make_certificates(folder: Path) -> None:
    """An authority, and what it signed: a certificate of the server at 127.0.0.1, and one of a client.

    They say all that RFC 5280 asks for, on which Python insists from 3.13 on.
    """
    new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    sign = ["-CA", "ca.crt", "-CAkey", "ca.key", "-addext", "basicConstraints=critical,CA:FALSE"]
    sign += ["-addext", "authorityKeyIdentifier=keyid"]
    for name, words in (
        ("ca", ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign"]),
        ("server", [*sign, "-addext", "subjectAltName=IP:127.0.0.1"]),
        ("client", sign),
    ):
        files = ["-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.crt"]
        subprocess.run([*new, *words, *files], cwd=folder, check=True, capture_output=True)


@contextmanager
def tls_before(cluster: Cluster, folder: Path) -> Iterator[int]:
    """A port where only those with a certificate of the authority get through to Temporal, over TLS."""
    port = dev_cluster.free_port()
    script = str(Path(__file__).parent / "tls_relay.py")
    words = [sys.executable, script, str(port), str(cluster.temporal.port), str(folder)]
    pid = cluster.keeper.start(words, folder / "relay.log")
    try:
        until(lambda: dev_cluster.is_listening(port), "the relay")
        yield port
    finally:
        cluster.keeper.end(pid, signal.SIGKILL)
