"""The map of the code is true: every package is on it, and every file it names exists."""

from __future__ import annotations

import ast
import re

import dev_map
from tests.conventions.source import PACKAGE, ROOT
from tests.docs.page import read_page

PAGE = "architecture.md"


def packages() -> set[str]:
    """Every package below pflow, as the map names it."""
    return {path.parent.relative_to(PACKAGE).as_posix() for path in PACKAGE.glob("*/**/__init__.py")}


def test_the_map_names_every_package_once_and_no_other() -> None:
    [table] = re.findall(r"<!-- packages -->\n(.*?)<!-- end -->", read_page(PAGE), flags=re.DOTALL)
    named = re.findall(r"^\| `([^`]+)` \|", table, flags=re.MULTILINE)
    assert sorted(named) == sorted(packages())


def test_every_file_that_the_map_names_exists() -> None:
    named = set(re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.py)?)`", read_page(PAGE)))
    assert len(named) > 25
    places = (PACKAGE, ROOT)
    assert [name for name in named if not any((place / name).exists() for place in places)] == []


def test_every_decision_is_linked_and_every_link_leads_somewhere() -> None:
    linked = set(re.findall(r"\]\((decisions/[a-z-]+\.md)\)", read_page(PAGE)))
    assert linked == {f"decisions/{path.name}" for path in (ROOT / "docs" / "decisions").glob("*.md")}
    for page in [*(ROOT / "docs" / "decisions").glob("*.md"), ROOT / "CONTRIBUTING.md"]:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_picture_shows_the_contract_as_it_is() -> None:
    assert dev_map.PICTURE.read_text() == dev_map.draw(), "run `python3 dev_map.py`"


def test_every_package_says_what_it_is() -> None:
    silent = [
        name for name in packages() if not ast.get_docstring(ast.parse((PACKAGE / name / "__init__.py").read_text()))
    ]
    assert silent == []
