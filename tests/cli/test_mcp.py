"""`pflow mcp …`: a person configures servers; nothing starts, nothing is granted by a file that lies around."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.cli.conftest import Pflow

PYTHON = shlex.quote(sys.executable)
"""As messages show it."""
_FOUND, _FILE = Path(sys.executable), Path(sys.executable).resolve()
PROGRAM = PYTHON if _FOUND == _FILE else f"{PYTHON}, which is {shlex.quote(str(_FILE))}"


@pytest.fixture
def servers(home: Path) -> Callable[..., Any]:
    """What the file of servers holds."""
    return lambda: json.loads((home / "mcp-servers.json").read_text())["servers"]


@pytest.mark.requirement("client:state-1", "client:test-1")
def test_a_command_behind_two_dashes_is_a_server(pflow: Pflow, servers: Callable[..., Any]) -> None:
    said = pflow("mcp", "add", "files", "--env", "TOKEN=${FILES_TOKEN}", "--", sys.executable, "-m", "files", "--json")
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines() == [
        f"added server `files`: {PYTHON} -m files --json",
        f"  program: {PROGRAM}",
        "  variables: TOKEN from ${FILES_TOKEN}",
        "  gives: `FILES_TOKEN` (not set now) to the program",
    ]
    assert servers() == {
        "files": {
            "transport": "stdio",
            "command": sys.executable,
            "args": ["-m", "files", "--json"],
            "env": {"TOKEN": "${FILES_TOKEN}"},
        }
    }


def test_an_address_is_a_server(pflow: Pflow, servers: Callable[..., Any]) -> None:
    said = pflow(
        *("mcp", "add", "remote", "--url", "https://x.org/mcp", "--transport", "http", "--timeout", "5", "--json"),
        *("--header", "Authorization: Bearer ${TOKEN}", "--token-env", "TOKEN", "--scope", "read"),
    )
    assert said.code == 0
    assert said.json["data"] == {
        "name": "remote",
        "transport": "stream-http",
        "url": "https://x.org/mcp",
        "headers": ["Authorization"],
        "auth": {"token_env": "TOKEN", "scopes": ["read"]},
        "timeout": 5.0,
        "warnings": [],
        "facts": [
            "headers: Authorization from ${TOKEN}",
            "auth: bearer",
            "token from: TOKEN",
            "sends: `TOKEN` (not set now) to https://x.org",
        ],
    }
    assert servers()["remote"]["headers"] == {"Authorization": "Bearer ${TOKEN}"}


def test_a_socket_is_a_server(pflow: Pflow, servers: Callable[..., Any], tmp_path: Path) -> None:
    assert pflow("mcp", "add", "local", "--socket", "run/x.sock").code == 0
    assert servers()["local"] == {"transport": "uds", "socket": str(tmp_path / "run/x.sock")}


def test_paths_mean_the_same_from_anywhere(pflow: Pflow, servers: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "serve.py").write_text("")
    said = pflow("mcp", "add", "a", "--", sys.executable, "serve.py")
    assert said.err == "note: it starts in this directory, where `serve.py` is; `--cwd` chooses another\n"
    assert servers()["a"]["cwd"] == str(tmp_path)
    pflow("mcp", "add", "b", "--cwd", "sub", "--", sys.executable, "serve.py")
    assert servers()["b"]["cwd"] == str(tmp_path / "sub")
    pflow("mcp", "add", "c", "--", "./serve")
    assert servers()["c"] == {"transport": "stdio", "command": str(tmp_path / "serve")}


def test_a_program_that_is_not_there_is_a_note(pflow: Pflow) -> None:
    said = pflow("mcp", "add", "a", "--", "no-such-program-at-all")
    assert said.code == 0
    assert said.err == "note: there is no program `no-such-program-at-all` now; install it before the server is used\n"


def test_a_secret_among_the_arguments_is_a_note_and_never_shown(pflow: Pflow) -> None:
    said = pflow("mcp", "add", "a", "--", sys.executable, "--api-key", "abcdef123456")
    listed = pflow("mcp", "list", "--json")
    assert said.out == f"added server `a`: {PYTHON} --api-key '********'\n  program: {PROGRAM}\n"
    assert said.err.startswith("note: argument 2 of server `a` looks like a secret")
    assert "abcdef123456" not in said.out + said.err + listed.out + listed.err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["a"], 2, "a server needs a command to start, or an address"),
        (["A b", "--", "x"], 2, "`A b` cannot be the name of a server: it has 1 to 64 of a-z, 0-9 and `-`"),
        (["a", "--transport", "smoke", "--", "x"], 2, "server `a` has the transport `smoke`, which does not exist"),
        (["a", "--url", "http://x.org"], 3, "`http:\\x2f\\x2fx.org` is not encrypted"),
        (
            ["a", "--url", "https://x.org", "--", "x"],
            2,
            "server `a` with the transport `stream-http` takes no `command`",
        ),
        (["a", "--env", "X", "--", "x"], 2, "a value of `--env` has no `=`"),
        (["a", "--header", "X", "--url", "https://x.org"], 2, "a value of `--header` has no `:`"),
    ],
)
def test_what_makes_no_server_is_refused(pflow: Pflow, home: Path, words: list[str], code: int, message: str) -> None:
    said = pflow("mcp", "add", *words)
    assert said.code == code
    assert message.replace("\\x2f", "/") in said.err
    assert not (home / "mcp-servers.json").exists()


def test_options_of_the_command_need_the_two_dashes(pflow: Pflow) -> None:
    said = pflow("mcp", "add", "a", "npx", "-y", "x")
    assert said.code == 2
    assert "[-- COMMAND [ARG]...]" in said.err


def test_an_insecure_server_is_allowed_and_visible(pflow: Pflow) -> None:
    said = pflow("mcp", "add", "a", "--url", "http://x.org/mcp", "--insecure")
    assert said.code == 0
    assert said.err == "note: server `a` is insecure: its connection may be unencrypted, or to an impostor\n"
    assert pflow("mcp", "list").out == "a  stream-http, insecure  http://x.org/mcp\n"


def test_a_taken_name_is_kept_unless_told(pflow: Pflow, servers: Callable[..., Any]) -> None:
    pflow("mcp", "add", "a", "--", sys.executable)
    said = pflow("mcp", "add", "a", "--", "other")
    assert said.code == 2
    assert said.err == (
        "error: there is already a server `a`\n\nhint: choose another name, or replace it with `--overwrite`\n"
    )
    assert pflow("mcp", "add", "a", "--overwrite", "--", sys.executable, "-V").code == 0
    assert servers()["a"]["args"] == ["-V"]


@pytest.mark.requirement("client:error-1")
def test_servers_are_listed_and_removed(pflow: Pflow) -> None:
    assert pflow("mcp", "list").err == "no server is configured\n\nhint: pflow mcp add NAME -- COMMAND\n"
    pflow("mcp", "add", "github", "--", sys.executable, "\x1b[2J")
    assert pflow("mcp", "list").out == f"github  stdio  {PYTHON} '\\x1b[2J'\n"
    assert pflow("mcp", "list", "--json").json["data"]["servers"][0]["name"] == "github"
    said = pflow("mcp", "remove", "githb")
    assert (said.code, said.err) == (
        2,
        "error: Server githb not configured\n\nhint: did you mean `github`?\n",
    )
    assert pflow("mcp", "remove", "github").out == "removed server `github`\n"
    assert pflow("mcp", "list", "--json").json["data"] == {"servers": []}


def test_a_damaged_file_is_reported_and_set_aside(pflow: Pflow, home: Path) -> None:
    (home / "mcp-servers.json").write_text("{")
    said = pflow("mcp", "list")
    assert said.code == 1
    assert "it was set aside as `mcp-servers.json.corrupt-" in said.err
    assert "was damaged and set aside" in pflow("mcp", "list").err


def test_the_servers_of_another_program_are_taken_over(
    pflow: Pflow, servers: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").write_text(
        json.dumps({"mcpServers": {"Git Hub": {"command": sys.executable}, "far": {"url": "http://x.org"}}})
    )
    said = pflow("mcp", "import", "cursor", "--dry-run")
    assert said.out == f"would add server `git-hub`: {PYTHON}\n  program: {PROGRAM}\n"
    assert pflow("mcp", "list", "--json").json["data"] == {"servers": []}
    said = pflow("mcp", "import", "cursor")
    assert said.out == f"added server `git-hub`: {PYTHON}\n  program: {PROGRAM}\n"
    assert said.err.splitlines() == [
        "note: `far` is not taken over: `http://x.org` is not encrypted: others could read and change what is sent; "
        "or allow it with `pflow mcp add … --insecure`, for testing",
        "note: `Git Hub` is called `git-hub` here",
    ]
    assert servers() == {"git-hub": {"transport": "stdio", "command": sys.executable}}
    assert pflow("mcp", "import", "cursor").out == "kept as configured: git-hub\n"


def test_an_import_replaces_nothing_unless_told(pflow: Pflow, servers: Callable[..., Any], tmp_path: Path) -> None:
    pflow("mcp", "add", "a", "--", sys.executable, "-V")
    (tmp_path / "m.json").write_text(json.dumps({"mcpServers": {"a": {"command": sys.executable}}}))
    said = pflow("mcp", "import", "m.json", "--json")
    assert said.json["data"] == {
        "added": [],
        "kept": ["a"],
        "notes": ["`a` is configured otherwise already; `--overwrite` would replace it"],
        "dry_run": False,
    }
    assert servers()["a"]["args"] == ["-V"]
    assert pflow("mcp", "import", "m.json", "--overwrite").code == 0
    assert "args" not in servers()["a"]


def test_an_import_of_nothing_says_so(pflow: Pflow, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text('{"mcpServers": {}}')
    assert pflow("mcp", "import", "m.json").out == "no servers to take over\n"
    said = pflow("mcp", "import", "some/none.json")
    assert (said.code, said.err) == (2, "error: there is no file `some/none.json`\n")


@pytest.mark.requirement("client:scope-6")
def test_files_in_the_current_folder_configure_nothing(
    pflow: Pflow, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = json.dumps({"mcpServers": {"evil": {"command": "touch"}}, "servers": {"evil": {"command": "touch"}}})
    project = tmp_path / "project"
    for name in (".mcp.json", "mcp-servers.json", ".pflow/mcp-servers.json", ".cursor/mcp.json", "claude"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(evil)
    monkeypatch.chdir(project)
    assert pflow("mcp", "list", "--json").json["data"] == {"servers": []}
    assert pflow("mcp", "import", "claude").code == 2
    assert pflow("mcp", "import", "cursor").code == 2
    with Workspace(Home(home)) as workspace:
        assert workspace.servers.names() == []
    assert not (home / "mcp-servers.json").exists()


def test_python_programs_see_servers_without_their_secrets(home: Path) -> None:
    with Workspace(Home(home)) as workspace:
        workspace.servers.add("a", {"command": "x", "env": {"API_KEY": "abcdef123456"}})
        shown = workspace.servers.show("a").as_dict()
        assert shown == {"name": "a", "transport": "stdio", "command": "x", "env": ["API_KEY"]}


def test_a_limit_is_kept_shown_and_changed_without_a_new_question(
    pflow: Pflow, servers: Callable[..., Any], home: Path
) -> None:
    command = ("--", sys.executable, "-m", "files")
    assert pflow("mcp", "add", "files", "--limit", "10/s", *command).code == 0
    assert servers()["files"]["limit"] == "10/s"
    assert pflow("mcp", "list").out == f"files  stdio  {PYTHON} -m files  (at most 10/s)\n"
    assert "called at most 10/s" in pflow("mcp", "show", "files").out
    assert pflow("mcp", "show", "files", "--json").json["data"]["server"]["limit"] == "10/s"
    with Workspace(Home(home)) as workspace:
        [before] = [found for found in workspace.servers.list() if found.name == "files"]
    assert before.limit == "10/s"
    for wrong in ("10", "0/s", "1e9/s", "fast"):
        said = pflow("mcp", "add", "files", "--overwrite", "--limit", wrong, *command)
        assert said.code == 2
        assert "`limit` of server `files` " in said.err and f"not `{wrong}`" in said.err
        assert "write `10/s`, `100/m` or `5/h`" in said.err
