"""The colours of the page can be told from what they are written on, in light and in dark."""

from __future__ import annotations

import re

import pytest

import dev_vendor

Colour = tuple[int, int, int]

STATUSES = ("done", "failed", "running", "asked", "skipped", "reused", "cached", "in-doubt", "pending")
WRITTEN = ("ink", "soft", "link", "accent", *STATUSES)
"""Colours that text has."""

GROUNDS = ("paper", "panel", "mark")
ENOUGH = 4.5
"""What WCAG 2 asks of text, level AA."""


def colours(theme: str) -> dict[str, Colour]:
    """The colours of one theme, by the names of their variables."""
    style = (dev_vendor.SOURCE / "page.css").read_text()
    found = re.findall(r"--([\w-]+):(?:light-dark\((#\w+),(#\w+)\)|(#\w+))", style)
    return {name: channels(both or (light if theme == "light" else dark)) for name, light, dark, both in found}


def channels(text: str) -> Colour:
    digits = text[1:] if len(text) == 7 else "".join(digit * 2 for digit in text[1:])
    red, green, blue = bytes.fromhex(digits)
    return red, green, blue


def luminance(colour: Colour) -> float:
    shares = (value / 255 for value in colour)
    linear = [share / 12.92 if share <= 0.03928 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def ratio(one: Colour, other: Colour) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_colour_of_text_is_readable_on_every_ground(theme: str) -> None:
    found = colours(theme)
    ratios = {f"{name} on {ground}": ratio(found[name], found[ground]) for name in WRITTEN for ground in GROUNDS}
    ratios["on on accent"] = ratio(found["on"], found["accent"])
    assert {pair: value for pair, value in ratios.items() if value < ENOUGH} == {}


def test_every_status_has_a_colour_that_is_looked_at_here() -> None:
    style = (dev_vendor.SOURCE / "page.css").read_text()
    assert set(re.findall(r"\{--c:var\(--([\w-]+)\)\}", style)) == set(STATUSES)
