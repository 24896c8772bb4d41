"""Runs git so that no value and no repository can turn a read into an action; knows no single command.

The user's git configuration applies. Commands that only read run no hook, monitor, pager, external diff or
signature check and reach no network, whatever the configuration says; filters that the user configured for
files (`filter.*`) do run, as git could not compare files without them. A repository without a working tree that lies
inside another one may have come with that one's files: its configuration is nobody's choice, so it is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pflow.core.errors import SecurityError, StepError
from pflow.core.printable import shorten
from pflow.nodes import param
from pflow.nodes.file.git_place import find_bare
from pflow.nodes.file.policy import check_change, check_read, real_path
from pflow.process.command import Finished, child_environment, run_process

_MOST_BYTES = 10 << 20
"""Output that a command may give."""

_QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS": "true",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "LANGUAGE": "C",
    "LC_ALL": "C.UTF-8",
}
_LOOKING = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
_CHANGING = {"GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh"}
_IDENTITY = [f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL", "DATE")]

_ALWAYS = ("-c", "core.fsmonitor=false", "-c", "color.ui=false", "-c", "core.quotePath=false")
_ONLY_LOOKING = ("-c", f"core.hooksPath={os.devnull}", "-c", "log.showSignature=false")

_MISSING = {
    "not a git repository": "is not in a git repository",
    "cannot change to": "is not an existing directory",
}
_UNKNOWN = ("bad revision", "unknown revision", "invalid reference", "did not match any file", "invalid object name")
_ADVICE = {
    "not a git repository": "give a directory of a repository as `path`, or make one with `git init`",
    "cannot change to": "check `path`",
    "dubious ownership": "another user owns the repository; `git config --global --add safe.directory PATH` trusts it",
    "Please tell me who you are": "set `git config user.name` and `git config user.email`, or the node's `author`",
    "would be overwritten": "commit the changes first, or put them aside with `git stash`",
    "index.lock": "another git process works in the repository; try again when it is done",
    "CONFLICT": "resolve the conflicts first",
    "unmerged files": "resolve the conflicts first",
}


class Repository:
    """A directory where git runs. With `changing`, hooks run and networks are used, as the user's own git would."""

    def __init__(self, params: Mapping[str, Any], *, changing: bool = False) -> None:
        self.path = param.path(params, "path", ".")
        self._timeout = param.seconds(params, "timeout", 60.0)
        self._changing = changing
        self._real = real_path(self.path)
        check_read("look at the repository", self._real)
        if changing:
            check_change("change the repository", self._real)
        self._bare = _check_bare(self.path, self._real)

    async def git(self, *argv: str, stdin: bytes = b"", ok: Sequence[int] = (0,)) -> Finished:
        """Run one command. Raises `StepError` for an exit code that is not `ok` and for output that was cut."""
        for value in argv:
            _check_word(value)
        command = ["git", "-C", self._real, "--no-pager", "--literal-pathspecs", *_ALWAYS]
        command += ("-c", f"safe.bareRepository={'all' if self._bare else 'explicit'}")
        if not self._changing:
            command += _ONLY_LOOKING
        done = await run_process(
            [*command, *argv], stdin=stdin, env=self._environment(), timeout=self._timeout, limit=_MOST_BYTES
        )
        if done.exit_code not in ok:
            raise self.failure(argv[0], done)
        if done.stdout_cut:
            raise StepError(
                f"`git {argv[0]}` gives more than {_MOST_BYTES >> 20} MiB",
                suggestions=["ask for less, for instance with `files`"],
            )
        return done

    async def check_shown(self, files: Iterable[str]) -> None:
        """Raise `SecurityError` if a file, named from the top of the working tree, is one that steps may not read."""
        up = (await self.git("rev-parse", "--show-cdup")).stdout.decode(errors="replace").strip()
        top = real_path(os.path.join(self._real, up))  # noqa: PTH118
        for file in files:
            check_read("show the difference", os.path.join(top, file))  # noqa: PTH118

    def failure(self, command: str, done: Finished) -> StepError:
        """What a failed command means."""
        said = (done.stderr.strip() or done.stdout.strip()).decode(errors="replace")
        first = next((line for line in said.splitlines() if line.strip()), f"exit code {done.exit_code}")
        first = first.removeprefix("fatal: ").removeprefix("error: ")
        missing = [f"`{self.path}` {what}" for sign, what in _MISSING.items() if sign in said]
        return StepError(
            missing[0] if missing else f"`git {command}` failed: {first[:300]}",
            action="resource_missing" if missing or any(sign in said for sign in _UNKNOWN) else "error",
            details={"exit_code": done.exit_code, "git": said[:2000], "path": self.path},
            suggestions=[advice for sign, advice in _ADVICE.items() if sign in said][:1],
        )

    def _environment(self) -> dict[str, str]:
        if not self._changing:
            return child_environment({**_QUIET, **_LOOKING})
        identity = {name: os.environ[name] for name in _IDENTITY if name in os.environ}
        return child_environment({**identity, **_QUIET, **_CHANGING})


def _check_bare(path: str, real: str) -> bool:
    """Whether git finds a repository without a working tree at a path; raises for one inside another repository."""
    bare, outer = find_bare(real)
    if outer:
        raise SecurityError(
            f"refused to use `{path}`: it is in a repository without a working tree inside another repository",
            suggestions=["give a directory of the working tree as `path`, or use a `shell` step"],
        )
    return bool(bare)


def revision(params: Mapping[str, Any], name: str) -> str:
    """A commit, branch, tag or range; empty without one. One that git would take for an option is refused."""
    value = param.text(params, name)
    if value.startswith("-"):
        raise StepError(
            f"`{name}` is `{shorten(value, 100)}`, which git would take for an option",
            suggestions=["name a commit, branch or tag"],
        )
    return value


def names(params: Mapping[str, Any], name: str) -> list[str]:
    """File names, from an array or a single string."""
    value = params.get(name)
    listed = [value] if isinstance(value, str) else value or []
    if not isinstance(listed, list) or not all(isinstance(one, str) and one for one in listed):
        raise StepError(f"`{name}` must be an array of file names")
    return listed


def options(params: Mapping[str, Any], *names: str) -> list[str]:
    """Strings as the values of flags of the same names, each in one word so that it cannot be an option itself."""
    return [f"--{name}={value}" for name in names if (value := param.text(params, name))]


def _check_word(value: str) -> None:
    try:
        encoded = os.fsencode(value)
    except UnicodeEncodeError:
        encoded = b"\0"
    if b"\0" in encoded:
        raise StepError("a value for git contains a character that an argument cannot hold")
