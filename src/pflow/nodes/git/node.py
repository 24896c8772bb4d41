"""The git nodes: the state of a repository as values, and the two changes that workflows make to one."""

from __future__ import annotations

import os
import re
from typing import Annotated, Any, NotRequired, TypedDict

from pflow.core.errors import StepError
from pflow.nodes import param
from pflow.nodes.git.command import Repository, names, options, revision
from pflow.nodes.git.output import COMMIT_FORMAT, parse_commits, parse_numstat, parse_status
from pflow.nodes.output_node import AsyncOutputNode

_AUTHOR = re.compile(r"[^<>\0\r\n]*[^<>\0\r\n\s] <[^<>\0\r\n]*>")
_NOTHING = re.compile(rb"nothing (added )?to commit|no changes added to commit")
_NO_COMMITS = "does not have any commits yet"
_PLAIN_DIFF = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--find-renames")
_PATCH = ("--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", "--patch")


class Status(TypedDict):
    """The state of a working tree. `branch` is null when no branch is checked out."""

    branch: str | None
    sha: str | None
    upstream: str | None
    ahead: int
    behind: int
    staged: list[str]
    modified: list[str]
    untracked: list[str]
    conflicted: list[str]
    clean: bool


class File(TypedDict):
    """A changed file; the numbers are null for a binary one, `old_path` is there for a renamed one."""

    path: str
    added: int | None
    removed: int | None
    old_path: NotRequired[str]


class Commit(TypedDict):
    """One commit; `files` are listed when the node is asked for them."""

    sha: str
    short: str
    author: str
    email: str
    date: str
    subject: str
    body: str
    files: NotRequired[list[File]]


class _GitNode(AsyncOutputNode):
    actions = ("default", "error", "timeout", "resource_missing")


class GitStatus(_GitNode):
    """Tell which branch is checked out and which files have changed."""

    name = "git-status"
    synonyms = (
        "which files have I changed",
        "uncommitted, modified or untracked changes",
        "current branch",
        "dirty",
        "is my working copy clean",
        "what did I edit",
        "state of the repository, repo",
        "pending changes",
    )
    purity = "read"

    class Params:
        path: Annotated[str, "Directory in the repository"] = "."
        timeout: Annotated[float | str, "How long it may take, such as 90s or 15m", "slot:duration"] = 60.0

    class Outputs:
        status: Annotated[
            Status,
            "Branch, distance to its upstream, and the paths that are staged, modified, untracked or conflicted",
        ]
        clean: Annotated[bool, "Whether nothing has changed"]

    async def exec_async(self, prep_res: object) -> dict[str, Any]:
        """Ask git."""
        status = await _status(Repository(self.params))
        return {"status": status, "clean": status["clean"]}


class GitLog(_GitNode):
    """List commits, newest first."""

    name = "git-log"
    synonyms = (
        "history of a repository",
        "latest commits",
        "who committed what and when",
        "recent changes",
        "what happened in the repo",
        "past commits of last week or month",
        "author",
        "changelog, release notes",
    )
    purity = "read"

    class Params:
        path: Annotated[str, "Directory in the repository"] = "."
        ref: Annotated[str, "Branch, tag, commit, or a range such as v1..main; the current branch without one"] = ""
        limit: Annotated[int, "Most commits to list; 0 for all"] = 20
        since: Annotated[str, "Only commits after this date, such as 2026-01-31 or 2 weeks ago"] = ""
        until: Annotated[str, "Only commits before this date"] = ""
        author: Annotated[str, "Only commits whose author matches this text"] = ""
        grep: Annotated[str, "Only commits whose message holds this text"] = ""
        files: Annotated[list[str] | None, "Only commits that change these files or directories"] = None
        include_files: Annotated[bool, "Whether to list the files of each commit"] = False
        timeout: Annotated[float | str, "How long it may take, such as 90s or 15m", "slot:duration"] = 60.0

    class Outputs:
        commits: Annotated[list[Commit], "The commits; dates are ISO 8601"]
        count: Annotated[int, "How many there are"]

    async def exec_async(self, prep_res: object) -> dict[str, Any]:
        """Ask git."""
        params = self.params
        filters = options(params, "since", "until", "author", "grep")
        limit = param.integer(params, "limit", 20, most=1_000_000)
        if limit:
            filters.append(f"--max-count={limit}")
        commits = await _commits(
            Repository(params),
            revision(params, "ref"),
            [*filters, "--fixed-strings", "--regexp-ignore-case"],
            names(params, "files"),
            with_files=params.get("include_files") is True,
        )
        return {"commits": commits, "count": len(commits)}


class GitDiff(_GitNode):
    """Show what changed: in the working tree, in the index, or between two commits."""

    name = "git-diff"
    synonyms = (
        "what changed in my repository",
        "compare versions or commits",
        "differences, patch",
        "compare two commits or branches",
        "what is different",
        "lines added and removed",
    )
    purity = "read"

    class Params:
        path: Annotated[str, "Directory in the repository"] = "."
        base: Annotated[str, "Commit to compare with; the index without one"] = ""
        target: Annotated[str, "Commit to compare; the working tree without one"] = ""
        staged: Annotated[bool, "Whether to compare the index instead of the working tree"] = False
        files: Annotated[list[str] | None, "Only these files or directories"] = None
        context: Annotated[int, "Unchanged lines around each change"] = 3
        timeout: Annotated[float | str, "How long it may take, such as 90s or 15m", "slot:duration"] = 60.0

    class Outputs:
        diff: Annotated[str, "The difference as a patch"]
        files: Annotated[list[File], "The files that differ"]
        changed: Annotated[bool, "Whether anything differs"]

    async def exec_async(self, prep_res: object) -> dict[str, Any]:
        """Ask git, for the patch and for the numbers."""
        params = self.params
        base, target = revision(params, "base"), revision(params, "target")
        staged = params.get("staged") is True
        if target and (staged or not base):
            raise StepError(
                "`target` is compared with `base`" + (", not with the index" if staged else ", which is missing"),
                suggestions=["give `base` and `target`, or neither"],
            )
        context = param.integer(params, "context", 3, most=10_000)
        what = [*(["--cached"] if staged else []), *filter(None, (base, target)), "--", *names(params, "files")]
        repository = Repository(params)
        # outside of a repository, git would compare any two files
        await repository.git("rev-parse", "--git-dir")
        numbers = await repository.git("diff", *_PLAIN_DIFF, "--numstat", "-z", *what)
        files = parse_numstat(numbers.stdout)
        await repository.check_shown(name for file in files for name in (file["path"], file.get("old_path", "")))
        patch = await repository.git("diff", *_PLAIN_DIFF, *_PATCH, f"--unified={context}", *what)
        return {"diff": patch.stdout.decode(errors="replace"), "files": files, "changed": bool(files)}


class GitCommit(_GitNode):
    """Record changes: the given files, everything, or what is already staged. Hooks run."""

    name = "git-commit"
    synonyms = (
        "save my changes in version control",
        "commit everything",
        "check in",
        "stage and record work",
        "add files and commit with a message",
        "snapshot of my work",
    )
    purity = "impure"

    class Params:
        message: Annotated[str, "What the commit says"]
        path: Annotated[str, "Directory in the repository"] = "."
        files: Annotated[list[str] | None, "Commit these files or directories as they are, and nothing else"] = None
        all: Annotated[bool, "Commit everything that changed, new files as well"] = False
        allow_empty: Annotated[bool, "Whether a commit without changes is fine"] = False
        author: Annotated[str, "Name <email>, if not the person that git knows"] = ""
        timeout: Annotated[float | str, "How long it may take, such as 90s or 15m", "slot:duration"] = 60.0

    class Outputs:
        sha: Annotated[str, "The new commit"]
        commit: Annotated[Commit, "The new commit with its files"]
        branch: Annotated[str | None, "The branch that it is on"]

    async def exec_async(self, prep_res: object) -> dict[str, Any]:
        """Stage what is asked for, then commit."""
        params = self.params
        message = param.utf8("message", param.required_text(params, "message", "describe what the commit changes"))
        files, everything = names(params, "files"), params.get("all") is True
        if files and everything:
            raise StepError("`files` and `all` are both given", suggestions=["keep one of them"])
        author = options(params, "author")
        if author and not _AUTHOR.fullmatch(author[0].partition("=")[2]):
            raise StepError("`author` is not of the form `Name <email>`")
        repository, look = Repository(params, changing=True), Repository(params)
        if files or everything:
            await repository.git("add", "--all", "--", *files)
        flags = ["--allow-empty"] if params.get("allow_empty") is True else []
        only = ["--only", "--", *files] if files else []
        done = await repository.git(
            "commit", "--cleanup=whitespace", "--file=-", *author, *flags, *only, stdin=message, ok=(0, 1)
        )
        if done.exit_code:
            nothing = _NOTHING.search(done.stdout)
            raise await _nothing_to_commit(look) if nothing else repository.failure("commit", done)
        (commit,) = await _commits(look, "HEAD", ["--max-count=1"], [], with_files=True)
        status = await _status(look)
        return {"sha": commit["sha"], "commit": commit, "branch": status["branch"]}


class GitCheckout(_GitNode):
    """Switch to a branch, tag or commit. Changes that would be lost stop it."""

    name = "git-checkout"
    synonyms = (
        "switch branches",
        "create a new branch",
        "go to another version or tag",
        "go back to an older commit",
        "go to the develop or main branch",
        "change branch",
        "check out",
    )
    purity = "impure"

    class Params:
        ref: Annotated[str, "Branch, tag or commit"]
        path: Annotated[str, "Directory in the repository"] = "."
        create: Annotated[bool, "Whether to make a new branch of this name"] = False
        start: Annotated[str, "Where a new branch starts; the current commit without one"] = ""
        timeout: Annotated[float | str, "How long it may take, such as 90s or 15m", "slot:duration"] = 60.0

    class Outputs:
        branch: Annotated[str | None, "The branch that is checked out now; null for a tag or commit"]
        sha: Annotated[str, "The commit that is checked out now"]
        previous: Annotated[str | None, "The branch, or without one the commit, that was checked out before"]

    async def exec_async(self, prep_res: object) -> dict[str, Any]:
        """Switch, and read the state before and after."""
        params = self.params
        ref, start = revision(params, "ref"), revision(params, "start")
        create = params.get("create") is True
        if not ref:
            raise StepError("`ref` is empty", suggestions=["name a branch, tag or commit"])
        if start and not create:
            raise StepError("`start` is for a new branch", suggestions=["set `create`, or leave `start` out"])
        repository, look = Repository(params, changing=True), Repository(params)
        before = await _status(look)
        await repository.git("checkout", "--quiet", *(["-b"] if create else []), *filter(None, (ref, start)), "--")
        after = await _status(look)
        return {"branch": after["branch"], "sha": after["sha"], "previous": before["branch"] or before["sha"]}


async def _status(repository: Repository) -> dict[str, Any]:
    done = await repository.git("status", "--porcelain=v2", "--branch", "--untracked-files=all", "-z")
    return parse_status(done.stdout)


async def _commits(
    repository: Repository, ref: str, filters: list[str], files: list[str], *, with_files: bool
) -> list[dict[str, Any]]:
    # no message or file name may hold what marks the start of a commit
    mark = os.urandom(12).hex()
    done = await repository.git(
        "log",
        "-z",
        f"--format={mark}%x00{COMMIT_FORMAT}%x00",
        *_PLAIN_DIFF,
        "--numstat" if with_files else "--no-patch",
        "--encoding=UTF-8",
        *filters,
        *([ref] if ref else []),
        "--",
        *files,
        ok=(0, 128),
    )
    if done.exit_code:
        if not ref and _NO_COMMITS in done.stderr.decode(errors="replace"):
            return []
        raise repository.failure("log", done)
    return parse_commits(done.stdout, mark, with_files)


async def _nothing_to_commit(repository: Repository) -> StepError:
    status = await _status(repository)
    left = [*status["modified"], *status["untracked"]]
    if not left:
        return StepError(
            "there is nothing to commit",
            suggestions=["set `allow_empty` to commit without changes"],
        )
    return StepError(
        f"there is nothing to commit among what was asked for; {len(left)} other files have changed",
        details={"changed": left[:50]},
        suggestions=["name them in `files`, or set `all`"],
    )
