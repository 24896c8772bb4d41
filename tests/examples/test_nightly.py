"""The nightly backup runs for real, over weeks of a clock that the test sets: nights, nights off, and failures."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from pflow.workspace import Workspace

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "nightly"
BERLIN = ZoneInfo("Europe/Berlin")


class Nights:
    """A machine with the schedule of the example's README, and its clock."""

    def __init__(self, workspace: Workspace, folder: Path) -> None:
        self.folder = folder
        self._workspace = workspace
        (folder / "notes").mkdir()
        self.write("first")
        self.set("2026-03-27 12:00")
        for name in ("backup", "tell"):
            workspace.save(str(FOLDER / f"{name}.yaml"), name)
        inputs = {"folder": str(folder / "notes"), "to": str(folder / "backups"), "keep": 3}
        workspace.schedules.add("backup", "30 2 * * *", inputs, zone="Europe/Berlin", catch_up="one", on_failure="tell")

    def write(self, text: str) -> None:
        (self.folder / "notes" / "today.txt").write_text(text)

    def set(self, moment: str) -> None:
        """Set the clock, by the time in Berlin."""
        at = datetime.fromisoformat(moment).replace(tzinfo=BERLIN)
        (self.folder / "now").write_text(str(at.timestamp()))

    def tick(self, moment: str) -> list[tuple[str, str]]:
        """What a timer starts then: when it was due by the clock in Berlin, and what became of it."""
        self.set(moment)
        items = self._workspace.schedules.tick().items
        return [(f"{datetime.fromtimestamp(item.due or 0, BERLIN):%m-%d %H:%M}", item.state) for item in items]

    def backups(self) -> list[str]:
        """What the archives hold, the oldest first."""
        found = []
        for path in sorted((self.folder / "backups").glob("*.tar.gz")):
            with tarfile.open(path) as archive:
                held = archive.extractfile("./today.txt")
                assert held is not None
                found.append(held.read().decode())
        return found


@pytest.fixture
def nights(workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nights]:
    monkeypatch.setenv("PFLOW_NOW", str(tmp_path / "now"))
    monkeypatch.chdir(tmp_path)
    yield Nights(workspace, tmp_path)


def test_a_backup_is_made_each_night_also_when_the_clock_is_put_forward(nights: Nights) -> None:
    assert nights.tick("2026-03-28 02:29") == []
    assert nights.tick("2026-03-28 02:30") == [("03-28 02:30", "completed")]
    nights.write("second")
    assert nights.tick("2026-03-29 01:59") == []
    assert nights.tick("2026-03-29 03:01") == [("03-29 03:00", "completed")], "half past two does not exist"
    assert nights.tick("2026-03-29 04:00") == []
    assert nights.backups() == ["first", "second"]


def test_one_backup_makes_up_for_nights_that_were_missed_and_old_ones_are_pruned(nights: Nights) -> None:
    for day, text in ((28, "a"), (29, "b"), (30, "c")):
        nights.write(text)
        nights.tick(f"2026-03-{day} 04:00")
    nights.write("back")
    assert nights.tick("2026-04-03 01:00") == [("04-02 02:30", "completed")]
    assert nights.backups() == ["b", "c", "back"]


def test_a_failure_is_noted(nights: Nights) -> None:
    (nights.folder / "notes" / "today.txt").unlink()
    (nights.folder / "notes").rmdir()
    assert nights.tick("2026-03-28 02:31") == [("03-28 02:30", "failed")]
    noted = (nights.folder / "failures.txt").read_text()
    assert noted.startswith("backup failed: cannot list `")
    assert noted.count("\n") == 1


def test_the_readme_lists_every_document() -> None:
    text = (FOLDER / "README.md").read_text()
    assert [path.name for path in FOLDER.glob("*.yaml") if f"[{path.name}]({path.name})" not in text] == []
