"""What JSON calls values and types, in the words that messages use; knows no documents and no schemas."""

from __future__ import annotations

from collections.abc import Mapping

Json = dict[str, object]
"""A JSON object of our own, free to change."""

JsonView = Mapping[str, object]
"""A JSON object that is only read."""
