"""pflow gets into the configuration of other programs without a character of theirs being lost."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.cli.commands.mcp_install import HOST_HELP
from pflow.core.errors import ExistsError, NotFoundError, PflowError, StorageError
from pflow.mcp.hosts.edit import cut_json, put_json, put_toml
from pflow.mcp.hosts.format import read_host
from pflow.mcp.hosts.host import HOSTS
from pflow.mcp.hosts.jsonc import strip_comments
from pflow.workspace.installation import Installation, install, plan_installation, plan_removal, remove

ENTRY = {"command": "pflow", "args": ["serve", "mcp"]}
FILES = {
    "claude": ".claude.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".config/Code/User/mcp.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "windsurf": ".codeium/windsurf/mcp_config.json",
    "opencode": ".config/opencode/opencode.json",
    "zed": ".config/zed/settings.json",
    "cline": ".cline/data/settings/cline_mcp_settings.json",
}
PROJECT_FILES = {
    "claude": ".mcp.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".vscode/mcp.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "opencode": "opencode.json",
    "zed": ".zed/settings.json",
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
    found = read_host(host, home=tmp_path, environ={})
    assert (found.servers, found.notes) == ((), ("`pflow` is pflow itself and not taken over",))
    plan.path.write_text(plan.path.read_text().replace('"serve"', '"other"'))
    (server,) = read_host(host, home=tmp_path, environ={}).servers
    assert server.name == "pflow"
    assert [Path(server.command).name, *server.args][-2:] == ["other", "mcp"]
    assert Path(server.command).is_absolute()
    plan.path.write_text(plan.path.read_text().replace('"other"', '"serve"'))
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
    assert put_json(before, ["mcpServers", "p"], {"c": 1}) == after


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
    after = put_json(text, ["mcpServers", name], ENTRY)
    assert json.loads(after) == {**whole, "mcpServers": {**whole.get("mcpServers", {}), name: ENTRY}}
    assert put_json(after, ["mcpServers", name], ENTRY) == after
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


UNCLEAR = [
    ("cursor", '{"mcpServers": []}'),
    ("cursor", '{"mcpServers": null}'),
    ("cursor", '{"mcpServers": {}, "mcpServers": {}}'),
    ("zed", '// mine\n{"context_servers": 1}'),
    ("codex", 'mcp_servers = { b = { command = "b" } }\n'),
]


@pytest.mark.parametrize(("host", "content"), UNCLEAR)
def test_a_file_that_is_not_understood_is_left_alone_and_the_entry_shown_to_be_pasted(
    planned: Callable[..., Any], tmp_path: Path, host: str, content: str
) -> None:
    plan = planned(host, content)
    assert (plan.state, plan.after) == ("unclear", None)
    said = run(tmp_path, "install", host, "--yes")
    assert said.returncode == 2
    assert "is written in a way that pflow cannot safely change" in said.stderr
    assert "\\n" not in said.stderr
    told = json.loads(run(tmp_path, "install", host, "--yes", "--json").stdout)["error"]["details"]["snippet"]
    assert said.stderr.endswith(f":\n\n{told}\n")
    assert (tmp_path / FILES[host]).read_text() == content


def test_what_is_shown_for_an_inline_table_fits_between_its_braces(tmp_path: Path) -> None:
    path = tmp_path / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text('mcp_servers = { b = { command = "b" } }\n')
    said = run(tmp_path, "install", "codex", "--yes").stderr
    assert "put this between the braces of `mcp_servers`" in said
    pasted = said.rpartition("\n\n")[2].strip()
    servers = tomllib.loads(f'mcp_servers = {{ b = {{ command = "b" }}, {pasted} }}')["mcp_servers"]
    assert servers["pflow"]["args"][-2:] == ["serve", "mcp"]


OTHERS = [
    '[mcp_servers.pflow]\ncommand = "old"\n[mcp_servers.pflow.env]\nA = "1"\n',
    '[mcp_servers.pflow]\ncommand = "old"\n\n[mcp_servers.pflow.env]\nA = "1"\n\n# next\n[mcp_servers.b]\nargs = []\n',
    '[mcp_servers."pflow"]\ncommand = "old"\n[other]\na = 1\n[mcp_servers."pflow".env]\nA = "1"\n',
]


@pytest.mark.parametrize("content", OTHERS)
def test_another_server_with_tables_of_its_own_is_named_and_replaced_when_that_is_said(
    planned: Callable[..., Any], tmp_path: Path, content: str
) -> None:
    plan = planned("codex", content)
    assert plan.state == "other"
    refused = run(tmp_path, "install", "codex", "--yes")
    assert "has another server `pflow`" in refused.stderr
    done = run(tmp_path, "install", "codex", "--yes", "--overwrite")
    assert done.returncode == 0
    before, after = tomllib.loads(content), tomllib.loads(plan.path.read_text())
    assert after["mcp_servers"]["pflow"]["args"][-2:] == ["serve", "mcp"]
    assert "A" not in after["mcp_servers"]["pflow"].get("env", {})
    for content_of in (before, after):
        del content_of["mcp_servers"]["pflow"]
    assert after == before
    assert "# next" not in content or "# next\n[mcp_servers.b]" in plan.path.read_text()


@pytest.mark.parametrize(
    "content",
    [
        '[mcp_servers.pflow]\ncommand = "old" # mine\n',
        'text = """\n[mcp_servers.pflow]\n"""\n[mcp_servers.pflow]\ncommand = "old"\n',
    ],
)
def test_another_server_that_cannot_be_replaced_safely_is_named_first_and_shown_then(
    planned: Callable[..., Any], tmp_path: Path, content: str
) -> None:
    plan = planned("codex", content)
    assert (plan.state, plan.after) == ("other", None)
    assert "has another server `pflow`" in run(tmp_path, "install", "codex", "--yes").stderr
    assert "cannot safely change" in run(tmp_path, "install", "codex", "--yes", "--overwrite").stderr
    assert plan.path.read_text() == content


SETTINGS = """\
// Zed settings
{
  "theme": "One Dark", // dark
  /* servers */
  "context_servers": {
    "files": {"command": "npx", "args": []}, // mine
  },
}
"""
BEFORE = [
    ("zed", SETTINGS),
    ("zed", "// only a comment\n{}\n"),
    ("vscode", COMMENTED),
    ("cursor", '{"mcpServers":{"a":{"command":"x"}},"z":[1,2]}'),
    ("cursor", '{\r\n\t"z": 1\r\n}\r\n'),
    ("cursor", ""),
    ("cursor", None),
    ("opencode", '{"$schema": "https://opencode.ai/config.json", "mcp": {"servers": {}}}'),
    ("codex", CODEX),
    ("codex", '[mcp_servers.b]\ncommand = "b"\n\n\n'),
]


@pytest.mark.parametrize(("host", "content"), BEFORE)
def test_what_is_installed_is_taken_out_again_to_the_byte(
    planned: Callable[..., Any], tmp_path: Path, host: str, content: str | None
) -> None:
    plan = planned(host, content)
    install(plan)
    assert json.loads(run(tmp_path, "uninstall", host, "--dry-run", "--json").stdout)["data"]["removed"] is False
    said = run(tmp_path, "uninstall", host, "--yes")
    assert said.returncode == 0, said.stderr
    assert (plan.path.read_bytes().decode() if plan.path.exists() else None) == content
    again = run(tmp_path, "uninstall", host, "--yes")
    assert (again.returncode, "has no server `pflow`" in again.stdout) == (0, True)


@pytest.mark.parametrize(("host", "content"), BEFORE)
def test_what_changed_after_the_installation_stays(
    planned: Callable[..., Any], tmp_path: Path, host: str, content: str | None
) -> None:
    plan = planned(host, content)
    install(plan)
    text = plan.path.read_bytes().decode()
    more = f"{text}# later\n" if host == "codex" else text.replace("{", '{ "later": 1,', 1)
    plan.path.write_bytes(more.encode())
    environ = {"PATH": os.environ["PATH"]}
    removal = plan_removal(host, person=tmp_path, environ=environ)
    assert removal.state == "same"
    remove(removal)
    after = plan.path.read_bytes().decode()
    assert "later" in after
    assert "pflow" not in after
    if host != "codex" and content:
        empty = f'"{HOSTS[host].table}":{{}}'
        left = [re.sub(r"[\s,]+", "", text).replace(empty, "") for text in (after, content)]
        assert left[0].replace('"later":1', "", 1) == left[1]
    elif content:
        assert content.strip() in after
    assert plan_removal(host, person=tmp_path, environ=environ).state == "new"


def test_another_server_of_that_name_is_not_taken_out(planned: Callable[..., Any], tmp_path: Path) -> None:
    content = '{"mcpServers": {"pflow": {"command": "node", "args": ["pflow.js"]}}}'
    plan = planned("cursor", content)
    said = run(tmp_path, "uninstall", "cursor", "--yes")
    assert said.returncode == 2
    assert "has another server `pflow`, which is not pflow" in said.stderr
    assert plan.path.read_text() == content


@given(
    servers=st.dictionaries(st.text(max_size=4), _values, max_size=4),
    indent=st.sampled_from([None, 2, "\t"]),
)
def test_any_member_is_cut_from_any_json(servers: dict[str, Any], indent: int | str | None) -> None:
    text = json.dumps({"a": 1, "mcpServers": servers, "z": {}}, indent=indent)
    for name in servers:
        left = {key: value for key, value in servers.items() if key != name}
        assert json.loads(cut_json(text, ["mcpServers", name])) == {"a": 1, "mcpServers": left, "z": {}}


@pytest.mark.parametrize("host", FILES)
def test_a_project_has_a_file_of_its_own_that_holds_nothing_of_this_machine(tmp_path: Path, host: str) -> None:
    project = tmp_path / "project"
    project.mkdir()
    said = run(tmp_path, "install", host, "--project", "--yes", folder=project)
    if host not in PROJECT_FILES:
        assert said.returncode == 2
        assert "has no file of servers for a project" in said.stderr
        return
    assert said.returncode == 0, said.stderr
    text = (project / PROJECT_FILES[host]).read_text()
    assert str(tmp_path) not in text
    assert '"pflow"' in text
    assert not (tmp_path / FILES[host]).exists()
    assert run(tmp_path, "uninstall", host, "--project", "--yes", folder=project).returncode == 0
    assert not (project / PROJECT_FILES[host]).exists()


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
    assert set(known) == set(HOSTS) == set(FILES)
    assert re.findall(r"[a-z-]+", HOST_HELP.replace(" or ", " ")) == list(HOSTS)
    assert {host for host in HOSTS if HOSTS[host].project} == set(PROJECT_FILES)


def run(tmp_path: Path, *words: str, folder: Path | None = None) -> subprocess.CompletedProcess[Any]:
    env = {**os.environ, "HOME": str(tmp_path), "PFLOW_HOME": str(tmp_path / ".pflow")}
    env.pop("XDG_CONFIG_HOME", None)
    command = [sys.executable, "-m", "pflow", "mcp", *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=folder)


def test_the_command_shows_then_writes_once(tmp_path: Path) -> None:
    shown = run(tmp_path, "install", "cursor", "--dry-run")
    assert shown.returncode == 0
    assert '"mcpServers"' in shown.stdout
    asked = run(tmp_path, "install", "cursor")
    assert asked.returncode == 2
    assert "--yes" in asked.stderr
    assert not (tmp_path / ".cursor").exists()
    done = run(tmp_path, "install", "cursor", "--yes")
    assert done.returncode == 0
    assert "added `pflow`" in done.stdout
    again = run(tmp_path, "install", "cursor", "--yes", "--json")
    assert json.loads(again.stdout)["data"]["state"] == "same"
