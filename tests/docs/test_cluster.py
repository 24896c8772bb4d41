"""The page on many machines lists what places have."""

from pflow.core.setting.option import FAMILIES
from tests.docs.test_docs import CELL, rows


def test_every_field_of_places_is_listed_with_its_default() -> None:
    shown = {CELL.findall(row[0])[0]: row[1].strip("`") for row in rows("cluster.md", "places")}
    assert shown == {f"on.NAME.{name}": str(option.default).lower() for name, option in FAMILIES["on"].items()}
