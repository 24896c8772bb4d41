"""Secrets reach the steps that name them, and no file, screen, envelope or process list beside."""

from __future__ import annotations

import base64
import fcntl
import http.server
import json
import os
import pty
import signal
import struct
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from pflow.cli.main import run_command
from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.robust.world import Ended, Forked, pflow, program, until

GIVEN = "canary-GIVEN-4f9a1c77e0b35d28"
STORED = 'canary-STORED-"quoted"\\and/slashed+b35d&=%41 ü'
AMBIENT = "canary-AMBIENT-7d1e9c02aa41f6b8"
KEY = "-----BEGIN KEY-----\nMIIcanaryKEYaaaaQEAu5Yk2bx9\nLs7canaryKEYbbbbT0pQw4RmZ1\n-----END KEY-----"

CANARIES = {"given": GIVEN, "stored": STORED, "ambient": AMBIENT, "key": KEY}
ENV = {"AMBIENT_API_KEY": AMBIENT}

INPUTS = {
    "given": {"type": "string", "secret": True},
    "stored_token": {"type": "string", "secret": True},
    "ambient_api_key": {"type": "string", "secret": True},
    "key_secret": {"type": "string", "secret": True},
}
ALL = "${given}|${stored_token}|${ambient_api_key}|${key_secret}"

ENCODE = """
import base64, json, urllib.parse
result = {"raw": all, "json": json.dumps(all), "url": urllib.parse.quote(all, safe=""), "hex": all.encode().hex()}
result["base64"] = [base64.b64encode(b"x" * n + all.encode()).decode() for n in range(3)]
result[all] = "as a key"
print(all, repr(all))
"""


def forms(secret: str) -> set[bytes]:
    """How a secret may be written."""
    data = secret.encode()
    found = {
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(secret))[3:-3],
        repr(secret)[1:-1],
        quote(secret),
        quote(secret, safe=""),
        quote_plus(secret),
        data.hex(),
        data.hex().upper(),
    }
    for offset in range(3):
        whole = base64.b64encode(b"\0" * offset + data).decode()
        core = whole[(8 * offset + 5) // 6 : 8 * (offset + len(data)) // 6]
        found |= {core, core.replace("+", "-").replace("/", "_")}
    found |= {line for line in secret.splitlines() if "canary" in line}
    return {form.encode() for form in found}


FORMS = {name: forms(secret) for name, secret in CANARIES.items()}


def hits(data: bytes) -> list[str]:
    """Which canaries some bytes hold, in which form."""
    return [f"{name} as {form[:60]!r}" for name, known in FORMS.items() for form in known if form in data]


def search(home: Path) -> None:
    """Every byte of a home, the one file excepted in which credentials live."""
    for path in sorted(home.rglob("*")):
        if path.is_file() and path != home / "settings.json":
            assert hits(path.read_bytes()) == [], path
        assert hits(str(path).encode()) == [], path


def silent(ended: Ended) -> Ended:
    assert hits(ended.said.encode()) == []
    return ended


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a server in a process of its own that sends every request back; `/401` and `/500` as errors."""

    class Mirror(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            said = {"path": self.path, "headers": dict(self.headers), "body": body.decode(errors="replace")}
            data = json.dumps(said).encode()
            self.send_response(int(self.path[1:4]) if self.path[1:4].isdigit() else 200)
            self.send_header("content-type", "application/json")
            self.send_header("x-mirror", self.headers.get("authorization", ""))
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST

        def log_message(self, format: str, *args: Any) -> None:
            pass

    listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Mirror)
    pid = os.fork()
    if pid == 0:
        try:
            listener.serve_forever()
        finally:
            os._exit(0)
    port = listener.server_address[1]
    listener.server_close()
    yield f"http://127.0.0.1:{port}"
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


@pytest.fixture
def place(home: Path) -> Path:
    """A home that knows a credential and lets steps reach the server."""
    with Workspace(Home(home), environ={}) as workspace:
        workspace.set_setting("STORED_TOKEN", STORED)
        workspace.set_setting("KEY_SECRET", KEY)
        workspace.set_setting("http.allow_hosts", "127.0.0.1")
    return home


def write(folder: Path, *nodes: dict[str, Any], **fields: Any) -> str:
    file = folder / "doc.json"
    file.write_text(json.dumps({"name": "doc", "inputs": INPUTS, "nodes": list(nodes), **fields}))
    return str(file)


def run(*words: str) -> Ended:
    """A command line with the canary that is given on stdin and the one of the environment."""
    inputs = json.dumps({"given": GIVEN}).encode()
    given = ("-i", "-") if words[0] == "run" else ()
    return silent(pflow(*words, *given, env=ENV, stdin=inputs if given else b""))


def step(kind: str, name: str | None = None, **params: Any) -> dict[str, Any]:
    return {"id": name or kind, "type": kind, "params": params}


def every_use(server: str, folder: Path) -> list[dict[str, Any]]:
    """Steps that take all canaries in every place there is for a value, and give them back in every form."""
    child = {
        "inputs": {"value": {"type": "string"}, "hidden": {"type": "string", "secret": True}},
        "nodes": [step("echo", "inner", value="${value} ${hidden}"), step("shell", command="printf %s ${hidden}")],
        "outputs": {"seen": {"source": "${inner.value}"}, "said": {"source": "${shell.stdout}"}},
    }
    return [
        step("echo", value=ALL, nested={"list": [ALL, {"deep": ALL}]}),
        step("shell", "by-env", command='printf %s "$ALL"; printf %s "$ALL" >&2', env={"ALL": ALL}),
        step("shell", "by-stdin", command="tee /dev/stderr", stdin=ALL),
        step("shell", "by-slot", command="printf %s ${given} ${stored_token}; echo ${key_secret} ${ambient_api_key}"),
        step(
            "shell",
            "encoded",
            command="printf %s ${given} | base64 -w0; printf %s ${given} | od -An -tx1 | tr -d ' \\n'",
        ),
        step("code", code=ENCODE, inputs={"all": ALL}),
        step(
            "http",
            url=f"{server}/echo",
            params={"q": "${given}"},
            headers={"x-given": "${given}", "x-ambient": "${ambient_api_key}"},
            auth={"type": "bearer", "token": "${given}"},
            json={"all": ALL},
        ),
        step("http", "basic", url=f"{server}/basic", auth={"type": "basic", "username": "me", "password": "${given}"}),
        step("write-file", path=str(folder / "own.txt"), content=ALL),
        step("read-file", path="${write-file.path}"),
        {"id": "child", "type": "workflow", "params": {"workflow": child, "inputs": {"value": ALL, "hidden": ALL}}},
        {**step("shell", "each", command="printf %s ${item}"), "batch": {"items": ["${given}", "${stored_token}"]}},
    ]


def test_no_canary_is_seen_after_a_run_that_uses_them_everywhere(place: Path, tmp_path: Path, server: str) -> None:
    outputs = {
        name: {"source": f"${{{name}}}"} for name in ("echo", "code", "http", "child", "each", "by-slot", "encoded")
    }
    file = write(tmp_path, *every_use(server, tmp_path), outputs=outputs)
    done = run("run", file, "--json")
    assert done.json["success"], done.out
    whole = "|".join((GIVEN, STORED, AMBIENT, KEY))
    assert (tmp_path / "own.txt").read_text() == whole, "steps get the real values, and a person's files hold them"
    assert "«secret:hidden»" in json.dumps(done.json["data"]["outputs"]["echo"], ensure_ascii=False)
    run("run", file)
    for words in (
        ("runs", "show", "latest"),
        ("runs", "show", "latest", "--json"),
        ("trace", "latest"),
        ("trace", "latest", "--json"),
        ("trace", "latest", "--step", "code", "--field", "outputs.result"),
        ("trace", "latest", "--step", "http", "--field", "outputs.response"),
        ("describe", file, "--json"),
        ("run", file, "--dry-run"),
        ("runs", "list", "--json"),
        ("settings", "list", "--json"),
        ("settings", "get", "STORED_TOKEN"),
    ):
        assert run(*words).code == 0, words
    search(place)


FAILURES: dict[str, dict[str, Any]] = {
    "shell": step("shell", "bad", command='printf %s ${given}; printf %s "$K" >&2; exit 3', env={"K": ALL}),
    "shell cannot start": step("shell", "bad", command="true", cwd="/nowhere/${given}"),
    "shell late": step("shell", "bad", command="printf %s ${given}; exec sleep 60", timeout=0.2),
    "code raises": step("code", "bad", code="raise ValueError(all)", inputs={"all": ALL}),
    "code dies": step("code", "bad", code="import os\nprint(all, flush=True)\nos._exit(3)", inputs={"all": ALL}),
    "code refuses": step("code", "bad", code="result = {all: {1, 2}}", inputs={"all": ALL}),
    "read-file": step("read-file", "bad", path="/nowhere/${given}"),
    "write-file": step("write-file", "bad", path="/dev/null/${given}", content=ALL),
    "list-files": step("list-files", "bad", path="/nowhere/${given}"),
    "git-log": step("git-log", "bad", path="/nowhere/${given}"),
    "wrong type": step("shell", "bad", command="true", timeout="${given}"),
    "no address": step("http", "bad", url="http://127.0.0.1:9/${given}?q=${stored_token}"),
    "refused address": step("http", "bad", url="http://10.1.2.3/${given}"),
    "not a host": step("http", "bad", url="http://127.0.0.1:1", headers={"x": "a\r\n${given}"}),
    "batch item": {**step("shell", "bad", command="echo ${item} >&2; exit 1"), "batch": {"items": ["${given}"]}},
    "batch of no list": {**step("echo", "bad", x="${item}"), "batch": {"items": "${given}"}},
    "retried": {**step("shell", "bad", command="echo ${given} >&2; exit 1"), "retry": {"attempts": 2, "wait": 0}},
    "child": {
        "id": "bad",
        "type": "workflow",
        "params": {
            "workflow": {
                "inputs": {"v": {"type": "string"}, "n": {"type": "integer", "default": 1}},
                "nodes": [step("shell", command="echo ${v} >&2; exit 1")],
            },
            "inputs": {"v": ALL},
        },
    },
    "child input": {
        "id": "bad",
        "type": "workflow",
        "params": {
            "workflow": {"inputs": {"n": {"type": "object"}}, "nodes": [step("echo", n="${n}")]},
            "inputs": {"n": "${given}"},
        },
    },
    "no such field": step("echo", "bad", x="${first.value.nothing}"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_no_canary_is_seen_after_a_step_that_fails(place: Path, tmp_path: Path, failure: str) -> None:
    file = write(tmp_path, step("echo", "first", value={"a": ALL}), FAILURES[failure])
    done = run("run", file, "--json")
    assert done.code in (1, 2, 3) and not done.json["success"], done.out
    shown = run("run", file)
    assert shown.code == done.code and "`bad" in shown.err
    search(place)


@pytest.mark.parametrize("status", [401, 404, 500])
def test_an_error_of_a_server_names_the_secret_and_not_its_value(
    place: Path, tmp_path: Path, server: str, status: int
) -> None:
    call = step(
        "http",
        "bad",
        url=f"{server}/{status}?q=${{given}}",
        auth={"type": "bearer", "token": "${given}"},
        json={"all": ALL},
    )
    file = write(tmp_path, call)
    done = run("run", file, "--json")
    assert (done.code, done.json["error"]["node"]) == (1, "bad")
    assert str(status) in done.json["error"]["message"]
    assert GIVEN not in done.json["error"]["message"]
    run("run", file)
    run("trace", "latest")
    search(place)


@pytest.mark.parametrize("answer", ["echo", "401", "404"])
def test_a_stored_github_token_is_used_and_not_shown(home: Path, tmp_path: Path, server: str, answer: str) -> None:
    with Workspace(Home(home), environ={}) as workspace:
        workspace.set_setting("GITHUB_TOKEN", GIVEN)
        workspace.set_setting("http.allow_hosts", "127.0.0.1")
        workspace.set_setting("github.base_url", server)
    file = tmp_path / "doc.json"
    keep = step("write-file", path=str(tmp_path / "own.txt"), content="${hub.response}")
    file.write_text(json.dumps({"nodes": [step("github", "hub", path=f"/{answer}"), keep]}))
    calls: list[tuple[str, ...]] = [("run", str(file), "--json"), ("run", str(file)), ("trace", "latest")]
    for words in calls:
        assert silent(pflow(*words)).code == (0 if answer == "echo" or words[0] == "trace" else 1)
    if answer == "echo":
        assert GIVEN in (tmp_path / "own.txt").read_text(), "the server did get it"
    search(home)


@pytest.mark.slow
def test_output_that_is_cut_within_a_secret_shows_no_part_of_it(place: Path, tmp_path: Path) -> None:
    """What commands say is cut to its last characters; the cut may go through a canary at any place."""
    parts = [GIVEN[:size] for size in range(8, len(GIVEN))] + [GIVEN[-size:] for size in range(8, len(GIVEN))]
    for behind in (1982, 1990):
        command = f"printf %s ${{given}}; head -c {behind} /dev/zero | tr '\\0' .; exit 3"
        file = write(tmp_path, step("shell", "bad", command=command))
        for ended in (run("run", file, "--json"), run("run", file), run("trace", "latest")):
            assert [part for part in parts if part in ended.said] == []
    for before in (180, 190):
        command = f"(head -c {before} /dev/zero | tr '\\0' .; printf '%s and more' ${{given}}) >&2; exit 3"
        file = write(tmp_path, step("shell", "bad", command=command))
        for ended in (run("run", file, "--json"), run("run", file), run("trace", "latest")):
            assert [part for part in parts if part in ended.said] == []


@pytest.mark.parametrize("kind", ["integer", "boolean", "object"])
def test_a_secret_of_the_wrong_type_is_refused_without_showing_it(home: Path, tmp_path: Path, kind: str) -> None:
    file = tmp_path / "doc.json"
    inputs = {"given": {"type": kind, "secret": True}, "other": {"type": "string"}}
    file.write_text(json.dumps({"inputs": inputs, "nodes": [step("echo", x=1)]}))
    for words in ((f"given={GIVEN}", "other=x"), (f"given={GIVEN}", "--json"), (f"given={GIVEN}", "othr=x")):
        done = silent(pflow("run", str(file), *words))
        assert done.code == 2 and "given" in done.said
    search(home) if home.exists() else None


def test_the_command_that_would_work_does_not_repeat_a_secret(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "doc.json"
    inputs = {"given": {"type": "string", "secret": True}, "since": {"type": "string"}}
    file.write_text(json.dumps({"inputs": inputs, "nodes": [step("echo", x=1)]}))
    done = silent(pflow("run", str(file), f"given={GIVEN}"))
    assert done.code == 2 and "since=…" in done.err and "given=…" in done.err
    silent(pflow("run", str(file), f"given={GIVEN}", "--json"))


def test_secrets_inside_objects_and_numbers_are_hidden_as_well(home: Path, tmp_path: Path) -> None:
    inputs = {"login": {"type": "object", "secret": True}, "pin": {"type": "integer", "secret": True}}
    file = tmp_path / "doc.json"
    nodes = [
        step("echo", login="${login}", pin="${pin}"),
        step(
            "shell",
            command="echo ${login.key} ${login.more[0]} ${pin} >&2; echo ${pin} > own; exit 1",
            cwd=str(tmp_path),
        ),
    ]
    file.write_text(json.dumps({"inputs": inputs, "nodes": nodes}))
    given = {"login": {"key": GIVEN, "more": [AMBIENT]}, "pin": 9182736450918273}
    for words in (("run", str(file), "--json"), ("run", str(file))):
        done = silent(pflow(*words, "-i", "-", stdin=json.dumps(given).encode()))
        assert done.code == 1 and "9182736450918273" not in done.said
    assert (tmp_path / "own").read_text() == "9182736450918273\n"
    assert not any(b"9182736450918273" in path.read_bytes() for path in home.rglob("*") if path.is_file())
    search(home)


def test_a_terminal_shows_progress_and_no_canary(place: Path, tmp_path: Path) -> None:
    """Progress tells of failures as they happen, before the run has an outcome."""
    bad = {**step("shell", "bad", command="echo ${given} >&2; exit 1"), "retry": {"attempts": 2, "wait": 0.3}}
    file = write(tmp_path, bad)
    inputs = tmp_path / "inputs.json"
    inputs.write_text(json.dumps({"given": GIVEN}))
    terminal, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
    pid = os.fork()
    if pid == 0:
        for fd in range(3):
            os.dup2(theirs, fd)
        os.environ.update(ENV, TERM="xterm")
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        os._exit(run_command(["run", file, "-i", str(inputs)]))
    os.close(theirs)
    seen = bytearray()
    try:
        while chunk := os.read(terminal, 65536):
            seen += chunk
    except OSError:
        pass  # how a terminal says that nobody writes to it any more
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
    assert b"next attempt in" in seen and "«secret:given»".encode() in seen
    assert hits(bytes(seen)) == []


def test_a_run_that_is_killed_leaves_no_canary(place: Path, tmp_path: Path) -> None:
    wait = "echo ${given} ${stored_token}; : > started; exec sleep 60"
    file = write(
        tmp_path,
        *every_use("http://127.0.0.1:9", tmp_path)[:6],
        {**step("shell", "hang", command=wait, cwd=str(tmp_path)), "timeout": 50},
    )
    child = Forked(["run", file, "-i", "-"], env=ENV, stdin=json.dumps({"given": GIVEN}).encode())
    until((tmp_path / "started").exists, "the last step")
    child.kill(signal.SIGKILL)
    assert silent(child.wait()).code == -signal.SIGKILL
    assert {"runs.db-wal", "runs.db-shm"} <= {path.name for path in place.iterdir()}
    search(place)
    assert run("runs", "show", "latest").code == 0
    assert run("trace", "latest", "--json").code == 0


def test_no_process_shows_a_canary_in_its_command_line_and_helpers_none_in_their_environment(
    place: Path, tmp_path: Path
) -> None:
    look = (
        "import glob, pathlib\n"
        "def read(path):\n"
        "    try: return pathlib.Path(path).read_bytes().decode(errors='replace')\n"
        "    except OSError: return ''\n"
        "lines = ''.join(read(path) for path in glob.glob('/proc/[0-9]*/cmdline'))\n"
        "pathlib.Path(out).write_text(lines + read('/proc/self/environ'))\n"
        "result = len(all)\n"
    )
    inputs = {"all": ALL, "out": str(tmp_path / "by-code")}
    file = write(
        tmp_path,
        step("code", code=look, inputs=inputs),
        step(
            "shell",
            command=": ${given} ${stored_token}; cat /proc/[0-9]*/cmdline > by-shell 2> /dev/null; true",
            cwd=str(tmp_path),
            stdin=ALL,
            env={"K": ALL},
        ),
    )
    done = silent(program("run", file, "-i", "-", env=ENV, stdin=json.dumps({"given": GIVEN}).encode()))
    assert done.code == 0, done.err
    for name in ("by-code", "by-shell"):
        seen = (tmp_path / name).read_bytes()
        assert b"pflow" in seen, "it did look"
        assert hits(seen) == []


def test_large_values_that_hold_a_secret_are_recognised_when_an_edited_run_goes_on(home: Path, tmp_path: Path) -> None:
    nodes = [
        step("code", code="result = given + 'x' * 5000", inputs={"given": "${given}"}),
        step("shell", command="wc -c", stdin="${code.result}"),
        step("echo", text="${shell.stdout}"),
    ]
    file = tmp_path / "doc.json"
    file.write_text(json.dumps({"inputs": {"given": INPUTS["given"]}, "nodes": nodes}))
    assert pflow("run", str(file), f"given={GIVEN}").code == 0
    nodes[2]["params"]["text"] = "edited ${shell.stdout}"
    file.write_text(json.dumps({"inputs": {"given": INPUTS["given"]}, "nodes": nodes}))
    same = silent(pflow("runs", "resume", "latest", "--with", str(file), f"given={GIVEN}", "--json"))
    assert same.json["data"]["reused"] == ["code", "shell"]
    other = silent(pflow("runs", "resume", "latest", "--with", str(file), f"given={AMBIENT}", "--json"))
    assert [entry["step"] for entry in other.json["data"]["reran"]][:2] == ["code", "shell"]
    search(home)


def test_a_saved_workflow_and_its_pictures_hold_references_only(place: Path, tmp_path: Path, server: str) -> None:
    file = write(tmp_path, *every_use(server, tmp_path))
    for words in (
        ("workflow", "save", file, "kept"),
        ("describe", "kept"),
        ("describe", "kept", "--mermaid"),
        ("describe", "kept", "--svg", "-"),
    ):
        assert run(*words).code == 0
    search(place)


# Taking up a run that had secrets


def gated(folder: Path) -> str:
    """A document whose second step fails while `closed` is there, and whose last writes what it was given."""
    return write(
        folder,
        step("echo", value=ALL),
        step("shell", "gate", command="test ! -e closed", cwd=str(folder)),
        step("write-file", path=str(folder / "own.txt"), content="${echo.value} ${given}"),
    )


def test_a_resume_asks_again_for_what_it_may_not_keep(place: Path, tmp_path: Path) -> None:
    (tmp_path / "closed").touch()
    failed = run("run", gated(tmp_path), "--json")
    run_id = failed.json["checkpoint"]["run_id"]
    (tmp_path / "closed").unlink()
    asked = silent(pflow("runs", "resume", run_id, env=ENV))
    assert asked.code == 2
    assert "`given`" in asked.err and "`stored_token`" not in asked.err, (
        "settings and environment still know the others"
    )
    assert not (tmp_path / "own.txt").exists()
    done = silent(pflow("runs", "resume", run_id, f"given={GIVEN}", env=ENV))
    assert done.code == 0, done.err
    whole = "|".join((GIVEN, STORED, AMBIENT, KEY))
    assert (tmp_path / "own.txt").read_text() == f"{whole} {GIVEN}"
    search(place)


def test_a_resume_without_the_environment_of_the_run_asks_for_its_secret_too(place: Path, tmp_path: Path) -> None:
    (tmp_path / "closed").touch()
    run_id = run("run", gated(tmp_path), "--json").json["checkpoint"]["run_id"]
    (tmp_path / "closed").unlink()
    asked = silent(pflow("runs", "resume", run_id, f"given={GIVEN}", "--json"))
    assert asked.code == 2 and asked.json["error"]["details"]["missing"] == ["ambient_api_key"]


def test_an_input_that_holds_a_secret_is_whole_again_after_a_resume(place: Path, tmp_path: Path) -> None:
    (tmp_path / "closed").touch()
    inputs = {"given": {"type": "string", "secret": True}, "url": {"type": "string"}}
    file = tmp_path / "doc.json"
    nodes = [
        step("shell", "gate", command="test ! -e closed", cwd=str(tmp_path)),
        step("write-file", path=str(tmp_path / "own.txt"), content="${url}"),
    ]
    file.write_text(json.dumps({"inputs": inputs, "nodes": nodes}))
    given = {"given": GIVEN, "url": f"https://example.org/?key={GIVEN}"}
    done = silent(pflow("run", str(file), "-i", "-", "--json", stdin=json.dumps(given).encode()))
    (tmp_path / "closed").unlink()
    resumed = silent(pflow("runs", "resume", done.json["checkpoint"]["run_id"], f"given={GIVEN}"))
    assert resumed.code == 0, resumed.err
    assert (tmp_path / "own.txt").read_text() == given["url"]


def test_a_resume_never_goes_on_with_a_marker_in_place_of_a_value(place: Path, tmp_path: Path) -> None:
    """A value that happened to be a secret of the environment was hidden; without that, it is not known any more."""
    (tmp_path / "closed").touch()
    file = tmp_path / "doc.json"
    nodes = [
        step("shell", "say", command="cat said", cwd=str(tmp_path)),
        step("shell", "gate", command="test ! -e closed", cwd=str(tmp_path)),
        step("write-file", path=str(tmp_path / "own.txt"), content="${say.stdout}"),
    ]
    file.write_text(json.dumps({"nodes": nodes}))
    (tmp_path / "said").write_text(f"it is {AMBIENT}")
    run_id = silent(pflow("run", str(file), "--json", env=ENV)).json["checkpoint"]["run_id"]
    search(place)
    (tmp_path / "closed").unlink()
    asked = silent(pflow("runs", "resume", run_id))
    assert asked.code == 2 and not (tmp_path / "own.txt").exists()
    assert "`${say.stdout}` holds a value of the secret `AMBIENT_API_KEY` that is not known now" in asked.err
    assert silent(pflow("runs", "resume", run_id, env=ENV)).code == 0
    assert (tmp_path / "own.txt").read_text() == f"it is {AMBIENT}"


def test_a_killed_run_with_a_secret_completes_with_the_real_value(place: Path, tmp_path: Path) -> None:
    file = write(
        tmp_path,
        step("echo", value=ALL),
        step("shell", "hang", command="if [ ! -e again ]; then : > again; exec sleep 60; fi", cwd=str(tmp_path)),
        step("write-file", path=str(tmp_path / "own.txt"), content="${echo.value}"),
    )
    child = Forked(["run", file, "-i", "-"], env=ENV, stdin=json.dumps({"given": GIVEN}).encode())
    until((tmp_path / "again").exists, "the second step")
    child.kill(signal.SIGKILL)
    child.wait()
    words = ("runs", "resume", "latest", f"given={GIVEN}", "--rerun-in-doubt")
    assert silent(pflow(*words, env=ENV)).code == 0
    assert (tmp_path / "own.txt").read_text() == "|".join((GIVEN, STORED, AMBIENT, KEY))
    search(place)
