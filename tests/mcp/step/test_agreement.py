"""Agreement is bound to the program that a command means, and to what decides what that program loads."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Pflow
from tests.mcp.step.conftest import Serve, Server, tool

SAY = tool("say", needs={"text": "string"})
CANARY = "https://ada:hunter2hunter2@packages.example/simple"

Program = Callable[[str, str], Path]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Serve) -> tuple[Program, Server]:
    """Makes programs called NAME in FOLDER that are a server, with the folders `first` and `second` on the path."""
    server = serve("a", SAY, add=None, sync=None)

    def make(folder: str, name: str = "mysrv") -> Path:
        path = tmp_path / folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\nexec {shlex.join(server.argv)}\n")
        path.chmod(0o755)
        return path

    folders = [str(tmp_path / folder) for folder in ("first", "second")]
    monkeypatch.setenv("PATH", os.pathsep.join([*folders, os.environ["PATH"]]))
    return make, server


def add(pflow: Pflow, *options: str, command: str = "mysrv") -> None:
    assert pflow("mcp", "add", "a", *options, "--", command).code == 0
    said = pflow("mcp", "sync", "a")
    assert said.code == 0, said


def call(pflow: Pflow) -> Any:
    return pflow("call", "a", "say", "text=hi")


def edit(home: Path, name: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Change what a file of the home says about the server."""
    file = home / name
    content = json.loads(file.read_text())
    change(content["servers"]["a"])
    file.write_text(json.dumps(content))


def test_another_program_earlier_on_the_path_is_refused_until_it_is_agreed_to(
    pflow: Pflow, program: tuple[Program, Server]
) -> None:
    make, server = program
    first = make("second", "mysrv")
    add(pflow)
    assert call(pflow).code == 0
    server.forget()
    other = make("first", "mysrv")
    said = call(pflow)
    assert said.code == 3
    assert "server `a` changed since it was agreed to, so it is not used" in said.err
    assert f"agreed to: {first}\n" in said.err
    assert f"now: {other}\n" in said.err
    refused = pflow("mcp", "sync", "a")
    assert refused.code == 3
    assert 'changed: ["program"]' in refused.err
    assert server.pids == []
    assert pflow("mcp", "sync", "a", "--yes").code == 0
    assert call(pflow).code == 0
    other.unlink()
    assert call(pflow).code == 3


def test_a_link_that_leads_to_another_program_is_refused(
    pflow: Pflow, program: tuple[Program, Server], tmp_path: Path
) -> None:
    make, _ = program
    one, other = make("one", "x"), make("other", "x")
    link = tmp_path / "first" / "mysrv"
    link.parent.mkdir()
    link.symlink_to(one)
    add(pflow)
    link.unlink()
    link.symlink_to(other)
    said = call(pflow)
    assert said.code == 3
    assert f"agreed to: {link}, which is {one}\n" in said.err
    assert f"now: {link}, which is {other}\n" in said.err
    link.unlink()
    link.symlink_to(one)
    assert call(pflow).code == 0


def test_a_folder_on_the_way_that_becomes_a_link_elsewhere_is_refused(
    pflow: Pflow, program: tuple[Program, Server], tmp_path: Path
) -> None:
    make, _ = program
    make("one", "mysrv")
    make("other", "mysrv")
    current = tmp_path / "current"
    current.symlink_to("one")
    add(pflow, command=str(current / "mysrv"))
    assert call(pflow).code == 0
    current.unlink()
    current.symlink_to("other")
    assert call(pflow).code == 3


def test_a_program_in_the_current_folder_does_not_stand_in_for_the_agreed_one(
    pflow: Pflow, program: tuple[Program, Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, _ = program
    make("second", "mysrv")
    add(pflow)
    make("repository", "mysrv")
    monkeypatch.setenv("PATH", os.pathsep.join([".", os.environ["PATH"]]))
    monkeypatch.chdir(tmp_path / "repository")
    assert call(pflow).code == 3


def test_a_new_version_of_the_same_file_needs_no_new_agreement(pflow: Pflow, program: tuple[Program, Server]) -> None:
    make, _ = program
    make("first", "mysrv")
    add(pflow)
    path = make("first", "mysrv.new")
    path.write_text(path.read_text() + "# version 2\n")
    path.replace(path.with_name("mysrv"))
    assert call(pflow).code == 0


def test_when_the_agreed_program_cannot_be_started_no_other_of_its_name_is(
    pflow: Pflow, program: tuple[Program, Server]
) -> None:
    make, server = program
    path = make("first", "mysrv")
    make("second", "mysrv")
    add(pflow)
    server.forget()
    path.write_text("#!/no/such/interpreter\n")
    said = call(pflow)
    assert said.code == 1
    assert "needs an interpreter that does not exist" in said.err
    assert server.pids == []


def test_a_program_that_comes_later_is_agreed_to_by_its_first_use(
    pflow: Pflow, program: tuple[Program, Server]
) -> None:
    make, _ = program
    assert "there is no program `mysrv` now" in pflow("mcp", "add", "a", "--", "mysrv").err
    make("second", "mysrv")
    assert pflow("mcp", "sync", "a").code == 0
    make("first", "mysrv")
    assert call(pflow).code == 3


LOADING = [
    *("npm_config_registry", "NPM_CONFIG_REGISTRY", "npm_config_userconfig", "UV_INDEX_URL", "UV_DEFAULT_INDEX"),
    *("PIP_INDEX_URL", "PIP_CONFIG_FILE", "HOME", "XDG_CONFIG_HOME", "PATH", "NODE_OPTIONS", "NODE_PATH"),
    *("PYTHONPATH", "LD_PRELOAD", "BASH_ENV", "GOPROXY", "DOCKER_HOST", "HTTPS_PROXY", "BUN_INSTALL"),
]


@pytest.mark.parametrize("name", LOADING)
def test_another_value_of_what_decides_what_is_loaded_is_refused(
    pflow: Pflow, serve: Serve, home: Path, name: str
) -> None:
    server = serve("a", SAY, add=("--env", f"{name}=/one", "--env", "PLAIN=1"), sync=None)
    assert pflow("mcp", "sync", "a").code == 0
    server.forget()
    edit(home, "mcp-servers.json", lambda fields: fields["env"].update({"PLAIN": "2"}))
    assert call(pflow).code == 0
    server.forget()
    edit(home, "mcp-servers.json", lambda fields: fields["env"].update({name: "/other"}))
    said = call(pflow)
    assert said.code == 3
    assert f"value of {name}" in said.err
    assert server.pids == []
    edit(home, "mcp-servers.json", lambda fields: fields["env"].update({name: "/one"}))
    assert call(pflow).code == 0


def test_a_setting_that_decides_what_is_loaded_is_part_of_the_agreement(pflow: Pflow, serve: Serve, home: Path) -> None:
    pflow("settings", "set", "PACKAGES", CANARY)
    serve("a", SAY, add=("--env", "UV_INDEX_URL=${PACKAGES}"))
    assert call(pflow).code == 0
    pflow("settings", "set", "PACKAGES", "https://evil.example/simple")
    said = call(pflow)
    assert said.code == 3
    assert "value of UV_INDEX_URL" in said.err
    assert "evil.example" not in said.err


def test_the_values_themselves_are_not_kept(pflow: Pflow, serve: Serve, home: Path) -> None:
    serve("a", SAY, add=("--env", f"PIP_INDEX_URL={CANARY}"))
    kept = [path.name for path in home.rglob("*") if path.is_file() and b"hunter2hunter2" in path.read_bytes()]
    assert kept == ["mcp-servers.json"]


def test_an_older_agreement_is_completed_by_its_first_use_without_a_question(
    pflow: Pflow, program: tuple[Program, Server], home: Path
) -> None:
    make, _ = program
    make("second", "mysrv")
    add(pflow, "--env", "UV_INDEX_URL=https://one.example")

    def as_it_was(state: dict[str, Any]) -> None:
        for name in ("program", "values"):
            del state["agreed"][name]

    edit(home, "mcp-state.json", as_it_was)
    said = call(pflow)
    assert (said.code, said.err) == (0, "")
    make("first", "mysrv")
    assert call(pflow).code == 3
    pflow("mcp", "sync", "a", "--yes")
    edit(home, "mcp-servers.json", lambda fields: fields["env"].update({"UV_INDEX_URL": "https://other.example"}))
    assert call(pflow).code == 3
