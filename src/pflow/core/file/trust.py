"""Whether other users could have changed a file or directory that pflow is about to use."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from pflow.core.errors import SecurityError


def distrust(found: os.stat_result) -> str:
    """Why a file or directory may hold what someone else put there, in words; "" if only we and root can write to it.

    A group that may write is trusted if it is our own: many systems give each user a group of their own.
    """
    if sys.platform == "win32":
        return ""
    if found.st_uid not in (os.geteuid(), 0):
        return "belongs to another user"
    if found.st_mode & 0o002:
        return "can be changed by every user"
    if found.st_mode & 0o020 and found.st_gid != os.getegid():
        return "can be changed by a group that is not yours"
    return ""


def check_trust(path: Path, found: os.stat_result) -> None:
    """Raise `SecurityError` for a file or directory of pflow's that others could have changed."""
    reason = distrust(found)
    if not reason:
        return
    is_folder = stat.S_ISDIR(found.st_mode)
    what = "directory" if is_folder else "file"
    if sys.platform != "win32" and found.st_uid not in (os.geteuid(), 0):
        advice = f"run pflow as the owner of the {what}, or set PFLOW_HOME to a directory of your own"
    else:
        import shlex  # lazy: only for this advice

        mend = f"chmod {'700' if is_folder else '600'} {shlex.quote(str(path))}"
        advice = f"look at what the {what} holds, since it may not be yours, then close it with `{mend}`"
    raise SecurityError(
        f"`{path}` {reason}, so pflow does not use it", details={"file": str(path)}, suggestions=[advice]
    )
