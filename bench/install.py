"""What installing pflow brings: its size, and licences that let anyone use it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from bench.row import Row

PERMISSIVE = re.compile(
    r"\b(MPL-2\.0|MIT|Apache|BSD|ISC|PSF|Python Software Foundation|Zlib|Unlicense|0BSD)\b", re.IGNORECASE
)
COPYLEFT = re.compile(r"\b(AGPL|LGPL|GPL|GNU|MPL(?![- ]2\.0)|EPL|CDDL|EUPL)", re.IGNORECASE)


def rows() -> list[Row]:
    packages = list(closure("pflow"))
    strict = sorted(package for package in packages if not is_acceptable(licence_of(package)))
    return [
        Row(
            group="install",
            what=f"installed size, {len(packages)} packages",
            us=sum(size_of(package) for package in packages),
            unit="B",
            rule="most",
            limit=60e6,
        ),
        Row(
            group="install",
            what="packages whose licence is neither permissive nor MPL-2.0",
            us=len(strict),
            unit="packages",
            rule="most",
            limit=0,
            note=", ".join(strict),
        ),
    ]


def closure(name: str) -> Iterator[str]:
    """A package and everything it needs at run time, by normalised name."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        current = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if current in seen:
            continue
        try:
            needs = metadata.requires(current) or []
        except metadata.PackageNotFoundError:
            continue  # for another platform or Python
        seen.add(current)
        yield current
        waiting += [match[0] for need in needs if "extra ==" not in need and (match := re.match(r"[\w.-]+", need))]


def size_of(package: str) -> int:
    """Bytes on disk; for our own, editable, package the sources."""
    if package == "pflow":
        sources = Path(__file__).resolve().parent.parent / "src" / "pflow"
        return sum(path.stat().st_size for path in sources.rglob("*.py"))
    files = metadata.files(package) or []
    return sum(path.stat().st_size for file in files if (path := Path(str(file.locate()))).is_file())


def licence_of(package: str) -> str:
    """What the package says about its licence: in its metadata, else how its licence file begins."""
    about = metadata.metadata(package)
    fields = [line for name in ("License-Expression", "License") for line in about.get_all(name) or []]
    fields += [line for line in about.get_all("Classifier") or [] if line.startswith("License")]
    if not fields:
        files = [file for file in metadata.files(package) or [] if "LICEN" in file.name.upper()]
        fields = [Path(str(file.locate())).read_text()[:200] for file in files]
    return " ".join(field[:200] for field in fields)


def is_acceptable(licence: str) -> bool:
    """Whether a licence asks no more than to be named, or is MPL-2.0, whose files we do not change."""
    return bool(PERMISSIVE.search(licence)) and not COPYLEFT.search(licence)
