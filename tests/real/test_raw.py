"""The tasks as raw tool calls: right, and as large for the agent as they are known for."""

import csv
import json
import sqlite3
import subprocess
from pathlib import Path

import pytest

from examples.tasks import raw

pytestmark = pytest.mark.needs("mcp-servers")


@pytest.mark.parametrize(
    ("task", "calls", "results", "biggest", "definitions"),
    [
        ("changelog", 22, 283_000, 15_000, 20_000),
        ("revenue", 5, 641_000, 630_000, 15_000),
        ("triage", 102, 166_000, 2_300, 13_600),
    ],
)
def test_a_task_costs_the_agent_what_it_reads(
    by_hand: dict[str, tuple[str, raw.Tally]], task: str, calls: int, results: int, biggest: int, definitions: int
) -> None:
    text, tally = by_hand[task]
    assert text.count("\n") > 4
    assert tally.calls == calls
    assert tally.result_bytes == pytest.approx(results, rel=0.05)  # the folder's name is in some of it
    assert tally.biggest == pytest.approx(biggest, rel=0.05)
    assert tally.definitions == pytest.approx(definitions, rel=0.05)


def test_the_change_log_counts_what_git_counts(by_hand: dict[str, tuple[str, raw.Tally]], folder: Path) -> None:
    text, _ = by_hand["changelog"]
    command = [
        "git",
        "-C",
        str(folder / "repository"),
        "log",
        "-20",
        "--format=%cs `%h` %s",
        "--abbrev=7",
        "--shortstat",
    ]
    log = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    counted = [
        f"- {subject} ({stat.split()[0]} files, {stat.split()[3]} lines added)"
        for subject, stat in zip(log[::3], log[2::3], strict=True)
    ]
    assert text.splitlines() == ["# Changes", "", *counted]


def test_the_revenue_is_what_sql_gives(by_hand: dict[str, tuple[str, raw.Tally]], folder: Path) -> None:
    text, _ = by_hand["revenue"]
    connection = sqlite3.connect(":memory:")
    connection.execute("ATTACH ? AS shop", (str(folder / "orders.db"),))
    connection.execute("CREATE TABLE tier (customer, name)")
    tiers = json.loads((folder / "tiers.json").read_text())
    connection.executemany("INSERT INTO tier VALUES (?, ?)", tiers.items())
    query = "SELECT name, count(*), sum(qty * cents) FROM orders JOIN tier USING (customer) GROUP BY name ORDER BY 2"
    rows = connection.execute(query).fetchall()
    connection.close()
    assert text.splitlines()[2:] == [f"| {name} | {count:,} | {cents / 100:,.2f} |" for name, count, cents in rows]


def test_the_severe_tickets_are_kept(by_hand: dict[str, tuple[str, raw.Tally]], folder: Path) -> None:
    text, _ = by_hand["triage"]
    tickets = [json.loads(path.read_text()) for path in sorted((folder / "tickets").iterdir())]
    severe = [[str(ticket["id"]), ticket["title"]] for ticket in tickets if ticket["sev"] == 1]
    assert list(csv.reader(text.splitlines())) == [["id", "title"], *severe]
