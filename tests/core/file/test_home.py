"""Where files are, and what lies inside a folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pflow.core.errors import StorageError
from pflow.core.file.home import Home, absolute, find_home


@pytest.mark.requirement("paths:storage-1", "paths:storage-2", "paths:storage-3", "paths:storage-4", "paths:storage-5")
def test_a_home_has_a_place_for_everything() -> None:
    home = Home(Path("/h"))
    assert [
        str(path)
        for path in (
            home.workflows,
            home.drafts,
            home.debug,
            home.nodes,
            home.runs,
            home.settings,
            home.registry,
            home.servers,
            home.server_states,
            home.journal,
        )
    ] == [
        "/h/workflows",
        "/h/temp-workflows",
        "/h/debug",
        "/h/nodes",
        "/h/runs",
        "/h/settings.json",
        "/h/registry.json",
        "/h/mcp-servers.json",
        "/h/mcp-state.json",
        "/h/runs.db",
    ]


def test_the_home_is_below_the_users_unless_the_environment_says_otherwise(tmp_path: Path) -> None:
    assert find_home({"HOME": "/users/ada"}).root == Path("/users/ada/.pflow")
    assert find_home({"HOME": "/users/ada", "PFLOW_HOME": "/data/p"}).root == Path("/data/p")
    assert find_home({"HOME": "/users/ada", "PFLOW_HOME": "~/p"}).root == Path("/users/ada/p")
    assert find_home({"HOME": "/users/ada", "PFLOW_HOME": "/data/x/../p"}).root == Path("/data/p")
    assert find_home({"HOME": "/users/ada", "PFLOW_HOME": ""}).root == Path("/users/ada/.pflow")


def test_a_relative_home_starts_at_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_home({"PFLOW_HOME": "here"}).root == tmp_path / "here"


def test_looking_for_the_home_creates_nothing(home: Path) -> None:
    assert find_home().root == home
    assert not home.exists()


@pytest.mark.parametrize(
    "environ", [{}, {"HOME": ""}, {"HOME": "relative"}, {"PFLOW_HOME": "~ada/x"}, {"PFLOW_HOME": "a\0b"}]
)
def test_without_a_usable_home_the_error_says_what_to_set(environ: dict[str, Any]) -> None:
    with pytest.raises(StorageError) as caught:
        find_home(environ)
    assert "PFLOW_HOME" in caught.value.suggestions[0]


def test_a_deleted_current_folder_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    try:
        with pytest.raises(StorageError, match="current directory"):
            absolute("x.json")
        with pytest.raises(StorageError):
            find_home({"PFLOW_HOME": "relative"})
    finally:
        os.chdir(tmp_path)
