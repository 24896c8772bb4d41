"""The least that a thing can cost: the same work with nothing of pflow in between."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import orjson
from pocketflow import AsyncFlow, AsyncNode

EVENT = orjson.dumps({"step": "step-123", "action": "default", "writes": {"text": "x"}, "ms": 0.012})


def open_database(path: Path) -> sqlite3.Connection:
    """A journal's database with nothing but a table of records."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("CREATE TABLE record (seq INTEGER PRIMARY KEY, data BLOB)")
    return connection


def commit_seconds(path: Path, count: int = 2000) -> float:
    """One durable record: a transaction of one insert."""
    connection = open_database(path)
    began = time.perf_counter()
    for _ in range(count):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO record (data) VALUES (?)", (EVENT,))
        connection.execute("COMMIT")
    spent = time.perf_counter() - began
    connection.close()
    return spent / count


def items_per_second(path: Path, count: int = 10_000, group: int = 100) -> float:
    """Durable records, committed a hundred at a time."""
    connection = open_database(path)
    began = time.perf_counter()
    for _ in range(count // group):
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO record (data) VALUES (?)", [(EVENT,)] * group)
        connection.execute("COMMIT")
    spent = time.perf_counter() - began
    connection.close()
    return count / spent


class Nothing(AsyncNode):
    """A step that does nothing."""


def bare_step_seconds(count: int = 2000) -> float:
    """One no-op node in PocketFlow's own flow: no plan, no events, no journal."""
    nodes = [Nothing() for _ in range(count)]
    for node, following in itertools.pairwise(nodes):
        _ = node >> following
    flow = AsyncFlow(start=nodes[0])
    began = time.perf_counter()
    asyncio.run(flow.run_async({}))
    return (time.perf_counter() - began) / count


def thread_hop_cpu_seconds(count: int = 2000) -> float:
    """To a worker thread and back, in CPU time."""

    async def hop() -> None:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1) as pool:
            for _ in range(count):
                await loop.run_in_executor(pool, int)

    began = time.process_time()
    asyncio.run(hop())
    return (time.process_time() - began) / count


def waits_seconds(count: int, seconds: float, concurrency: int) -> float:
    """Many waits, so many at a time, with nothing but asyncio."""

    async def worker(share: int) -> None:
        for _ in range(share):
            await asyncio.sleep(seconds)

    async def all_workers() -> None:
        await asyncio.gather(*(worker(count // concurrency) for _ in range(concurrency)))

    began = time.perf_counter()
    asyncio.run(all_workers())
    return time.perf_counter() - began


def values_cpu_seconds(path: Path, values: list[str]) -> float:
    """Write large values as JSON, each once and durable, in CPU time."""
    connection = open_database(path)
    began = time.process_time()
    for value in values:
        connection.execute("INSERT INTO record (data) VALUES (?)", (orjson.dumps(value),))
    connection.close()
    return time.process_time() - began
