"""The program `pflow`. It answers `--version` by itself: loading the command line costs more than the answer."""

from __future__ import annotations

import atexit
import gc
import os
import sys

from pflow import __version__


def main() -> None:
    """Run the command line and leave with its exit code."""
    words = sys.argv[1:]
    if words in (["--version"], ["-V"]):
        try:
            os.write(1, f"pflow {__version__}\n".encode())
            return
        except OSError:
            pass  # the command line knows what to say about it
    # Loading the program makes many objects and no garbage; by default, looking for it takes a tenth of the start.
    gc.set_threshold(50_000, 20, 100)
    try:
        from pflow.cli.main import run_program  # lazy: `--version` must stay within twice an empty program

        code = run_program(words)
    except KeyboardInterrupt:
        code = 130
    _leave(code)


def _leave(code: int) -> None:
    """End the process without freeing its objects one by one, which takes longer than a short run."""
    import threading  # lazy: `--version` does without it, and it is loaded by now

    gc.freeze()
    if threading.active_count() == 1:
        atexit._run_exitfuncs()
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:  # whoever started us may have closed it
                    stream.flush()
        except (OSError, ValueError):
            sys.exit(code)  # the interpreter knows what to say about it
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    main()
