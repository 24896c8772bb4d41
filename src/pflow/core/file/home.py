"""Where pflow keeps its files; creates nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pflow.core.errors import StorageError
from pflow.core.printable import is_text


class Home:
    """The directory that holds everything pflow remembers."""

    def __init__(self, root: Path) -> None:
        self.root = root

        self.workflows = root / "workflows"
        """The library."""

        self.drafts = root / "temp-workflows"
        """Workflows that an agent is still working on."""

        self.debug = root / "debug"
        """Traces."""

        self.nodes = root / "nodes"
        """The user's own nodes."""

        self.runs = root / "runs"
        """Files of runs that are too big or too binary for the journal."""

        self.settings = root / "settings.json"
        """Options and credentials."""

        self.registry = root / "registry.json"
        """The cache of node types."""

        self.observed = root / "mcp-observed.json"
        """The observed shapes of MCP tools' results."""

        self.servers = root / "mcp-servers.json"
        """MCP servers."""

        self.server_states = root / "mcp-state.json"
        """What was learned about MCP servers."""

        self.models = root / "models.json"
        """What was learned about language models."""

        self.projects = root / "projects.json"
        """What projects bring along that the person has agreed to."""

        self.tokens = root / "mcp-tokens.json"
        """Tokens of logins to MCP servers."""

        self.live = root / "live"
        """What steps of running runs say, for those who follow them."""

        self.journal = root / "runs.db"
        """The journal of runs."""

        self.daemon = root / "daemon.lock"
        """Held by the daemon, if there is one; says which process that is."""

        self.drivers = root / "drivers"
        """Locks of the processes that take up runs which are due."""

        self.page = root / "page.json"
        """Where the page is served, if it is, and the token that opens it."""

        self.tests = root / "tests"
        """Tests of the library's workflows, and their cassettes."""

        self.sessions = root / "sessions"
        """Recorded sessions of agents."""

        self.key = root / "runs.key"
        """The key to credentials that runs came by, which the journal holds only encrypted."""


def find_home(environ: Mapping[str, str] | None = None) -> Home:
    """The home that `PFLOW_HOME` names, else `~/.pflow`."""
    variables = os.environ if environ is None else environ
    chosen = variables.get("PFLOW_HOME", "")
    advice = ["set PFLOW_HOME to a directory that you can write to, for example `PFLOW_HOME=/tmp/pflow`"]
    if chosen:
        if chosen == "~" or chosen.startswith(("~/", "~" + os.sep)):
            chosen = variables.get("HOME", "~") + chosen[1:]
        if "\0" in chosen or chosen.startswith("~"):
            raise StorageError("PFLOW_HOME does not name a directory", suggestions=advice)
        return Home(absolute(chosen))
    user = variables.get("HOME", "") or variables.get("USERPROFILE", "")
    if not os.path.isabs(user) or "\0" in user:  # noqa: PTH117 - a Path would turn "" into "."
        raise StorageError("there is no home directory: HOME is not set to an absolute path", suggestions=advice)
    return Home(Path(user) / ".pflow")


def absolute(path: str | Path) -> Path:
    """The absolute path, with links left as they are; a `StorageError` if the current directory is gone."""
    try:
        return Path(os.path.abspath(path))  # noqa: PTH100 - Path.absolute() keeps `..`
    except FileNotFoundError:
        raise StorageError(
            "the current directory no longer exists",
            suggestions=["change to a directory that exists, or give an absolute path"],
        ) from None


def directory_name() -> str:
    """Where this process is; "" if that directory is gone, or its name is not text."""
    try:
        found = os.getcwd()  # noqa: PTH109 - for each run, and a Path takes longer
    except OSError:
        return ""
    return found if is_text(found) else ""
