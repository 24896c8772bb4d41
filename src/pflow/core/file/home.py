"""Where pflow keeps its files; creates nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pflow.core.errors import StorageError


class Home:
    """The folder that holds everything pflow remembers."""

    __slots__ = ("root",)

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def workflows(self) -> Path:
        """The library."""
        return self.root / "workflows"

    @property
    def drafts(self) -> Path:
        """Workflows that an agent is still working on."""
        return self.root / "temp-workflows"

    @property
    def debug(self) -> Path:
        """Traces."""
        return self.root / "debug"

    @property
    def nodes(self) -> Path:
        """A person's own nodes."""
        return self.root / "nodes"

    @property
    def runs(self) -> Path:
        """Files of runs that are too big or too binary for the journal."""
        return self.root / "runs"

    @property
    def settings(self) -> Path:
        """Options and credentials."""
        return self.root / "settings.json"

    @property
    def registry(self) -> Path:
        """The cache of node types."""
        return self.root / "registry.json"

    @property
    def observed(self) -> Path:
        """What the results of MCP tools were seen to look like."""
        return self.root / "mcp-observed.json"

    @property
    def servers(self) -> Path:
        """MCP servers."""
        return self.root / "mcp-servers.json"

    @property
    def server_states(self) -> Path:
        """What was learned about MCP servers."""
        return self.root / "mcp-state.json"

    @property
    def tokens(self) -> Path:
        """What MCP servers were logged in to with."""
        return self.root / "mcp-tokens.json"

    @property
    def journal(self) -> Path:
        """The journal of runs."""
        return self.root / "runs.db"


def find_home(environ: Mapping[str, str] | None = None) -> Home:
    """The home that `PFLOW_HOME` names, else `~/.pflow`."""
    variables = os.environ if environ is None else environ
    chosen = variables.get("PFLOW_HOME", "")
    advice = ["set PFLOW_HOME to a folder that you can write to, for example `PFLOW_HOME=/tmp/pflow`"]
    if chosen:
        if chosen == "~" or chosen.startswith(("~/", "~" + os.sep)):
            chosen = variables.get("HOME", "~") + chosen[1:]
        if "\0" in chosen or chosen.startswith("~"):
            raise StorageError("PFLOW_HOME does not name a folder", suggestions=advice)
        return Home(absolute(chosen))
    user = variables.get("HOME", "") or variables.get("USERPROFILE", "")
    if not os.path.isabs(user) or "\0" in user:  # noqa: PTH117 - a Path would turn "" into "."
        raise StorageError("there is no home folder: HOME is not set to an absolute path", suggestions=advice)
    return Home(Path(user) / ".pflow")


def absolute(path: str | Path) -> Path:
    """The path from the root on, links untouched; a `StorageError` if the current folder is gone."""
    try:
        return Path(os.path.abspath(path))  # noqa: PTH100 - Path.absolute() keeps `..`
    except FileNotFoundError:
        raise StorageError(
            "the current folder does not exist any more",
            suggestions=["change to a folder that exists, or give an absolute path"],
        ) from None
