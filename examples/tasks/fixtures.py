"""Makes what the three tasks work on, the same on every run: `python examples/tasks/fixtures.py FOLDER`.

A git repository, a table of orders, the tiers of customers, a folder of tickets, and `mcp.json`, the configuration
of the servers that reach them.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

COMMITS = 40
ORDERS = 5_000
CUSTOMERS = 400
TICKETS = 100

PARTS = ["api", "auth", "billing", "cache", "cart", "catalog", "client", "config", "export", "mail", "queue", "search"]
FILES = [f"src/{part}.txt" for part in PARTS]
AUTHORS = ["Ada Example", "Grace Example", "Linus Example", "Margaret Example"]
MONDAY = 1_767_600_000
DAY = 86_400

VERBS = ["Add", "Bound", "Check", "Cover", "Drop", "Explain", "Fix", "Handle", "Keep", "Log", "Measure", "Refuse"]
WORDS = (
    "account address amount balance batch border budget cache change charge check client column copy counter credit "
    "cursor customer date default delay delivery detail discount draft entry error event export factor field filter "
    "folder format gateway group handle header history import index input invoice item journal label ledger limit line "
    "list lock margin message method month note notice number offer option order output owner page parcel part path "
    "payment period plan price product profile queue quota range rate reason receipt record refund region reply report "
    "request result retry return route rule sample schedule scope search section seller session shipment sign source "
    "stage state status step stock store subject supplier switch table target tax term ticket tier title token total "
    "trace transfer unit update user value vendor version voucher warehouse week weight window worker zone"
)


class Chance:
    """Chance from a seed, by nothing but `random()`, which gives the same in every version of Python."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed).random
        self._words = WORDS.split()

    def number(self, low: int, high: int) -> int:
        """From low to high, both included."""
        return low + int(self._random() * (high - low + 1))

    def pick(self, values: Sequence[T]) -> T:
        return values[self.number(0, len(values) - 1)]

    def words(self, count: int) -> str:
        return " ".join(self.pick(self._words) for _ in range(count))


def make(folder: Path) -> Path:
    """Make it all in a folder, which need not exist; the folder, as servers see it."""
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    make_repository(folder / "repository")
    make_orders(folder / "orders.db")
    make_tiers(folder / "tiers.json")
    make_tickets(folder / "tickets")
    return folder


# ---- the repository


def make_repository(folder: Path) -> None:
    """Forty commits over twelve files; each adds about 75 lines to three of them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    git(folder, "init", "--quiet", "--template=", "--object-format=sha1", "--initial-branch=main")
    git(folder, "fast-import", "--quiet", data="".join(commits()).encode())
    git(folder, "reset", "--quiet", "--hard")


def git(folder: Path, *args: str, data: bytes = b"") -> None:
    """Git as it is without anybody's settings."""
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", "-C", str(folder), *args], input=data, env={**inherited, **alone}, check=True)


def commits() -> Iterator[str]:
    """The history, as `git fast-import` reads it."""
    chance = Chance("repository")
    contents = dict.fromkeys(FILES, "")
    for position in range(COMMITS):
        first = position * 3 % len(FILES)
        author = chance.pick(AUTHORS)
        email = f"{author.split()[0].lower()}@example.com"
        message = f"{chance.pick(VERBS)} the {chance.words(chance.number(2, 4))}"
        yield "commit refs/heads/main\n"
        for role in ("author", "committer"):
            yield f"{role} {author} <{email}> {MONDAY + position * DAY} +0000\n"
        yield f"data {len(message)}\n{message}\n"
        for path in FILES[first : first + 3]:
            contents[path] += "".join(f"{chance.words(chance.number(7, 10))}\n" for _ in range(chance.number(65, 85)))
            yield f"M 100644 inline {path}\ndata {len(contents[path])}\n{contents[path]}\n"


# ---- the orders


def make_orders(path: Path) -> None:
    """A table of orders."""
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, sku TEXT, qty INTEGER, cents INTEGER, note TEXT)"
    )
    connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)", orders())
    connection.commit()
    connection.close()


def orders() -> Iterator[tuple[int, str, str, int, int, str]]:
    """The rows; one note in ten has both kinds of quotes in it."""
    chance = Chance("orders")
    for number in range(1, ORDERS + 1):
        note = chance.words(chance.number(3, 5))
        if number % 10 == 0:
            note = f'the customer\'s "{note}"'
        sku = f"SKU-{chance.number(1, 900):04}"
        yield number, customer(chance.number(1, CUSTOMERS)), sku, chance.number(1, 9), chance.number(99, 49_999), note


def customer(number: int) -> str:
    return f"customer-{number:03}"


def make_tiers(path: Path) -> None:
    """Which customer is gold, silver or bronze."""
    chance = Chance("tiers")
    tiers = {customer(number): chance.pick(("gold", "silver", "bronze")) for number in range(1, CUSTOMERS + 1)}
    path.write_text(json.dumps(tiers, indent=1) + "\n")


# ---- the tickets


def make_tickets(folder: Path) -> None:
    """A file for each ticket."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    chance = Chance("tickets")
    for number in range(1, TICKETS + 1):
        ticket = {
            "id": number,
            "sev": chance.number(1, 3),
            "title": f'{chance.words(3).capitalize()}, "{chance.words(1)}" and {chance.words(1)}',
            "body": "\n".join(f"{chance.words(12).capitalize()}." for _ in range(19)),
        }
        (folder / f"ticket-{number:03}.json").write_text(json.dumps(ticket) + "\n")


# ---- the servers


def configure(folder: Path) -> Path:
    """Write the configuration of the servers, as hosts write it, for what stands in a folder; its path."""
    sys.path.append(str(Path(__file__).resolve().parents[2]))
    from dev_servers import command  # lazy: it stands at the root of the repository

    arguments = {
        "git": ["--repository", str(folder / "repository")],
        "sqlite": ["--db-path", str(folder / "orders.db")],
        "filesystem": [str(folder)],
    }
    servers = {}
    for name, more in arguments.items():
        program, *args = command(name)
        servers[name] = {"command": program, "args": [*args, *more]}
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}, indent=2) + "\n")
    return path


def main(argv: list[str]) -> int:
    if len(argv) != 1:
        sys.stderr.write("usage: python examples/tasks/fixtures.py FOLDER\n")
        return 2
    path = configure(make(Path(argv[0])))
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
