"""Real servers, what they work on, and what the raw tool calls of each task give: all made once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

import dev_servers
from examples.tasks import fixtures, raw
from pflow.mcp.protocol.session import Session
from pflow.mcp.transport.stdio import connect_stdio
from tests.real.program import Program

T = TypeVar("T")
DEADLINE = 60.0
"""Far beyond what anything here should take, on however busy a machine."""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the tasks work on, and `mcp.json`."""
    made = fixtures.make(tmp_path_factory.mktemp("tasks"))
    fixtures.configure(made)
    return made


@pytest.fixture(scope="session")
def by_hand(folder: Path) -> dict[str, tuple[str, raw.Tally]]:
    """What each task writes, and what it costs, as raw tool calls."""
    with raw.servers(folder / "mcp.json") as running:
        return {task: raw.run(task, running, folder) for task in raw.TASKS}


@pytest.fixture(scope="session")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """pflow as it is before the first command."""
    return Program(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def imported(fresh: Program, folder: Path) -> Any:
    """What taking over the servers says."""
    return fresh("mcp", "import", str(folder / "mcp.json"))


@pytest.fixture(scope="session")
def synced(fresh: Program, imported: Any) -> Any:
    """What reading their tools says."""
    return fresh("mcp", "sync", "--all", "--yes")


Talk = Callable[..., Any]


@pytest.fixture
def talk(folder: Path, tmp_path: Path) -> Talk:
    """`talk(server, use)`: what `use` gets from a session with a real server."""
    arguments = {
        "git": ["--repository", str(folder / "repository")],
        "sqlite": ["--db-path", str(folder / "orders.db")],
        "filesystem": [str(folder)],
    }

    def talk(server: str, use: Callable[[Session], Awaitable[T]], **options: Any) -> T:
        argv = [*dev_servers.command(server), *arguments.get(server, [])]
        env = {"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}

        async def main() -> T:
            async with asyncio.timeout(DEADLINE):
                session = await connect_stdio(argv, env=env, timeout=DEADLINE, **options)
                try:
                    return await use(session)
                finally:
                    await session.close()

        return asyncio.run(main())

    return talk
