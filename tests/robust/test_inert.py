"""Looking at a document, checking it and keeping it start no process, open no connection and run no code of others."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.robust.world import PATIENCE, Forked, environment, pflow

STARTS = (
    *("subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork", "os.forkpty", "pty.spawn"),
    *("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname"),
    *("ctypes.dlopen", "os.startfile", "webbrowser.open"),
)
"""What Python reports before it starts a process or reaches for the network."""

OWN_NODE = '''
"""A person's own node, whose module must not run before it is used."""
from pathlib import Path
from pocketflow import Node

Path(__file__).with_suffix(".ran").touch()


class Own(Node):
    """Do something.

    Interface:
    - Params: text - what
    - Writes: shared["text"] - the same
    """

    def post(self, shared, _, __):
        shared["text"] = self.params["text"]
'''


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Where a connection would arrive."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


@pytest.fixture
def active(home: Path, tmp_path: Path, listener: socket.socket) -> str:
    """A document of everything that acts, each step of which would leave a trace."""
    (home / "nodes").mkdir(parents=True)
    (home / "nodes" / "own.py").write_text(OWN_NODE)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/x"
    touch = f"touch {tmp_path / 'touched'}"
    child = {"nodes": [{"id": "in", "type": "shell", "params": {"command": touch}}]}
    nodes: list[dict[str, Any]] = [
        {"id": "sh", "type": "shell", "params": {"command": touch}},
        {"id": "slot", "type": "shell", "params": {"command": "echo ${who} $(touch nothing)"}},
        {"id": "py", "type": "code", "params": {"code": f"open({str(tmp_path / 'touched')!r}, 'w')\nresult = 1"}},
        {"id": "web", "type": "http", "params": {"url": url, "method": "POST", "json": {"who": "${who}"}}},
        {"id": "many", "type": "http", "params": {"url": url}, "batch": {"items": [1, 2, 3], "concurrency": 3}},
        {"id": "git", "type": "git-commit", "params": {"message": "x", "path": str(tmp_path)}},
        {"id": "hub", "type": "github-list-issues", "params": {"repo": "a/b"}},
        {"id": "put", "type": "write-file", "params": {"path": str(tmp_path / "touched"), "content": "x"}},
        {"id": "del", "type": "delete-file", "params": {"path": str(tmp_path / "kept")}},
        {"id": "child", "type": "workflow", "params": {"workflow": child}},
        {"id": "own", "type": "own", "params": {"text": "${who}"}},
    ]
    (tmp_path / "kept").touch()
    file = tmp_path / "doc.json"
    file.write_text(json.dumps({"name": "active", "inputs": {"who": {"default": "me"}}, "nodes": nodes}))
    return str(file)


LOOKING = {
    "validate": ["validate", "DOC"],
    "validate, as JSON": ["validate", "DOC", "--json"],
    "describe": ["describe", "DOC"],
    "describe, as JSON": ["describe", "DOC", "--json"],
    "mermaid": ["describe", "DOC", "--mermaid"],
    "picture": ["describe", "DOC", "--svg", "-"],
    "dry run": ["run", "DOC", "who=you", "--dry-run"],
    "save": ["workflow", "save", "DOC", "kept"],
    "save a draft": ["workflow", "save", "DOC", "kept", "--draft"],
    "list": ["workflow", "list"],
    "node types": ["registry", "list"],
    "own node type": ["registry", "describe", "own"],
    "search": ["registry", "search", "shell"],
    "scan": ["registry", "scan"],
    "runs": ["runs", "list"],
    "settings": ["settings", "list"],
}


def watched(words: list[str], log: Path, *, code: int = 0) -> list[str]:
    """What a command line does: the events of `STARTS`, and every file that it opens for writing."""

    def watch() -> None:
        fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

        def hook(event: str, args: tuple[Any, ...]) -> None:
            if event in STARTS:
                os.write(fd, f"{event} {args!r}\n".encode())
            elif event == "open" and isinstance(args[2], int) and args[2] & writing:
                os.write(fd, f"write {args[0]}\n".encode())

        sys.addaudithook(hook)

    done = Forked(words, before=watch).wait()
    assert done.code == code, done
    return log.read_text().splitlines() if log.exists() else []


@pytest.mark.parametrize("way", LOOKING)
def test_looking_starts_nothing_connects_to_nothing_and_writes_only_at_home(
    home: Path, tmp_path: Path, active: str, listener: socket.socket, way: str
) -> None:
    words = [active if word == "DOC" else word for word in LOOKING[way]]
    seen = watched(words, tmp_path / "log")
    assert [line for line in seen if not line.startswith("write ")] == []
    written = [line.removeprefix("write ") for line in seen]
    assert [path for path in written if not path.startswith(f"{home}/") and path != "/dev/null"] == []
    assert not (tmp_path / "touched").exists() and (tmp_path / "kept").exists()
    assert not (home / "nodes" / "own.ran").exists(), "a person's own module was run"
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_the_watch_would_have_seen_it(home: Path, tmp_path: Path, listener: socket.socket) -> None:
    """The same eyes on a run see its process and its connection."""
    assert pflow("settings", "set", "http.allow_hosts", "127.0.0.1").code == 0
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/x"
    file = tmp_path / "doc.json"
    web = {"id": "web", "type": "http", "params": {"url": url, "timeout": 0.3}, "timeout": 1}
    shell = {"id": "sh", "type": "shell", "params": {"command": f"touch {tmp_path / 'touched'}"}}
    edges = [{"from": "sh", "to": "web"}, {"from": "web", "to": "end", "action": "error"}]
    edges.append({"from": "web", "to": "end", "action": "timeout"})
    end = {"id": "end", "type": "echo", "params": {"x": 1}}
    file.write_text(json.dumps({"nodes": [shell, web, end], "edges": edges}))
    seen = watched(["run", str(file)], tmp_path / "log")
    kinds = {line.split()[0] for line in seen}
    assert "subprocess.Popen" in kinds and "socket.connect" in kinds
    assert (tmp_path / "touched").exists()


def test_a_document_with_every_kind_of_mistake_starts_nothing_either(
    home: Path, tmp_path: Path, active: str, listener: socket.socket
) -> None:
    broken = json.loads(Path(active).read_text())
    for node in broken["nodes"]:
        node["params"] = {f"{name}x": value for name, value in node["params"].items()}
        node["retries"] = 3
    file = tmp_path / "broken.json"
    file.write_text(json.dumps(broken))
    seen = watched(["validate", str(file)], tmp_path / "log", code=2)
    assert [line for line in seen if not line.startswith("write ")] == []
    assert not (tmp_path / "touched").exists()


@pytest.mark.needs("strace")
def test_the_kernel_sees_neither_an_exec_nor_a_connection(home: Path, tmp_path: Path, active: str) -> None:
    log = tmp_path / "strace.log"
    looks = [
        [active if word == "DOC" else word for word in LOOKING[way]]
        for way in ("validate", "describe", "dry run", "save")
    ]
    code = f"from pflow.cli.main import run_command\nfor words in {looks!r}: assert run_command(words) == 0"
    traced = subprocess.run(
        ["strace", "-f", "-e", "trace=execve,execveat,connect,fork,vfork", "-o", str(log), sys.executable, "-c", code],
        env=environment({}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE * 2,
        check=False,
    )
    if "ptrace" in traced.stderr and traced.returncode:
        pytest.skip("strace may not trace here: " + traced.stderr.splitlines()[0])
    assert traced.returncode == 0, traced.stderr
    calls = re.findall(r"^\d+ +(\w+)\(", log.read_text(), re.MULTILINE)
    assert calls == ["execve"], "the interpreter itself, and nothing else"
