"""Servers that other programs know are taken over from each of their formats, and nothing is taken unseen."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.errors import NotFoundError, PflowError, StorageError, UsageError
from pflow.mcp.hosts.format import Imported, read_host, read_host_file
from pflow.mcp.hosts.jsonc import strip_comments
from pflow.mcp.server.auth import Auth


@pytest.fixture
def take(tmp_path: Path) -> Callable[..., Any]:
    """Writes a host's file below a person's folder and reads its servers."""

    def write_and_read(name: str, content: Any) -> Imported:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        return read_host_file(path, home=tmp_path)

    return write_and_read


def fields(imported: Imported) -> dict[str, Any]:
    return {server.name: server.as_fields() for server in imported.servers}


def test_mcp_servers_of_a_project(take: Callable[..., Any]) -> None:
    found = take(
        ".mcp.json",
        {
            "mcpServers": {
                "github": {"command": "npx", "args": ["-y", "x"], "env": {"TOKEN": "${TOKEN:-none}"}},
                "remote": {"type": "http", "url": "https://x.org/mcp", "headers": {"Authorization": "Bearer ${T}"}},
                "old": {"type": "sse", "url": "https://x.org/sse"},
            }
        },
    )
    assert fields(found) == {
        "github": {"transport": "stdio", "command": "npx", "args": ["-y", "x"], "env": {"TOKEN": "${TOKEN:-none}"}},
        "remote": {
            "transport": "stream-http",
            "url": "https://x.org/mcp",
            "headers": {"Authorization": "Bearer ${T}"},
        },
        "old": {"transport": "sse", "url": "https://x.org/sse"},
    }
    assert found.notes == ()


def test_relative_paths_of_a_project_start_from_its_folder(take: Callable[..., Any], tmp_path: Path) -> None:
    servers = {"a": {"command": "./run.sh"}, "b": {"command": "node", "args": ["../b.js"], "cwd": "sub"}}
    found = fields(take("project/.cursor/mcp.json", {"mcpServers": servers}))
    assert found["a"]["cwd"] == str(tmp_path / "project")
    assert found["b"]["cwd"] == str(tmp_path / "project" / "sub")


def test_claude_has_servers_for_all_projects_and_for_each(take: Callable[..., Any], tmp_path: Path) -> None:
    found = take(
        ".claude.json",
        {
            "numStartups": 7,
            "mcpServers": {"git": {"type": "stdio", "command": "git-mcp", "args": [], "env": {}}},
            "projects": {
                "/home/ada/one": {
                    "mcpServers": {"git": {"command": "git-mcp"}, "db": {"command": "db", "args": ["."]}}
                },
                "/home/ada/two": {"mcpServers": {"db": {"command": "db", "args": ["."]}}, "history": []},
                "/home/ada/three": {"mcpServers": {}},
            },
        },
    )
    assert fields(found) == {
        "git": {"transport": "stdio", "command": "git-mcp"},
        "db": {"transport": "stdio", "command": "db", "args": ["."], "cwd": "/home/ada/one"},
        "db-2": {"transport": "stdio", "command": "db", "args": ["."], "cwd": "/home/ada/two"},
    }
    assert found.notes == ("`db` is called `db-2` here",)


def test_gemini_calls_http_by_another_name(take: Callable[..., Any]) -> None:
    found = take(
        ".gemini/settings.json",
        """{
          // comments are allowed there
          "theme": "Default",
          "mcpServers": {
            "new": {"httpUrl": "https://x.org/mcp", "timeout": 5000},
            "old": {"url": "https://x.org/sse", "trust": true, "includeTools": ["a"]},
          },
        }""",
    )
    assert fields(found) == {
        "new": {"transport": "stream-http", "url": "https://x.org/mcp", "timeout": 5.0},
        "old": {"transport": "sse", "url": "https://x.org/sse"},
    }
    assert found.notes == ("`old`: its `trust` is not taken over", "`old`: its `includeTools` is not taken over")


def test_gemini_writes_variables_without_braces(take: Callable[..., Any]) -> None:
    found = take(
        ".gemini/settings.json",
        {
            "mcp": {"excluded": ["off"]},
            "mcpServers": {
                "a": {"command": "x", "env": {"KEY": "$MY_KEY", "OTHER": "a-${B}-$C"}, "args": ["$", "$1"]},
                "off": {"command": "x"},
            },
        },
    )
    assert fields(found) == {
        "a": {
            "transport": "stdio",
            "command": "x",
            "args": ["$", "$1"],
            "env": {"KEY": "${MY_KEY}", "OTHER": "a-${B}-${C}"},
        }
    }
    assert found.notes == ("`off`: it is switched off there and not taken over",)
    elsewhere = take("m.json", {"mcpServers": {"a": {"command": "x", "args": ["$HOME"]}}})
    assert elsewhere.servers[0].args == ("$HOME",)


def test_gemini_may_allow_only_some(take: Callable[..., Any]) -> None:
    content = {"mcp": {"allowed": ["a"]}, "mcpServers": {"a": {"command": "x"}, "b": {"command": "x"}}}
    assert [server.name for server in take(".gemini/settings.json", content).servers] == ["a"]


def test_a_server_that_claude_has_switched_off_in_a_project_is_left_there(take: Callable[..., Any]) -> None:
    project = {"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}, "disabledMcpServers": ["a"]}
    found = take(".claude.json", {"projects": {"/p": project}})
    assert [server.name for server in found.servers] == ["b"]


def test_vscode_asks_for_inputs_and_knows_folders(take: Callable[..., Any], tmp_path: Path) -> None:
    found = take(
        "project/.vscode/mcp.json",
        """{
          "inputs": [{"type": "promptString", "id": "github-token", "password": true}],
          "servers": {
            "github": {
              "type": "stdio", "command": "npx",
              "args": ["--root=${workspaceFolder}/src", "${userHome}/x", "${env:LANG}"],
              "env": {"TOKEN": "${input:github-token}", "PORT": 80, "DEBUG": true}, /* why not */
              "envFile": "${workspaceFolder}/.env"
            },
            "odd": {"command": "x", "args": ["${command:pick}"]}
          }
        }""",
    )
    assert fields(found)["github"] == {
        "transport": "stdio",
        "command": "npx",
        "args": [f"--root={tmp_path}/project/src", f"{tmp_path}/x", "${env:LANG}"],
        "env": {"TOKEN": "${GITHUB_TOKEN}", "PORT": "80", "DEBUG": "true"},
    }
    assert found.notes == (
        "`github`: its `envFile` is not taken over",
        "`github`: it asks for a value; store it with `pflow settings set GITHUB_TOKEN`",
        "`odd`: `${command:pick}` holds a variable of that program, which has no value here",
    )


def test_codex_has_tables(take: Callable[..., Any]) -> None:
    found = take(
        ".codex/config.toml",
        """
        model = "x"
        [mcp_servers.docs]
        command = "npx"
        args = ["-y", "docs"]
        env_vars = ["LANG"]
        startup_timeout_sec = 20
        tool_timeout_sec = 45
        [mcp_servers.docs.env]
        KEY = "value"
        [mcp_servers.figma]
        url = "https://x.org/mcp"
        bearer_token_env_var = "FIGMA_TOKEN"
        http_headers = { "X-Region" = "eu" }
        env_http_headers = { "X-Key" = "FIGMA_KEY" }
        [mcp_servers.off]
        command = "x"
        enabled = false
        """,
    )
    docs, figma = found.servers
    assert docs.as_fields() == {
        "transport": "stdio",
        "command": "npx",
        "args": ["-y", "docs"],
        "env": {"LANG": "${LANG}", "KEY": "value"},
        "timeout": 45.0,
    }
    assert (figma.transport, figma.auth) == ("stream-http", Auth(token_env="FIGMA_TOKEN"))
    assert figma.headers == {"X-Region": "eu", "X-Key": "${FIGMA_KEY}"}
    assert found.notes == (
        "`docs`: its `startup_timeout_sec` is not taken over",
        "`off`: it is switched off there and not taken over",
    )


def test_names_become_ours_and_stay_apart(take: Callable[..., Any]) -> None:
    found = take(
        "m.json",
        {
            "mcpServers": {
                "My Server": {"command": "a"},
                "my_server": {"command": "b"},
                "myServer": {"command": "a"},
                "🦊": {"command": "c"},
                "x" * 200: {"command": "d"},
            }
        },
    )
    names = [server.name for server in found.servers]
    assert names[:3] == ["my-server", "my-server-2", "server"]
    assert len(names) == 4
    assert len(names[3]) <= 64
    assert found.notes[0] == "`My Server` is called `my-server` here"


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ([], "it is not an object"),
        ({}, "server `s` with the transport `stdio` needs a command to start; give it as `command`"),
        ({"command": 1}, "`command` of server `s` is an integer; it should be a string"),
        ({"command": "x", "args": {"a": 1}}, "`args` of server `s` is an object; it should be an array of strings"),
        (
            {"type": "carrier-pigeon", "url": "https://x.org"},
            "has the transport `carrier-pigeon`, which does not exist",
        ),
        ({"url": "http://x.org/mcp"}, "is not encrypted: others could read and change what is sent; or allow it"),
        ({"url": "http://x.org/mcp", "insecure": True}, "is not encrypted"),
    ],
)
def test_what_cannot_be_taken_over_is_said_and_the_rest_is_taken(
    take: Callable[..., Any], entry: object, reason: str
) -> None:
    found = take("m.json", {"mcpServers": {"s": entry, "good": {"command": "x"}}})
    assert [server.name for server in found.servers] == ["good"]
    assert found.notes[0].startswith("`s` is not taken over: ")
    assert reason in found.notes[0]


def test_a_file_cannot_grant_itself_trust(take: Callable[..., Any]) -> None:
    found = take("m.json", {"servers": {"s": {"command": "x", "trust_readonly": True, "trust_idempotent": True}}})
    assert fields(found) == {"s": {"transport": "stdio", "command": "x"}}
    assert len(found.notes) == 2


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("m.json", b""),
        ("m.json", b"\xff\xfe{\x00}\x00"),
        ("m.json", b"[1]"),
        ("m.json", b'{"mcpServers": '),
        ("m.json", b'{"mcpServers": []}'),
        ("m.json", b'{"a": 1}'),
        ("m.json", b"{}"),
        ("m.json", b"[" * 100_000),
        ("m.json", b'{"a":' * 100_000),
        ("m.json", b"/*" * 100_000),
        ("m.json", b'"\\"' * 100_000),
        ("m.json", b"," * 100_000),
        ("m.json", orjson.dumps({"mcpServers": {str(number): {} for number in range(1001)}})),
        ("c.toml", b"= 1"),
        ("c.toml", b"\xff"),
        ("c.toml", b"a = " + b"[" * 100_000),
        ("c.toml", b"a = " + b"9" * 10_000),
        ("c.toml", b"#" * (2 << 20)),
        ("c.toml", b"mcp_servers = 1"),
    ],
)
def test_a_hostile_file_is_a_typed_error(take: Callable[..., Any], name: str, content: bytes) -> None:
    with pytest.raises(UsageError):
        take(name, content)


def test_deep_values_are_only_a_note(take: Callable[..., Any]) -> None:
    deep = b'{"mcpServers": {"s": {"command": "x", "args": [' + b"[" * 900 + b"]" * 900 + b'], "zz": 1}}}'
    assert take("m.json", deep).notes[0].startswith("`s` is not taken over")


def test_hostile_names_are_shown_escaped(take: Callable[..., Any]) -> None:
    [note] = take("m.json", {"mcpServers": {"\x1b[2J\u202e": {"command": 1}}}).notes
    assert note.startswith("`\\x1b[2J\\u202e` is not taken over")


def test_what_is_no_file_is_not_waited_for(take: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        read_host_file(tmp_path / "none.json", home=tmp_path)
    with pytest.raises(StorageError):
        read_host_file(tmp_path, home=tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.json")
        with pytest.raises(StorageError, match="it is not a file"):
            read_host_file(tmp_path / "pipe.json", home=tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="the folders are those of Linux")
@pytest.mark.parametrize(
    ("host", "file"),
    [
        ("claude", ".claude.json"),
        ("claude", ".config/Claude/claude_desktop_config.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".config/Code/User/mcp.json"),
        ("gemini", ".gemini/settings.json"),
    ],
)
def test_a_host_means_what_the_person_configured_there(host: str, file: str, tmp_path: Path) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        '{"servers": {"s": {"command": "x"}}}' if host == "vscode" else '{"mcpServers": {"s": {"command": "x"}}}'
    )
    found = read_host(host, home=tmp_path, environ={})
    assert [server.name for server in found.servers] == ["s"]


def test_codex_may_live_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[mcp_servers.s]\ncommand = "x"\n')
    found = read_host("codex", home=tmp_path / "none", environ={"CODEX_HOME": str(tmp_path)})
    assert [server.name for server in found.servers] == ["s"]


def test_claude_and_its_desktop_app_are_read_together(tmp_path: Path) -> None:
    desktop = tmp_path / ".config" / "Claude"
    desktop.mkdir(parents=True)
    (desktop / "claude_desktop_config.json").write_text(
        '{"mcpServers": {"a": {"command": "y"}, "b": {"command": "z"}}}'
    )
    (tmp_path / ".claude.json").write_text('{"mcpServers": {"a": {"command": "x"}}}')
    environ = {"XDG_CONFIG_HOME": str(tmp_path / ".config")}
    found = read_host("claude", home=tmp_path, environ=environ)
    if sys.platform == "linux":
        assert [(server.name, server.command) for server in found.servers] == [("a", "x"), ("a-2", "y"), ("b", "z")]


def test_a_host_without_configuration_and_an_unknown_word_say_so(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="there is no configuration of cursor"):
        read_host("cursor", home=tmp_path, environ={})
    with pytest.raises(NotFoundError) as caught:
        read_host("cluade", home=tmp_path, environ={})
    assert caught.value.suggestions == ("did you mean `claude`?",)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('a/*,"\\{}', max_size=6), inner, max_size=3),
    max_leaves=10,
)


@given(JSON)
def test_plain_json_means_the_same_without_comments(value: object) -> None:
    text = json.dumps(value)
    assert json.loads(strip_comments(text)) == value
    assert json.loads(strip_comments(json.dumps(value, indent=1).replace("\n", " // x\n") + "/* , */")) == value


ENTRY = st.dictionaries(
    st.sampled_from(
        ["command", "args", "env", "url", "httpUrl", "type", "cwd", "headers", "auth", "timeout", "disabled"]
    ),
    JSON | st.sampled_from(["x", "https://x.org", "${input:a}", "${workspaceFolder}", "./x"]),
)


@given(st.dictionaries(st.text(max_size=5), ENTRY | JSON, max_size=3), st.booleans())
def test_any_table_of_servers_gives_servers_notes_or_a_typed_error(
    tmp_path_factory: pytest.TempPathFactory, table: dict[str, Any], gemini: bool
) -> None:
    folder = tmp_path_factory.getbasetemp() / (".gemini" if gemini else "other")
    folder.mkdir(exist_ok=True)
    path = folder / "settings.json"
    path.write_bytes(orjson.dumps({"mcpServers": table}))
    try:
        found = read_host_file(path, home=Path("/home/ada"))
    except PflowError:
        return
    assert len({server.name for server in found.servers}) == len(found.servers)
    assert all("\n" not in note for note in found.notes)
