"""The programs whose servers pflow reads and that it is installed in: their files, and the form of their entries."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal

from pflow.core.frozen import Frozen

Form = Literal["plain", "typed", "opencode"]
"""How a server is written: a command with `args` and `env`, that with a `type`, or one list of words."""


class Host(Frozen):
    """One program. `table` is where its servers are; `project` are its files in a project, the usual one first."""

    title: str
    table: str = "mcpServers"
    form: Form = "plain"
    project: tuple[str, ...] = ()


HOSTS: Mapping[str, Host] = {
    "claude": Host(title="Claude Code", form="typed", project=(".mcp.json",)),
    "claude-desktop": Host(title="Claude Desktop"),
    "cursor": Host(title="Cursor", project=(".cursor/mcp.json",)),
    "vscode": Host(title="VS Code", table="servers", form="typed", project=(".vscode/mcp.json",)),
    "codex": Host(title="Codex", table="mcp_servers", project=(".codex/config.toml",)),
    "gemini": Host(title="Gemini CLI", project=(".gemini/settings.json",)),
    "windsurf": Host(title="Windsurf"),
    "opencode": Host(
        title="opencode",
        table="mcp",
        form="opencode",
        project=("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"),
    ),
    "zed": Host(title="Zed", table="context_servers", project=(".zed/settings.json",)),
    "cline": Host(title="Cline"),
}


def host_files(host: str, home: Path, environ: Mapping[str, str]) -> list[Path]:
    """Where a host keeps what a person configured for all projects, the usual file first."""
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    if sys.platform == "darwin":
        programs, zed = home / "Library" / "Application Support", home / ".config" / "zed"
    elif sys.platform == "win32":
        programs = Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
        zed = programs / "Zed"
    else:
        programs, zed = config, config / "zed"
    cline = Path("settings") / "cline_mcp_settings.json"
    return {
        "claude": [home / ".claude.json"],
        "claude-desktop": [programs / "Claude" / "claude_desktop_config.json"],
        "cursor": [home / ".cursor" / "mcp.json"],
        "vscode": [programs / "Code" / "User" / "mcp.json"],
        "codex": [Path(environ.get("CODEX_HOME") or home / ".codex") / "config.toml"],
        "gemini": [home / ".gemini" / "settings.json"],
        "windsurf": [home / ".codeium" / "windsurf" / "mcp_config.json"],
        "opencode": [config / "opencode" / name for name in ("opencode.json", "opencode.jsonc")],
        "zed": [zed / "settings.json"],
        "cline": [
            home / ".cline" / "data" / cline,
            programs / "Code" / "User" / "globalStorage" / "saoudrizwan.claude-dev" / cline,
        ],
    }[host]


def project_files(host: str, folder: Path) -> list[Path]:
    """Where a host looks for the servers of one project, the usual file first; nowhere if it has none."""
    return [folder / name for name in HOSTS[host].project]


def starts_pflow(words: Sequence[object]) -> bool:
    """Whether a command line is pflow as a server, started by itself, by Python or by a launcher."""
    names = [str(word).replace("\\", "/").rpartition("/")[2].removesuffix(".exe") for word in words]
    pairs = list(pairwise(names))
    return "pflow" in names and (("serve", "mcp") in pairs or ("mcp", "serve") in pairs)
