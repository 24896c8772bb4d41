"""What a document requires: a run that lacks it is refused before it starts; looking at it needs none of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pflow.core.document.requirement import fits_version, read_specifier
from tests.cli.conftest import Pflow

ECHO: dict[str, object] = {"id": "say", "type": "echo", "params": {"text": "hello"}}
TOOL: dict[str, object] = {"id": "log", "type": "mcp-git-git-log", "params": {"repo_path": "."}}

Write = Callable[..., str]


def test_a_run_says_everything_that_is_missing_at_once(pflow: Pflow, write: Write, home: Path) -> None:
    requires = {
        "pflow": ">=99",
        "servers": {"git": {"command": "no-such-program mcp-server-git"}},
        "settings": ["SOME_TOKEN"],
        "programs": ["no-such-program"],
    }
    file = write("w.json", TOOL, ECHO, requires=requires)
    said = pflow("run", file)
    assert said.code == 2
    heads = [line for line in said.err.splitlines() if line.startswith(("error:", "hint:"))]
    assert heads == [
        "error: there is no node type `mcp-git-git-log`",
        "hint: the required server `git` has its tools",
        f"error: the document requires pflow `>=99`, and this is {heads[2].rpartition(' ')[2]}",
        "hint: update pflow",
        "error: the MCP server `git` is not configured",
        "error: the setting `SOME_TOKEN` is not set",
        "error: there is no program `no-such-program`",
        "hint: `pflow workflow setup w.json` shows what is missing, and adds it",
    ]
    assert not (home / "runs.db").exists()
    assert pflow("validate", file).code == 2


def test_what_is_there_is_no_obstacle(pflow: Pflow, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Path(sys.executable)
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.setenv("SOME_TOKEN", "from the environment")
    requires = {"pflow": ">=0.1,<99", "settings": ["SOME_TOKEN"], "programs": [program.name]}
    assert pflow("run", write("w.json", ECHO, requires=requires)).code == 0


def test_a_stored_setting_is_there(pflow: Pflow, write: Write) -> None:
    file = write("w.json", ECHO, requires={"settings": ["SOME_TOKEN"]})
    assert pflow("run", file).code == 2
    assert pflow("settings", "set", "SOME_TOKEN", stdin="a-long-enough-value").code == 0
    assert pflow("run", file).code == 0


def test_a_workflow_that_lacks_something_can_be_saved(pflow: Pflow, write: Write) -> None:
    file = write("w.json", ECHO, requires={"settings": ["SOME_TOKEN"]})
    assert pflow("workflow", "save", file, "kept").code == 0
    assert pflow("run", "kept").code == 2


def test_what_an_included_workflow_requires_counts(pflow: Pflow, write: Write) -> None:
    write("inner.json", ECHO, requires={"programs": ["no-such-program"]})
    outer = write("outer.json", {"id": "inner", "type": "workflow", "params": {"workflow": "./inner.json"}})
    said = pflow("run", outer)
    assert said.code == 2
    assert "there is no program `no-such-program`; the workflow of node `inner` needs it" in said.err


def test_a_recorded_run_goes_on_without_what_its_document_requires(
    pflow: Pflow, write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "from the environment")
    fails: dict[str, object] = {"id": "need", "type": "read-file", "params": {"path": str(tmp_path / "later")}}
    assert pflow("run", write("w.json", ECHO, fails, requires={"settings": ["SOME_TOKEN"]})).code == 1
    monkeypatch.delenv("SOME_TOKEN")
    (tmp_path / "later").write_text("there")
    assert pflow("runs", "resume", "latest").code == 0


@pytest.mark.parametrize(
    ("requires", "code", "message"),
    [
        ([], "wrong-type", "`requires` must be an object, not an array"),
        ({"setings": []}, "unknown-field", "`requires` has no field `setings`"),
        ({"settings": "TOKEN"}, "wrong-type", "`settings` must be an array of names, not the string `TOKEN`"),
        ({"settings": ["some token"]}, "bad-name", "`some token` cannot be the name of a setting"),
        ({"programs": ["../jq"]}, "bad-name", "`../jq` cannot be the name of a program"),
        ({"programs": ["-jq"]}, "bad-name", "`-jq` cannot be the name of a program"),
        ({"pflow": "^0.2"}, "bad-version", "`pflow` cannot be `^0.2`"),
        ({"servers": {"git": "uvx git"}}, "wrong-type", "`git` must be an object, not the string `uvx git`"),
        ({"servers": {"git": {}}}, "missing-field", "the required server `git` needs either a `command` or a `url`"),
        ({"servers": {"git": {"command": "a 'b"}}}, "bad-value", "`command` cannot be split into words"),
        ({"servers": {"git": {"comand": "a"}}}, "unknown-field", "a required server has no field `comand`"),
        ({"servers": {"Git Hub": {"command": "a"}}}, "bad-server", "`Git Hub` cannot be the name of a server"),
        ({"servers": {"git": {"url": "http://example.org/x"}}}, "bad-server", "is not encrypted"),
        ({"servers": {"git": {"command": "./run.sh"}}}, "bad-server", "is a path relative to some directory"),
    ],
)
def test_a_requirement_that_makes_no_sense_is_an_issue(
    pflow: Pflow, write: Write, requires: object, code: str, message: str
) -> None:
    said = pflow("validate", write("w.json", ECHO, requires=requires), "--json")
    assert said.code == 2
    issues = said.json["error"]["details"]["issues"]
    assert any(issue["code"] == code and message in issue["message"] for issue in issues), issues


TOKEN = "ghp_" + "a1b2c3d4e5f6a7b8c9d0e1f2a3b4"


@pytest.mark.parametrize(
    "server",
    [
        {"command": f"server --token {TOKEN}"},
        {"command": "server", "args": ["--api-key=correct-horse"]},
        {"command": "server", "env": {"GITHUB_TOKEN": TOKEN}},
        {"url": "https://example.org/mcp", "headers": {"Authorization": f"Bearer {TOKEN}"}},
        {"url": "https://example.org/mcp?api_key=correct-horse"},
    ],
)
def test_a_secret_in_a_required_server_is_refused_and_not_shown(
    pflow: Pflow, write: Write, server: dict[str, object]
) -> None:
    file = write("w.json", ECHO, requires={"servers": {"git": server}})
    for words in (("validate",), ("run",), ("workflow", "save"), ("workflow", "add", "--yes")):
        said = pflow(*words, file)
        assert said.code == 2
        assert "the required server `git` holds what looks like a secret" in said.err
        assert TOKEN not in said.err and "correct-horse" not in said.err


def test_references_to_variables_are_not_secrets(pflow: Pflow, write: Write) -> None:
    server = {"command": ["server"], "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}"}}
    said = pflow("validate", write("w.json", ECHO, requires={"servers": {"git": server}}), "--json")
    codes = [issue["code"] for issue in said.json["error"]["details"]["issues"]]
    assert codes == ["missing-requirement"]


@pytest.mark.parametrize(
    ("specifier", "fitting", "other"),
    [
        (">=0.2", "0.2.0", "0.1.9"),
        (">=0.2,<1", "0.9", "1.0"),
        ("==1.2", "1.2.0", "1.2.1"),
        ("!=1.2", "1.3", "1.2.0"),
        ("~=1.2", "1.9", "2.0"),
        ("~=1.2.3", "1.2.9", "1.3.0"),
        (">1, <=2", "2", "1.0"),
        (">=0.3", "0.3.0.dev1", "0.2.9rc1"),
    ],
)
def test_versions_are_compared_by_their_numbers(specifier: str, fitting: str, other: str) -> None:
    assert fits_version(specifier, fitting)
    assert not fits_version(specifier, other)


@pytest.mark.parametrize("text", ["", "1.2", ">=", ">= 1.x", "~=1", ">=1,,<2", "=>1", ">=" + "9" * 50])
def test_other_texts_are_not_version_specifiers(text: str) -> None:
    assert read_specifier(text) is None


# Looking at what cannot run


def test_a_document_without_its_tools_is_described(pflow: Pflow, write: Write) -> None:
    file = write(
        "w.json", TOOL, {"id": "x", "type": "my-own"}, {"id": "y", "type": "workflow", "params": {"workflow": "gone"}}
    )
    said = pflow("describe", file)
    assert said.code == 0
    assert said.out.splitlines()[2:] == [
        "●   log  mcp-git-git-log  missing: tool `mcp-git-git-log`",
        "●   x    my-own           missing: node type `my-own`",
        "●   y    workflow         missing: workflow `gone`",
    ]
    assert said.err == (
        "\nmissing:\n"
        "  tool `mcp-git-git-log` (step `log`)\n"
        "  node type `my-own` (step `x`)\n"
        "  workflow `gone` (step `y`)\n"
        "\nhint: pflow workflow setup w.json\n"
    )
    assert "missing: tool" in pflow("describe", file, "--svg", "-").out
    assert "missing: tool" in pflow("describe", file, "--mermaid").out
    assert pflow("run", file).code == 2
    assert pflow("run", file, "--dry-run").code == 2
    assert pflow("validate", file).code == 2


def test_programs_read_what_is_missing_and_what_a_workflow_can_do(pflow: Pflow, write: Write) -> None:
    shell: dict[str, object] = {"id": "sh", "type": "shell", "params": {"command": "ls ~"}}
    data = pflow("describe", write("w.json", shell, TOOL, requires={"programs": ["no-such"]}), "--json").json["data"]
    assert data["missing"] == ["there is no program `no-such`", "tool `mcp-git-git-log` (step `log`)"]
    assert [node.get("missing") for node in data["nodes"]] == [None, "tool `mcp-git-git-log`"]
    assert data["abilities"] == [
        {"step": "sh", "kind": "command", "what": "ls ~"},
        {"step": "log", "kind": "tool", "what": "mcp-git-git-log"},
    ]
    assert data["requires"] == {"programs": ["no-such"]}


def test_a_saved_workflow_whose_node_type_is_gone_is_shown_and_described(
    pflow: Pflow, write: Write, home: Path
) -> None:
    (home / "nodes").mkdir(mode=0o700)
    source = home / "nodes" / "mine.py"
    source.write_text("from pocketflow import Node\n\n\nclass MineNode(Node):\n    name = 'mine'\n")
    assert pflow("registry", "scan").code == 0
    assert pflow("workflow", "save", write("w.json", {"id": "a", "type": "mine"}), "kept").code == 0
    source.unlink()
    assert pflow("registry", "scan").code == 0
    assert json.loads(pflow("workflow", "show", "kept").out)["nodes"]
    said = pflow("describe", "kept")
    assert (said.code, "missing: node type `mine`" in said.out) == (0, True)
    assert pflow("run", "kept").code == 2


def test_other_mistakes_are_said_beside_the_picture(pflow: Pflow, write: Write) -> None:
    said = pflow("describe", write("w.json", {"id": "a", "type": "echo", "params": {"x": "${nothing}"}}))
    assert said.code == 0
    assert "error: template `${nothing}` names `nothing`" in said.err


def test_what_is_not_a_document_cannot_be_described(pflow: Pflow, tmp_path: Path) -> None:
    (tmp_path / "w.json").write_text('{"nodes": []}')
    assert pflow("describe", "w.json").code == 2


# Setting up


def test_setup_prints_the_commands_where_nobody_can_be_asked(pflow: Pflow, write: Write, home: Path) -> None:
    servers = {
        "git": {"command": ["uvx", "mcp-server-git", "a b"], "env": ["GIT_TOKEN"]},
        "web": {"url": "https://example.org/mcp", "headers": {"X": "${WEB_TOKEN}"}},
    }
    file = write("w.json", ECHO, requires={"servers": servers, "settings": ["GIT_TOKEN"], "programs": ["no-such"]})
    said = pflow("workflow", "setup", file)
    assert said.code == 2
    assert said.out == (
        "missing:\n"
        "  server   git        pflow mcp add git --env 'GIT_TOKEN=${GIT_TOKEN}' -- uvx mcp-server-git 'a b'\n"
        "  server   git        pflow mcp sync git\n"
        "  server   web        pflow mcp add web --url https://example.org/mcp --header 'X: ${WEB_TOKEN}'\n"
        "  server   web        pflow mcp sync web\n"
        "  setting  GIT_TOKEN  pflow settings set GIT_TOKEN\n"
        "  program  no-such    install it with your system's package manager; pflow installs nothing\n"
    )
    assert not (home / "mcp-servers.json").exists()
    found = pflow("workflow", "setup", file, "--json")
    assert (found.code, found.json["success"], found.json["data"]["ready"]) == (2, False, False)
    assert [each["kind"] for each in found.json["data"]["missing"]] == ["server", "server", "setting", "program"]


def test_setup_says_when_nothing_is_missing(pflow: Pflow, write: Write) -> None:
    said = pflow("workflow", "setup", write("w.json", ECHO))
    assert (said.code, said.out) == (0, "`w.json` has all that it requires\n")


def test_setup_names_node_types_that_no_server_brings(pflow: Pflow, write: Write) -> None:
    said = pflow("workflow", "setup", write("w.json", {"id": "a", "type": "mine"}))
    assert said.code == 2
    assert said.out == "its steps name what is not there:\n  node type `mine`\n"


def test_a_missing_secret_is_stored_rather_than_typed_into_a_command(pflow: Pflow, write: Write) -> None:
    node: dict[str, object] = {"id": "say", "type": "echo", "params": {"text": "${token}", "more": "${who}"}}
    file = write("w.json", node, inputs={"token": {"type": "string", "secret": True}, "who": {"type": "string"}})
    hints = [line for line in pflow("run", file).err.splitlines() if line.startswith("hint:")]
    assert hints == [
        "hint: store the secret `token` with `pflow settings set TOKEN`, which asks for it",
        "hint: pflow run w.json who=…",
    ]
