"""Installs pflow in other programs: puts what starts `pflow serve mcp` into their configuration, or takes it out."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from shutil import which
from typing import Literal

import orjson

from pflow.core.errors import ExistsError, NotFoundError, StorageError, UsageError
from pflow.core.file.atomic import write_atomic
from pflow.core.frozen import Frozen
from pflow.core.json_type import object_in
from pflow.core.printable import shorten
from pflow.core.suggest import did_you_mean
from pflow.mcp.hosts.edit import CannotEdit, cut_json, cut_toml, put_json, put_toml, toml_key, toml_value
from pflow.mcp.hosts.format import parse_config, read_config
from pflow.mcp.hosts.host import HOSTS, Host, host_files, project_files, starts_pflow

NAME = "pflow"

State = Literal["new", "same", "other", "unclear"]
"""What a host has under the name: nothing, pflow, another server; or its file is not understood well enough."""

_INLINE = re.compile(r"^[ \t]*mcp_servers[ \t]*=", re.MULTILINE)
"""A table of servers in braces, which takes no `[mcp_servers.NAME]` beside it."""


class Installation(Frozen):
    """A change of a host's file, from `before` to `after`; None: there is no file, or nothing to write."""

    host: str
    name: str
    path: Path
    snippet: str
    state: State
    before: bytes | None
    after: bytes | None

    def view(self) -> dict[str, object]:
        """For programs."""
        return {"host": self.host, "path": str(self.path), "state": self.state, "snippet": self.snippet}


def plan_installation(
    host: str,
    *,
    person: Path,
    environ: Mapping[str, str],
    name: str = NAME,
    toolset: str = "full",
    project: Path | None = None,
) -> Installation:
    """The change that lets a host use pflow: for all that a person does there, or in one project."""
    path = _file(host, person, environ, project)
    entry = make_entry(host, environ, toolset, shared=project is not None)
    before, present = _read(path)
    table = _table(HOSTS[host], present)
    snippet = _snippet(path, table, name, entry, (before or b"").decode(errors="replace"))
    plan = Installation(host=host, name=name, path=path, snippet=snippet, state="new", before=before, after=before)
    servers = _servers(present, table)
    if servers is None:
        return plan._replace(state="unclear", after=None)
    had = servers.get(name)
    if had == entry:
        return plan._replace(state="same")
    after = _put(path, before or b"", (*table, name), entry)
    return plan._replace(after=after, state="other" if had is not None else "unclear" if after is None else "new")


def plan_removal(
    host: str, *, person: Path, environ: Mapping[str, str], name: str = NAME, project: Path | None = None
) -> Installation:
    """The change that takes pflow out of a host again. What was there before it came is restored byte for byte."""
    path = _file(host, person, environ, project)
    before, present = _read(path)
    table = _table(HOSTS[host], present)
    had = (_servers(present, table) or {}).get(name)
    plan = Installation(host=host, name=name, path=path, snippet="", state="new", before=before, after=before)
    if before is None or had is None:
        return plan
    plan = plan._replace(snippet=_snippet(path, table, name, had, before.decode(errors="replace")))
    if not isinstance(had, dict) or not starts_pflow(_words(had)):
        return plan._replace(state="other")
    for origin in (*(read_config(copy) for copy in _copies(path.resolve())), None):
        if _put(path, origin or b"", (*table, name), had) == before:
            return plan._replace(state="same", after=origin)
    after = _cut(path, before, (*table, name))
    return plan._replace(state="same" if after is not None else "unclear", after=after)


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
    assert plan.after is not None, "what is not understood is not written"
    return _write(plan)


def remove(plan: Installation) -> Path | None:
    """Take it out; the copy of what was there before."""
    return _write(plan)


def make_entry(host: str, environ: Mapping[str, str], toolset: str, *, shared: bool = False) -> dict[str, object]:
    """How the host starts pflow: by its whole path, since desktop programs have another search path.

    What is `shared` with others who work on a project holds nothing of this machine.
    """
    program = "pflow" if shared else which("pflow", path=environ.get("PATH"))
    words = [program] if program else [sys.executable, "-m", "pflow"]
    words += ["serve", "mcp", *(["--toolset", toolset] if toolset != "full" else [])]
    home = "" if shared else environ.get("PFLOW_HOME")
    env = {"PFLOW_HOME": str(Path(home).absolute())} if home else {}
    form = HOSTS[host].form
    if form == "opencode":
        return {"type": "local", "command": words, "enabled": True, **({"environment": env} if env else {})}
    entry: dict[str, object] = {"type": "stdio"} if form == "typed" else {}
    return entry | {"command": words[0], "args": words[1:]} | ({"env": env} if env else {})


def _file(host: str, person: Path, environ: Mapping[str, str], project: Path | None) -> Path:
    """The file to change: the one that is there, else the usual one. Raises for a host that has none."""
    if host not in HOSTS:
        raise NotFoundError(
            f"pflow does not know where `{shorten(host)}` keeps its servers",
            details={"known": list(HOSTS)},
            suggestions=[did_you_mean(host, HOSTS) or "docs/serve.md shows what to write"],
        )
    places = host_files(host, person, environ) if project is None else project_files(host, project)
    if not places:
        raise UsageError(
            f"{HOSTS[host].title} has no file of servers for a project",
            suggestions=["leave out `--project`"],
        )
    return next((place for place in places if os.path.lexists(place)), places[0])


def _read(path: Path) -> tuple[bytes | None, dict[str, object]]:
    try:
        before = read_config(path)
    except NotFoundError:
        return None, {}
    return before, parse_config(path, before) if before.strip(b"\xef\xbb\xbf \t\r\n") else {}


def _table(host: Host, present: Mapping[str, object]) -> tuple[str, ...]:
    """Where the servers are. opencode has them in a table of their own within `mcp`, from its second version on."""
    inner = object_in(present, host.table).get("servers") if host.form == "opencode" else None
    return (host.table, "servers") if isinstance(inner, dict) and "type" not in inner else (host.table,)


def _servers(present: Mapping[str, object], table: Sequence[str]) -> Mapping[str, object] | None:
    """The servers of a host; None if something else stands in their place."""
    part: object = present
    for key in table:
        part = part.get(key, {}) if isinstance(part, Mapping) else None
    return part if isinstance(part, Mapping) else None


def _words(entry: Mapping[str, object]) -> list[object]:
    parts = [entry.get("command"), entry.get("args")]
    return [word for part in parts for word in (part if isinstance(part, list) else [part])]


def _put(path: Path, text: bytes, place: Sequence[str], entry: object) -> bytes | None:
    """The text with the entry; None if it is written in a way that cannot be changed safely."""
    assert isinstance(entry, dict)
    try:
        if path.suffix == ".toml":
            after = put_toml(text.decode(), place[0], place[1], entry)
        else:
            after = put_json(text.decode(), place, entry)
        return after.encode() if _content(path, after.encode()) == _with(_content(path, text), place, entry) else None
    except (CannotEdit, UnicodeDecodeError, UsageError):
        return None


def _cut(path: Path, text: bytes, place: Sequence[str]) -> bytes | None:
    """The text without the entry; None if it is written in a way that cannot be changed safely."""
    try:
        after = cut_toml(text.decode(), *place) if path.suffix == ".toml" else cut_json(text.decode(), place)
        fits = _filled(_content(path, after.encode())) == _filled(_with(_content(path, text), place, None))
    except (CannotEdit, UnicodeDecodeError, UsageError):
        return None
    return after.encode() if fits else None


def _content(path: Path, text: bytes) -> dict[str, object]:
    return parse_config(path, text) if text.strip(b"\xef\xbb\xbf \t\r\n") else {}


def _with(content: Mapping[str, object], place: Sequence[str], entry: object) -> dict[str, object]:
    """The content with an entry, or without it."""
    key, *rest = place
    if rest:
        return {**content, key: _with(object_in(content, key), rest, entry)}
    others = {name: value for name, value in content.items() if name != key}
    return others if entry is None else {**content, key: entry}


def _filled(content: Mapping[str, object]) -> dict[str, object]:
    """The content without tables that are empty: TOML has none."""
    return {key: value for key, value in content.items() if value != {}}


def _snippet(path: Path, table: Sequence[str], name: str, entry: object, text: str) -> str:
    """The entry as it is pasted into the file."""
    assert isinstance(entry, Mapping)
    if path.suffix == ".toml":
        if _INLINE.search(text):
            return f"{toml_key(name)} = {toml_value(entry)}"
        return put_toml("", table[0], name, entry).rstrip()
    whole: object = {name: entry}
    for key in reversed(table):
        whole = {key: whole}
    return orjson.dumps(whole, option=orjson.OPT_INDENT_2).decode()


def describe_by_hand(plan: Installation) -> str:
    """What a person has to do where pflow does not change the file itself."""
    if plan.path.suffix == ".toml" and _INLINE.search((plan.before or b"").decode(errors="replace")):
        return "put this between the braces of `mcp_servers`, with a comma before or after it"
    return "add this by hand, in place of what stands there under the same names"


def _write(plan: Installation) -> Path | None:
    target = plan.path.resolve()  # many people keep such files elsewhere, with a link in place
    if (read_config(target) if target.exists() else None) != plan.before:
        raise StorageError(f"`{plan.path}` changed just now", suggestions=["try again"])
    backup = None
    if plan.before is not None:
        backup = next(path for path in copy_names(target) if not os.path.lexists(path))
        write_atomic(backup, plan.before)
    if plan.after is None:
        target.unlink(missing_ok=True)
        return backup
    mode = target.stat().st_mode & 0o777 if plan.before is not None else 0o600
    write_atomic(target, plan.after)
    target.chmod(mode)
    return backup


def copy_names(path: Path) -> Iterator[Path]:
    """Where copies of a file are kept, one after the other."""
    return (path.with_name(f"{path.name}.pflow-backup-{number}") for number in count(1))


def _copies(path: Path) -> list[Path]:
    """The copies that were kept of a file, the latest first."""
    found: list[Path] = []
    for copy in copy_names(path):
        if not copy.is_file():
            return found[::-1]
        found.append(copy)
    return found
