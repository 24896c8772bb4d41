"""Finds what `npx`, `uvx` and `pipx run` really start, so that later starts need no launcher. Starts nothing itself.

A launcher asks registries and builds environments each time, which takes several times as long as the server's own
start. What it ended up with is seen in /proc while the server runs, and believed only if it lies in the launcher's
own cache and is what was asked for. Where there is no /proc, nothing is found.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pflow.core.frozen import Frozen

_MOST_PROCESSES = 64
_HARMLESS = frozenset(["PATH", "PWD", "OLDPWD", "SHLVL", "_", "INIT_CWD", "NODE", "EDITOR", "COLOR", "UV"])
"""Variables that launchers set and that no server works differently for, beside those of npm and pip."""


class Process(Frozen):
    """A process as it was started: its program through all links, its words, where, and with which variables."""

    program: str
    words: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]


def usable(launch: Sequence[str]) -> bool:
    """Whether a launch that was found earlier is still there; caches are cleaned, and interpreters replaced."""
    return bool(launch) and os.access(launch[0], os.X_OK) and os.access(_script(launch), os.R_OK)


def launch_environment(launch: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """`env` with the directory of the script first in `PATH`, as launchers do: a server finds its siblings there."""
    path = env.get("PATH") or os.environ.get("PATH") or os.defpath
    script = _script(launch)
    root, packaged, _ = script.partition("/lib/python")
    folder = f"{root}/bin" if packaged and "/site-packages/" in script else os.path.dirname(script)  # noqa: PTH120
    return {**env, "PATH": f"{folder}{os.pathsep}{path}"}


async def find_launch(argv: Sequence[str], pid: int) -> tuple[str, ...]:
    """The command line that starts the same server as `argv` without its launcher; nothing if that is not certain.

    `pid` is the process that `argv` became, with the server running in it or below it. `argv` comes as it is
    configured: an argument with a `${VAR}` means that nothing is found, for what it stands for must not be kept.
    A version that was left open is settled by this on the one that runs now.
    """
    return await asyncio.to_thread(_find, tuple(argv), pid)


def _find(argv: tuple[str, ...], pid: int) -> tuple[str, ...]:
    from pflow.mcp.server.launcher_cache import cache_for  # lazy: launches are looked for at a sync only

    cached = cache_for(argv)
    launched = read_process(pid) if cached else None
    if cached is None or launched is None:
        return ()
    for process in observe(pid):
        for index, word in enumerate(process.words):
            if index > 1 and not process.words[index - 1].startswith("-"):
                break  # only options stand between an interpreter and its script
            words = process.words[index + 1 :]
            launcher = argv[: len(argv) - len(words)]
            if argv[len(launcher) :] != words or any("${" in part for part in launcher):
                continue
            interpreter = _interpreter(process) if index else word
            if interpreter and os.path.isabs(word) and cached(word, interpreter, launcher):  # noqa: PTH117
                # The first one that could be the server decides; whatever is below it is its own.
                found = (interpreter, *process.words[1 : index + 1], *words)
                same = index > 0 or os.path.realpath(word) == process.program
                return found if same and _alike(launched, process) and usable(found) else ()
    return ()


def observe(pid: int) -> Iterator[Process]:
    """A process and what is below it, from the top, as far as they can be seen."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        children.setdefault(_parent(int(folder.name)), []).append(int(folder.name))
    queue = [pid]
    for number in queue:
        process = read_process(number)
        if process is not None:
            yield process
        queue += sorted(children.get(number, []))[: max(_MOST_PROCESSES - len(queue), 0)]


def _interpreter(process: Process) -> str:
    """The path of a process's program that makes it the same again; nothing if that is unclear."""
    from shutil import which  # lazy: launches are looked for at a sync only

    # An environment's Python is a link whose own place counts, not the place it leads to.
    found = which(process.words[0], path=process.env.get("PATH")) or ""
    if os.path.isabs(found) and os.path.realpath(found) == process.program:  # noqa: PTH117
        return found
    # A version manager's `node` is a script that looks for the real one, which needs no link.
    return process.program if os.path.basename(process.program) in ("node", "nodejs") else ""  # noqa: PTH119


def _alike(launcher: Process, server: Process) -> bool:
    """Whether the launcher gave the server nothing beyond what we give it ourselves."""
    names = {*launcher.env, *server.env}
    changed = {name for name in names if launcher.env.get(name) != server.env.get(name)} - _HARMLESS
    return launcher.cwd == server.cwd and all(name.lower().startswith(("npm_", "pip_", "pipx_")) for name in changed)


def _script(launch: Sequence[str]) -> str:
    """The file in the launcher's cache: one of npx, or the one beside an environment's Python, or a program itself."""
    for word in launch:
        if "/_npx/" in word and "/.bin/" in word and word[0] == "/":
            return word
    folder = f"{os.path.dirname(launch[0])}/"  # noqa: PTH120
    return next((word for word in launch[1:] if word.startswith(folder)), launch[0])


def read_process(pid: int) -> Process | None:
    """A process, if it can be seen."""
    folder = Path(f"/proc/{pid}")
    try:
        words = (folder / "cmdline").read_bytes().decode().split("\0")[:-1]
        pairs = [pair.partition("=") for pair in (folder / "environ").read_bytes().decode().split("\0") if pair]
        program, cwd = str((folder / "exe").readlink()), str((folder / "cwd").readlink())
    except (OSError, UnicodeDecodeError):  # it is gone, or another user's, or nothing that could be kept
        return None
    env = {name: value for name, _, value in pairs}
    return Process(program=program, words=tuple(words), cwd=cwd, env=env) if words else None


def _parent(pid: int) -> int:
    try:
        # The program's name is in parentheses, and may hold any others.
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0
