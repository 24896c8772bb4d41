"""A server's configuration is checked when it is made, and says what others could see of it."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.errors import PflowError, SecurityError, UsageError
from pflow.mcp.server.auth import Auth
from pflow.mcp.server.config import ServerConfig, check_server, read_server
from pflow.mcp.server.secret_scan import advise, view

GITHUB = {
    "transport": "stdio",
    "command": "npx",
    "args": ["@modelcontextprotocol/github"],
    "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}"},
}


@pytest.mark.requirement("client:input-1", "client:format-1", "client:constraint-5")
def test_the_documents_example_is_a_server() -> None:
    server = read_server("github", GITHUB)
    assert server == ServerConfig(
        name="github",
        transport="stdio",
        command="npx",
        args=("@modelcontextprotocol/github",),
        env={"GITHUB_TOKEN": "${GITHUB_TOKEN}"},
    )
    assert server.as_fields() == GITHUB
    assert advise(server) == ()


@pytest.mark.requirement("security:9.3-1")
def test_a_remote_server_names_the_variable_of_its_token_and_its_scopes() -> None:
    fields = {
        "transport": "sse",
        "url": "https://api.github.internal/mcp",
        "auth": {"token_env": "GITHUB_ENTERPRISE_TOKEN", "scopes": ["repo:read", "user:read"]},
    }
    server = read_server("github-enterprise", fields)
    assert server.auth == Auth(token_env="GITHUB_ENTERPRISE_TOKEN", scopes=("repo:read", "user:read"))
    assert server.as_fields() == fields


@pytest.mark.requirement("client:constraint-1")
@pytest.mark.parametrize("name", ["github", "a", "0", "a-b-2", "x" * 64, "-"])
def test_names_of_lowercase_letters_digits_and_hyphens_are_taken(name: str) -> None:
    assert read_server(name, GITHUB).name == name


@pytest.mark.requirement("client:constraint-1")
@pytest.mark.parametrize(
    ("name", "better"),
    [
        ("GitHub", "git-hub"),
        ("my server", "my-server"),
        ("a_b", "a-b"),
        ("", "my-server"),
        ("a\n", "a"),
        ("../x", "x"),
        ("é", "e"),
    ],
)
def test_other_names_are_refused_with_a_better_one(name: str, better: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_server(name, GITHUB)
    assert caught.value.suggestions == (f"call it `{better}`",)


def test_a_name_of_65_characters_is_refused() -> None:
    with pytest.raises(UsageError, match="1 to 64 of a-z, 0-9 and `-`"):
        read_server("x" * 65, GITHUB)


@pytest.mark.parametrize(
    ("given", "transport"),
    [("stdio", "stdio"), ("sse", "sse"), ("stream-http", "stream-http"), ("uds", "uds")]
    + [("http", "stream-http"), ("streamable-http", "stream-http"), ("streamable_http", "stream-http")],
)
def test_a_transport_has_one_name_whatever_it_is_called(given: str, transport: str) -> None:
    place = {"stdio": "command", "uds": "socket"}.get(given, "url")
    value = {"command": "x", "socket": "/run/x", "url": "https://x.org/mcp"}[place]
    assert read_server("s", {"transport": given, place: value}).transport == transport


@pytest.mark.parametrize(
    ("fields", "transport"),
    [
        ({"command": "x"}, "stdio"),
        ({"url": "https://x.org"}, "stream-http"),
        ({"socket": "/run/x"}, "uds"),
    ],
)
def test_the_transport_follows_from_the_configuration(fields: dict[str, Any], transport: str) -> None:
    assert read_server("s", fields).transport == transport


def test_an_unknown_transport_is_rejected_with_those_that_exist() -> None:
    with pytest.raises(UsageError) as caught:
        read_server("s", {"transport": "websocket", "url": "https://x.org"})
    assert caught.value.message == "server `s` has the transport `websocket`, which does not exist"
    assert caught.value.details == {"known": ["stdio", "sse", "stream-http", "uds", "pipe", "http"]}
    with pytest.raises(UsageError) as caught:
        read_server("s", {"transport": "stdoi", "command": "x"})
    assert caught.value.suggestions == ("did you mean `stdio`?",)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has named pipes")
def test_a_windows_pipe_is_refused_elsewhere() -> None:
    with pytest.raises(UsageError, match="`pipe`, which exists on Windows only"):
        read_server("s", {"transport": "pipe", "socket": r"\\.\pipe\x"})


@pytest.mark.requirement("security:9.4-4")
@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/mcp",
        "http://127.0.0.1.example.com/mcp",
        "http://localhost.example.com/mcp",
        "http://10.0.0.1/mcp",
        "http://2130706433/mcp",
        "http://[2001:db8::1]/mcp",
        "http://example.com#@localhost",
        "http://example.com?@localhost",
    ],
)
def test_a_remote_address_must_be_encrypted(url: str) -> None:
    with pytest.raises(SecurityError) as caught:
        read_server("s", {"url": url})
    assert "is not encrypted" in caught.value.message
    assert caught.value.suggestions == (
        "use `https://`",
        "or allow it with `pflow mcp add … --insecure`, for testing",
    )


def test_insecure_allows_a_plain_address_with_a_warning() -> None:
    server = read_server("s", {"url": "http://example.com/mcp", "insecure": True})
    assert advise(server) == ("server `s` is insecure: its connection may be unencrypted, or to an impostor",)


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8000/mcp",
        "http://127.0.0.1/mcp",
        "http://127.8.8.8:1/",
        "http://[::1]:99/x",
        "http://LOCALHOST",
    ],
)
def test_this_machine_needs_no_encryption(url: str) -> None:
    assert read_server("s", {"url": url}).url == url


@pytest.mark.parametrize(
    "url",
    [
        *("example.com/mcp", "ftp://example.com", "file:///etc/passwd", "https://", "https:///x", "javascript:x"),
        *("https://exa mple.com", "https://x.org/a\nb", "https://x.org\\@evil.org", "https://x.org:99999", "https://["),
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="has the form `https://host/path`"):
        read_server("s", {"url": url})


@pytest.mark.parametrize("host", ["x.org", "x .org", "x.org:99999"])
def test_a_password_in_an_address_is_refused_and_not_repeated(host: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_server("s", {"url": f"https://ada:hunter2222@{host}/mcp"})
    assert "hunter2222" not in repr(caught.value.__dict__)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([], "server `s` is an array; it should be an object with `command` or `url`"),
        ({}, "server `s` with the transport `stdio` needs a command to start"),
        ({"transport": "sse"}, "server `s` with the transport `sse` needs a URL"),
        ({"transport": "uds"}, "server `s` with the transport `uds` needs the path of a socket"),
        (
            {"transport": "stdio", "command": "x", "url": "https://x.org"},
            "server `s` with the transport `stdio` takes no `url`",
        ),
        (
            {"url": "https://x.org", "env": {"A": "b"}},
            "server `s` with the transport `stream-http` takes no `env`",
        ),
        ({"command": ["x"]}, "`command` of server `s` is an array; it should be a string"),
        ({"command": "x", "args": "-y"}, "`args` of server `s` is a string; it should be an array of strings"),
        ({"command": "x", "args": [1]}, "`args[0]` of server `s` is an integer; it should be a string"),
        ({"command": "x", "env": {"A": 1}}, "`env.A` of server `s` is an integer; it should be a string"),
        ({"command": "x", "env": {"A=B": ""}}, "`A=B` cannot be the name of an environment variable"),
        ({"url": "https://x.org", "headers": {"A B": ""}}, "`A B` cannot be the name of a header"),
        ({"command": "x", "insecure": "no"}, "`insecure` of server `s` is a string; it should be `true` or `false`"),
        ({"command": "x", "cwd": "sub/x"}, "`cwd` of server `s` is `sub/x`; give an absolute path"),
        (
            {"command": "x", "timeout": 0},
            "`timeout` of server `s` is an integer; it should be a number of seconds, more than 0 and at most 86400",
        ),
        ({"command": "x\0"}, "`command` of server `s` is a string; it should be without NUL, and at most 32768 bytes"),
        (
            {"url": "https://x.org", "auth": {"token_env": "ghp_0123 456"}},
            "`auth.token_env` is the name of the variable that holds the token, such as `GITHUB_TOKEN`",
        ),
        (
            {"url": "https://x.org", "auth": {"type": "client_credentials", "client_id": "c"}},
            "server `s` with the auth type `client_credentials` needs `auth.client_secret_env`",
        ),
        (
            {"url": "https://x.org", "auth": {"type": "oauth", "client_secret_env": "S"}},
            "server `s` with the auth type `oauth` needs `auth.client_id`",
        ),
        (
            {"url": "https://x.org", "auth": {"type": "oauth", "client_id": "c", "client_secret_env": "s-3c r3t"}},
            "`auth.client_secret_env` is the name of the variable that holds the client secret, "
            "such as `CLIENT_SECRET`",
        ),
        (
            {"url": "https://x.org", "auth": {"type": "oauth", "token_env": "T"}},
            "server `s` with the auth type `oauth` takes no `auth.token_env`",
        ),
        (
            {"url": "https://x.org", "auth": {"token_env": "T", "client_id": "c"}},
            "server `s` with the auth type `bearer` takes no `auth.client_id`",
        ),
        (
            {"url": "https://x.org", "auth": {"type": "oauth", "client_id": "${ID}"}},
            "`auth.client_id` of server `s` cannot be a client id",
        ),
        (
            {"url": "https://x.org", "auth": {"type": "oauth", "issuer": "https://${HOST}"}},
            "`auth.issuer` of server `s` is given as it is; variables in it are not filled in",
        ),
        (
            {"url": "https://x.org", "auth": {"type": "oauth", "issuer": "file:///etc"}},
            "the URL of a server has the form `https://host/path`",
        ),
        (
            {"url": "https://x.org", "auth": {"token_env": "T", "scopes": ["a b"]}},
            "`a b` cannot be a scope of server `s`",
        ),
        (
            {"url": "https://x.org", "auth": "T"},
            "`auth` of server `s` is a string; it should be an object with `token_env`, or with a `type`",
        ),
    ],
)
def test_what_does_not_fit_is_said(fields: object, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_server("s", fields)
    assert caught.value.message == message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*ServerConfig._fields, "zz"]), JSON), JSON)
def test_any_object_is_a_server_or_a_typed_error(fields: dict[str, Any], other: object) -> None:
    for value in (fields, other, {"command": "x", "zz": other, **fields}):
        try:
            server = read_server("s", value)
        except PflowError:
            continue
        assert read_server("s", server.as_fields()) == server
        assert check_server(server) is server
        assert view(server).as_dict()["name"] == "s"
        assert all(isinstance(line, str) for line in advise(server))


def test_unknown_fields_are_kept_and_reported() -> None:
    server = read_server("s", {"command": "x", "disabled": True, "auth": None})
    assert server.as_fields() == {"transport": "stdio", "command": "x", "disabled": True}
    assert advise(server) == ("server `s` has a field `disabled` that is unknown; it is kept and has no effect",)


def test_what_is_unknown_about_a_token_is_kept_and_not_shown() -> None:
    fields = {"url": "https://x.org", "auth": {"token_env": "T", "client_secret": "hush"}}
    server = read_server("s", fields)
    assert server.as_fields() == {"transport": "stream-http", **fields}
    assert view(server).as_dict()["auth"] == {"token_env": "T"}
    assert view(server).as_dict()["unknown"] == ["auth.client_secret"]
    assert "hush" not in f"{view(server)}{advise(server)}"


def test_an_unknown_auth_type_is_met_with_what_may_have_been_meant() -> None:
    with pytest.raises(UsageError) as caught:
        read_server("s", {"url": "https://x.org", "auth": {"type": "oauth2"}})
    assert caught.value.message == "server `s` has the auth type `oauth2`, which does not exist"
    assert caught.value.suggestions == ("did you mean `oauth`?",)


@pytest.mark.parametrize(
    "auth",
    [
        {"type": "oauth"},
        {"type": "oauth", "client_id": "c", "scopes": ["a", "b"]},
        {"type": "client_credentials", "client_id": "c", "client_secret_env": "S", "issuer": "https://login.x.org"},
    ],
)
def test_oauth_is_kept_and_shown_as_it_was_written(auth: dict[str, Any]) -> None:
    server = read_server("s", {"url": "https://x.org", "auth": auth})
    assert server.as_fields()["auth"] == auth
    assert view(server).as_dict()["auth"] == auth
    assert read_server("s", server.as_fields()) == server


def test_a_bearer_token_is_the_default_and_needs_no_type() -> None:
    server = read_server("s", {"url": "https://x.org", "auth": {"type": "bearer", "token_env": "T"}})
    assert server.auth == Auth(token_env="T")
    assert server.as_fields()["auth"] == {"token_env": "T"}


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        (["--api-key", "abc123"], ["--api-key", "********"]),
        (["--api-key=abc123"], ["--api-key=********"]),
        (["GITHUB_TOKEN=abc123"], ["GITHUB_TOKEN=********"]),
        (["ghp_0123456789abcdefghij"], ["********"]),
        (["--header", "Authorization: Bearer sk-0123456789abcd"], ["--header", "Authorization:********"]),
        (["postgres://ada:hunter2@db/x"], ["postgres://ada:********@db/x"]),
    ],
)
def test_a_secret_among_the_arguments_is_a_warning_and_hidden(args: list[str], shown: list[str]) -> None:
    server = read_server("s", {"command": "x", "args": args})
    [warning] = advise(server)
    assert warning.startswith(f"argument {len(args)} of server `s` looks like a secret")
    assert view(server).as_dict()["args"] == shown


@pytest.mark.parametrize("arg", ["-y", "task-manager-server", "--port=8080", "@scope/npm-helper", "--author=ada", "/x"])
def test_ordinary_arguments_are_shown(arg: str) -> None:
    server = read_server("s", {"command": "x", "args": [arg]})
    assert advise(server) == ()
    assert view(server).as_dict()["args"] == [arg]


def test_a_reference_to_a_secret_among_the_arguments_is_a_warning() -> None:
    server = read_server("s", {"command": "x", "args": ["--api-key", "${API_KEY}", "${HOME}/data"]})
    [warning] = advise(server)
    assert "gets `${API_KEY}` as an argument" in warning
    assert view(server).as_dict()["args"] == ["--api-key", "${API_KEY}", "${HOME}/data"]


def test_values_of_variables_headers_and_queries_are_never_shown() -> None:
    secret = "abcdefgh12345678"
    server = read_server("s", {"command": "x", "env": {"API_KEY": secret, "DEBUG": "1"}})
    assert view(server).as_dict()["env"] == ["API_KEY", "DEBUG"]
    assert advise(server) == (
        "the value of the variable `API_KEY` of server `s` is stored in plain text; "
        "store it with `pflow settings set NAME` and write `${NAME}` instead",
    )
    server = read_server("s", {"url": f"https://x.org/mcp?key={secret}&x", "headers": {"X-Key": secret}})
    assert view(server).as_dict()["url"] == "https://x.org/mcp?key=********&x"
    assert secret not in str(view(server))


BASE = {"command": "x", "args": ["a"], "env": {"A": "1"}, "cwd": "/a"}
REMOTE = {"url": "https://x.org", "headers": {"A": "1"}}


@pytest.mark.parametrize(
    ("before", "change"),
    [
        (BASE, {"command": "y"}),
        (BASE, {"args": ["b"]}),
        (BASE, {"args": ["a", ""]}),
        (BASE, {"env": {"B": "1"}}),
        (BASE, {"cwd": "/b"}),
        (REMOTE, {"url": "https://y.org"}),
        (REMOTE, {"transport": "sse"}),
        (REMOTE, {"headers": {"B": "1"}}),
        (REMOTE, {"insecure": True}),
        (REMOTE, {"pin_file": "/pin"}),
        (REMOTE, {"auth": {"token_env": "A"}}),
        ({**REMOTE, "auth": {"type": "oauth"}}, {"auth": {"type": "oauth", "client_id": "c"}}),
    ],
)
def test_the_fingerprint_changes_with_what_runs_or_is_talked_to(before: dict[str, Any], change: dict[str, Any]) -> None:
    one, other = read_server("s", before), read_server("s", {**before, **change})
    assert one.fingerprint() != other.fingerprint()


def test_the_fingerprint_does_not_change_with_a_secret_or_a_limit() -> None:
    one = read_server("s", BASE)
    other = read_server("s", {**BASE, "env": {"A": "2"}, "timeout": 5, "trust_readonly": True})
    assert one.fingerprint() == other.fingerprint()
