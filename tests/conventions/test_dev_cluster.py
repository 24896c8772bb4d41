"""`dev_cluster.py` keeps servers that end with whoever started them, and leaves nothing behind."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.conventions.source import ROOT

STARTS = """
import signal, sys
import dev_cluster
keeper = dev_cluster.Keeper()
pid = keeper.start(["sleep", "600"], keeper.folder / "log")
print(keeper.folder, pid, keeper._process.pid, flush=True)
if sys.argv[1] == "stay":
    signal.pause()
keeper.close()
"""


def start(word: str) -> tuple[subprocess.Popen[str], Path, list[int]]:
    """A program that has a server kept: itself, the folder, and the numbers of server and keeper."""
    program = subprocess.Popen(
        [sys.executable, "-c", STARTS, word], cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert program.stdout is not None
    with program.stdout as output:
        folder, *numbers = output.readline().split()
    return program, Path(folder), [int(number) for number in numbers]


def wait_until_gone(numbers: list[int]) -> None:
    """Return when none of these processes is there any more; the test's time limit ends it otherwise."""
    for number in numbers:
        try:
            handle = os.pidfd_open(number)
        except ProcessLookupError:
            continue
        select.select([handle], [], [])
        os.close(handle)


needs_pidfd = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="processes can be seen in /proc only")


@needs_pidfd
def test_what_was_kept_ends_with_the_program_that_lets_go() -> None:
    program, folder, numbers = start("leave")
    assert program.wait(60) == 0
    wait_until_gone(numbers)
    assert not folder.exists()


@needs_pidfd
def test_what_was_kept_ends_with_a_program_that_is_killed() -> None:
    program, folder, numbers = start("stay")
    assert folder.exists()
    program.send_signal(signal.SIGKILL)
    program.wait(60)
    wait_until_gone(numbers)
    assert not folder.exists()


@needs_pidfd
def test_what_was_kept_ends_with_its_keeper() -> None:
    program, folder, (server, keeper) = start("stay")
    os.kill(keeper, signal.SIGKILL)
    wait_until_gone([server])
    program.kill()
    program.wait(60)
    shutil.rmtree(folder)  # there is nobody left who would


@pytest.mark.slow
@pytest.mark.needs("postgres", "temporal")
def test_a_cluster_says_how_to_use_it_and_leaves_nothing_behind() -> None:
    folder = Path(tempfile.mkdtemp())  # which the user that Postgres runs as can reach
    folder.chmod(0o711)
    program = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import dev_place, sys; sys.exit(dev_place.main(['--workers', '1'], [sys.executable, '-m', 'pflow']))",
        ],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folder)},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stderr is not None
    lines: list[str] = []
    for line in program.stderr:
        lines.append(line.strip())
        if line.startswith("Ctrl-C"):
            break
    said = "\n".join(lines)
    for word in (
        "on.dev.journal postgresql://pflow@127.0.0.1:",
        "on.dev.temporal 127.0.0.1:",
        "run DOCUMENT --on dev",
        "1 worker, each",
    ):
        assert word in said
    program.send_signal(signal.SIGINT)
    assert program.wait(60) == 130
    program.stderr.close()
    assert list(folder.iterdir()) == []
    folder.rmdir()
