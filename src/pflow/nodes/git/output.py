"""Parses what git prints for programs. Bytes of paths and messages that are not UTF-8 become `�`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

COMMIT_FIELDS = ("sha", "short", "author", "email", "date", "subject", "body")
COMMIT_FORMAT = "%x00".join(("%H", "%h", "%an", "%ae", "%aI", "%s", "%b"))
_CHANGES = ("staged", "modified", "untracked", "conflicted")


def parse_status(output: bytes) -> dict[str, Any]:
    """The output of `git status --porcelain=v2 --branch -z`."""
    status: dict[str, Any] = {"branch": None, "sha": None, "upstream": None, "ahead": 0, "behind": 0}
    status |= {kind: [] for kind in _CHANGES}
    tokens = _tokens(output)
    for token in tokens:
        kind, _, rest = token.partition(" ")
        if kind == "#":
            _read_header(status, rest)
        elif kind == "?":
            status["untracked"].append(rest)
        elif kind == "u":
            status["conflicted"].append(rest.split(" ", 9)[-1])
        elif kind in ("1", "2"):
            path = rest.split(" ", 7 if kind == "1" else 8)[-1]
            if kind == "2":
                next(tokens, "")
            if rest[0] != ".":
                status["staged"].append(path)
            if rest[1:2] != ".":
                status["modified"].append(path)
    status["clean"] = not any(status[kind] for kind in _CHANGES)
    return status


def _read_header(status: dict[str, Any], text: str) -> None:
    name, _, value = text.partition(" ")
    if name == "branch.oid" and value != "(initial)":
        status["sha"] = value
    elif name == "branch.head" and value != "(detached)":
        status["branch"] = value
    elif name == "branch.upstream":
        status["upstream"] = value
    elif name == "branch.ab":
        ahead, _, behind = value.partition(" ")
        status["ahead"], status["behind"] = int(ahead), -int(behind)


def parse_commits(output: bytes, mark: str, files: bool) -> list[dict[str, Any]]:
    """The output of `git log -z`, each commit opened by `mark` and its fields in `COMMIT_FORMAT`."""
    commits: list[dict[str, Any]] = []
    for record in output.split(mark.encode() + b"\0")[1:]:
        *fields, rest = record.split(b"\0", len(COMMIT_FIELDS))
        commit: dict[str, Any] = dict(zip(COMMIT_FIELDS, map(_text, fields), strict=True))
        commit["body"] = commit["body"].rstrip("\n")
        if files:
            commit["files"] = parse_numstat(rest.lstrip(b"\0\n"))
        commits.append(commit)
    return commits


def parse_numstat(output: bytes) -> list[dict[str, Any]]:
    """The output of `--numstat -z`: lines added and removed per file, null for a binary one."""
    files: list[dict[str, Any]] = []
    tokens = _tokens(output)
    for token in tokens:
        added, _, rest = token.partition("\t")
        removed, _, path = rest.partition("\t")
        file: dict[str, Any] = {
            "path": path,
            "added": int(added) if added.isdigit() else None,
            "removed": int(removed) if removed.isdigit() else None,
        }
        if not path:
            file["old_path"], file["path"] = next(tokens, ""), next(tokens, "")
        files.append(file)
    return files


def _tokens(output: bytes) -> Iterator[str]:
    return (_text(token) for token in output.split(b"\0") if token)


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
