"""The program `pflow`. It answers `--version` by itself: loading the command line costs more than the answer."""

from __future__ import annotations

import sys

from pflow import __version__


def main() -> None:
    """Run the command line and leave with its exit code."""
    words = sys.argv[1:]
    if words in (["--version"], ["-V"]):
        sys.stdout.write(f"pflow {__version__}\n")
        return
    from pflow.cli.main import run_command  # lazy: `--version` must stay within twice an empty program

    sys.exit(run_command(words))


if __name__ == "__main__":
    main()
