"""A home, or a file in it, that other users could have changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.robust.world import pflow

NOBODY = 65534

NODE = '''from pocketflow import Node


class Own(Node):
    """Mine."""

    def exec(self, prep_res):
        open({mark!r}, "w").close()
'''

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to other users")

COMMANDS = [
    ("settings", "set", "MY_KEY", "-"),
    ("settings", "list"),
    ("run", "greet"),
    ("workflow", "list"),
    ("registry", "list"),
    ("mcp", "list"),
    ("runs", "list"),
]


@pytest.mark.parametrize("mode", [0o777, 0o703, 0o1777])
def test_a_home_that_every_user_can_write_to_is_refused_with_what_mends_it(lived_in: Path, mode: int) -> None:
    before = (lived_in / "settings.json").read_bytes()
    lived_in.chmod(mode)
    for command in COMMANDS:
        done = pflow(*command, stdin=b"a-long-enough-secret")
        assert done.code == 3, (command, done)
        assert f"`{lived_in}` can be changed by every user, so pflow does not use it" in done.err
        assert f"chmod 700 {lived_in}" in done.err
    assert (lived_in / "settings.json").read_bytes() == before
    lived_in.chmod(0o700)
    assert pflow("run", "greet").code == 0


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o770, 0o500])
def test_a_home_that_others_can_only_read_or_that_our_own_group_can_write_to_is_used(lived_in: Path, mode: int) -> None:
    os.chown(lived_in, -1, os.getegid())
    lived_in.chmod(mode)
    assert pflow("settings", "list").code == 0


@only_root
@pytest.mark.parametrize("link", [False, True])
def test_a_home_of_another_user_is_refused(lived_in: Path, tmp_path: Path, link: bool) -> None:
    os.chown(lived_in, NOBODY, NOBODY)
    home = lived_in
    if link:
        home = tmp_path / "link"
        home.symlink_to(lived_in)
    done = pflow("settings", "set", "MY_KEY", "-", stdin=b"a-long-enough-secret", env={"PFLOW_HOME": str(home)})
    assert done.code == 3
    assert "belongs to another user" in done.err


@only_root
def test_a_home_that_a_foreign_group_can_write_to_is_refused(lived_in: Path) -> None:
    os.chown(lived_in, -1, NOBODY)
    lived_in.chmod(0o770)
    assert pflow("run", "greet").code == 3


def open_to_all(path: Path) -> None:
    path.chmod(0o666)


def give_away(path: Path) -> None:
    os.chown(path, NOBODY, NOBODY)


@pytest.mark.parametrize("change", [open_to_all, pytest.param(give_away, marks=only_root)])
@pytest.mark.parametrize("name", ["settings.json", "runs.db", "workflows/greet.json", "registry.json"])
def test_a_file_that_another_user_could_have_changed_is_refused(
    lived_in: Path, name: str, change: Callable[[Path], None]
) -> None:
    change(lived_in / name)
    done = pflow("run", "greet")
    assert done.code == 3, done
    assert f"`{lived_in / name}`" in done.err


@pytest.mark.parametrize("change", [open_to_all, pytest.param(give_away, marks=only_root)])
def test_servers_that_another_user_could_have_configured_are_refused(
    lived_in: Path, change: Callable[[Path], None]
) -> None:
    file = lived_in / "mcp-servers.json"
    file.write_text('{"servers": {}}')
    file.chmod(0o600)
    change(file)
    assert pflow("mcp", "list").code == 3


@pytest.mark.parametrize("place", ["file", "directory"])
def test_a_node_that_another_user_could_have_written_is_not_run(lived_in: Path, tmp_path: Path, place: str) -> None:
    mark = tmp_path / "PWN"
    folder = lived_in / "nodes"
    folder.mkdir(mode=0o700)
    file = folder / "own.py"
    file.write_text(NODE.format(mark=str(mark)))
    file.chmod(0o600)
    assert pflow("own").code == 0
    assert mark.exists()
    mark.unlink()
    (file if place == "file" else folder).chmod(0o777)
    done = pflow("own")
    assert done.code != 0
    assert not mark.exists()
    assert "can be changed by every user; its nodes are left out" in pflow("registry", "list").err
    (file if place == "file" else folder).chmod(0o700)
    assert pflow("own").code == 0
