"""`pflow schedule install`, `uninstall` and `doctor`: what fires schedules, and whether they can run unattended."""

from __future__ import annotations

import os
import plistlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pflow.core.file.home import Home
from pflow.workspace.schedule.timer_text import KINDS, make_timer
from tests.cli.conftest import Pflow
from tests.cli.test_schedule import Clock, Write, clock, note

__all__ = ["clock", "note"]


@pytest.fixture
def stubs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Programs of the system that only note how they are called, in place of all others."""
    folder = tmp_path / "stubs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{Path(sys.executable).parent}")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    log = tmp_path / "called"

    def make(name: str, then: str = "") -> Path:
        file = folder / name
        file.write_text(f'#!/bin/sh\necho "{name} $*" >> {log}\n{then}\n')
        file.chmod(0o755)
        return log

    return make


def called(log: Path) -> list[str]:
    found = log.read_text().splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return found


LABEL = "pflow-schedule"
"""What a timer of the usual home is called."""


# systemd


@pytest.mark.parametrize("root", ["/home/ada/.pflow", '/srv/a b/100%/$HOME/"q"/it\'s'])
@pytest.mark.needs("systemd-analyze")
def test_systemd_itself_finds_nothing_wrong_with_the_units(root: str, tmp_path: Path) -> None:
    environ = {"HOME": "/home/ada", "PATH": str(Path(sys.executable).parent)}
    timer = make_timer("systemd", Home(Path(root)), environ)
    for file in timer.files:
        (tmp_path / file.path.name).write_text(file.text)
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", *(str(tmp_path / file.path.name) for file in timer.files)],
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_units_look_every_minute_and_make_up_for_what_was_missed(
    pflow: Pflow, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    said = pflow("schedule", "install", "--kind", "systemd", "--print")
    assert said.code == 0
    assert (
        said.out
        == f"""\
{home.parent}/.config/systemd/user/pflow-schedule.service:

[Unit]
Description=pflow: run what is due

[Service]
Type=oneshot
WorkingDirectory=~
ExecStart={Path(sys.executable).parent / "pflow"} schedule tick

{home.parent}/.config/systemd/user/pflow-schedule.timer:

[Unit]
Description=pflow: look every minute for what is due

[Timer]
OnCalendar=minutely
AccuracySec=1s
Persistent=true

[Install]
WantedBy=timers.target
"""
    )
    assert not (home.parent / ".config").exists()


def test_installing_writes_the_units_and_enables_them_and_uninstalling_undoes_it(
    pflow: Pflow, home: Path, stubs: Callable[..., Path]
) -> None:
    log = stubs("systemctl")
    stubs("loginctl", "echo no")
    folder = home.parent / ".config" / "systemd" / "user"
    said = pflow("schedule", "install", "--yes")
    assert said.out == f"installed `{LABEL}` for systemd; it looks every minute for what is due\n"
    assert "loginctl enable-linger" in said.err
    assert sorted(path.name for path in folder.iterdir()) == [f"{LABEL}.service", f"{LABEL}.timer"]
    assert called(log) == [
        "systemctl --user show-environment",
        "systemctl --user daemon-reload",
        f"systemctl --user enable --now {LABEL}.timer",
        f"loginctl show-user --property=Linger --value {os.getuid()}",
    ]
    assert pflow("schedule", "uninstall", "--yes").code == 0
    assert list(folder.iterdir()) == []
    assert called(log) == [f"systemctl --user disable --now {LABEL}.timer", "systemctl --user daemon-reload"]
    assert pflow("schedule", "uninstall", "--yes").out == "nothing is installed\n"


def test_units_that_systemd_does_not_take_are_not_left_behind(
    pflow: Pflow, home: Path, stubs: Callable[..., Path]
) -> None:
    stubs("systemctl", 'case "$*" in *enable*) echo "no medium found" >&2; exit 1;; esac')
    said = pflow("schedule", "install", "--kind", "systemd", "--yes")
    assert said.code == 2
    assert "no medium found" in said.err
    assert "pflow daemon" in said.err
    assert list((home.parent / ".config" / "systemd" / "user").iterdir()) == []


def test_units_that_cannot_be_read_are_refused_before_anything_is_written(
    pflow: Pflow, home: Path, stubs: Callable[..., Path]
) -> None:
    log = stubs("systemctl")
    stubs("systemd-analyze", 'echo "unit is bad" >&2; exit 1')
    said = pflow("schedule", "install", "--kind", "systemd", "--yes")
    assert (said.code, "unit is bad" in said.err) == (2, True)
    assert not any(line.startswith("systemctl") for line in called(log))
    assert not (home.parent / ".config").exists()


def test_nothing_is_installed_that_nobody_agreed_to(pflow: Pflow, stubs: Callable[..., Path]) -> None:
    stubs("systemctl")
    said = pflow("schedule", "install")
    assert said.code == 2
    assert said.err == (
        "error: nobody can agree to a change of this machine\n\nhint: look at it with `--print`, then add `--yes`\n"
    )


# cron


def test_a_line_of_crontab_stands_beside_the_others(pflow: Pflow, home: Path, stubs: Callable[..., Path]) -> None:
    table = home.parent / "table"
    table.write_text("5 4 * * * backup # mine\n")
    stubs("crontab", f'if [ "$1" = -l ]; then cat {table}; else cat > {table}.new && mv {table}.new {table}; fi')
    for name in ("cat", "mv"):
        os.symlink(f"/bin/{name}", home.parent / "stubs" / name)
    for _ in range(2):  # a second time changes nothing
        assert pflow("schedule", "install", "--yes").code == 0
    first, second = table.read_text().splitlines()
    assert first == "5 4 * * * backup # mine"
    assert second == f"* * * * * {Path(sys.executable).parent / 'pflow'} schedule tick >/dev/null # {LABEL}"
    assert pflow("schedule", "uninstall", "--yes").out == ("took it out of cron; nothing looks for what is due now\n")
    assert table.read_text() == "5 4 * * * backup # mine\n"


def test_the_line_of_crontab_is_one_that_a_shell_runs(tmp_path: Path) -> None:
    home = tmp_path / "a b%c'd"
    (tmp_path / "pflow").write_text('#!/bin/sh\nprintf "%s\\n" "$PFLOW_HOME" "$@"\n')
    (tmp_path / "pflow").chmod(0o755)
    timer = make_timer("cron", Home(home), {"HOME": "/home/ada", "PATH": str(tmp_path)})
    command = timer.line.removeprefix("* * * * * ").replace("\\%", "%").replace(" >/dev/null", "")
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True)
    assert done.stdout.splitlines() == [str(home), "schedule", "tick"]


def test_a_machine_without_systemd_and_cron_is_told_about_the_daemon(pflow: Pflow, stubs: Callable[..., Path]) -> None:
    stubs("systemctl", "exit 1")
    said = pflow("schedule", "install", "--yes")
    assert said.code == 2
    assert "neither a systemd for users nor cron" in said.err
    assert "pflow daemon" in said.err


# launchd


def test_the_agent_of_launchd_is_one_that_macos_reads(pflow: Pflow, home: Path, stubs: Callable[..., Path]) -> None:
    log = stubs("launchctl")
    assert pflow("schedule", "install", "--kind", "launchd", "--yes").code == 0
    [file] = (home.parent / "Library" / "LaunchAgents").iterdir()
    agent = plistlib.loads(file.read_bytes())
    assert file.name == f"{agent['Label']}.plist"
    assert agent["ProgramArguments"][-2:] == ["schedule", "tick"]
    assert agent["StartCalendarInterval"] == {}
    assert "EnvironmentVariables" not in agent
    user = f"gui/{os.getuid()}"
    assert called(log) == [f"launchctl bootout {user}/{agent['Label']}", f"launchctl bootstrap {user} {file}"]
    assert pflow("schedule", "uninstall", "--yes").code == 0
    assert not file.exists()


def test_what_is_shown_of_an_agent_is_what_would_be_written(pflow: Pflow) -> None:
    said = pflow("schedule", "install", "--kind", "launchd", "--print").out
    assert plistlib.loads(said.partition(":\n\n")[2].encode())["RunAtLoad"] is True


def test_another_home_has_a_timer_of_its_own_that_names_it(tmp_path: Path) -> None:
    environ = {"HOME": "/home/ada", "PATH": "/nowhere"}
    systemd, launchd, cron = (make_timer(kind, Home(tmp_path), environ) for kind in KINDS)
    assert systemd.label.startswith("pflow-schedule-")
    assert f"Environment=PFLOW_HOME={tmp_path}\n" in systemd.files[0].text
    assert f"ExecStart={sys.executable} -P -m pflow schedule tick\n" in systemd.files[0].text
    assert plistlib.loads(launchd.files[0].text.encode())["EnvironmentVariables"] == {"PFLOW_HOME": str(tmp_path)}
    assert cron.line.startswith(f"* * * * * PFLOW_HOME={tmp_path} ")


def test_an_unknown_kind_is_told_with_the_nearest(pflow: Pflow) -> None:
    said = pflow("schedule", "install", "--kind", "systemdd", "--print")
    assert (said.code, said.err) == (2, "error: `systemdd` is not a kind of timer\n\nhint: did you mean `systemd`?\n")


# doctor


def checks(pflow: Pflow, *words: str) -> dict[str, dict[str, Any]]:
    """What the doctor found, by schedule and check."""
    said = pflow("schedule", "doctor", *words, "--json").json["data"]["schedules"]
    return {one["schedule"]: {check["check"]: check for check in one["checks"]} for one in said}


def test_the_doctor_finds_a_schedule_well_and_that_nothing_fires(pflow: Pflow, note: str, clock: Clock) -> None:
    pflow("schedule", "add", note, "0 13 * * *", "--on-failure", note)
    said = pflow("schedule", "doctor", "note")
    assert said.code == 1
    assert (
        said.out
        == f"""\
note: works
  ok      times: 0 13 * * * in UTC; next 2026-11-16T13:00:00+00:00
  ok      directory: {Path.cwd()}
  ok      workflow: `note` is valid
  ok      inputs: all there
  ok      on failure: `note` is valid

schedules: does not work
  FAILED  firing: nothing has looked yet; no timer is installed
          hint: `pflow schedule install` installs a timer; in a container, let `pflow daemon` run
"""
    )
    pflow("schedule", "tick")
    assert pflow("schedule", "doctor").code == 0
    clock("2026-11-16T12:30")
    assert "last looked 30 min ago" in pflow("schedule", "doctor").out


def test_the_doctor_names_everything_that_is_missing(
    pflow: Pflow, write: Write, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, programs = tmp_path / "there", tmp_path / "programs"
    there.mkdir()
    programs.mkdir()
    inputs = {"token": {"secret": True}, "n": {"type": "integer"}}
    write("doc.json", {"id": "echo", "params": {"text": "${token} ${n}"}}, inputs=inputs)
    write("tell.json", {"id": "echo", "params": {"text": "x"}})
    for name, file in (("doc", "doc"), ("gone", "doc"), ("moved", "doc"), ("tell", "tell")):
        assert pflow("workflow", "save", f"{file}.json", name).code == 0
    assert pflow("settings", "set", "TOKEN", "hunter-22-values").code == 0
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    for name, folder in (("doc", tmp_path), ("gone", tmp_path), ("moved", there)):
        monkeypatch.chdir(folder)
        assert pflow("schedule", "add", name, "0 13 * * *", "n=1", "--on-failure", "tell").code == 0
    monkeypatch.chdir(tmp_path)
    there.rmdir()
    programs.rmdir()
    for name in ("gone", "tell"):
        pflow("workflow", "delete", name)
    pflow("settings", "unset", "TOKEN")
    pflow("schedule", "pause", "doc")
    found = checks(pflow)
    assert (found["moved"]["directory"]["ok"], "workflow" in found["moved"]) == (False, False)
    assert found["gone"]["workflow"]["found"] == "there is no workflow `gone`"
    well = found["doc"]
    assert {name: check["ok"] for name, check in well.items()} == {
        "paused": None,
        "times": True,
        "directory": True,
        "path": None,
        "workflow": True,
        "inputs": False,
        "on failure": False,
    }
    assert any("TOKEN" in hint for hint in well["inputs"]["hints"])
    assert well["path"]["found"] == f"no longer there: {programs}"
    assert pflow("schedule", "doctor").code == 1
    assert Path.cwd() == tmp_path
