"""What is known of the answer of an `llm` step before it runs: its type."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.interface import Field
from pflow.core.schema_path import kind_of
from pflow.engine.model.schema import TEXT, response_schema


def response_field(field: Field, params: Mapping[str, object]) -> Field:
    """The output `response` of a step with these params."""
    written = params.get("schema")
    if not isinstance(written, Mapping) or not written:
        return field._replace(type="string", schema=TEXT)
    schema = response_schema(written)
    return field._replace(type=kind_of(schema), schema=schema)
