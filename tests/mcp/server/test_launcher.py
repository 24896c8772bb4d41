"""What launchers start is found while it runs, or nothing is: never something else."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pflow.mcp.server.launcher import find_launch, launch_environment, observe, usable
from pflow.mcp.server.launcher_cache import cache_for
from pflow.mcp.transport.stdio import connect_stdio
from tests.mcp.protocol.kit import DEADLINE, Kit, alive, wait_until
from tests.mcp.server.launching import STYLES, Launcher, fake_npx, fake_uvx, write_program

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes can be seen in /proc only")

ARGS = ("legacy", "well-behaved")
PYTHON = os.path.realpath(sys.executable)  # the first line of a script cannot name a path with spaces


@pytest.fixture
def npx(tmp_path: Path) -> Launcher:
    return fake_npx(tmp_path, skip=2)


@pytest.fixture
def uvx(tmp_path: Path) -> Launcher:
    return fake_uvx(tmp_path, skip=1)


@pytest.mark.parametrize("style", STYLES)
def test_what_npx_starts_is_found(npx: Launcher, kit: Kit, style: str) -> None:
    npx.does(style)
    assert npx.find(kit, "-y", "@x/hostile", *ARGS) == (PYTHON, str(npx.bin / "hostile"), *ARGS)


@pytest.mark.parametrize("style", STYLES)
def test_what_uvx_starts_is_found(uvx: Launcher, kit: Kit, style: str) -> None:
    uvx.does(style)
    folder = str(uvx.bin)
    assert uvx.find(kit, "hostile-server", *ARGS) == (f"{folder}/python", f"{folder}/hostile", *ARGS)


def test_a_launch_starts_the_same_server_without_its_launcher(npx: Launcher, kit: Kit) -> None:
    launch = npx.find(kit, "-y", "@x/hostile", *ARGS)

    async def main() -> list[dict[str, Any]]:
        env = launch_environment(launch, kit.environment)
        session = await connect_stdio(launch, env=env, timeout=DEADLINE, era="legacy")
        try:
            server = kit.pids()[-1]
            assert os.getpgid(server) == server  # nobody stands between it and us
            return await session.list_tools()
        finally:
            await session.close()

    assert [tool["name"] for tool in asyncio.run(main())] == ["echo"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("npx", ["@x/hostile"]),
        ("npx", ["--yes", "--package=@x/hostile", "hostile"]),
        ("npx", ["-y", "-p", "@x/hostile", "--", "hostile"]),
        ("npm", ["exec", "-y", "@x/hostile"]),
        ("npm", ["x", "@x/hostile"]),
    ],
)
def test_npx_is_known_by_all_its_names(tmp_path: Path, kit: Kit, name: str, words: list[str]) -> None:
    npx = fake_npx(tmp_path, name=name, skip=len(words))
    assert npx.find(kit, *words, *ARGS)[1:] == (str(npx.bin / "hostile"), *ARGS)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("uvx", ["--from", "hostile_server", "hostile"]),
        ("uvx", ["--from=Hostile.Server[extra]==1.2", "hostile"]),
        ("uvx", ["--python", "3.11", "hostile-server@latest"]),
        ("uv", ["tool", "run", "hostile-server@1.2.0"]),
        ("pipx", ["run", "hostile-server"]),
        ("pipx", ["run", "--spec", "hostile-server>=1,<2", "hostile"]),
    ],
)
def test_uvx_and_pipx_are_known_by_all_their_names(tmp_path: Path, kit: Kit, name: str, words: list[str]) -> None:
    uvx = fake_uvx(tmp_path, name=name, skip=len(words))
    assert uvx.find(kit, *words, *ARGS)[1:] == (str(uvx.bin / "hostile"), *ARGS)


@pytest.mark.parametrize("mark", ["uv-receipt.toml", "pipx_metadata.json"])
def test_an_environment_that_was_installed_for_good_is_known_by_its_mark(
    uvx: Launcher, kit: Kit, tmp_path: Path, mark: str
) -> None:
    root = tmp_path / "tools" / "hostile"
    root.parent.mkdir()
    (tmp_path / "uv" / "archive-v0" / "dFDJQov6-TUkxWYO").rename(root)
    write_program(root / "bin" / "hostile", (root / "bin" / "hostile").read_text().replace(str(uvx.bin), f"{root}/bin"))
    uvx.bin = root / "bin"
    uvx.does("fork")
    assert uvx.find(kit, "hostile-server", *ARGS) == ()
    (root / mark).write_text("")
    assert uvx.find(kit, "hostile-server", *ARGS) == (f"{root}/bin/python", f"{root}/bin/hostile", *ARGS)


@pytest.mark.parametrize(
    ("asked", "is_there", "found"),
    [
        ("@x/hostile", "1.2.3", True),
        ("@x/hostile@latest", "1.2.3", True),
        ("@x/hostile@^1", "1.2.3", True),
        ("@x/hostile@1.2.3", "1.2.3", True),
        ("@x/hostile@1.2.3", "1.2.4", False),
        ("@x/hostile@1.2.3-beta.1", "1.2.3", False),
    ],
)
def test_the_version_of_a_package_is_the_one_that_was_asked_for(
    tmp_path: Path, kit: Kit, asked: str, is_there: str, found: bool
) -> None:
    npx = fake_npx(tmp_path, spec=asked, version=is_there, skip=2)
    assert bool(npx.find(kit, "-y", asked, *ARGS)) == found


@pytest.mark.parametrize(
    ("asked", "is_there", "found"),
    [
        ("hostile-server==1.2", "1.2.0", True),
        ("hostile-server@1.2.0", "1.2", True),
        ("hostile-server@1.2.0", "1.2.1", False),
        ("hostile-server==1.10", "1.1", False),
        ("other-server", "1.2.0", False),
        ("hostile-server-pro", "1.2.0", False),
        ("git+https://x.org/hostile-server", "1.2.0", False),
    ],
)
def test_the_version_of_a_distribution_is_the_one_that_was_asked_for(
    tmp_path: Path, kit: Kit, asked: str, is_there: str, found: bool
) -> None:
    uvx = fake_uvx(tmp_path, version=is_there, skip=1)
    assert bool(uvx.find(kit, asked, *ARGS)) == found


def test_a_folder_that_was_made_for_another_package_is_not_believed(npx: Launcher, kit: Kit) -> None:
    assert npx.find(kit, "-y", "@x/other", *ARGS) == ()


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "{}", '{"_npx": []}', '{"_npx": {"packages": []}}', '{"_npx": {"packages": "@x/hostile"}}'],
)
def test_a_folder_that_does_not_say_what_it_was_made_for_is_not_believed(npx: Launcher, kit: Kit, content: str) -> None:
    (npx.bin.parent.parent / "package.json").write_text(content)
    assert npx.find(kit, "-y", "@x/hostile", *ARGS) == ()


def test_a_script_of_the_current_project_is_not_kept(npx: Launcher, kit: Kit, tmp_path: Path) -> None:
    local = tmp_path / "node_modules"
    shutil.copytree(npx.bin.parent, local, symlinks=True)
    npx.bin = local / ".bin"
    npx.does("shell")
    assert npx.find(kit, "-y", "@x/hostile", *ARGS) == ()


def test_a_link_out_of_the_cache_is_not_followed(npx: Launcher, kit: Kit, tmp_path: Path) -> None:
    elsewhere = shutil.move(npx.bin.parent / "@x", tmp_path / "elsewhere")
    (npx.bin.parent / "@x").symlink_to(elsewhere)
    assert npx.find(kit, "-y", "@x/hostile", *ARGS) == ()


def test_an_interpreter_that_is_not_the_environments_own_is_not_taken(uvx: Launcher, kit: Kit) -> None:
    script = uvx.bin / "hostile"
    write_program(script, script.read_text().replace(f"#!{uvx.bin}/python", f"#!{PYTHON}"))
    assert uvx.find(kit, "hostile-server", *ARGS) == ()


@pytest.mark.parametrize(
    ("first", "found"),
    [("export npm_x=1", True), ("export NODE_OPTIONS=--inspect", False), ("unset HOME", False), ("cd /", False)],
)
def test_what_a_launcher_does_beyond_starting_would_be_lost_so_nothing_is_found(
    npx: Launcher, kit: Kit, first: str, found: bool
) -> None:
    npx.does(f'({first}; {{bin}}/hostile "$@"; exit $?); exit $?')
    assert bool(npx.find(kit, "-y", "@x/hostile", *ARGS)) == found


@pytest.mark.parametrize("words", [("--directory", "/"), ("--directory=/", "-q")])
def test_a_launcher_that_is_told_to_go_elsewhere_is_needed(tmp_path: Path, kit: Kit, words: tuple[str, str]) -> None:
    uvx = fake_uvx(tmp_path, skip=3)
    assert uvx.find(kit, *words, "hostile-server", *ARGS) == ()
    assert uvx.find(kit, "-q", "-q", "hostile-server", *ARGS) != ()


@pytest.mark.parametrize("start", ["{bin}/hostile legacy well-behaved --more", "{bin}/hostile legacy well-behaved"])
def test_arguments_that_are_not_passed_on_as_they_are_mean_nothing_is_found(
    npx: Launcher, kit: Kit, start: str
) -> None:
    npx.does(f"{start}; exit $?")
    assert npx.find(kit, "-y", "@x/hostile", "modern", "well-behaved") == ()


@pytest.mark.parametrize(
    "configured", [("-y", "@x/hostile", "${ERA}", "well-behaved"), ("-y", "${PACKAGE}", "legacy", "well-behaved")]
)
def test_what_a_variable_stands_for_is_not_kept(npx: Launcher, kit: Kit, configured: tuple[str, str, str, str]) -> None:
    assert npx.find(kit, "-y", "@x/hostile", *ARGS, configured=configured) == ()


def test_an_interpreter_that_the_path_names_is_kept_with_its_path(npx: Launcher, kit: Kit, tmp_path: Path) -> None:
    script = npx.bin / "hostile"
    (tmp_path / "bin" / "python9").symlink_to(PYTHON)
    text = script.read_text().replace(f"#!{PYTHON}", "#!/usr/bin/env python9")
    write_program(script.resolve(), text)
    npx.does("shell", first=f"PATH=$PATH:{tmp_path}/bin")
    assert npx.find(kit, "-y", "@x/hostile", *ARGS)[0] == str(tmp_path / "bin" / "python9")


def test_options_of_the_interpreter_are_kept(npx: Launcher, kit: Kit) -> None:
    script = (npx.bin / "hostile").resolve()
    write_program(script, script.read_text().replace(f"#!{PYTHON}", f"#!{PYTHON} -I"))
    assert npx.find(kit, "-y", "@x/hostile", *ARGS) == (PYTHON, "-I", str(npx.bin / "hostile"), *ARGS)


@pytest.mark.parametrize("name", ["bunx", "pnpx", "hostile"])
def test_other_programs_are_no_launchers(tmp_path: Path, kit: Kit, name: str) -> None:
    npx = fake_npx(tmp_path, name=name, skip=2)
    assert npx.find(kit, "-y", "@x/hostile", *ARGS) == ()


@pytest.mark.parametrize(
    ("argv", "known"),
    [
        (["/usr/bin/npx"], True),
        (["npm", "--silent", "exec", "x"], True),
        (["npm", "start"], False),
        (["uv", "tool", "run", "x"], True),
        (["uv", "run", "x"], False),
        (["uv", "tool", "install"], False),
        (["pipx", "list"], False),
        (["sh", "-c", "npx x"], False),
        ([""], False),
    ],
)
def test_a_launcher_is_known_by_its_words(argv: list[str], known: bool) -> None:
    assert (cache_for(argv) is not None) == known


def test_a_program_that_needs_no_interpreter_is_found(tmp_path: Path) -> None:
    npx = fake_npx(tmp_path, skip=2)
    tool = npx.bin.parent / "@x" / "hostile" / "sleep"
    shutil.copy(Path(str(shutil.which("sleep"))).resolve(), tool)
    (npx.bin / "sleep").symlink_to("../@x/hostile/sleep")
    npx.does('{bin}/sleep "$@"; exit $?')
    argv = (str(npx.path), "-y", "@x/hostile", "1000")
    with subprocess.Popen(argv, start_new_session=True) as process:
        try:
            wait_until(lambda: any(f"{npx.bin}/sleep" in found.words for found in observe(process.pid)))
            assert asyncio.run(find_launch(argv, process.pid)) == (f"{npx.bin}/sleep", "1000")
        finally:
            os.killpg(process.pid, 9)


@pytest.mark.parametrize("place", ["bin/sleep", "lib/python3.11/site-packages/hostile_server/bin/sleep"])
def test_a_program_in_the_package_of_an_environment_is_found(tmp_path: Path, place: str) -> None:
    uvx = fake_uvx(tmp_path, skip=1)
    root = uvx.bin.parent
    (root / place).parent.mkdir(parents=True, exist_ok=True)
    tool = shutil.copy(Path(str(shutil.which("sleep"))).resolve(), root / place)
    uvx.does(f'exec {tool} "$@"')
    for name, found in (("hostile-server", (str(tool), "1000")), ("another-package", ())):
        argv = (str(uvx.path), name, "1000")
        with subprocess.Popen(argv, start_new_session=True) as process:
            try:
                wait_until(lambda: any(str(tool) in seen.words for seen in observe(process.pid)))  # noqa: B023
                assert asyncio.run(find_launch(argv, process.pid)) == found
            finally:
                os.killpg(process.pid, 9)


def test_of_a_server_that_has_gone_nothing_is_found(npx: Launcher) -> None:
    with subprocess.Popen(["true"]) as process:
        pass
    assert not alive(process.pid)
    assert asyncio.run(find_launch((str(npx.path), "-y", "@x/hostile"), process.pid)) == ()


def test_a_launch_is_usable_while_its_files_are_there(npx: Launcher, kit: Kit, tmp_path: Path) -> None:
    launch = npx.find(kit, "-y", "@x/hostile", *ARGS)
    assert usable(launch)
    assert usable((launch[0], "-I", *launch[1:], "/no/such/file"))
    assert not usable((str(tmp_path / "node"), *launch[1:]))
    assert not usable(())
    (npx.bin / "hostile").resolve().unlink()
    assert not usable(launch)


def test_an_environments_launch_is_usable_while_its_files_are_there(uvx: Launcher, kit: Kit) -> None:
    launch = uvx.find(kit, "hostile-server", *ARGS)
    assert usable(launch)
    (uvx.bin / "hostile").unlink()
    assert not usable(launch)


@pytest.mark.parametrize(
    ("launch", "folder"),
    [
        (("/usr/bin/node", "/c/_npx/0a/node_modules/.bin/x", "/etc"), "/c/_npx/0a/node_modules/.bin"),
        (("/usr/bin/node", "--x", "/c/_npx/0a/node_modules/.bin/x"), "/c/_npx/0a/node_modules/.bin"),
        (("/c/_npx/0a/node_modules/.bin/x", "/etc"), "/c/_npx/0a/node_modules/.bin"),
        (("/c/archive-v0/e/bin/python", "/c/archive-v0/e/bin/x", "/etc"), "/c/archive-v0/e/bin"),
        (("/c/archive-v0/e/bin/x", "/etc"), "/c/archive-v0/e/bin"),
        (("/c/archive-v0/e/lib/python3.12/site-packages/p/bin/x", "/etc"), "/c/archive-v0/e/bin"),
    ],
)
def test_a_server_finds_its_siblings_as_its_launcher_would_have_it(launch: tuple[Any, ...], folder: str) -> None:
    assert launch_environment(launch, {"PATH": "/bin", "A": "1"}) == {"PATH": f"{folder}:/bin", "A": "1"}
    assert launch_environment(launch, {})["PATH"] == f"{folder}:{os.environ['PATH']}"
