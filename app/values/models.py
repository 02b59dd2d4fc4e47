"""The properties of a model: identity, limits, prices, thinking levels. `app.providers` creates these
values."""

from typing import Any, Literal, get_args

from app.values.wire import Wire

ThinkingLevel = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
THINKING_LEVELS: tuple[ThinkingLevel, ...] = get_args(ThinkingLevel)
_THINKING_LEVEL_BY_NAME: dict[str, ThinkingLevel] = {level: level for level in THINKING_LEVELS}


def thinking_level(name: str | None) -> ThinkingLevel | None:
    """Returns the thinking level with this name; None if there is none."""
    return _THINKING_LEVEL_BY_NAME.get(name or "")


class PriceTier(Wire, frozen=True, kw_only=True):
    """Prices of requests with more input tokens than `input_tokens_above`."""

    input_tokens_above: int
    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0


class Prices(Wire, frozen=True, kw_only=True):
    """A model's prices in US dollars per million tokens."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0
    tiers: tuple[PriceTier, ...] | None = None


class Model(Wire, frozen=True, kw_only=True):
    """The properties of one model of a provider."""

    id: str
    name: str
    api: str
    """The API that the model's server speaks, which decides the adapter."""
    provider: str
    """The id of the provider whose credentials the model needs."""
    base_url: str = ""
    reasoning: bool = False
    thinking_level_map: dict[str, str | None] | None = None
    """Maps thinking levels to the provider's names for them; None means that the level is not supported. `xhigh`
    and `max` exist only when listed."""
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
    """The client that sends requests: `sdk` is the vendor's client library, anything else bayou's HTTP client."""

    @property
    def key(self) -> str:
        """The model's full name, `provider/id`."""
        return f"{self.provider}/{self.id}"

    @property
    def reads_images(self) -> bool:
        return "image" in self.input
