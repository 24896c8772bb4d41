"""From one machine to three in ten commands: those of the documentation, run as they stand there."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dev_place import Cluster, Worker
from tests.conventions.source import ROOT
from tests.robust.world import until

pytestmark = pytest.mark.needs("postgres", "temporal")

NAMES = ("one", "two", "three")
REPORT = "inputs: {day: {type: string, default: today}}\nnodes: [{id: a, type: echo, params: {said: 'it is ${day}'}}]\n"


def commands() -> list[list[str]]:
    """The commands of the section, as words."""
    text = (ROOT / "docs" / "cluster.md").read_text()
    section = text.partition("## From one machine to three\n")[2].partition("\n## ")[0]
    lines = [line for block in re.findall(r"```sh\n(.*?)```", section, re.DOTALL) for line in block.splitlines()]
    return [shlex.split(line, comments=True) for line in lines]


@pytest.mark.slow
def test_ten_commands_lead_from_one_machine_to_three(cluster: Cluster, tmp_path: Path) -> None:
    found = commands()
    assert len(found) == 10
    assert found.pop(0) == ["pip", "install", "pflow[cluster]"]
    (tmp_path / "report.yaml").write_text(REPORT)
    settings = [words for words in found if words[1] == "settings"]
    worker = next(words for words in found if words[1] == "worker")
    rest = [words for words in found if words not in (*settings, worker)]
    migrate = next(words for words in rest if words[1] == "journal")
    homes = [tmp_path / name / ".pflow" for name in NAMES]
    for home in homes:
        home.parent.mkdir()
        for words in settings:
            typed = cluster.postgres.password if words[-1] == "PFLOW_DB_PASSWORD" and len(words) == 4 else ""
            pflow(cluster, home, words, typed)
    pflow(cluster, homes[0], migrate)
    workers = [start(cluster, home, worker) for home in homes]
    try:
        for each in workers:
            until(each.is_ready, "a worker")
        said = {" ".join(words): pflow(cluster, homes[0], words) for words in rest if words is not migrate}
        waited, detached, listed = said.values()
        assert waited == "it is monday\n"
        until(lambda: detached.strip() in listed or detached.strip() in pflow(cluster, homes[1], rest[-1]), "the run")
        gone = workers.pop(0)
        gone.end(signal.SIGKILL)
        again = next(words for words in rest if "--detach" not in words and words[1] == "run")
        assert pflow(cluster, homes[1], again) == "it is monday\n"
    finally:
        for each in workers:
            each.end()


def pflow(cluster: Cluster, home: Path, words: list[str], typed: str = "") -> str:
    """What a command prints on one of the machines."""
    done = subprocess.run(
        [sys.executable, "-m", *(_here(cluster, word) for word in words)],
        cwd=home.parent.parent,
        env={**os.environ, "HOME": str(home.parent), "PFLOW_HOME": str(home)},
        input=typed,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (words, done)
    return done.stdout


def start(cluster: Cluster, home: Path, words: list[str]) -> Worker:
    """A worker on one of the machines, which stays."""
    log = home.parent / "worker.log"
    env = {"HOME": str(home.parent), "PFLOW_HOME": str(home)}
    pid = cluster.keeper.start([sys.executable, "-m", *words], log, env=env)
    return Worker(cluster.keeper, pid, log)


def _here(cluster: Cluster, word: str) -> str:
    """The servers of the documentation are those of the test."""
    word = word.replace("postgresql://pflow@db.example.com:5432/pflow", f"{cluster.postgres.address}/postgres")
    return word.replace("hub.example.com:7233/default", cluster.temporal.address)
