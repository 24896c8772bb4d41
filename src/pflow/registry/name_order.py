"""Who has the name of a node type when several want it: the first that was added, and a notice says who lost it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pflow.registry.package import PACKAGE

FIRST_BUILT_IN = frozenset(
    {
        *("code", "echo", "http", "shell", "workflow"),
        *("copy-file", "delete-file", "list-files", "move-file", "read-file", "write-file"),
        *("git-checkout", "git-commit", "git-diff", "git-log", "git-status"),
        *("github", "github-create-issue", "github-create-pr", "github-get-issue", "github-list-issues"),
        "github-list-prs",
    }
)
"""Built-in names that nobody else can have. Later ones give way: a person's or package's node keeps its name."""


class NameOrder:
    """Node types by name, as they are added; `notices` says what was left out."""

    def __init__(self) -> None:
        self.nodes: dict[str, dict[str, object]] = {}
        self.notices: list[str] = []

    def add(self, source: str, entries: Mapping[str, dict[str, object]]) -> None:
        """Take in the node types whose names are free; `source` is what a notice calls the place they come from."""
        for name, data in entries.items():
            if name in self.nodes:
                self.notices.append(collision(name, source, self.nodes[name]))
            else:
                self.nodes[name] = data


def collision(name: str, source: str, owner: Mapping[str, object]) -> str:
    """What to say of a node type whose name another one has."""
    return f"{source}: node type `{name}` is left out; {_holder(owner)} has that name"


def _holder(owner: Mapping[str, object]) -> str:
    if package := owner.get(PACKAGE):
        return f"package `{package}`"
    return "a built-in node" if owner.get("module") else f"`{Path(str(owner.get('file_path'))).name}`"
