"""What tokens cost, from a table of others; nothing is fetched. An unknown model has no price."""

from __future__ import annotations

from pflow.engine.model.llm import Usage


def price_of(base_url: str, models: tuple[str, ...], usage: Usage) -> float | None:
    """US dollars for tokens of the first of these ids that has a price; None if nobody knows it."""
    if not usage.input and not usage.output:
        return None
    # lazy: 250 ms, and only after an answer
    from genai_prices import Usage as Priced
    from genai_prices import calc_price

    counted = Priced(
        input_tokens=usage.input, output_tokens=usage.output, cache_read_tokens=min(usage.cached, usage.input)
    )
    for model in models:
        try:
            return float(calc_price(counted, model, provider_api_url=base_url).total_price)
        except LookupError:
            continue
    return None
