"""The page's files are small, come from their source, and load nothing from anywhere else."""

from __future__ import annotations

import hashlib
import re

import dev_vendor
from dev_install import ROOT
from pflow.web.static_file import STATIC, read_static

MOST_BYTES = 60_000


def test_all_files_together_are_small() -> None:
    assert sum(len(read_static(name)) for name in STATIC) <= MOST_BYTES


def test_each_file_is_built_from_what_its_source_is_now() -> None:
    stale = [name for name in dev_vendor.OWN if dev_vendor.own_banner(name).encode() not in read_static(name)]
    assert stale == [], "run `python3 dev.py vendor`"


def test_lit_html_is_the_one_that_was_looked_at() -> None:
    assert hashlib.sha256(read_static("lit.js")).hexdigest() == dev_vendor.LIT_SHA256
    assert b"BSD-3-Clause" in read_static("lit.js")
    assert "BSD 3-Clause" in (ROOT / "NOTICE").read_text()


def test_no_file_names_another_host_or_evaluates_text() -> None:
    for name in STATIC:
        text = read_static(name).decode()
        hosts = set(re.findall(r"https?://[^\s\"'`)]+", text)) - {"http://www.w3.org/2000/svg"}
        assert {host for host in hosts if "w3.org" not in host} == set()
        assert "eval(" not in text
        assert "new Function" not in text


def test_no_value_of_a_run_passes_through_html() -> None:
    for name in ("view.js", "page.js"):
        source = (dev_vendor.SOURCE / name).read_text()
        assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|unsafe", source) == []
