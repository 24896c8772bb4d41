"""Where files are, and what lies inside a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pflow.core.errors import PflowError, SecurityError, StorageError
from pflow.core.path import Home, absolute, find_home, is_inside


@pytest.mark.requirement("paths:storage-1", "paths:storage-2", "paths:storage-3", "paths:storage-4", "paths:storage-5")
def test_a_home_has_a_place_for_everything():
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
        "/h/runs.db",
    ]


def test_the_home_is_below_the_users_unless_the_environment_says_otherwise(tmp_path):
    assert find_home({"HOME": "/users/ada"}).root == Path("/users/ada/.pflow")
    assert find_home({"HOME": "/users/ada", "PFLOW_HOME": "/data/p"}).root == Path("/data/p")
    assert find_home({"HOME": "/users/ada", "PFLOW_HOME": "~/p"}).root == Path("/users/ada/p")
    assert find_home({"HOME": "/users/ada", "PFLOW_HOME": "/data/x/../p"}).root == Path("/data/p")
    assert find_home({"HOME": "/users/ada", "PFLOW_HOME": ""}).root == Path("/users/ada/.pflow")


def test_a_relative_home_starts_at_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_home({"PFLOW_HOME": "here"}).root == tmp_path / "here"


def test_looking_for_the_home_creates_nothing(home):
    assert find_home().root == home
    assert not home.exists()


@pytest.mark.parametrize(
    "environ", [{}, {"HOME": ""}, {"HOME": "relative"}, {"PFLOW_HOME": "~ada/x"}, {"PFLOW_HOME": "a\0b"}]
)
def test_without_a_usable_home_the_error_says_what_to_set(environ):
    with pytest.raises(StorageError) as caught:
        find_home(environ)
    assert "PFLOW_HOME" in caught.value.suggestions[0]


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("lib", True),
        ("lib/x", True),
        ("lib/./x", True),
        ("lib//x", True),
        ("lib/a/../x", True),
        ("lib/%2e%2e/x", True),
        ("lib_evil/x", False),
        ("lib/../x", False),
        ("lib/a/../../x", False),
        ("", False),
        ("x", False),
    ],
)
def test_inside_means_by_components_and_with_dots_resolved(tmp_path, path, inside):
    (tmp_path / "lib" / "a").mkdir(parents=True)
    assert is_inside(f"{tmp_path}/{path}", tmp_path / "lib") is inside


def test_links_out_of_a_folder_are_outside(tmp_path):
    lib = tmp_path / "lib"
    lib.mkdir()
    (tmp_path / "out").mkdir()
    (lib / "file").symlink_to(tmp_path / "out" / "x")
    (lib / "folder").symlink_to(tmp_path / "out")
    (lib / "dangling").symlink_to(tmp_path / "nowhere")
    (lib / "fine").symlink_to(lib / "y")
    assert not is_inside(lib / "file", lib)
    assert not is_inside(lib / "folder" / "x", lib)
    assert not is_inside(lib / "dangling", lib)
    assert is_inside(lib / "fine", lib)


def test_a_root_that_is_a_link_is_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "lib").symlink_to("real")
    assert is_inside(tmp_path / "lib" / "x", tmp_path / "lib")
    assert is_inside(tmp_path / "real" / "x", tmp_path / "lib")


def test_a_loop_of_links_is_an_error_and_no_answer(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(SecurityError):
        is_inside(tmp_path / "a", tmp_path)
    with pytest.raises(SecurityError):
        is_inside(tmp_path / "a\0", tmp_path)


def test_a_deleted_current_folder_is_a_clear_error(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    try:
        with pytest.raises(StorageError, match="current folder"):
            absolute("x.json")
        with pytest.raises(PflowError):
            is_inside("x", tmp_path)
        with pytest.raises(StorageError):
            find_home({"PFLOW_HOME": "relative"})
    finally:
        os.chdir(tmp_path)
