"""Tries the blocks of a page in one folder, one after the other, as a reader who follows the page would."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from pflow.cli.main import run_command
from pflow.core.file.home import Home
from pflow.workspace import Workspace
from tests.docs.page import Block
from tests.docs.recorded import parts_for

READER = "/home/ada"
"""Where the pages' examples run, as the pages show it."""

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_CHANGING = (
    (re.compile(r"\b[0-9]{8}-[0-9]{6}-[0-9a-f]{16}\b"), "RUN"),
    (re.compile(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}\b"), "DATE"),
    (re.compile(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"), "MOMENT"),
    (re.compile(r"^[0-9]{2}:[0-9]{2}:[0-9]{2}(?=  )", re.MULTILINE), "CLOCK"),
    (re.compile(r"\b[0-9.]+ (?:ms|s|min)\b"), "TIME"),
    (re.compile(r"(?<=[a-z]\":)[0-9]+\.[0-9]+"), "NUMBER"),
    (re.compile(r" {2,}"), "  "),
    (re.compile(r" +$", re.MULTILINE), ""),
)
"""What no two runs have in common: ids, moments, how long things take, and the columns that depend on them."""

_SHELL = frozenset("|&;<>$`*?~(){}")


class Said(NamedTuple):
    """What a command wrote, to stdout and stderr alike, and its exit code."""

    text: str
    code: int


class Session:
    """A folder, a home of pflow in it, and the exit code of the last command."""

    def __init__(self, person: Path) -> None:
        self._person = person
        self.folder = person / "shop"
        self.folder.mkdir()
        self._code = 0
        self._printed: str | None = None

    def try_block(self, block: Block) -> Iterator[str]:
        """What is not as the page says, each in words."""
        printed, self._printed = self._printed, None
        if block.file is not None:
            path = Path(
                block.file.replace("~", str(self._person), 1) if block.file[0] == "~" else self.folder / block.file
            )
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, "utf-8")
        if block.language in ("json", "yaml") and "data" not in block.words:
            yield from self._check(block)
        elif block.language == "console":
            yield from self._follow(block)
        elif block.language == "python" and block.file is None:
            said = self._fork(lambda: exec(compile(block.text, "example.py", "exec"), {"__name__": "__main__"}))
            self._printed = said.text
            if said.code:
                yield f"the program ended with exit code {said.code}:\n{said.text}"
        elif block.words == ("text", "output"):
            if printed is None:
                yield "no program stands before its output"
            elif not matches(block.text, printed):
                yield f"the program printed:\n{printed}"

    def _check(self, block: Block) -> Iterator[str]:
        with Workspace(Home(self._person / ".pflow")) as workspace:
            if block.file is None:
                checked = workspace.check(workspace.parse(block.text, suffix=f".{block.language}"))
            else:
                checked = workspace.check(str(self.folder / block.file))
        if "invalid" in block.words:
            if checked.ok:
                yield "the document is valid, though the page says that it is not"
        else:
            yield from (f"{issue.path}: {issue.message}" for issue in checked.issues)

    def _follow(self, block: Block) -> Iterator[str]:
        for command, expected in _commands(block.text):
            if command == "echo $?":
                said = Said(f"{self._code}\n", 0)
            else:
                said = self._run(command)
                self._code = said.code
            if not matches(expected, said.text):
                yield f"`{command}` (exit code {self._code}) said:\n{said.text}"

    def _run(self, command: str) -> Said:
        if command.startswith("pflow ") and _SHELL.isdisjoint(_QUOTED.sub("", command)):
            words = shlex.split(command)[1:]
            return self._fork(lambda: run_command(words, parts_for(command)))
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self.folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=False,
        )
        code = done.returncode
        return self._said(done.stdout, code if code >= 0 else 128 - code)

    def _fork(self, work: Callable[[], int | None]) -> Said:
        """Work in a copy of this process: as apart as a process of its own, without an interpreter to start."""
        with tempfile.TemporaryFile() as output:
            pid = os.fork()
            if pid == 0:
                code = 70
                try:
                    os.chdir(self.folder)
                    environment = self._environment()
                    os.environ.clear()
                    os.environ.update(environment)
                    nothing = os.open(os.devnull, os.O_RDONLY)
                    for target, source in ((0, nothing), (1, output.fileno()), (2, output.fileno())):
                        os.dup2(source, target)
                    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(fd, mode) for fd, mode in enumerate("rww"))
                    code = work() or 0
                    sys.stdout.flush()
                except BaseException:
                    traceback.print_exc(file=sys.stderr)
                finally:
                    sys.stderr.flush()
                    os._exit(code)
            _, status = os.waitpid(pid, 0)
            output.seek(0)
            code = os.waitstatus_to_exitcode(status)
            return self._said(output.read(), code if code >= 0 else 128 - code)

    def _environment(self) -> dict[str, str]:
        """A reader's environment, without what the tests' own holds: a key there would be hidden in the outputs."""
        programs = f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}"
        return {
            "PATH": programs,
            "HOME": str(self._person),
            "PFLOW_HOME": str(self._person / ".pflow"),
            "LANG": "C.UTF-8",
        }

    def _said(self, output: bytes, code: int) -> Said:
        return Said(output.decode(errors="replace").replace(str(self._person), READER), code)


def _commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a console, and what it says: the lines up to the next command."""
    parts = re.split(r"^\$ (.*(?:\\\n.*)*)\n", text, flags=re.MULTILINE)
    assert not parts[0], "a console begins with a command"
    yield from ((command.replace("\\\n", ""), said) for command, said in zip(parts[1::2], parts[2::2], strict=True))


def matches(expected: str, actual: str) -> bool:
    """Whether the page shows what was said, ids and times aside.

    `…` stands for anything in a line, and alone for any number of lines.
    """
    pattern = "".join(
        r"(?:.*\n)*" if line.strip() == "…" else ".*".join(map(re.escape, line.split("…"))) + "\n"
        for line in _settled(expected).splitlines()
    )
    return re.fullmatch(pattern, _settled(actual)) is not None


def _settled(text: str) -> str:
    """The text without what differs from run to run, and a line end at its end."""
    for found, stands in _CHANGING:
        text = found.sub(stands, text)
    return text if text.endswith("\n") or not text else f"{text}\n"
