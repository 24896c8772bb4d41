"""Puts a timer that fires ticks into the system of the person, and takes it out again."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import which

from pflow.core.advice import Advice
from pflow.core.errors import UsageError
from pflow.core.file.atomic import remove, write_atomic
from pflow.core.file.home import Home
from pflow.core.suggest import did_you_mean
from pflow.workspace.schedule.timer_text import KINDS, Kind, Timer, make_timer

_PATIENCE_SECONDS = 30.0
_OTHERWISE = Advice("or let `{daemon}` run, which needs no timer")


def plan_timer(kind: str, home: Home, environ: Mapping[str, str] = os.environ) -> Timer:
    """The timer of a home: of a kind, or of the one that this machine has. Raises `UsageError` if it has none."""
    return make_timer(_read_kind(kind) if kind else _find_kind(environ), home, environ)


def describe(timer: Timer) -> str:
    """What is written where, for a person to agree to."""
    if timer.line:
        return f"a line of your crontab:\n\n{timer.line}"
    return "\n\n".join(f"{file.path}:\n\n{file.text.rstrip()}" for file in timer.files)


def find_timers(home: Home, environ: Mapping[str, str] = os.environ) -> list[Timer]:
    """The timers of a home that are installed, as far as can be seen from here."""
    return [timer for timer in (make_timer(kind, home, environ) for kind in KINDS) if _is_installed(timer)]


def install_timer(timer: Timer) -> list[str]:
    """Install it and let it fire; what the person should know. Raises `UsageError`, and then nothing is changed."""
    if timer.kind == "systemd":
        _verify(timer)
        _with_files(timer, [["systemctl", "--user", "daemon-reload"], _systemctl("enable", timer)])
        return _notes_of_systemd()
    if timer.kind == "launchd":
        _call(["launchctl", "bootout", f"gui/{os.getuid()}/{timer.label}"], may_fail=True)  # an earlier one
        _with_files(timer, [["launchctl", "bootstrap", f"gui/{os.getuid()}", str(timer.files[0].path)]])
        return ["it does not fire while the machine is switched off or asleep; what is missed then is made up for"]
    _write_crontab([*_other_lines(timer), timer.line])
    return []


def remove_timer(timer: Timer) -> None:
    """Let it fire no more, and delete it. Raises `UsageError`."""
    if timer.kind == "systemd":
        _call(_systemctl("disable", timer), may_fail=not timer.files[1].path.exists())
    elif timer.kind == "launchd":
        _call(["launchctl", "bootout", f"gui/{os.getuid()}/{timer.label}"], may_fail=True)
    else:
        _write_crontab(_other_lines(timer))
    for file in timer.files:
        file.path.unlink(missing_ok=True)
    if timer.kind == "systemd":
        _call(["systemctl", "--user", "daemon-reload"], may_fail=True)


def _read_kind(word: str) -> Kind:
    for kind in KINDS:
        if kind == word:
            return kind
    hint = did_you_mean(word, KINDS) or f"there are: {', '.join(KINDS)}"
    raise UsageError(f"`{word}` is not a kind of timer", suggestions=[hint])


def _find_kind(environ: Mapping[str, str]) -> Kind:
    path = environ.get("PATH")
    if sys.platform == "darwin":
        return "launchd"
    if which("systemctl", path=path) and _call(["systemctl", "--user", "show-environment"], may_fail=True) is not None:
        return "systemd"
    if which("crontab", path=path):
        return "cron"
    raise UsageError(
        "this machine has neither a systemd for users nor cron",
        suggestions=["install cron, and try again", _OTHERWISE],
    )


def _is_installed(timer: Timer) -> bool:
    if timer.kind == "cron":
        return which("crontab") is not None and timer.label in map(_label_of, _crontab())
    return all(file.path.exists() for file in timer.files)


def _with_files(timer: Timer, commands: Sequence[Sequence[str]]) -> None:
    """Write the files and run the commands; if one of those fails, the files are as they were."""
    before = {file.path: file.path.read_bytes() if file.path.exists() else None for file in timer.files}
    try:
        for file in timer.files:
            write_atomic(file.path, file.text.encode())
        for command in commands:
            _call(command)
    except UsageError:
        for path, data in before.items():
            if data is None:
                remove(path)
            else:
                write_atomic(path, data)
        raise


def _systemctl(verb: str, timer: Timer) -> list[str]:
    return ["systemctl", "--user", verb, "--now", f"{timer.label}.timer"]


def _verify(timer: Timer) -> None:
    """Have systemd itself read the units before they are written, where its program for this is there."""
    if which("systemd-analyze") is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / file.path.name for file in timer.files]
        for path, file in zip(paths, timer.files, strict=True):
            path.write_text(file.text, "utf-8")
        runtime = os.environ.get("XDG_RUNTIME_DIR") or folder  # it fails without one
        _call(["systemd-analyze", "--user", "verify", *map(str, paths)], env={**os.environ, "XDG_RUNTIME_DIR": runtime})


def _notes_of_systemd() -> list[str]:
    lingers = _call(["loginctl", "show-user", "--property=Linger", "--value", str(os.getuid())], may_fail=True)
    if lingers is None or lingers.strip() == "yes":
        return []
    return ["it fires only while you are logged in; `loginctl enable-linger` lets it fire always"]


def _crontab() -> list[str]:
    """The lines of the person's crontab; none if there is no crontab."""
    return (_call(["crontab", "-l"], may_fail=True) or "").splitlines()


def _other_lines(timer: Timer) -> list[str]:
    return [line for line in _crontab() if _label_of(line) != timer.label]


def _label_of(line: str) -> str:
    return line.rpartition("# ")[2].strip()


def _write_crontab(lines: Sequence[str]) -> None:
    _call(["crontab", "-"], stdin="".join(f"{line}\n" for line in lines))


def _call(
    command: Sequence[str], *, may_fail: bool = False, stdin: str = "", env: Mapping[str, str] | None = None
) -> str | None:
    """What a program of the system says; None if it failed, where it may. Raises `UsageError` otherwise."""
    shown = " ".join(command[:4])
    try:
        done = subprocess.run(
            command, input=stdin, capture_output=True, text=True, timeout=_PATIENCE_SECONDS, check=False, env=env
        )
        problem = done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}"
    except (OSError, subprocess.TimeoutExpired) as error:
        if may_fail:
            return None
        raise UsageError(f"`{shown}` failed: {error}", suggestions=[_OTHERWISE]) from error
    if done.returncode == 0:
        return done.stdout
    if may_fail:
        return None
    raise UsageError(
        f"`{shown}` failed: {problem.splitlines()[-1]}",
        details={"said": problem},
        suggestions=["choose another kind with `--kind`", _OTHERWISE],
    )
