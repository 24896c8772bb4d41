"""Values as they are recorded: read back as what they were, or shown without loading anything."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from pflow.core.errors import NotFoundError
from pflow.core.setting.redactor import Redactor
from pflow.engine.value import DELETED, ITEMS, ShownValues, ValueTable

LARGE = "x" * 5000


def never(sha: str) -> bytes:
    raise NotFoundError(sha)


def encoded(value: object) -> Any:
    return orjson.loads(ValueTable(Redactor(), never).encode(value).json)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, None),
        ({"a": [1, "two"]}, {"a": [1, "two"]}),
        (b"\0", {"$bytes": "AA=="}),
        ({"deep": [b"\0"]}, {"deep": [{"$bytes": "AA=="}]}),
        (object, {"$opaque": "builtins.type"}),
        (DELETED, {"$deleted": True}),
    ],
)
def test_a_small_value_is_shown_as_it_is_recorded(value: object, shown: object) -> None:
    assert ShownValues().decode(encoded(value)) == shown


@pytest.mark.parametrize("value", [LARGE, [b"\0" * 5000]])
def test_a_large_value_is_shown_by_reference_and_read_back_whole(value: object) -> None:
    table = ValueTable(Redactor(), never)
    recorded = table.encode(value)
    blob = table.take_blob(recorded)
    assert blob is not None
    form = orjson.loads(recorded.json)
    assert ShownValues().decode(form) == {"$value": blob[0], "size": len(blob[1])}
    assert ValueTable(Redactor(), dict([blob]).__getitem__).decode(form) == value


def test_the_results_of_a_batch_are_where_its_items_are() -> None:
    form = orjson.loads(ValueTable(Redactor(), never).encode(ITEMS).json)
    assert ShownValues().decode(form) == {"$items": "see the step's items"}
    assert ValueTable(Redactor(), never).decode(form) is ITEMS


def test_what_is_sealed_holds_no_secret_and_is_unsealed_with_it() -> None:
    data = orjson.dumps({"token": "a-long-secret"})
    table = ValueTable(Redactor({"TOKEN": "a-long-secret"}), never)
    sealed = table.seal(data)
    assert b"a-long-secret" not in sealed
    assert table.unseal(orjson.loads(sealed)) == orjson.loads(data)
    assert ShownValues().unseal(orjson.loads(sealed)) == {"token": "«secret:TOKEN»"}
