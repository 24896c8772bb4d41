"""What the tasks work on is the same on every machine, and as large as the tasks want it."""

import ast
import hashlib
import json
import sqlite3
import subprocess
from pathlib import Path

import pytest

from examples.tasks import fixtures


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fixtures.make(tmp_path_factory.mktemp("fixtures"))


def digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def git(folder: Path, *args: str) -> str:
    command = ["git", "-C", str(folder / "repository"), *args]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def contents(folder: Path) -> dict[str, str]:
    """A digest of each part; a database by its rows, since SQLite writes its own version into the file."""
    connection = sqlite3.connect(folder / "orders.db")
    rows = connection.execute("SELECT * FROM orders ORDER BY id").fetchall()
    connection.close()
    tickets = sorted((folder / "tickets").iterdir())
    return {
        "repository": git(folder, "rev-parse", "HEAD"),
        "orders": digest(repr(rows).encode()),
        "tiers": digest((folder / "tiers.json").read_bytes()),
        "tickets": digest(*(part for path in tickets for part in (path.name.encode(), path.read_bytes()))),
    }


def test_they_are_the_same_everywhere(made: Path) -> None:
    assert contents(made) == {
        "repository": "c4b4dae490816a335b4d5abe29ea498e36f0cfba",
        "orders": "90f791acf7ad1769",
        "tiers": "fc9ba9931bd91fc8",
        "tickets": "8face041894ea6c1",
    }


def test_making_them_again_changes_nothing(made: Path, tmp_path: Path) -> None:
    again = fixtures.make(tmp_path / "again")
    once = contents(again)
    (again / "tickets" / "ticket-001.json").write_text("{}")
    assert contents(fixtures.make(again)) == once == contents(made)


def test_the_repository_has_forty_commits_of_three_files_each(made: Path) -> None:
    stats = git(made, "log", "--format=", "--numstat").splitlines()
    assert git(made, "rev-list", "--count", "HEAD") == "40"
    assert len(stats) == 40 * 3
    assert len({line.split("\t")[2] for line in stats}) == 12
    assert all(65 <= int(line.split("\t")[0]) <= 85 and line.split("\t")[1] == "0" for line in stats)
    assert git(made, "status", "--porcelain") == ""


def test_nobodys_git_settings_matter(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".gitconfig").write_text(
        "[commit]\n\tgpgsign = true\n[core]\n\tautocrlf = true\n\thooksPath = /nowhere\n"
    )
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    fixtures.make_repository(tmp_path / "repository")
    monkeypatch.delenv("GIT_DIR")
    assert git(tmp_path, "rev-parse", "HEAD") == git(made, "rev-parse", "HEAD")


def test_orders_are_of_known_customers_and_awkward_to_quote(made: Path) -> None:
    tiers = json.loads((made / "tiers.json").read_text())
    rows = list(fixtures.orders())
    assert (len(tiers), set(tiers.values()), len(rows)) == (400, {"gold", "silver", "bronze"}, 5_000)
    assert {row[1] for row in rows} == set(tiers)
    assert sum("'" in row[5] and '"' in row[5] for row in rows) == 500
    assert ast.literal_eval(repr(rows)) == rows


def test_tickets_are_of_all_severities(made: Path) -> None:
    tickets = [json.loads(path.read_text()) for path in (made / "tickets").iterdir()]
    assert sorted(ticket["id"] for ticket in tickets) == list(range(1, 101))
    assert {ticket["sev"] for ticket in tickets} == {1, 2, 3}
    assert all(1_400 < len(json.dumps(ticket)) < 2_000 for ticket in tickets)
