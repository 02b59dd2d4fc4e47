"""Token counts and what they cost."""

from math import floor, log10

from app.values.wire import Wire


class Cost(Wire, frozen=True, kw_only=True):
    """US dollars."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0
    total: float = 0.0
    total_from_provider: bool | float | None = None
    """Whether the provider itself said what it cost (some writers put the amount here)."""


def dollars(amount: float) -> str:
    """With two digits that say something, for a turn often costs less than a cent."""
    if amount >= 0.1 or not amount:
        return f"${amount:.2f}"
    if amount < 0.0001:
        return "<$0.0001"
    return f"${amount:.{1 - floor(log10(amount))}f}"


class Usage(Wire, frozen=True, kw_only=True):
    """`input` excludes cached tokens; `reasoning` is part of `output`, `cache_write1h` of `cache_write`."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write1h: int | None = None
    reasoning: int | None = None
    total_tokens: int = 0
    cost: Cost = Cost()

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            total_tokens=self.total_tokens + other.total_tokens,
            cost=Cost(
                input=self.cost.input + other.cost.input,
                output=self.cost.output + other.cost.output,
                cache_read=self.cost.cache_read + other.cost.cache_read,
                cache_write=self.cost.cache_write + other.cost.cache_write,
                total=self.cost.total + other.cost.total,
            ),
        )
