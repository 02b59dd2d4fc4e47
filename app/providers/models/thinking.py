"""The thinking levels of a model: which it supports, the provider's names for them and their token budgets."""

from collections.abc import Mapping

from app.values.models import THINKING_LEVELS, Model, ThinkingLevel

_OPTIONAL_THINKING_LEVELS: frozenset[ThinkingLevel] = frozenset(("xhigh", "max"))

DEFAULT_THINKING_BUDGETS: dict[str, int] = {
    "minimal": 1_024,
    "low": 2_048,
    "medium": 8_192,
    "high": 16_384,
    "xhigh": 32_768,
    "max": 63_999,
}


def supported_thinking_levels(model: Model) -> tuple[ThinkingLevel, ...]:
    """Returns the thinking levels that the model supports, in ascending order."""
    if not model.reasoning:
        return ("off",)
    words = model.thinking_level_map or {}
    levels: list[ThinkingLevel] = [
        level
        for level in THINKING_LEVELS
        if (words[level] is not None if level in words else level not in _OPTIONAL_THINKING_LEVELS)
    ]
    return tuple(levels) or ("off",)


def clamp_thinking_level(model: Model, level: ThinkingLevel) -> ThinkingLevel:
    """Returns the level if the model has it, else the next higher one, else the next lower."""
    levels = supported_thinking_levels(model)
    if level in levels:
        return level
    wanted = THINKING_LEVELS.index(level)
    higher: list[ThinkingLevel] = [known for known in levels if THINKING_LEVELS.index(known) > wanted]
    return higher[0] if higher else levels[-1]


def provider_name_of_thinking_level(model: Model, level: ThinkingLevel) -> str:
    """Returns the provider's name for a level, which must be a supported one."""
    return (model.thinking_level_map or {}).get(level) or level


def thinking_budget_for(level: ThinkingLevel, budgets: Mapping[str, int]) -> int:
    """Returns the token budget for thinking at a level."""
    return budgets.get(level) or DEFAULT_THINKING_BUDGETS.get(level, 0)


def limit_thinking_budget(max_tokens: int, budget: int) -> int:
    """Returns the budget that fits below an answer limit with room left for the answer. Providers accept at
    least 1,024 tokens; 0 means that thinking does not fit."""
    fitting = min(budget, max_tokens - 1_024)
    return fitting if fitting >= 1_024 else 0
