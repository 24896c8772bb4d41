"""`python3 dev.py chaos cluster`: kills, freezes and stops the parts of a place, and judges what became of its runs."""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

from chaos.campaign import Campaign
from chaos.chapter import Chapter
from chaos.ground import Ground
from chaos.people import People
from chaos.plan import FULL, SHORT, make_plan
from chaos.table import findings, table
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
    began = time.monotonic()
    say(f"seed {options.seed}, lease {LEASE} s, {size.workers} workers, up to {size.runs} runs at a time")
    plan = make_plan(options.seed, size, LEASE)
    ground = Ground(size.workers, LEASE)
    people = People(ground, options.seed, size.runs)
    chapters: list[Chapter] = []
    problem, strays = "", list[str]()
    try:
        people.start()
        campaign = Campaign(ground, people, size, say)
        for kind, faults in sorted(plan.items(), key=lambda item: len(item[1])):  # the most frequent gets what is left
            if faults:
                chapters.append(campaign.chapter(kind, faults, began + options.minutes * 60))
                say(f"{kind}: {chapters[-1].faults} in {chapters[-1].seconds:.0f} s")
        people.end()
        chapters = [campaign.judge_again(chapter) for chapter in chapters]
        problem = campaign.check_state()
        strays = campaign.strays()
    except SetupError as error:
        problem = str(error)
    finally:
        if options.keep is not None:
            keep(ground, options.keep)
        behind = ground.close()
    say("")
    say(table(chapters))
    found = [*findings(chapters), *people.findings(), *(f"a stray line: {one}" for one in strays)]
    found += [f"left behind: {one}" for one in behind]
    for one in [*found, *([f"error: {problem}"] if problem else [])]:
        say(one)
    say(f"{(time.monotonic() - began) / 60:.1f} minutes in all")
    return 1 if found or problem else 0


def keep(ground: Ground, folder: Path) -> None:
    """Copy what helps to understand what happened."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in (*ground.folder.glob("*.log"), ground.effects):
        (folder / path.name).write_bytes(path.read_bytes())


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
