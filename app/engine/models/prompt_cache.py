"""The provider's prompt cache: warns when an action makes the next request send everything again."""

from collections.abc import Callable
from typing import Literal

from app.engine.core.model_choice import ModelChoice
from app.engine.core.usage_totals import UsageTotals
from app.values.events import Event, Notice
from app.values.models import Model
from app.values.usage import Usage, format_dollars

CacheDroppingAction = Literal["model", "thinking", "prompt", "compaction", "context"]
_MIN_CACHED_PROMPT_TOKENS = 1_024
"""The number of cached tokens below which no warning is given."""
_CACHE_LOSS_TEXT_BY_ACTION: dict[CacheDroppingAction, str] = {
    "model": "The new model has no prompt cache of this conversation",
    "thinking": "Changing the thinking level discards the prompt cache",
    "prompt": "Changing the tools or the system prompt discards the prompt cache",
    "context": "Changing the context discards the prompt cache",
    "compaction": "Compaction discards the prompt cache",
}


class PromptCacheLossWarner:
    """Warns once, after an answer that used the provider's prompt cache, that an action makes the next request
    miss it."""

    def __init__(
        self, usage_totals: UsageTotals, choice: ModelChoice, publish_now: Callable[[Event], None]
    ) -> None:
        self._account = usage_totals
        self._choice = choice
        self._publish_now = publish_now
        self._warned_usage: Usage | None = None
        """The usage of the answer after which the last warning was shown."""

    def warn_if_cache_lost(self, action: CacheDroppingAction) -> None:
        usage, model = self._account.session_counts.last_usage, self._choice.model
        if model is None or usage is self._warned_usage or not has_used_prompt_cache(usage):
            return
        self._warned_usage = usage
        told = resend_cost_text(model, self._account.context_tokens)
        self._publish_now(Notice(level="info", text=f"{_CACHE_LOSS_TEXT_BY_ACTION[action]}: {told}"))


def has_used_prompt_cache(usage: Usage | None) -> bool:
    return usage is not None and usage.cache_read + usage.cache_write >= _MIN_CACHED_PROMPT_TOKENS


def resend_cost_text(model: Model, tokens: int) -> str:
    """Describes what the next request costs without the prompt cache, with the price where it is known."""
    text = f"the next request sends about {tokens:,} uncached tokens"
    if not model.cost.input:
        return f"{text}."
    anew = tokens * max(model.cost.input, model.cost.cache_write) / 1_000_000
    cached = tokens * model.cost.cache_read / 1_000_000
    return f"{text}, for about {format_dollars(anew)} instead of {format_dollars(cached)}."
