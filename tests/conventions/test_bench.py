"""The budgets table says what was measured and whether it holds."""

from typing import Any

import pytest

from bench.install import is_acceptable
from bench.row import Row, Unit, show, table


def row(**fields: Any) -> Row:
    return Row(**{"group": "g", "what": "it", "unit": "s", "rule": "most", "limit": 1.0, "us": 0.5, **fields})


@pytest.mark.parametrize(
    ("fields", "holds", "budget"),
    [
        ({"rule": "most", "us": 1.0}, True, "≤ 1 s"),
        ({"rule": "most", "us": 1.01}, False, "≤ 1 s"),
        ({"rule": "least", "limit": 8000, "us": 8000, "unit": "items/s"}, True, "≥ 8,000 items/s"),
        ({"rule": "least", "limit": 8000, "us": 7999, "unit": "items/s"}, False, "≥ 8,000 items/s"),
        ({"rule": "ratio", "limit": 2, "us": 0.3, "floor": 0.15}, True, "≤ 2 ×"),
        ({"rule": "ratio", "limit": 2, "us": 0.31, "floor": 0.15}, False, "≤ 2 ×"),
        ({"rule": "ratio", "limit": 2}, False, "≤ 2 ×"),
        ({"rule": "least ratio", "limit": 0.5, "us": 0.5, "floor": 1}, True, "≥ 0.5 ×"),
        ({"rule": "least ratio", "limit": 0.5, "us": 0.4, "floor": 1}, False, "≥ 0.5 ×"),
    ],
)
def test_a_budget_holds_up_to_its_limit(fields: dict[str, Any], holds: bool, budget: str) -> None:
    assert (row(**fields).holds, row(**fields).budget) == (holds, budget)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.5, "s", "1.5 s"),
        (0.0123, "s", "12.3 ms"),
        (51.2e-6, "s", "51.2 µs"),
        (1_200_000, "B", "1.2 MB"),
        (900, "B", "900 B"),
        (8200.4, "items/s", "8,200 items/s"),
    ],
)
def test_numbers_read_well(value: float | int, unit: Unit, text: str) -> None:
    assert show(value, unit) == text


def test_the_table_lines_up() -> None:
    rows = [
        row(what="start", rule="ratio", limit=2, us=0.03, floor=0.01, note="floor: python -c pass"),
        row(what="size", unit="B", us=36.2e6, limit=60e6),
    ]
    assert table(rows).splitlines() == [
        "what   floor       us  ratio   budget",
        "─────  ─────  ───────  ─────  ───────  ────",
        "start  10 ms    30 ms   3.00    ≤ 2 ×  FAIL  floor: python -c pass",
        "size       –  36.2 MB      –  ≤ 60 MB  pass",
    ]


def test_json_holds_plain_numbers() -> None:
    assert row(us=0.5, floor=0.25).as_dict() == {
        "group": "g",
        "what": "it",
        "floor": 0.25,
        "us": 0.5,
        "unit": "s",
        "ratio": 2.0,
        "budget": {"rule": "most", "limit": 1.0},
        "holds": True,
        "note": "",
    }


@pytest.mark.parametrize(
    ("licence", "permissive"),
    [
        ("MIT", True),
        ("License :: OSI Approved :: BSD License", True),
        ("Apache-2.0 OR MIT", True),
        ("MPL-2.0 AND (Apache-2.0 OR MIT)", True),
        ("MPL-1.1", False),
        ("GPL-3.0-or-later", False),
        ("Proprietary", False),
    ],
)
def test_copyleft_is_not_permissive(licence: str, permissive: bool) -> None:
    assert is_acceptable(licence) is permissive
