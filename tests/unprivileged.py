"""Giving up root's power to ignore permissions, without becoming somebody who cannot enter this checkout."""

from __future__ import annotations

import ctypes
import os

_PR_CAPBSET_DROP = 24
_VERSION_3 = 0x20080522
_MOST_CAPABILITIES = 64


def obey_permissions() -> None:
    """Drop every capability of this process and of what it executes; who is not root has none to drop.

    Root stays root, so what root owns stays open to it as to any owner. Only Linux can tell the two apart.
    """
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    for number in range(_MOST_CAPABILITIES):
        libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)  # fails for those that this kernel does not know
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    if libc.capset(header, nothing):
        raise OSError(ctypes.get_errno(), "capset")
