"""Draws the layers of the code as `docs/architecture.svg`, from the import contract in pyproject.toml."""

from __future__ import annotations

import sys
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent
PICTURE = ROOT / "docs" / "architecture.svg"

WIDTH, ROW, GAP, MARGIN = 860, 64, 10, 20
STYLE = """
text { font: 14px ui-sans-serif, system-ui, sans-serif; fill: #1f2328 }
.rooms { font-size: 11px; fill: #59636e }
.note { font-size: 12px; fill: #59636e }
rect { fill: #f6f8fa; stroke: #8c959f }
line, path { stroke: #8c959f; fill: none }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } .rooms, .note { fill: #9198a1 } rect { fill: #151b23; stroke: #656c76 }
}
"""


def layers() -> list[list[str]]:
    """The packages, the highest layer first; packages of one layer do not import each other."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    [contract] = [each for each in contracts if each["name"] == "Layers import downward only"]
    return [[name.strip().removeprefix("pflow.") for name in row.split("|")] for row in contract["layers"]]


def rooms(package: str) -> list[str]:
    """The sub-packages of a package."""
    folder = ROOT / "src" / "pflow" / package
    return sorted(path.parent.name for path in folder.glob("*/__init__.py"))


def draw() -> str:
    """The picture as SVG: a row for each layer, with arrows for what may import what."""
    rows = layers()
    height = MARGIN * 2 + len(rows) * ROW + (len(rows) - 1) * GAP + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        "<title>The layers of pflow: each imports only what stands below it</title>",
        f"<style>{STYLE}</style>",
    ]
    for number, row in enumerate(rows):
        top = MARGIN + number * (ROW + GAP)
        width = (WIDTH - 2 * MARGIN - GAP * (len(row) - 1)) / len(row)
        for column, package in enumerate(row):
            left = MARGIN + column * (width + GAP)
            inner = " · ".join(rooms(package))
            middle = left + width / 2
            parts.append(f'<rect x="{left:.0f}" y="{top}" width="{width:.0f}" height="{ROW}" rx="6"/>')
            parts.append(_text(middle, top + (28 if inner else 37), package))
            if inner:
                parts.append(_text(middle, top + 48, inner, "rooms"))
    parts.append(_text(WIDTH / 2, height - MARGIN + 4, "each layer imports only what stands below it", "note"))
    return "\n".join([*parts, "</svg>", ""])


def _text(x: float, y: float, text: str, kind: str = "name") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}" text-anchor="middle">{escape(text)}</text>'


if __name__ == "__main__":
    PICTURE.write_text(draw())
    sys.stdout.write(f"{PICTURE.relative_to(ROOT)}\n")
