"""What a command line gives a command: the workflow that a word means, `key=value` words, and stdin."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pflow.cli.console import Console
from pflow.core.errors import DocumentError, NotFoundError, StorageError, UsageError
from pflow.core.printable import is_text, shorten

if TYPE_CHECKING:
    from pflow.workspace import Checked, Workflow

_PATIENCE_SECONDS = 2.0
"""Without a byte on stdin for this long, a person is told what pflow waits for."""

_GLANCE_SECONDS = 0.2
"""How long to wait at a stretch: a Ctrl-C just before a blocking read would have to wait for its end."""

_MOST_BYTES = 64 << 20


def find_workflow(console: Console, word: str) -> Workflow:
    """The workflow that a word means: `-` is a document on stdin."""
    return console.workspace().parse(read_stdin(console, what="the document")) if word == "-" else word


def check_workflow(console: Console, workflow: Workflow, word: str) -> Checked:
    """The workflow after checking; says its warnings and remembers its text, to show issues where they are."""
    console.source = word if isinstance(workflow, str) else ""
    checked = console.workspace().check(workflow)
    source = checked.source
    console.places = source.parsed.places
    console.source = {"-": "stdin"}.get(word, "" if source.is_inline else source.shown)
    if checked.ok and checked.warnings:
        console.warn(checked.warnings)
    return checked


def read_params(words: Iterable[str]) -> dict[str, str]:
    """Inputs from `key=value` words: split at the first `=`, each key once."""
    params: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        shown = shorten(word)
        if not is_text(key):
            raise UsageError(f"the name of the input in `{shown}` is not UTF-8 text")
        if not is_text(value):
            raise UsageError(
                f"input `{shorten(key)}` is not UTF-8 text", suggestions=["pass the path of a file instead"]
            )
        if not equals:
            raise UsageError(
                f"`{shown}` is not an input", suggestions=[f"inputs are written `key=value`, for example `{shown}=…`"]
            )
        if not key:
            raise UsageError(f"`{shown}` has no name before the `=`", suggestions=["write `key=value`"])
        if key in params:
            raise UsageError(f"input `{shorten(key)}` is given twice")
        params[key] = value
    return params


def read_inputs(console: Console, path: str, *, what: str = "inputs") -> dict[str, object]:
    """Inputs, or what else goes by names, from a JSON or YAML file that holds an object; `-` is stdin."""
    # lazy: only with `--inputs` and `--state`
    from pflow.core.document.json_text import load_json, scan_json
    from pflow.core.document.position import Issues, Places
    from pflow.core.document.yaml_text import load_yaml

    try:
        text = read_stdin(console, what=what) if path == "-" else _read_file(path, what)
    except FileNotFoundError:
        raise NotFoundError(f"there is no file `{path}`", suggestions=["check the path"]) from None
    except OSError as error:
        raise StorageError(f"`{path}` cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"`{path}` is not UTF-8 text") from error
    if not text.strip():
        return {}
    is_json = text.lstrip()[:1] in ("{", "[")
    issues = Issues(Places(text, scan_json if is_json else None))
    value = load_json(text, issues) if is_json else load_yaml(text, issues)
    if issues.found():
        console.places, console.source = issues.places, path
        raise DocumentError(f"the {what} in `{path}` cannot be read", issues=issues.found())
    if not isinstance(value, dict):
        raise UsageError(f"`{path}` does not hold an object", suggestions=['write {"name": value, …}'])
    return value


def _read_file(path: str, what: str) -> str:
    """A file, or a pipe such as `<(command)`; raises `OSError`, and `ValueError` if it is not UTF-8."""
    with Path(path).open("rb") as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise UsageError(
            f"`{shorten(path)}` holds more than {_MOST_BYTES >> 20} MiB, the most that {what} may take",
            suggestions=["pass the paths of large files as inputs, and read them in the workflow"],
        )
    return data.decode()


def has_stdin() -> bool:
    """Whether stdin is there to be read without being asked to: no terminal, nor `/dev/null`, which says "nothing"."""
    return sys.stdin is not None and not _is_terminal() and not _is_null()


def _is_terminal() -> bool:
    try:
        return sys.stdin.isatty()
    except ValueError:
        return False  # closed


def _is_null() -> bool:
    try:
        return os.path.samestat(os.fstat(sys.stdin.fileno()), Path(os.devnull).stat())
    except (OSError, ValueError):
        return False


def read_stdin(console: Console, *, what: str) -> str:
    """All of stdin as text. On a terminal, and when nothing comes for a while, says what it waits for."""
    if sys.stdin is None or sys.stdin.closed:
        raise UsageError(f"stdin is closed; {what} cannot be read from it")
    stream: Any = sys.stdin.buffer  # a buffered reader, which typeshed calls a plain one
    if _is_terminal():
        console.say(f"reading {what} from the terminal; end it with Ctrl-D")
    elif not _has_data(_PATIENCE_SECONDS):
        console.say(f"waiting for {what} on stdin (`< /dev/null` if there is none)")
    data = bytearray()
    while len(data) <= _MOST_BYTES:
        while not _has_data(_GLANCE_SECONDS):
            pass
        try:
            chunk = stream.read1(1 << 16)
        except OSError as error:
            raise StorageError(f"stdin cannot be read: {error.strerror}") from error
        if not chunk:
            break
        data += chunk
    if len(data) > _MOST_BYTES:
        raise UsageError(
            f"stdin holds more than {_MOST_BYTES >> 20} MiB", suggestions=["put it in a file and pass its path"]
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(
            f"stdin is not UTF-8 text: byte {error.start} is 0x{data[error.start]:02x}",
            suggestions=["convert it, for example with `iconv -f latin1 -t utf-8`"],
        ) from error


def _has_data(seconds: float) -> bool:
    import select  # lazy: only when stdin is read

    try:
        return bool(select.select([sys.stdin.fileno()], [], [], seconds)[0])
    except (OSError, ValueError):
        return True  # a file that cannot be waited for, or a test's buffer
