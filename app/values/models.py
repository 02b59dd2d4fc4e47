"""What is known about a model: identity, limits, prices, thinking levels. Where models come from: `app.providers`."""

from typing import Any, Literal, get_args

from app.values.wire import Wire

ThinkingLevel = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
THINKING_LEVELS: tuple[ThinkingLevel, ...] = get_args(ThinkingLevel)
_LEVEL_BY_NAME: dict[str, ThinkingLevel] = {level: level for level in THINKING_LEVELS}


def thinking_level(name: str | None) -> ThinkingLevel | None:
    """The level of that name, or None if there is none."""
    return _LEVEL_BY_NAME.get(name or "")


class PriceTier(Wire, frozen=True, kw_only=True):
    input_tokens_above: int
    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0


class Prices(Wire, frozen=True, kw_only=True):
    """US dollars per million tokens."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0
    tiers: tuple[PriceTier, ...] | None = None


class Model(Wire, frozen=True, kw_only=True):
    id: str
    name: str
    api: str
    """Which adapter speaks to it."""
    provider: str
    """Whose credentials it needs."""
    base_url: str = ""
    reasoning: bool = False
    thinking_level_map: dict[str, str | None] | None = None
    """Level → the provider's own word, None = not supported. `xhigh` and `max` exist only when listed."""
    input: tuple[str, ...] = ("text",)
    input_limits: dict[str, Any] | None = None
    cost: Prices = Prices()
    context_window: int = 128_000
    max_tokens: int = 16_384
    prompt_cache: dict[str, Any] | None = None
    sampling_params: dict[str, Any] | None = None
    sampling_params_by_thinking_level: dict[str, Any] | None = None
    headers: dict[str, str] | None = None
    compat: dict[str, Any] | None = None
    type: str | None = None
    transport: Literal["http", "sdk"] | None = None
    """`sdk`: requests travel through the vendor's own client. Else through ours."""

    @property
    def key(self) -> str:
        """`provider/id`: how people name it."""
        return f"{self.provider}/{self.id}"

    @property
    def reads_images(self) -> bool:
        return "image" in self.input
