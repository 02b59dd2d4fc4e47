"""Computes the cost of a response from its tokens and the model's prices."""

import msgspec

from app.values.models import Model, Prices, PriceTier
from app.values.usage import Cost, Usage


def add_cost_to_usage(usage: Usage, model: Model, *, billed: float | None = None, fees: float = 0.0) -> Usage:
    """Returns `usage` with its cost and total. `billed` is the amount that the provider itself reports; `fees` is what
    it charges besides tokens."""
    prices = prices_of_request(usage, model)
    long_writes = usage.cache_write1h or 0
    short_writes = max(usage.cache_write - long_writes, 0)
    cost_input = usage.input * prices.input / 1e6
    cost_output = usage.output * prices.output / 1e6
    cost_read = usage.cache_read * prices.cache_read / 1e6
    cost_write = (short_writes * prices.cache_write + long_writes * 2 * prices.input) / 1e6
    total = cost_input + cost_output + cost_read + cost_write + fees
    return msgspec.structs.replace(
        usage,
        total_tokens=usage.total_tokens or usage.input + usage.output + usage.cache_read + usage.cache_write,
        cost=Cost(
            input=cost_input,
            output=cost_output,
            cache_read=cost_read,
            cache_write=cost_write,
            total=total if billed is None else billed,
            total_from_provider=None if billed is None else True,
        ),
    )


def prices_of_request(usage: Usage, model: Model) -> Prices | PriceTier:
    """Returns the prices that apply to a request: if the whole input exceeds the threshold of a tier, that tier's
    prices apply to all tokens."""
    total_input = usage.input + usage.cache_read + usage.cache_write
    passed = [tier for tier in model.cost.tiers or () if tier.input_tokens_above < total_input]
    return max(passed, key=lambda tier: tier.input_tokens_above) if passed else model.cost
