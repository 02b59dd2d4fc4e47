"""Token counts and their cost."""

from collections.abc import Sequence
from math import floor, log10

from app.values.wire import Wire


class Cost(Wire, frozen=True, kw_only=True):
    """The cost of a request in US dollars."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0
    total: float = 0.0
    total_from_provider: bool | float | None = None
    """Whether `total` is the amount that the provider reported, and not computed from prices."""


def format_dollars(amount: float) -> str:
    """Formats an amount with two significant digits, since a turn often costs less than a cent."""
    if amount >= 0.1 or not amount:
        return f"${amount:.2f}"
    if amount < 0.0001:
        return "<$0.0001"
    return f"${amount:.{1 - floor(log10(amount))}f}"


class Usage(Wire, frozen=True, kw_only=True):
    """Token counts of a request. `input` excludes cached tokens; `reasoning` is part of `output`,
    `cache_write1h` of `cache_write`."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write1h: int | None = None
    reasoning: int | None = None
    total_tokens: int = 0
    cost: Cost = Cost()

    def __add__(self, other: "Usage") -> "Usage":
        return total_usage((self, other))


def total_usage(usages: Sequence[Usage]) -> Usage:
    """Returns the sum of several token usages."""
    costs = [usage.cost for usage in usages]
    return Usage(
        input=sum([usage.input for usage in usages]),
        output=sum([usage.output for usage in usages]),
        cache_read=sum([usage.cache_read for usage in usages]),
        cache_write=sum([usage.cache_write for usage in usages]),
        total_tokens=sum([usage.total_tokens for usage in usages]),
        cost=Cost(
            input=sum([cost.input for cost in costs]),
            output=sum([cost.output for cost in costs]),
            cache_read=sum([cost.cache_read for cost in costs]),
            cache_write=sum([cost.cache_write for cost in costs]),
            total=sum([cost.total for cost in costs]),
        ),
    )
