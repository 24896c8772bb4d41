"""A tiny helper process that ends the children of a pflow that was killed and could not do so itself.

One per pflow process, a shell started with the first child, so that it costs about a millisecond and then
nothing. It is told of every process group over a pipe that only pflow holds open; when the pipe closes, pflow
is gone, and every group still on the list gets SIGTERM and a second later SIGKILL. What moved to a session of
its own, as daemons do, is beyond it, and so is a child whose pflow dies in the instant of starting it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading

# `sleep 0.1` is no POSIX, but every system has it; where it fails, SIGKILL just comes sooner.
_SCRIPT = """
trap '' HUP INT QUIT TERM PIPE TSTP
groups=' '
while read -r line; do
    case $line in
        +*) groups="$groups${line#+} " ;;
        -*) group=${line#-}
            case $groups in
                *" $group "*) groups="${groups%% "$group" *} ${groups#* "$group" }" ;;
            esac ;;
    esac
done
for group in $groups; do kill -s TERM -- "-$group"; done
for round in 1 2 3 4 5 6 7 8 9 10; do
    living=
    for group in $groups; do kill -s 0 -- "-$group" && living="$living $group"; done
    groups=$living
    [ -n "$groups" ] || exit 0
    sleep 0.1
done
for group in $groups; do kill -s KILL -- "-$group"; done
"""


class Guardian:
    """The list of live groups, kept twice: here, and in the helper that outlives a kill. `pid` is the helper's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: set[int] = set()
        self._pipe = -1
        self.pid = 0

    def prepare(self) -> None:
        """Have the helper running before there is a child to guard."""
        with self._lock:
            if self._pipe < 0:
                self._start()

    def add(self, group: int) -> None:
        """Guard a group from now on."""
        with self._lock:
            self._groups.add(group)
            self._tell(f"+{group}\n")

    def remove(self, group: int) -> None:
        """Forget a group, as soon as it is empty: its number may be given to another."""
        with self._lock:
            self._groups.discard(group)
            self._tell(f"-{group}\n")

    def forget(self) -> None:
        """In a fork of this process: the helper and the children belong to the parent alone."""
        self._lock = threading.Lock()
        self._groups.clear()
        if self._pipe >= 0:
            os.close(self._pipe)
        self._pipe = -1

    def _tell(self, line: str) -> None:
        if self._pipe < 0:
            return
        try:
            os.write(self._pipe, line.encode())
        except OSError:
            self._replace()

    def _replace(self) -> None:
        """Someone ended or stopped the helper: it must not wake up later with an outdated list."""
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except OSError:
            pass
        os.close(self._pipe)
        self._pipe = -1
        self._start()

    def _start(self) -> None:
        reading, writing = os.pipe()
        try:
            os.set_blocking(writing, False)
            helper = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PATH": "/usr/bin:/bin"},
                cwd="/",
                start_new_session=True,
            )
            # It ends when this process does and is waited for by nobody; Popen would warn of that.
            helper.returncode = 0
            os.write(writing, "".join(f"+{group}\n" for group in self._groups).encode())
        except OSError:
            os.close(writing)  # no shell or no room for one: children run unguarded
        else:
            self._pipe, self.pid = writing, helper.pid
        finally:
            os.close(reading)


GUARDIAN = Guardian()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=GUARDIAN.forget)
