"""What answers cost: a table that others keep, and nothing where it has no entry."""

from __future__ import annotations

import re

import pytest
from genai_prices.data import providers as priced

from pflow.adapters.model.price import price_of
from pflow.adapters.model.provider import providers
from pflow.engine.model.llm import NO_USAGE, Usage

MANY = Usage(input=1_000_000, output=1_000_000, cached=500_000)


@pytest.mark.parametrize("name", ["openai", "anthropic", "google", "xai", "openrouter", "mistral", "deepseek", "groq"])
def test_models_of_known_providers_have_a_price(name: str) -> None:
    url = providers()[name].base_url
    tables = [one for one in priced if re.match(one.api_pattern, url)]
    assert any(price_of(url, (model.id,), MANY) for table in tables for model in table.models)


def test_the_first_id_that_has_a_price_counts() -> None:
    url = providers()["openai"].base_url
    [known, *_] = [model.id for one in priced if one.id == "openai" for model in one.models]
    assert price_of(url, ("nothing-of-the-kind", known), MANY) == price_of(url, (known,), MANY) is not None


@pytest.mark.parametrize(
    ("url", "model", "usage"),
    [
        ("https://api.openai.com/v1", "nothing-of-the-kind", MANY),
        ("http://127.0.0.1:8080/v1", "some-model", MANY),
        ("https://api.openai.com/v1", "some-model", NO_USAGE),
    ],
)
def test_what_nobody_knows_has_no_price(url: str, model: str, usage: Usage) -> None:
    assert price_of(url, (model,), usage) is None
