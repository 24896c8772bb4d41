"""A tiny helper process that ends the children of a pflow process that was killed and could not do so itself.

There is one per pflow process, a shell started with the first child, which costs about a millisecond once. It
learns of every process group over a pipe that only pflow holds open; when the pipe closes, pflow is gone, and
every group still on the list gets SIGTERM and a second later SIGKILL. A child that was being started at that
moment is found, on Linux, by the pipes that it was given. Processes that moved to their own session, as daemons
do, are out of its reach.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Collection

# Lines: `? PIPE` a child that is given it is about to start, `! PIPE` it started or failed to, `+ GROUP` and
# `- GROUP` the list. A process that holds the pipe in the session of pflow itself is a copy of pflow, not a child.
# `sleep 0.1` is not POSIX, but every system has it; where it fails, SIGKILL just comes sooner.
_SCRIPT = """
trap '' HUP INT QUIT TERM PIPE TSTP
session=$1
groups=' '
starting=' '

without() {
    case $1 in
        *" $2 "*) rest="${1%% "$2" *} ${1#* "$2" }" ;;
        *) rest=$1 ;;
    esac
}

started() {
    ls -l /proc/[0-9]*/fd | while read -r line; do
        case $line in
            /proc/*) process=${line%/fd:} ;;
            *'pipe:['*)
                pipe=${line##*'pipe:['}
                case $starting in
                    *" ${pipe%]} "*)
                        read -r stat < "$process/stat" || continue
                        set -- ${stat##*) }
                        [ "$4" = "$session" ] || echo "$3" ;;
                esac ;;
        esac
    done
}

while read -r kind number; do
    case $kind in
        '?') starting="$starting$number " ;;
        '!') without "$starting" "$number"; starting=$rest ;;
        '+') groups="$groups$number " ;;
        '-') without "$groups" "$number"; groups=$rest ;;
    esac
done
for group in $groups; do kill -s TERM -- "-$group"; done
for round in 1 2 3 4 5 6 7 8 9 10; do
    found=
    [ "$starting" = ' ' ] || found=$(started)
    for group in $found; do kill -s TERM -- "-$group"; done
    living=
    for group in $groups $found; do kill -s 0 -- "-$group" && living="$living $group"; done
    groups=$living
    if [ -z "$groups" ]; then
        # What forks while it is looked for can be missed once, but not again and again.
        if [ "$starting" = ' ' ] || [ "$round" -gt 2 ]; then exit 0; fi
    fi
    sleep 0.1
done
for group in $groups; do kill -s KILL -- "-$group"; done
"""


class Guardian:
    """The list of live groups, kept twice: here, and in the helper that outlives a kill. `pid` is the helper's."""

    def __init__(self) -> None:
        self.pid = 0
        self.groups: set[int] = set()
        self._lock = threading.Lock()
        self._starting: set[int] = set()
        self._pipe = -1

    def expect(self, pipes: Collection[int]) -> None:
        """Note that a child is about to start, which gets the pipes with these inode numbers."""
        with self._lock:
            if self._pipe < 0:
                self._start()
            self._starting.update(pipes)
            self._tell(*(f"? {pipe}\n" for pipe in pipes))

    def add(self, group: int | None, pipes: Collection[int]) -> None:
        """Note that the child started, and guard its group from now on; without a group, it did not start."""
        with self._lock:
            self._starting.difference_update(pipes)
            lines = [f"! {pipe}\n" for pipe in pipes]
            if group is not None:
                self.groups.add(group)
                lines.insert(0, f"+ {group}\n")
            self._tell(*lines)

    def remove(self, group: int) -> None:
        """Forget a group as soon as it is empty, since its number may be given to another."""
        with self._lock:
            self.groups.discard(group)
            self._tell(f"- {group}\n")

    def forget(self) -> None:
        """In a fork of this process: the helper and the children belong to the parent alone."""
        self._lock = threading.Lock()
        self.groups.clear()
        self._starting.clear()
        if self._pipe >= 0:
            os.close(self._pipe)
        self._pipe = -1

    def _tell(self, *lines: str) -> None:
        if self._pipe < 0:
            return
        try:
            os.write(self._pipe, "".join(lines).encode())
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
                ["/bin/sh", "-c", _SCRIPT, "pflow-guardian", str(os.getsid(0))],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PATH": "/usr/bin:/bin"},
                cwd="/",
                start_new_session=True,
            )
            # It ends when this process does and nobody collects its exit status; Popen would warn of that.
            helper.returncode = 0
            known = [f"+ {group}\n" for group in self.groups] + [f"? {pipe}\n" for pipe in self._starting]
            os.write(writing, "".join(known).encode())
        except OSError:
            os.close(writing)  # no shell or no room for one: children run unguarded
        else:
            self._pipe, self.pid = writing, helper.pid
        finally:
            os.close(reading)


GUARDIAN = Guardian()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=GUARDIAN.forget)
