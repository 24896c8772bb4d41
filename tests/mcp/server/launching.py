"""Launchers like `npx` and `uvx`, with caches like theirs, that start the hostile server on its best behaviour."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

from pflow.mcp.server.launcher import find_launch
from pflow.mcp.transport.stdio import connect_stdio
from tests.mcp.protocol.kit import DEADLINE, SCRIPT, Kit

STYLES = {
    "exec": 'exec {bin}/hostile "$@"',
    "fork": '{bin}/hostile "$@"; exit $?',
    "shell": "sh -c \"'hostile' $*; exit \\$?\"; exit $?",  # as npx does it
}


def write_program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


class Launcher:
    """A launcher with one package in its cache. `skip` is how many words it takes for itself."""

    def __init__(self, folder: Path, name: str, bin_folder: Path, skip: int) -> None:
        self.path = folder / "bin" / name
        self.bin = bin_folder
        self.skip = skip
        self.does("shell")

    def does(self, style: str, *, first: str = "") -> None:
        """How it starts the server: one of `STYLES`, or a command of its own."""
        start = STYLES.get(style, style).format(bin=self.bin)
        lines = ["#!/bin/sh", f"shift {self.skip}", f'export PATH="{self.bin}:$PATH" npm_command=exec UV=x', first]
        write_program(self.path, "\n".join([*lines, start, ""]))

    def find(self, kit: Kit, *words: str, configured: Sequence[str] | None = None) -> tuple[str, ...]:
        """The launch that is found while the server that these words start is running."""

        async def main() -> tuple[str, ...]:
            argv = (str(self.path), *words)
            session = await connect_stdio(argv, env=kit.environment, timeout=DEADLINE, era="legacy")
            try:
                leader = os.getpgid(kit.pids()[-1])
                return await find_launch((str(self.path), *configured) if configured else argv, leader)
            finally:
                await session.close()

        return asyncio.run(main())


def fake_npx(
    folder: Path, *, spec: str = "@x/hostile", version: str = "1.2.3", name: str = "npx", skip: int
) -> Launcher:
    root = folder / "npm" / "_npx" / "5b2dd62b9d0bddd4"
    package = root / "node_modules" / "@x" / "hostile"
    write_program(package / "dist" / "index.py", f"#!{os.path.realpath(sys.executable)}\n{Path(SCRIPT).read_text()}")
    (package / "package.json").write_text(json.dumps({"name": "@x/hostile", "version": version}))
    (root / "package.json").write_text(json.dumps({"dependencies": {}, "_npx": {"packages": [spec]}}))
    links = root / "node_modules" / ".bin"
    links.mkdir()
    (links / "hostile").symlink_to("../@x/hostile/dist/index.py")
    return Launcher(folder, name, links, skip)


def fake_uvx(folder: Path, *, version: str = "1.2.0", name: str = "uvx", skip: int) -> Launcher:
    root = folder / "uv" / "archive-v0" / "dFDJQov6-TUkxWYO"
    info = root / "lib" / "python3.11" / "site-packages" / f"hostile_server-{version}.dist-info"
    info.mkdir(parents=True)
    (root / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).resolve().parent}\nuv = 0.9.1\n")
    write_program(root / "bin" / "hostile", f"#!{root}/bin/python\n{Path(SCRIPT).read_text()}")
    (root / "bin" / "python").symlink_to(sys.executable)
    return Launcher(folder, name, root / "bin", skip)
