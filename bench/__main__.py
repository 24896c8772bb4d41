"""`python3 dev.py bench [GROUP …] [--json FILE]`: the budgets table as text, and as JSON in a file."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
from pathlib import Path

from bench.row import Row, table

GROUPS = (
    "startup",
    "step",
    "wide",
    "batch",
    "parallel",
    "waiting",
    "large",
    "check",
    "expression",
    "registry",
    "discovery",
    "mcp",
    "tasks",
    "serve",
    "cluster",
    "page",
    "install",
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev.py bench", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"any of {', '.join(GROUPS)} (default: all)")
    parser.add_argument("--json", type=Path, default=Path("bench.json"), metavar="FILE")
    options = parser.parse_args()
    unknown = sorted(set(options.groups) - set(GROUPS))
    if unknown:
        parser.error(f"no group `{unknown[0]}`; there are: {', '.join(GROUPS)}")
    load = os.getloadavg()[0]
    rows: list[Row] = []
    for group in options.groups or GROUPS:
        print(f"measuring {group} …", file=sys.stderr, flush=True)
        rows += importlib.import_module(f"bench.{group}").rows()
    print(table(rows))
    machine = f"{os.cpu_count()} CPUs, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
    machine += f", load {load:.1f} before"
    bound = [row for row in rows if row.limit is not None]
    broken = sum(not row.holds for row in bound)
    print(f"\n{machine}; {len(bound) - broken} of {len(bound)} budgets hold")
    report = {"machine": machine, "rows": [row.as_dict() for row in rows]}
    options.json.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
