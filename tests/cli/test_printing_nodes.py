"""What a person's node prints, in whatever way, goes to stderr: stdout has pflow's data and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import spawn

Say = Callable[..., tuple[int, str, str]]

NODE = '''
import ctypes, os, subprocess, sys, threading
from pocketflow import AsyncNode, Node

print("NOISE while importing")

def shout():
    print("NOISE print")
    sys.stdout.write("NOISE write")
    os.write(1, b"NOISE descriptor")
    subprocess.run(["echo", "NOISE child"])
    ctypes.CDLL(None).puts(b"NOISE C")
    ctypes.CDLL(None).fflush(None)

def linger():
    threading.main_thread().join()
    os.write(1, b"NOISE later")

class Loud(Node):
    """Prints in every way there is."""

    class Outputs:
        text: str

    def exec(self, prepared):
        shout()
        threading.Thread(target=shout).start()
        threading.Thread(target=linger).start()

    def post(self, shared, prepared, done):
        shared["text"] = "data"

class AsyncLoud(AsyncNode):
    """Prints on the event loop."""

    class Outputs:
        text: str

    async def post_async(self, shared, prepared, done):
        shout()
        shared["text"] = "data"

class Closing(Node):
    """Closes what it believes to be its own."""

    class Outputs:
        text: str

    def post(self, shared, prepared, done):
        sys.stdout.close()
        shared["text"] = "data"
'''


@pytest.fixture
def say(home: Path, tmp_path: Path) -> Say:
    """Runs the program with these nodes in its home."""
    (home / "nodes").mkdir(parents=True, mode=0o700)
    (home / "nodes" / "loud.py").write_text(NODE)

    def run(*words: str) -> tuple[int, str, str]:
        with spawn(*words, cwd=tmp_path) as process:
            out, err = process.communicate(timeout=100)
        return process.returncode, out.decode(), err.decode()

    return run


DOCUMENT = {
    "nodes": [{"id": "a", "type": "loud"}, {"id": "b", "type": "async-loud"}],
    "outputs": {"text": {"source": "${b.text}"}},
}


BATCH = {
    "nodes": [{"id": "b", "type": "loud", "batch": {"items": [1, 2]}}],
    "outputs": {"text": {"source": "${b.results[1].text}"}},
}


@pytest.mark.parametrize(
    "words",
    [
        ("run", json.dumps(DOCUMENT)),
        ("loud >> async-loud",),
        ("loud",),
        ("run", json.dumps(BATCH)),
    ],
)
def test_noise_never_reaches_stdout(say: Say, words: tuple[str, ...]) -> None:
    code, out, err = say(*words)
    assert (code, out) == (0, "data\n"), err
    assert "NOISE print" in err and "NOISE descriptor" in err and "NOISE child" in err and "NOISE C" in err
    code, out, err = say(*words, "--json")
    assert code == 0 and json.loads(out)["data"]["outputs"]["text"] == "data"


def test_a_failed_and_a_resumed_run_are_one_object_each(say: Say, tmp_path: Path) -> None:
    test = {"id": "f", "type": "shell", "params": {"command": "test -e go"}}
    nodes = [{"id": "a", "type": "loud"}, test, {"id": "b", "type": "async-loud"}]
    code, out, _ = say("run", json.dumps({"nodes": nodes}), "--json")
    assert code == 1
    (tmp_path / "go").touch()
    code, out, err = say("runs", "resume", json.loads(out)["checkpoint"]["run_id"], "--json")
    assert (code, json.loads(out)["success"]) == (0, True), err
    assert "NOISE print" in err


def test_looking_at_all_nodes_prints_only_the_findings(say: Say) -> None:
    code, out, err = say("registry", "validate", "--json")
    assert (code, json.loads(out)["success"]) == (0, True)
    assert "NOISE while importing" in err


def test_a_node_that_closes_stdout_closes_nothing_of_pflow(say: Say) -> None:
    assert say("closing")[:2] == (0, "data\n")


def test_without_stderr_noise_goes_nowhere(say: Say, tmp_path: Path) -> None:
    command = 'exec "$0" -m pflow loud 2>&-'
    done = subprocess.run(["sh", "-c", command, sys.executable], cwd=tmp_path, capture_output=True, timeout=100)
    assert (done.returncode, done.stdout) == (0, b"data\n")
