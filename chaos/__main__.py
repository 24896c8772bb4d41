"""`python3 dev.py chaos cluster`: kills, freezes and stops the parts of a place, and judges what became of its runs."""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

from chaos.campaign import Campaign, Chapter
from chaos.ground import Ground
from chaos.people import People
from chaos.plan import FULL, SHORT, make_plan
from chaos.table import table
from dev_install import SetupError

LEASE = 3
MOST_MINUTES = 38.0
"""For the faults: waiting for the last runs comes on top."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev.py chaos", description=__doc__)
    parser.add_argument("what", choices=["cluster"])
    parser.add_argument("--short", action="store_true", help="the form for CI: a few of each")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), metavar="N")
    parser.add_argument("--minutes", type=float, default=MOST_MINUTES, metavar="N", help="do as much as fits into N")
    for name in ("kills", "doubles", "temporal", "postgres"):
        parser.add_argument(f"--{name}", type=int, metavar="N", help=argparse.SUPPRESS)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="copy the effects and what workers said to FOLDER")
    options = parser.parse_args()
    size = SHORT if options.short else FULL
    wanted = {name: getattr(options, name) for name in ("kills", "doubles", "temporal", "postgres")}
    size = size._replace(**{name: count for name, count in wanted.items() if count is not None})
    say(f"seed {options.seed}, lease {LEASE} s, {size.workers} workers, up to {size.runs} runs at a time")
    plan = make_plan(options.seed, size, LEASE)
    ground = Ground(size.workers, LEASE)
    people = People(ground, options.seed, size.runs)
    chapters: list[Chapter] = []
    problem = ""
    began = time.monotonic()
    try:
        people.start()
        campaign = Campaign(ground, people, size, say)
        for kind, faults in sorted(plan.items(), key=lambda item: len(item[1])):  # the most frequent gets what is left
            if faults:
                chapters.append(campaign.chapter(kind, faults, began + options.minutes * 60))
                say(f"{kind}: {chapters[-1].faults} in {chapters[-1].seconds:.0f} s")
        people.end()
        problem = campaign.check_state()
    except SetupError as error:
        problem = str(error)
    finally:
        if options.keep is not None:
            keep(ground, options.keep)
        behind = ground.close()
    return report(chapters, people, problem, behind)


def report(chapters: list[Chapter], people: People, problem: str, behind: list[str]) -> int:
    """Say what came of it; the exit code."""
    say("")
    say(table(chapters))
    for chapter in chapters:
        found = chapter.verdict
        for what, ones in (
            ("lost", found.lost),
            ("repeated after a later step", found.repeated),
            ("repeated unasked", found.unasked),
            ("ran though it should not", found.wrong),
        ):
            for one in ones:
                say(f"{chapter.kind}: {what}: {one}")
    for one in people.failed:
        say(f"did not complete: {one}")
    for token, run_id in ((token, run_id) for run_id, token in people.live.items()):
        say(f"did not end: {token} ({run_id})")
    for one in people.broken:
        say(f"the people failed:\n{one}")
    for one in behind:
        say(f"left behind: {one}")
    if problem:
        say(f"error: {problem}")
    clean = all(chapter.verdict.is_clean for chapter in chapters)
    return 0 if clean and not (problem or behind or people.broken or people.live) else 1


def keep(ground: Ground, folder: Path) -> None:
    """Copy what helps to understand what happened."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in (*ground.folder.glob("*.log"), ground.effects):
        (folder / path.name).write_bytes(path.read_bytes())


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
