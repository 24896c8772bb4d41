"""Whether a script lies where a launcher keeps what it downloaded, and is of the package that was asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pflow.core.file.atomic import parse_object
from pflow.core.json_type import object_in

Cached = Callable[[str, str, Sequence[str]], bool]
"""Whether a script that an interpreter runs is what these words of a launcher stand for."""

_LIMIT_BYTES = 4 << 20
_IN_NPX = re.compile(r"(/.*/_npx/[0-9a-f]+)/node_modules/\.bin/[^/]+\Z", re.DOTALL)
_IN_PACKAGE = re.compile(r"(/.+)/lib/python[^/]*/site-packages/[^/]+/.", re.DOTALL)
_NPM_PIN = re.compile(r"(@?[^@]+)@v?(\d+\.\d+\.\d+[0-9A-Za-z.+-]*)\Z")
_REQUIREMENT = re.compile(
    r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:\[[^\]]*\])?\s*(?:(?:==|@)\s*v?(\d[0-9A-Za-z.+!-]*)\Z|[<>=!~@;]|\Z)"
)


def cache_for(argv: Sequence[str]) -> Cached | None:
    """How to recognise what a command line starts, if its program is a launcher that is known."""
    name = argv[0].rpartition("/")[2]
    rest = [word for word in argv[1:3] if not word.startswith("-")]
    if name == "npx" or (name == "npm" and rest[:1] in (["exec"], ["x"])):
        return _in_npx
    if name == "uvx" or (name == "uv" and rest == ["tool", "run"]) or (name == "pipx" and rest[:1] == ["run"]):
        return _in_environment
    return None


def _in_npx(script: str, interpreter: str, launcher: Sequence[str]) -> bool:
    """npx keeps a directory per set of packages, and writes into it which ones were asked for."""
    found = _IN_NPX.match(script)
    if found is None:
        return False
    root = Path(found[1])
    specs = object_in(_object(root / "package.json"), "_npx").get("packages")
    asked = [word.partition("=")[2] if word.startswith("-") else word for word in launcher[1:]]
    if not isinstance(specs, list) or not specs or not all(spec in asked for spec in specs):
        return False
    modules = root.resolve() / "node_modules"
    return Path(script).resolve().is_relative_to(modules) and all(_is_pinned(modules, spec) for spec in specs)


def _is_pinned(modules: Path, spec: str) -> bool:
    pin = _NPM_PIN.match(spec)
    return pin is None or _object(modules / pin[1] / "package.json").get("version") == pin[2].partition("+")[0]


def _in_environment(script: str, interpreter: str, launcher: Sequence[str]) -> bool:
    """uv and pipx keep an environment per set of requirements, and leave their mark in it.

    A program that needs no interpreter may lie among the files of its package.
    """
    folder = Path(script).parent
    packaged = _IN_PACKAGE.match(script) if interpreter == script else None
    root = Path(packaged[1]) if packaged else folder.parent
    own = Path(interpreter).parent == folder or interpreter == script
    moved = any(word.startswith("--directory") for word in launcher)  # uv goes there itself, which nobody can see
    if not own or moved or not (packaged or folder.name == "bin") or not _is_marked(root):
        return False
    installed = dict(_installed(root))
    asked = [_requirement(word.partition("=")[2] if word.startswith("--") else word) for word in launcher[1:]]
    known = [(name, version) for name, version in asked if name in installed]
    return bool(known) and all(not version or installed[name] == _plain(version) for name, version in known)


def _is_marked(root: Path) -> bool:
    if not (root / "pyvenv.cfg").is_file():
        return False
    marks = ("uv-receipt.toml", "pipx_metadata.json")
    return root.parent.name == "archive-v0" or any((root / mark).is_file() for mark in marks)


def _installed(root: Path) -> Iterator[tuple[str, str]]:
    for info in root.glob("lib/python*/site-packages/*.dist-info"):
        name, _, version = info.name.removesuffix(".dist-info").partition("-")
        yield _normal(name), _plain(version)


def _requirement(word: str) -> tuple[str, str]:
    found = _REQUIREMENT.match(word)
    return (_normal(found[1]), found[2] or "") if found else ("", "")


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _plain(version: str) -> str:
    """A version without the zeros at its end that make no difference."""
    return re.sub(r"(?:\.0+)+\Z", "", version.lower())


def _object(path: Path) -> dict[str, object]:
    try:
        with path.open("rb") as file:
            return parse_object(file.read(_LIMIT_BYTES)) or {}
    except OSError:
        return {}
