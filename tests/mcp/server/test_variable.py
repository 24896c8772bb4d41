"""References to variables are filled in when a server is connected to, and what is missing is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.errors import SecurityError, UsageError
from pflow.core.file.home import Home
from pflow.core.setting.settings import Settings
from pflow.mcp.server.config import read_server
from pflow.mcp.server.variable import expand, references

PROGRAM = {"command": "x"}
REMOTE = {"url": "https://x.org/mcp"}


@pytest.mark.requirement("client:require-5")
@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("${A}", "one"),
        ("${env:A}", "one"),
        ("x${A}y${B}z", "xoneytwoz"),
        ("${A:-no}", "one"),
        ("${NONE:-some text}", "some text"),
        ("${NONE:-}", ""),
        ("${EMPTY:-x}", "x"),
        ("${EMPTY}", ""),
        ("${TRICK}", "${A}"),
        ("$A {A} $ {", "$A {A} $ {"),
    ],
)
def test_references_are_filled_in_everywhere(text: str, filled: str) -> None:
    variables = {"A": "one", "B": "two", "EMPTY": "", "TRICK": "${A}"}
    done = expand(read_server("s", {**PROGRAM, "args": [text], "env": {"V": text}}), variables)
    assert done.server.args == (filled,)
    assert done.server.env == {"V": filled}
    assert done.warnings == ()


def test_an_undefined_variable_is_empty_with_a_warning() -> None:
    server = read_server("s", {**PROGRAM, "args": ["--x=${NONE}"], "env": {"TOKEN": "${TOKEN}"}})
    done = expand(server, {})
    assert done.server.env == {"TOKEN": ""}
    assert done.server.args == ("--x=",)
    assert done.warnings == (
        "`NONE` is not defined; argument 1 of server `s` has nothing in its place",
        "`TOKEN` is not defined; the variable `TOKEN` of server `s` has nothing in its place",
    )


@pytest.mark.parametrize(
    ("value", "variables", "why"),
    [
        ("Bearer ${TOKEN}", {}, "`TOKEN` is not defined"),
        ("Bearer ${TOKEN}", {"TOKEN": " "}, "`TOKEN` is not defined"),
        ("Bearer ${input:token}", {}, "it holds a `${` that is not a variable"),
        ("Bearer ${TOKEN", {"TOKEN": "x"}, "it holds a `${` that is not a variable"),
    ],
)
def test_a_header_without_its_value_is_not_sent(value: str, variables: dict[str, Any], why: str) -> None:
    server = read_server("s", {**REMOTE, "headers": {"Authorization": value, "X-Other": "1"}})
    done = expand(server, variables)
    assert done.server.headers == {"X-Other": "1"}
    assert done.warnings == (f"header `Authorization` of server `s` is not sent: {why}",)


def test_a_header_with_its_value_is_sent_without_the_line_end_of_a_file() -> None:
    server = read_server("s", {**REMOTE, "headers": {"Authorization": "Bearer ${env:TOKEN}"}})
    assert expand(server, {"TOKEN": "abc\n"}).server.headers == {"Authorization": "Bearer abc"}


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\0b", "a\x7f", "ключ"])
def test_a_value_that_would_break_a_header_is_refused_and_not_shown(value: str) -> None:
    server = read_server("s", {**REMOTE, "headers": {"Authorization": "Bearer ${TOKEN}"}})
    with pytest.raises(UsageError) as caught:
        expand(server, {"TOKEN": value})
    assert value not in caught.value.message


def test_an_address_is_checked_once_it_is_whole() -> None:
    server = read_server("s", {"url": "${BASE}/mcp"})
    assert expand(server, {"BASE": "https://x.org"}).server.url == "https://x.org/mcp"
    with pytest.raises(SecurityError, match="is not encrypted"):
        expand(server, {"BASE": "http://x.org"})
    with pytest.raises(UsageError, match="has the form"):
        expand(server, {})
    assert expand(read_server("s", {"url": "https://x.org/${TEAM}/mcp"}), {"TEAM": "a"}).server.url.endswith("/a/mcp")


def test_a_command_and_paths_are_filled_in_too() -> None:
    server = read_server("s", {"command": "~/bin/${NAME}", "cwd": "~"})
    done = expand(server, {"NAME": "x", "HOME": "/home/ada"}).server
    assert (done.command, done.cwd) == ("/home/ada/bin/x", "/home/ada")
    with pytest.raises(UsageError, match="is empty once its variables are filled in"):
        expand(read_server("s", {"command": "${NONE}"}), {})


def test_values_come_from_the_settings_before_the_environment(home: Path) -> None:
    Settings(Home(home)).set("API_TOKEN", "from-settings")
    variables = Settings(Home(home), environ={"API_TOKEN": "from-environment", "OTHER": "o"}).variables()
    server = read_server("s", {**PROGRAM, "env": {"A": "${API_TOKEN}", "B": "${OTHER}"}})
    assert expand(server, variables).server.env == {"A": "from-settings", "B": "o"}


def test_the_variables_that_a_server_refers_to_are_known() -> None:
    server = read_server(
        "s", {**REMOTE, "headers": {"A": "${X} ${env:Y:-z}", "B": "${X}"}, "auth": {"token_env": "TOKEN"}}
    )
    assert references(server) == ["X", "Y", "TOKEN"]


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60), st.text(max_size=20))
def test_any_text_is_filled_in_once(text: str, value: str) -> None:
    server = read_server("s", {**PROGRAM, "args": [text]})
    [filled] = expand(server, {"A": value}).server.args
    if "${" not in text:
        assert filled == text
    [whole] = expand(read_server("s", {**PROGRAM, "args": ["${A}"]}), {"A": value}).server.args
    assert whole == value
