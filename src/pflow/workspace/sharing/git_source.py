"""Reads the documents of a git repository elsewhere without checking it out: nothing in it is run or made a file."""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from pflow.core.errors import NotFoundError, SecurityError, StepError, StepTimeout, StorageError, UsageError
from pflow.core.frozen import Frozen
from pflow.core.printable import shorten
from pflow.process.command import Finished, child_environment, run_process

FETCH_SECONDS = 120.0
MOST_FETCHED_BYTES = 100 << 20
"""Of a repository. A collection of workflows is a thousandth of that."""

_LOOK_SECONDS = 0.2
"""How often the size of what was fetched is looked at."""

_SCHEMES = ("https", "ssh", "file")
_SCP = re.compile(r"[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:[^\s:][^\s]*")
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/@-]{0,199}")
_QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS": "true",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "LANGUAGE": "C",
    "LC_ALL": "C.UTF-8",
}
_SAFE = (
    *("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false", "-c", "submodule.recurse=false"),
    *("-c", "fetch.recurseSubmodules=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false"),
    *("-c", "core.quotePath=false", "-c", "transfer.fsckObjects=true"),
)


class Fetched(Frozen):
    """The files of a commit that were asked for: their bytes by path; None for one that is too large."""

    commit: str
    files: dict[str, bytes | None]
    paths: Sequence[str]


def is_git_url(reference: str) -> bool:
    """Whether a reference is the address of a repository, not a path."""
    return "://" in reference or "::" in reference or _SCP.fullmatch(reference) is not None


def fetch_files(
    url: str, ref: str, wanted: re.Pattern[str], *, most_bytes: int, timeout: float = FETCH_SECONDS
) -> Fetched:
    """The files of a repository whose paths `wanted` matches, as of `ref`; by default of its main branch.

    Raises `UsageError`, `SecurityError` and `NotFoundError`, and `StepTimeout` when the other side does not answer.
    """
    scheme = _check_url(url)
    if ref and not _REF.fullmatch(ref):
        raise UsageError(f"`{shorten(ref)}` is not a branch, tag or commit", suggestions=["check `--ref`"])
    with tempfile.TemporaryDirectory(prefix="pflow-git-", ignore_cleanup_errors=True) as folder:
        repository = _Repository(Path(folder), scheme, timeout)
        return asyncio.run(repository.read(url, ref or "HEAD", wanted, most_bytes))


def _check_url(url: str) -> str:
    """The scheme of an address that may be fetched from."""
    if url.startswith("-") or any(letter.isspace() or not letter.isprintable() for letter in url):
        raise UsageError(f"`{shorten(url)}` is not the address of a repository")
    if _SCP.fullmatch(url):
        return "ssh"
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        raise UsageError(f"`{shorten(url)}` is not the address of a repository") from None
    if parts.password is not None or (parts.username is not None and parts.scheme != "ssh"):
        raise UsageError(
            "an address with a user name or password in it is not used: it would be recorded with the workflow",
            suggestions=["let git's credential helper give the password"],
        )
    if host.startswith("-"):
        raise UsageError(f"`{shorten(host)}` is not the name of a host")
    if parts.scheme in _SCHEMES or (parts.scheme == "http" and host in ("localhost", "127.0.0.1", "::1")):
        return parts.scheme
    raise SecurityError(
        f"workflows are not fetched over `{shorten(parts.scheme or url.partition('::')[0])}`",
        suggestions=["give an address that begins with `https://` or `ssh://`, or fetch it yourself"],
    )


class _Repository:
    """A repository without a working tree, in a directory that is deleted afterwards."""

    def __init__(self, folder: Path, scheme: str, timeout: float) -> None:
        self._folder = folder
        self._scheme = scheme
        self._timeout = timeout

    async def read(self, url: str, ref: str, wanted: re.Pattern[str], most_bytes: int) -> Fetched:
        """Fetch a commit and read the files of it that are wanted."""
        await self._git("init", "--quiet", "--bare", "--template=", str(self._folder))
        fetching = asyncio.ensure_future(self._fetch(url, ref))
        try:
            while not (await asyncio.wait([fetching], timeout=_LOOK_SECONDS))[0]:
                _check_size(self._folder)
            fetching.result()
        finally:
            fetching.cancel()
            await asyncio.gather(fetching, return_exceptions=True)
        _check_size(self._folder)
        commit = (await self._git("rev-parse", "--verify", "FETCH_HEAD^{commit}")).stdout.decode().strip()
        listed = await self._git("ls-tree", "-r", "-z", "-l", "--full-tree", commit)
        if listed.stdout_cut:
            raise UsageError("the repository has too many files", suggestions=["fetch it yourself, and add a file"])
        files: dict[str, bytes | None] = {}
        paths: list[str] = []
        for line in listed.stdout.split(b"\0"):
            about, _, path = line.partition(b"\t")
            mode, kind, name, size = (about.split() or [b"", b"", b"", b""])[:4]
            shown = path.decode(errors="replace")
            paths.append(shown)
            if kind != b"blob" or mode == b"120000" or not wanted.fullmatch(shown):
                continue  # neither a submodule nor a link is followed
            is_small = size.isdigit() and int(size) <= most_bytes
            files[shown] = (await self._git("cat-file", "blob", name.decode())).stdout if is_small else None
        return Fetched(commit=commit, files=files, paths=paths)

    async def _fetch(self, url: str, ref: str) -> None:
        options = ("--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-commit-graph")
        done = await self._run("fetch", *options, "--", url, ref)
        if done.exit_code:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            first = next((line for line in said if line.startswith(("fatal:", "error:"))), said[-1] if said else "")
            raise NotFoundError(
                f"`{shorten(url, 200)}` cannot be fetched: {shorten(first.partition(': ')[2] or first, 200)}",
                suggestions=["check the address and `--ref`, and whether `git ls-remote` reaches it"],
            )

    async def _git(self, *argv: str) -> Finished:
        done = await self._run(*argv)
        if done.exit_code:
            said = done.stderr.decode(errors="replace").strip()
            raise StorageError(f"`git {argv[0]}` failed: {shorten(said or str(done.exit_code), 200)}")
        return done

    async def _run(self, *argv: str) -> Finished:
        protocols = {"GIT_ALLOW_PROTOCOL": self._scheme}
        try:
            return await run_process(
                ["git", f"--git-dir={self._folder}", *_SAFE, *argv],
                env=child_environment({**_QUIET, **protocols}),
                cwd=str(self._folder),
                timeout=self._timeout,
            )
        except StepTimeout:
            raise StepTimeout(f"the repository did not answer within {self._timeout:g} s") from None
        except StepError as error:
            raise UsageError(f"git cannot be used: {error.message}", suggestions=["install git"]) from None


def _check_size(folder: Path) -> None:
    size = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                size += (Path(root) / name).lstat().st_size
            except OSError:
                continue  # git has renamed it meanwhile
    if size > MOST_FETCHED_BYTES:
        raise UsageError(
            f"the repository has more than {MOST_FETCHED_BYTES >> 20} MiB",
            suggestions=["fetch it yourself, and add one of its files"],
        )
