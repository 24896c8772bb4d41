"""What tells a system to look every minute for what is due: for systemd, for launchd and for cron."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from shutil import which
from typing import Literal, get_args

from pflow.core.errors import UsageError
from pflow.core.file.home import Home
from pflow.core.frozen import Frozen

Kind = Literal["systemd", "launchd", "cron"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_SERVICE = """[Unit]
Description=pflow: run what is due

[Service]
Type=oneshot
WorkingDirectory=~
{environment}ExecStart={command}
"""

_TIMER = """[Unit]
Description=pflow: look every minute for what is due

[Timer]
OnCalendar=minutely
AccuracySec=1s
Persistent=true

[Install]
WantedBy=timers.target
"""


class TimerFile(Frozen):
    """A file to be written, and what it holds."""

    path: Path
    text: str


class Timer(Frozen):
    """Something that fires ticks. `label` is what the system knows it by; a `line` is one of the person's crontab."""

    kind: Kind
    label: str
    files: tuple[TimerFile, ...] = ()
    line: str = ""


def make_timer(kind: Kind, home: Home, environ: Mapping[str, str]) -> Timer:
    """The timer of a home. Each home has one of its own; only for the usual one it is called just `pflow-schedule`."""
    person = Path(environ.get("HOME") or Path.home())
    is_usual = home.root == person / ".pflow"
    mark = "" if is_usual else "-" + blake2b(str(home.root).encode(errors="surrogateescape"), digest_size=4).hexdigest()
    words = [*_program(environ), "schedule", "tick"]
    variables = {} if is_usual else {"PFLOW_HOME": str(home.root)}
    _check([*words, *variables.values()])
    if kind == "systemd":
        return _systemd(f"pflow-schedule{mark}", words, variables, _systemd_folder(person, environ))
    if kind == "launchd":
        return _launchd(f"pflow.schedule{mark}", words, variables, person / "Library" / "LaunchAgents")
    return _cron(f"pflow-schedule{mark}", words, variables)


def _program(environ: Mapping[str, str]) -> list[str]:
    """How a system starts pflow: by its whole path, since it has another search path."""
    found = which("pflow", path=environ.get("PATH"))
    return [str(Path(found).absolute())] if found else [sys.executable, "-P", "-m", "pflow"]


def _check(words: Sequence[str]) -> None:
    for word in words:
        if not word.isprintable():
            raise UsageError(
                f"a timer cannot hold the path {word!r}", suggestions=["use a path of printable characters"]
            )


def _systemd_folder(person: Path, environ: Mapping[str, str]) -> Path:
    config = environ.get("XDG_CONFIG_HOME") or ""
    return (Path(config) if config.startswith("/") else person / ".config") / "systemd" / "user"


def _systemd(label: str, words: Sequence[str], variables: Mapping[str, str], folder: Path) -> Timer:
    command = " ".join(_unit_word(word).replace("$", "$$") for word in words)
    environment = "".join(f"Environment={_unit_word(f'{name}={value}')}\n" for name, value in variables.items())
    service = _SERVICE.format(environment=environment, command=command)
    files = (
        TimerFile(path=folder / f"{label}.service", text=service),
        TimerFile(path=folder / f"{label}.timer", text=_TIMER),
    )
    return Timer(kind="systemd", label=label, files=files)


def _unit_word(word: str) -> str:
    """A word of a unit file, quoted where it needs to be."""
    plain = word.replace("%", "%%")
    if plain and all(char.isalnum() or char in "/._-=%" for char in plain):
        return plain
    escaped = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _launchd(label: str, words: Sequence[str], variables: Mapping[str, str], folder: Path) -> Timer:
    import plistlib  # lazy: only for one kind of system

    agent: dict[str, object] = {
        "Label": label,
        "ProgramArguments": list(words),
        "RunAtLoad": True,
        "StartCalendarInterval": {},  # nothing in it means every minute
    }
    if variables:
        agent["EnvironmentVariables"] = dict(variables)
    text = plistlib.dumps(agent, sort_keys=False).decode().expandtabs(2)  # no word can hold a tab: it is checked
    return Timer(kind="launchd", label=label, files=(TimerFile(path=folder / f"{label}.plist", text=text),))


def _cron(label: str, words: Sequence[str], variables: Mapping[str, str]) -> Timer:
    setting = [f"{name}={shlex.quote(value)}" for name, value in variables.items()]
    command = " ".join([*setting, *(shlex.quote(word) for word in words), ">/dev/null"])
    return Timer(kind="cron", label=label, line=f"* * * * * {command.replace('%', chr(92) + '%')} # {label}")
