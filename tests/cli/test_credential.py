"""What a step is given as a credential shows nowhere, wherever it came from; what a run needs of it is resumed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Pflow, Said

Write = Callable[..., str]
CANARY = "canary-7d1e9c02aa41f6b8"
GATE = {"id": "gate", "type": "shell", "params": {"command": "test -e open"}}
LOGIN = {
    "id": "login",
    "type": "code",
    "params": {"code": 'result = {"session": "-".join(["canary", "7d1e9c02aa41f6b8"]), "user": "ada"}'},
}


def leaks(pflow: Pflow, home: Path, *said: Said) -> list[str]:
    """Where the canary can be read: in what was said, and in every file that a run leaves."""
    said = (*said, *(pflow(*words, "--json") for words in (["runs", "show", "latest"], ["trace", "latest"])))
    found = [text for one in said for text in (one.out, one.err) if CANARY in text]
    return found + [str(path) for path in home.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    "params",
    [
        {"auth": CANARY},
        {"auth": {"type": "bearer", "token": CANARY}},
        {"auth": {"type": "basic", "username": "ada", "password": CANARY}},
        {"auth": {"type": "header", "name": "X-Any", "value": CANARY}},
        {"headers": {"Authorization": f"Bearer {CANARY}"}},
        {"headers": {"Cookie": CANARY}},
        {"headers": {"x-api-key": CANARY}},
        {"headers": {"Proxy-Authorization": f"Basic {CANARY}"}},
        {"params": {"api_key": CANARY}},
    ],
)
@pytest.mark.parametrize("origin", ["literal", "step", "input"])
def test_a_credential_of_an_http_step_shows_nowhere(
    pflow: Pflow, write: Write, home: Path, params: dict[str, object], origin: str
) -> None:
    source = {"literal": CANARY, "step": "${login.result.session}", "input": "${sess}"}[origin]
    given = json.loads(json.dumps(params).replace(CANARY, source))
    call = {"id": "call", "type": "http", "params": {"url": "http://127.0.0.1:1/", **given}}
    inputs = {"sess": {"type": "string"}} if origin == "input" else {}
    file = write("w.json", LOGIN, call, inputs=inputs)
    words = [f"sess={CANARY}"] if origin == "input" else []
    failed, told = pflow("run", file, *words), pflow("run", file, *words, "--json")
    assert failed.code == 3 and "«secret:" in failed.err
    assert leaks(pflow, home, failed, told) == []


def test_a_short_credential_does_not_show_among_the_params(pflow: Pflow, write: Write) -> None:
    auth = {"type": "basic", "username": "ada", "password": "pw1"}
    call = {"id": "call", "type": "http", "params": {"url": "http://127.0.0.1:1/", "auth": auth}}
    said = pflow("run", write("w.json", call))
    assert '"username":"ada"' in said.err and "pw1" not in said.err


def test_the_token_of_a_github_step_shows_nowhere(pflow: Pflow, write: Write, home: Path) -> None:
    issue = {"id": "i", "type": "github-get-issue", "params": {"repo": "a/b", "number": 1, "token": CANARY}}
    said = pflow("run", write("w.json", {**issue, "params": {**issue["params"], "repo": "not a repo"}}))  # type: ignore[dict-item]
    assert said.code != 0
    assert leaks(pflow, home, said) == []


def test_a_credential_from_an_earlier_step_is_there_after_a_resume(
    pflow: Pflow, write: Write, home: Path, tmp_path: Path
) -> None:
    use = {
        "id": "use",
        "type": "shell",
        "params": {"command": 'printf %s "$API_TOKEN" > out', "env": {"API_TOKEN": "${login.result.session}"}},
    }
    file = write("w.json", LOGIN, GATE, use)
    failed = pflow("run", file)
    assert failed.code == 1 and leaks(pflow, home, failed) == []
    (tmp_path / "open").touch()
    done = pflow("runs", "resume", "latest")
    assert done.code == 0 and (tmp_path / "out").read_text() == CANARY
    assert leaks(pflow, home, done) == []


def test_a_literal_credential_is_there_after_a_resume(pflow: Pflow, write: Write, home: Path, tmp_path: Path) -> None:
    use = {
        "id": "use",
        "type": "shell",
        "params": {"command": 'printf %s "$API_TOKEN" > out', "env": {"API_TOKEN": CANARY}},
    }
    assert pflow("run", write("w.json", GATE, use)).code == 1
    assert leaks(pflow, home) == []
    (tmp_path / "open").touch()
    assert pflow("runs", "resume", "latest").code == 0
    assert (tmp_path / "out").read_text() == CANARY


def test_what_only_sounds_like_a_credential_is_shown(pflow: Pflow, write: Write) -> None:
    params = {"key": "user:1001:name", "next_page_token": "cursor-0123456789", "max_tokens": "1000000000"}
    params |= {"token_url": "https://id.example/token", "issue_key": "PROJ-123456", "keyword": "interesting"}
    params |= {"author": "Ada Lovelace", "sort_key": "created-at"}
    said = pflow("run", write("w.json", {"id": "e", "type": "echo", "params": params}), "--json")
    assert said.json["data"]["outputs"] == params


INNER = {"id": "x", "type": "shell", "params": {"command": "echo got ${k}; test -e open"}}


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("origin", ["input", "step"])
@pytest.mark.parametrize("depth", [1, 2])
def test_a_secret_input_of_a_sub_workflow_is_one_everywhere(
    pflow: Pflow, write: Write, home: Path, tmp_path: Path, depth: int, origin: str, saved: bool
) -> None:
    wanted = write("inner.json", INNER, inputs={"k": {"secret": True}}, outputs={"said": {"source": "${x.stdout}"}})
    if depth == 2:
        node = {"id": "deep", "type": "workflow", "params": {"workflow": wanted, "inputs": {"k": "${m}"}}}
        if saved:
            assert pflow("workflow", "save", wanted, "inner").code == 0
            node["params"]["workflow"] = "inner"  # type: ignore[index]
        wanted = write("mid.json", node, inputs={"m": {}}, outputs={"said": {"source": "${deep.said}"}})
    if saved:
        assert pflow("workflow", "save", wanted, "wanted").code == 0
        wanted = "wanted"
    source = "${t}" if origin == "input" else "${login.result.session}"
    name = "k" if depth == 1 else "m"
    use = {"id": "use", "type": "workflow", "params": {"workflow": wanted, "inputs": {name: source}}}
    keep = {"id": "keep", "type": "write-file", "params": {"path": "out", "content": f"${{use.said}} {source}"}}
    show = {"id": "show", "type": "echo", "params": {"all": f"${{use.said}} {source}"}}
    file = write("w.json", LOGIN, use, keep, show, inputs={"t": {"type": "string", "default": "none"}})
    failed = pflow("run", file, *([f"t={CANARY}"] if origin == "input" else []))
    assert failed.code == 1 and "«secret:" in failed.err
    assert leaks(pflow, home, failed) == []
    (tmp_path / "open").touch()
    done = pflow("runs", "resume", "latest")
    assert done.code == 0 and "«secret:" in done.out
    assert (tmp_path / "out").read_text() == f"got {CANARY} {CANARY}"
    assert leaks(pflow, home, done) == []


def test_a_short_secret_of_a_sub_workflow_is_hidden_where_it_is_a_string_of_its_own(pflow: Pflow, write: Write) -> None:
    wanted = write("inner.json", INNER, inputs={"k": {"secret": True}})
    use = {"id": "use", "type": "workflow", "params": {"workflow": wanted, "inputs": {"k": "${t}"}}}
    said = pflow("run", write("w.json", use, inputs={"t": {"type": "string"}}), "t=4711")
    assert said.code == 1 and 'inputs: {"k":"«secret:k»"}' in said.err


def test_the_secret_inputs_of_a_batch_of_sub_workflows_are_hidden(
    pflow: Pflow, write: Write, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "open").touch()
    wanted = write("inner.json", INNER, inputs={"k": {"secret": True}}, outputs={"said": {"source": "${x.stdout}"}})
    make = {
        "id": "make",
        "type": "code",
        "params": {"code": 'result = [{"t": "canary-" + end} for end in ["7d1e9c02aa41f6b8", "other-one"]]'},
    }
    use = {
        "id": "use",
        "type": "workflow",
        "params": {"workflow": wanted, "inputs": {"k": "${item.t}"}},
        "batch": {"items": "${make.result}"},
    }
    done = pflow("run", write("w.json", make, use), "--json")
    assert [each["said"] for each in done.json["data"]["outputs"]["results"]] == [
        "got «secret:k»",
        "got «secret:k%232»",
    ]
    assert leaks(pflow, home, done) == []
