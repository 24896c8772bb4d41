"""Installs pflow in other programs: puts the entry that starts `pflow serve mcp` into their configuration."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from shutil import which
from typing import Literal

import orjson

from pflow.core.errors import ExistsError, NotFoundError, StorageError, UsageError
from pflow.core.file.atomic import write_atomic
from pflow.core.frozen import Frozen
from pflow.core.printable import shorten
from pflow.core.suggest import did_you_mean
from pflow.mcp.hosts.edit import CannotEdit, put_json, put_toml
from pflow.mcp.hosts.format import host_files, parse_config, read_config

NAME = "pflow"

TABLES = {
    "claude": "mcpServers",
    "cursor": "mcpServers",
    "vscode": "servers",
    "codex": "mcp_servers",
    "gemini": "mcpServers",
}
"""Where a host keeps its servers within its configuration."""

_TYPED = ("claude", "vscode")

State = Literal["new", "same", "other"]


class Installation(Frozen):
    """What would be written, and where. `state` is what the host has under that name."""

    host: str
    name: str
    path: Path
    snippet: str
    state: State
    before: bytes | None
    after: bytes

    def view(self) -> dict[str, object]:
        """For programs."""
        return {"host": self.host, "path": str(self.path), "state": self.state, "snippet": self.snippet}


def plan_installation(
    host: str, *, person: Path, environ: Mapping[str, str], name: str = NAME, toolset: str = "full"
) -> Installation:
    """The change that lets a host use pflow. Raises `UsageError`, with what to paste, if its file is not understood."""
    if host not in TABLES:
        raise NotFoundError(
            f"pflow does not know where `{shorten(host)}` keeps its servers",
            details={"known": list(TABLES)},
            suggestions=[did_you_mean(host, TABLES) or "docs/serve.md shows what to write"],
        )
    places = host_files(host, person, environ)
    path = next((place for place in places if os.path.lexists(place)), places[0])
    entry = make_entry(host, environ, toolset)
    snippet = _snippet(host, name, entry)
    try:
        before: bytes | None = read_config(path)
    except NotFoundError:
        before = None
    present = parse_config(path, before) if before and before.strip() else {}
    table = TABLES[host]
    servers = present.get(table)
    if servers is not None and not isinstance(servers, dict):
        raise _unclear(path, snippet)
    had = servers.get(name) if servers else None
    state: State = "new" if had is None else "same" if had == entry else "other"
    after = before or b""
    if state != "same":
        put = put_toml if path.suffix == ".toml" else put_json
        wanted = {**present, table: {**(servers or {}), name: entry}}
        try:
            after = put(after.decode(), table, name, entry).encode()
            understood = parse_config(path, after) == wanted
        except (CannotEdit, UnicodeDecodeError, UsageError):
            understood = False
        if not understood:
            raise _unclear(path, snippet)
    return Installation(host=host, name=name, path=path, snippet=snippet, state=state, before=before, after=after)


def check_free(plan: Installation, *, overwrite: bool) -> None:
    """Raise `ExistsError` if the host has another server of that name, which may not be replaced."""
    if plan.state == "other" and not overwrite:
        raise ExistsError(
            f"`{plan.path}` has another server `{plan.name}`",
            suggestions=["`--overwrite` replaces it", "or choose another name with `--name`"],
        )


def install(plan: Installation, *, overwrite: bool = False) -> Path | None:
    """Write it; the copy of what was there before, if anything was."""
    if plan.state == "same":
        return None
    check_free(plan, overwrite=overwrite)
    target = plan.path.resolve()  # many people keep such files elsewhere, with a link in place
    if (read_config(target) if target.exists() else None) != plan.before:
        raise StorageError(f"`{plan.path}` changed just now", suggestions=["try again"])
    mode = target.stat().st_mode & 0o777 if plan.before is not None else 0o600
    backup = None
    if plan.before is not None:
        backup = _free(target)
        write_atomic(backup, plan.before)
    write_atomic(target, plan.after)
    target.chmod(mode)
    return backup


def make_entry(host: str, environ: Mapping[str, str], toolset: str) -> dict[str, object]:
    """How the host starts pflow: by its whole path, since desktop programs have another search path."""
    program = which("pflow", path=environ.get("PATH"))
    words = [program] if program else [sys.executable, "-m", "pflow"]
    words += ["serve", "mcp", *(["--toolset", toolset] if toolset != "full" else [])]
    entry: dict[str, object] = {"type": "stdio"} if host in _TYPED else {}
    entry |= {"command": words[0], "args": words[1:]}
    if environ.get("PFLOW_HOME"):
        entry["env"] = {"PFLOW_HOME": str(Path(environ["PFLOW_HOME"]).absolute())}
    return entry


def _snippet(host: str, name: str, entry: Mapping[str, object]) -> str:
    if host == "codex":
        return put_toml("", TABLES[host], name, entry).rstrip()
    return orjson.dumps({TABLES[host]: {name: entry}}, option=orjson.OPT_INDENT_2).decode()


def _unclear(path: Path, snippet: str) -> UsageError:
    return UsageError(
        f"`{path}` is written in a way that pflow cannot safely change",
        details={"snippet": snippet},
        suggestions=["add this by hand:\n" + snippet],
    )


def _free(path: Path) -> Path:
    """A free name for a copy."""
    names = (path.with_name(f"{path.name}.pflow-backup-{number}") for number in count(1))
    return next(name for name in names if not os.path.lexists(name))
