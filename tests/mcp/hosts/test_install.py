"""pflow gets into the configuration of other programs without a character of theirs being lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.errors import ExistsError, NotFoundError, PflowError, StorageError, UsageError
from pflow.mcp.hosts.edit import put_json, put_toml
from pflow.mcp.hosts.format import read_host
from pflow.mcp.hosts.jsonc import strip_comments
from pflow.workspace.installation import TABLES, Installation, install, plan_installation

ENTRY = {"command": "pflow", "args": ["serve", "mcp"]}
FILES = {
    "claude": ".claude.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".config/Code/User/mcp.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
}


@pytest.fixture
def planned(tmp_path: Path) -> Callable[..., Any]:
    """Writes a host's file, if there is one to write, and plans to install pflow there."""

    def plan(host: str, content: bytes | str | None = None, **options: Any) -> Installation:
        path = tmp_path / FILES[host]
        if content is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        environ = {"PATH": os.environ["PATH"], **options.pop("environ", {})}
        return plan_installation(host, person=tmp_path, environ=environ, **options)

    return plan


@pytest.mark.skipif(sys.platform != "linux", reason="places differ")
@pytest.mark.parametrize("host", FILES)
def test_what_is_installed_is_what_the_host_is_known_to_read(
    planned: Callable[..., Any], tmp_path: Path, host: str
) -> None:
    plan = planned(host)
    assert plan.path == tmp_path / FILES[host]
    assert install(plan) is None
    (server,) = read_host(host, home=tmp_path, environ={}).servers
    assert server.name == "pflow"
    assert [Path(server.command).name, *server.args][-2:] == ["serve", "mcp"]
    assert Path(server.command).is_absolute()
    assert planned(host).state == "same"


@pytest.mark.parametrize("host", FILES)
def test_installing_twice_changes_nothing(planned: Callable[..., Any], host: str) -> None:
    install(planned(host))
    again = planned(host)
    assert again.state == "same"
    assert install(again) is None
    assert again.path.read_bytes() == again.after
    assert list(again.path.parent.glob("*backup*")) == []


COMMENTED = """\
// my servers
{
    "inputs": [], // none yet
    /* the ones
       I use */
    "servers": {
        // files first
        "files": {"command": "npx", "args": ["-y", "x"]}, // keep "this"
        "time": {"command": "uvx"}  // last
    },
}
"""


def test_comments_order_and_indentation_stay(planned: Callable[..., Any]) -> None:
    plan = planned("vscode", COMMENTED)
    backup = install(plan)
    assert backup is not None and backup.read_text() == COMMENTED
    after = plan.path.read_text()
    kept = [line.rstrip(",") for line in after.splitlines()]
    for line in COMMENTED.splitlines():
        assert line.rstrip(",") in kept or line.replace("}  // last", "},  // last") in after.splitlines()
    names = list(json.loads(strip_comments(after))["servers"])
    assert names == ["files", "time", "pflow"]
    assert '\n        "pflow": {\n            "type": "stdio",\n' in after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "mcpServers": {\n    "p": {\n      "c": 1\n    }\n  }\n}'),
        ("", '{\n  "mcpServers": {\n    "p": {\n      "c": 1\n    }\n  }\n}\n'),
        ('{"mcpServers":{}}', '{"mcpServers":{\n  "p": {\n    "c": 1\n  }\n}}'),
        ('{\n\t"mcpServers": {}\n}\n', '{\n\t"mcpServers": {\n\t\t"p": {\n\t\t\t"c": 1\n\t\t}\n\t}\n}\n'),
        (
            '{\r\n  "a": 1\r\n}',
            '{\r\n  "a": 1,\r\n  "mcpServers": {\r\n    "p": {\r\n      "c": 1\r\n    }\r\n  }\r\n}',
        ),
        ('{"mcpServers": {"p": {"old": [1, "}"]}, "q": 2}}', '{"mcpServers": {"p": {\n  "c": 1\n}, "q": 2}}'),
    ],
)
def test_text_is_put_where_it_belongs(before: str, after: str) -> None:
    assert put_json(before, "mcpServers", "p", {"c": 1}) == after


_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(
    content=st.dictionaries(st.text(max_size=4), _values, max_size=4),
    servers=st.none() | st.dictionaries(st.text(max_size=4), _values, max_size=3),
    name=st.text(max_size=4),
    indent=st.sampled_from([None, 2, 4, "\t"]),
    ends=st.sampled_from(["\n", "\r\n"]),
)
def test_any_json_keeps_what_it_held(
    content: dict[str, Any], servers: dict[str, Any] | None, name: str, indent: int | str | None, ends: str
) -> None:
    whole = content if servers is None else {**content, "mcpServers": servers}
    text = json.dumps(whole, indent=indent).replace("\n", ends)
    if not isinstance(whole.get("mcpServers", {}), dict):
        return
    after = put_json(text, "mcpServers", name, ENTRY)
    assert json.loads(after) == {**whole, "mcpServers": {**whole.get("mcpServers", {}), name: ENTRY}}
    assert put_json(after, "mcpServers", name, ENTRY) == after
    assert "\r\n" not in text or "\n" not in after.replace("\r\n", "")


@given(name=st.text(min_size=1, max_size=5), value=st.text(max_size=8))
def test_any_toml_value_is_read_as_what_was_written(name: str, value: str) -> None:
    entry = {"command": value, "args": [value, value], "env": {name: value}}
    text = put_toml('model = "x"\n\n[other]\na = 1\n', "mcp_servers", name, entry)
    assert tomllib.loads(text) == {"model": "x", "other": {"a": 1}, "mcp_servers": {name: entry}}


CODEX = """\
# how I like it
model = "gpt"

[mcp_servers.files]   # mine
command = "npx"

[profiles.fast]
model = "mini"
"""


def test_a_toml_file_keeps_all_of_its_lines(planned: Callable[..., Any]) -> None:
    plan = planned("codex", CODEX)
    install(plan)
    after = plan.path.read_text()
    assert after.startswith(CODEX)
    assert tomllib.loads(after)["mcp_servers"]["pflow"]["args"][-2:] == ["serve", "mcp"]


def test_another_server_of_that_name_is_replaced_only_when_that_is_said(planned: Callable[..., Any]) -> None:
    for host, content in (
        ("cursor", '{"mcpServers": {"pflow": {"command": "old"}, "b": {"command": "b"}}}'),
        ("codex", '[mcp_servers.pflow]\ncommand = "old"\nargs = []\n\n[mcp_servers.b]\ncommand = "b"\n'),
    ):
        plan = planned(host, content)
        assert plan.state == "other"
        with pytest.raises(ExistsError):
            install(plan)
        assert plan.path.read_text() == content
        backup = install(plan, overwrite=True)
        assert backup is not None and backup.read_text() == content
        assert "old" not in plan.path.read_text()
        assert '"b"' in plan.path.read_text()


@pytest.mark.parametrize(
    ("host", "content"),
    [
        ("cursor", '{"mcpServers": []}'),
        ("cursor", '{"mcpServers": {}, "mcpServers": {}}'),
        ("codex", 'mcp_servers = { b = { command = "b" } }\n'),
        ("codex", '[mcp_servers.pflow]\ncommand = "old" # mine\n'),
        ("codex", '[mcp_servers.pflow]\ncommand = "old"\n[mcp_servers.pflow.env]\nA = "1"\n'),
        ("codex", 'text = """\n[mcp_servers.pflow]\n"""\n[mcp_servers.pflow]\ncommand = "old"\n'),
    ],
)
def test_a_file_that_is_not_understood_is_left_alone_and_the_entry_shown(
    planned: Callable[..., Any], tmp_path: Path, host: str, content: str
) -> None:
    with pytest.raises(UsageError) as caught:
        planned(host, content)
    assert "serve" in caught.value.suggestions[0]
    assert (tmp_path / FILES[host]).read_text() == content


@pytest.mark.parametrize(
    "content", ["{", "not json", "[1]", b"\xff\xfe{}", '{"a": 1} {}', '{"a": 1,, "b": 2}', "{'a': 1}"]
)
def test_a_file_that_is_no_json_is_an_error_and_left_alone(
    planned: Callable[..., Any], tmp_path: Path, content: bytes | str
) -> None:
    with pytest.raises(PflowError):
        planned("cursor", content)
    written = (tmp_path / FILES["cursor"]).read_bytes()
    assert written == (content if isinstance(content, bytes) else content.encode())


def test_a_linked_file_is_changed_where_it_is_and_keeps_its_mode(planned: Callable[..., Any], tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    real.write_text('{"mcpServers": {}}')
    real.chmod(0o644)
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").symlink_to(real)
    install(planned("cursor"))
    assert (tmp_path / ".cursor" / "mcp.json").is_symlink()
    assert "pflow" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o644


def test_a_file_that_changed_meanwhile_is_not_overwritten(planned: Callable[..., Any]) -> None:
    plan = planned("cursor", "{}")
    plan.path.write_text('{"mcpServers": {"new": {"command": "x"}}}')
    with pytest.raises(StorageError):
        install(plan)
    assert "new" in plan.path.read_text()


def test_every_backup_is_kept(planned: Callable[..., Any]) -> None:
    first = install(planned("cursor", '{"a": 1}'))
    second = install(planned("cursor", '{"a": 2}'))
    assert first != second
    assert first is not None and second is not None
    assert [json.loads(each.read_text())["a"] for each in (first, second)] == [1, 2]
    assert first.stat().st_mode & 0o077 == 0


def test_a_home_of_its_own_and_a_toolset_go_into_the_entry(planned: Callable[..., Any], tmp_path: Path) -> None:
    plan = planned("gemini", environ={"PFLOW_HOME": str(tmp_path / "p")}, toolset="core", name="flows")
    entry = json.loads(plan.after)["mcpServers"]["flows"]
    assert entry["env"] == {"PFLOW_HOME": str(tmp_path / "p")}
    assert entry["args"][-2:] == ["--toolset", "core"]


def test_an_unknown_host_says_which_are_known(planned: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as caught:
        plan_installation("cursr", person=tmp_path, environ={})
    assert caught.value.suggestions == ("did you mean `cursor`?",)
    known: Any = caught.value.details["known"]
    assert set(known) == set(TABLES) == set(FILES)


def run(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[Any]:
    env = {**os.environ, "HOME": str(tmp_path), "PFLOW_HOME": str(tmp_path / ".pflow")}
    command = [sys.executable, "-m", "pflow", "mcp", "install", *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def test_the_command_shows_then_writes_once(tmp_path: Path) -> None:
    shown = run(tmp_path, "cursor", "--dry-run")
    assert shown.returncode == 0
    assert '"mcpServers"' in shown.stdout
    asked = run(tmp_path, "cursor")
    assert asked.returncode == 2
    assert "--yes" in asked.stderr
    assert not (tmp_path / ".cursor").exists()
    done = run(tmp_path, "cursor", "--yes")
    assert done.returncode == 0
    assert "added `pflow`" in done.stdout
    again = run(tmp_path, "cursor", "--yes", "--json")
    assert json.loads(again.stdout)["data"]["state"] == "same"
