"""Builds the page's files with esbuild: lit-html from npm as one script, and pflow's own from `page/`, made small.

What is built is kept in the repository, so that neither installing pflow nor testing it needs npm. Each built file
names the SHA-256 of what it was built from.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from dev_install import CACHE, ROOT, SetupError, exclusive, quietly, report, say

PACKAGES = ("lit-html@3.3.3", "esbuild@0.28.2")
FOLDER = CACHE / "vendor"
SOURCE = ROOT / "page"
TARGET = ROOT / "src" / "pflow" / "web" / "static"
OWN = ("view.js", "page.js", "page.css", "app.js", "app.css")

LIT_SHA256 = "5433e1ff1ba8161ff73f2ae11c90f9c1de9d29577e3323eb00643fdc33192554"
"""Of the script that these packages give. Whoever changes a version changes this, and reads the difference."""

ENTRY = """export { html, svg, render, nothing } from "lit-html";
export { repeat } from "lit-html/directives/repeat.js";
"""
BANNER = "/* lit-html 3.3.3, Copyright Google LLC, BSD-3-Clause; see NOTICE */"
OPTIONS = (
    "--bundle",
    "--minify",
    "--format=iife",
    "--global-name=lit",
    "--legal-comments=none",
    f"--banner:js={BANNER}",
)


def own_banner(name: str) -> str:
    """What a built file says of where it comes from."""
    return f"/* {name} {hashlib.sha256((SOURCE / name).read_bytes()).hexdigest()} */"


def build() -> dict[str, bytes]:
    """The files by name. Raises `SetupError` with the reason where they cannot be built."""
    with exclusive("vendor"):
        install()
        (FOLDER / "entry.js").write_text(ENTRY)
        built = {"lit.js": run([str(FOLDER / "entry.js"), *OPTIONS])}
        for name in OWN:
            kind = name.rpartition(".")[2]
            line = [str(SOURCE / name), "--minify", "--charset=utf8", f"--banner:{kind}={own_banner(name)}"]
            built[name] = run(line)
    found = hashlib.sha256(built["lit.js"]).hexdigest()
    if found != LIT_SHA256:
        raise SetupError(f"lit.js has the SHA-256 {found}, not {LIT_SHA256}; nothing was changed")
    return built


def install() -> None:
    """Have esbuild and lit-html, exactly these versions."""
    stamp = FOLDER / "installed"
    if stamp.exists() and stamp.read_text() == " ".join(PACKAGES):
        return
    npm = shutil.which("npm")
    if npm is None:
        raise SetupError("there is no npm here; install Node.js 20 or newer")
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    (FOLDER / "package.json").write_text("{}")
    line = [npm, "install", "--prefix", str(FOLDER), "--no-audit", "--no-fund", "--ignore-scripts", *PACKAGES]
    done = quietly(line)
    if done.returncode:
        raise SetupError("npm could not install lit-html and esbuild\n" + report(line, done))
    stamp.write_text(" ".join(PACKAGES))


def run(arguments: list[str]) -> bytes:
    """What esbuild makes."""
    made = FOLDER / "made"
    line = [str(FOLDER / "node_modules" / ".bin" / "esbuild"), *arguments, f"--outfile={made}", "--allow-overwrite"]
    done = quietly(line)
    if done.returncode:
        raise SetupError("esbuild failed\n" + report(line, done))
    return made.read_bytes()


def main() -> int:
    """Build the files and keep them; 1 if that is not possible."""
    try:
        built = build()
    except SetupError as error:
        say(f"error: {error}")
        return 1
    for name, content in built.items():
        Path(TARGET / name).write_bytes(content)
        say(f"{name:<9} {len(content):>7,} bytes")
    return 0
