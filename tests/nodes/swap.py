"""A process that swaps two names in a directory, over and over, as an attacker would; run by a test."""

import ctypes
import os
import sys

_EXCHANGE = 2
_AT_CWD = -100


def main() -> None:
    """Swap until the pipe on stdin is closed; say when it has begun."""
    first, second = (os.fsencode(name) for name in sys.argv[1:])
    swap = ctypes.CDLL(None, use_errno=True).renameat2
    os.set_blocking(0, False)
    said = False
    while True:
        if swap(_AT_CWD, first, _AT_CWD, second, _EXCHANGE):
            sys.exit(os.strerror(ctypes.get_errno()))
        if not said:
            said = True
            os.write(1, b"begun\n")
        try:
            if not os.read(0, 1):
                return
        except BlockingIOError:
            continue


if __name__ == "__main__":
    main()
