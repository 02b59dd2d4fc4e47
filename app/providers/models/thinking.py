"""How hard a model is to think: which levels it has, what a level is called and what it may cost in tokens."""

from collections.abc import Mapping

from app.values.models import THINKING_LEVELS, Model, ThinkingLevel

_ONLY_WHEN_LISTED: frozenset[ThinkingLevel] = frozenset(("xhigh", "max"))

BUDGETS: dict[str, int] = {
    "minimal": 1_024,
    "low": 2_048,
    "medium": 8_192,
    "high": 16_384,
    "xhigh": 32_768,
    "max": 63_999,
}


def supported_levels(model: Model) -> tuple[ThinkingLevel, ...]:
    """From the least to the most."""
    if not model.reasoning:
        return ("off",)
    words = model.thinking_level_map or {}
    levels: list[ThinkingLevel] = [
        level
        for level in THINKING_LEVELS
        if (words[level] is not None if level in words else level not in _ONLY_WHEN_LISTED)
    ]
    return tuple(levels) or ("off",)


def clamp_level(model: Model, level: ThinkingLevel) -> ThinkingLevel:
    """The level itself, else the next higher one that the model has, else the next lower."""
    levels = supported_levels(model)
    if level in levels:
        return level
    wanted = THINKING_LEVELS.index(level)
    higher: list[ThinkingLevel] = [known for known in levels if THINKING_LEVELS.index(known) > wanted]
    return higher[0] if higher else levels[-1]


def provider_word(model: Model, level: ThinkingLevel) -> str:
    """What the provider calls the level. `level` must be a supported one."""
    return (model.thinking_level_map or {}).get(level) or level


def budget_for(level: ThinkingLevel, budgets: Mapping[str, int]) -> int:
    """Tokens that thinking may take at that level."""
    return budgets.get(level) or BUDGETS.get(level, 0)


def room_for_thinking(max_tokens: int, budget: int) -> int:
    """The budget that fits below an answer limit: some room must stay for the answer itself, and 1,024 is the
    least that providers accept (0: no room to think).
    """
    fitting = min(budget, max_tokens - 1_024)
    return fitting if fitting >= 1_024 else 0
