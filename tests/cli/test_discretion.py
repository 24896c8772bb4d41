"""Known credentials show in nothing that is said before a run, and are noticed where a document holds one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Pflow

Write = Callable[..., str]
KEY = "ghp_0123456789abcdefghijABCDEFGHIJ456789"
PIECES = [KEY[at : at + 8] for at in range(len(KEY) - 7)]

DOCUMENT = """
name: NAME
description: uses KEY for all
inputs: {n: {type: integer, description: like KEY}}
nodes:
  - {id: a, type: shell, params: {command: echo KEY}}
  - {id: KEY, type: TYPE, params: {x: '${n} and some longer text before the key, so that it is cut in the end: KEY'}}
"""


@pytest.fixture
def files(pflow: Pflow, tmp_path: Path) -> None:
    assert pflow("settings", "set", "GH_TOKEN", stdin=KEY).code == 0
    text = DOCUMENT.replace("KEY", KEY)
    (tmp_path / "good.yaml").write_text(text.replace("TYPE", "echo"))
    (tmp_path / "bad.yaml").write_text(text.replace("TYPE", "ecco"))
    (tmp_path / "broken.json").write_text('{"nodes": [{"id": "a" "' + KEY + '": 1}]}')
    (tmp_path / "broken.yaml").write_text(f"nodes: [a, {KEY}: {{]\n")
    assert pflow("workflow", "save", "good.yaml", "good").code == 0


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "words",
    [
        "run good.yaml n=KEY", "run good.yaml KEY=1", "run good.yaml KEY", "run KEY", "KEY", "run --KEY",
        "run good.yaml n=1 --dry-run", "run good.yaml n=1 --svg -", "run bad.yaml",
        "describe good.yaml", "describe good.yaml --mermaid", "describe good.yaml --svg -",
        "validate good.yaml", "validate bad.yaml", "validate broken.json", "validate broken.yaml",
        "workflow list", "workflow list KEY", "workflow describe good", "workflow describe KEY", "workflow delete KEY",
        "registry describe KEY", "registry run echo x=KEY y", "settings get KEY", "call KEY KEY", "mcp sync KEY",
        "trace KEY", "runs show KEY", "echo --x=KEY >> KEY", "shell --command=KEY --KEY=1",
    ],
)  # fmt: skip
@pytest.mark.parametrize("json", [False, True])
def test_no_command_shows_a_known_credential(pflow: Pflow, words: str, json: bool) -> None:
    said = pflow(*words.replace("KEY", KEY).split(), *(["--json"] if json else []))
    assert [piece for piece in PIECES if piece in said.out + said.err] == []


@pytest.mark.usefixtures("files")
def test_a_picture_shows_no_known_credential(pflow: Pflow, tmp_path: Path) -> None:
    assert pflow("describe", "good.yaml", "--svg", "g.svg").code == 0
    picture = (tmp_path / "g.svg").read_text()
    assert picture.startswith("<svg") and [piece for piece in PIECES if piece in picture] == []


SHAPES = [
    "ghp_0123456789abcdefghijABCDEFGHIJ456780",
    "github_pat_11ABCDEFG0123456789_abcdefghijklmnop",
    "sk-ant-api03-0123456789abcdefghij",
    "sk-proj-0123456789abcdefghijklm",
    "xoxb-123456789012-abcdefghijkl",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA0123456789abcdefghijklmnopqrstu",
    "glpat-0123456789abcdefghij",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "npm_0123456789abcdefghijklmnopqrstuvwxyz",
    "hf_0123456789abcdefghijklmnopqrstuv",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA",
]


@pytest.mark.parametrize("token", SHAPES)
@pytest.mark.parametrize("command", ["validate", "save"])
def test_a_well_known_token_in_a_document_is_noticed_and_not_shown(
    pflow: Pflow, write: Write, token: str, command: str
) -> None:
    call = {
        "id": "call",
        "type": "http",
        "params": {"url": "https://x.example/", "headers": {"X-Any": f"Bearer {token}"}},
    }
    file = write("w.json", {"id": "a", "type": "echo"}, call)
    words = ["validate", file] if command == "validate" else ["workflow", "save", file, "kept"]
    said = pflow(*words)
    assert said.code == 0 and "nodes[1].params.headers.X-Any" in said.err and "`secret: true`" in said.err
    assert token[-12:] not in said.err + said.out
    if command == "validate":
        [warning] = pflow(*words, "--json").json["data"]["warnings"]
        assert warning["code"] == "credential" and token not in str(warning)


@pytest.mark.usefixtures("files")
def test_the_value_of_a_stored_credential_in_a_document_is_noticed(pflow: Pflow, write: Write) -> None:
    assert pflow("settings", "set", "PLAIN_PASS", stdin="correct horse battery").code == 0
    file = write("w.json", {"id": "a", "type": "shell", "params": {"command": "echo correct horse battery"}})
    said = pflow("validate", file)
    assert "the document holds the value of `PLAIN_PASS`" in said.err and "at: nodes[0].params.command" in said.err
    assert "horse" not in said.err


def test_ordinary_text_is_not_taken_for_a_token(pflow: Pflow, write: Write) -> None:
    text = "pip install sk-learn-contrib-models; ask AKIAN about hf_hub and npm_config_cache, eyJ. task-list ghp_ token"
    said = pflow("validate", write("w.json", {"id": "a", "type": "echo", "params": {"x": text}}))
    assert (said.code, said.err) == (0, "")
