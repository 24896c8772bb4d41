"""Builds the one foreign file of the page, lit-html as a plain script, from npm, and compares it with what is kept."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path

from dev_install import ROOT, SetupError, quietly, report, say

PACKAGES = ("lit-html@3.3.3", "esbuild@0.28.2")
TARGET = ROOT / "src" / "pflow" / "web" / "static" / "lit.js"
SHA256 = "5433e1ff1ba8161ff73f2ae11c90f9c1de9d29577e3323eb00643fdc33192554"
"""Of the file that these packages give. Whoever changes a version changes this, and reads the difference."""

ENTRY = """export { html, svg, render, nothing } from "lit-html";
export { repeat } from "lit-html/directives/repeat.js";
"""
BANNER = "/* lit-html 3.3.3, Copyright Google LLC, BSD-3-Clause; see NOTICE */"
OPTIONS = ("--bundle", "--minify", "--format=iife", "--global-name=lit", "--legal-comments=none", f"--banner:js={BANNER}")


def build() -> bytes:
    """The file, made from nothing. Raises `SetupError` with the reason where that is not possible."""
    npm = shutil.which("npm")
    if npm is None:
        raise SetupError("there is no npm here; install Node.js 20 or newer")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "package.json").write_text("{}")
        (folder / "entry.js").write_text(ENTRY)
        line = [npm, "install", "--prefix", name, "--no-audit", "--no-fund", "--ignore-scripts", *PACKAGES]
        done = quietly(line)
        if done.returncode:
            raise SetupError("npm could not install lit-html and esbuild\n" + report(line, done))
        made = folder / "lit.js"
        esbuild = str(folder / "node_modules" / ".bin" / "esbuild")
        line = [esbuild, str(folder / "entry.js"), *OPTIONS, f"--outfile={made}"]
        done = quietly(line)
        if done.returncode:
            raise SetupError("esbuild could not bundle lit-html\n" + report(line, done))
        return made.read_bytes()


def main() -> int:
    """Build it, and keep it if it is what it should be; 1 if it is not."""
    try:
        made = build()
    except SetupError as error:
        say(f"error: {error}")
        return 1
    found = hashlib.sha256(made).hexdigest()
    if found != SHA256:
        say(f"error: the file that was built has the SHA-256 {found}, not {SHA256}; nothing was changed")
        return 1
    TARGET.write_bytes(made)
    say(f"ready: {TARGET}, {len(made):,} bytes")
    return 0
