"""Levels of thinking and what an answer cost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.providers.models.pricing import add_cost_to_usage
from app.providers.models.thinking import (
    clamp_thinking_level,
    limit_thinking_budget,
    provider_name_of_thinking_level,
    supported_thinking_levels,
    thinking_budget_for,
)
from app.values.models import THINKING_LEVELS, Prices, PriceTier, ThinkingLevel
from app.values.usage import Usage
from tests.providers.wire_formats import model_for


def model(words: dict[str, str | None] | None, *, reasoning: bool = True):
    return model_for("x", reasoning=reasoning, thinking_level_map=words)


@pytest.mark.parametrize(
    ("words", "levels"),
    [
        (None, ("off", "minimal", "low", "medium", "high")),
        ({"xhigh": "xhigh"}, ("off", "minimal", "low", "medium", "high", "xhigh")),
        ({"off": None, "minimal": None, "max": "max"}, ("low", "medium", "high", "max")),
        ({"xhigh": None}, ("off", "minimal", "low", "medium", "high")),
        (dict.fromkeys(THINKING_LEVELS), ("off",)),
    ],
)
def test_the_levels_of_a_model(words: dict[str, str | None] | None, levels: tuple[str, ...]):
    assert supported_thinking_levels(model(words)) == levels
    assert supported_thinking_levels(model(words, reasoning=False)) == ("off",)


@pytest.mark.parametrize(
    ("words", "asked", "given"),
    [
        (None, "high", "high"),
        (None, "max", "high"),
        ({"low": None, "medium": None}, "low", "high"),
        ({"off": None, "minimal": None}, "off", "low"),
        ({"max": "max"}, "xhigh", "max"),
    ],
)
def test_the_next_higher_level_else_the_next_lower(words, asked: ThinkingLevel, given: ThinkingLevel):
    assert clamp_thinking_level(model(words), asked) == given


@given(
    st.dictionaries(st.sampled_from(THINKING_LEVELS), st.none() | st.text(min_size=1, max_size=5)),
    st.sampled_from(THINKING_LEVELS),
)
def test_clamping_always_gives_a_level_that_the_model_has(words: dict[str, str | None], level: ThinkingLevel):
    some = model(words)
    assert clamp_thinking_level(some, level) in supported_thinking_levels(some)
    assert clamp_thinking_level(some, clamp_thinking_level(some, level)) == clamp_thinking_level(some, level)


def test_words_and_budgets():
    assert (
        provider_name_of_thinking_level(model({"high": "deep"}), "high") == "deep"
        and provider_name_of_thinking_level(model(None), "low") == "low"
    )
    assert [thinking_budget_for(level, {}) for level in ("minimal", "low", "medium", "high")] == [
        1024,
        2048,
        8192,
        16384,
    ]
    assert thinking_budget_for("low", {"low": 5000}) == 5000
    assert (
        limit_thinking_budget(10_000, 4_000),
        limit_thinking_budget(3_000, 4_000),
        limit_thinking_budget(2_000, 4_000),
    ) == (
        4_000,
        1_976,
        0,
    )


def test_a_price_per_kind_of_token():
    priced = model_for("x", cost=Prices(input=2, output=10, cache_read=0.2, cache_write=2.5))
    usage = Usage(input=1000, output=100, cache_read=5000, cache_write=400, cache_write1h=100)
    cost = add_cost_to_usage(usage, priced).cost
    assert cost.input == pytest.approx(0.002) and cost.output == pytest.approx(0.001)
    assert cost.cache_read == pytest.approx(0.001)
    assert cost.cache_write == pytest.approx((300 * 2.5 + 100 * 2 * 2) / 1e6), "an hour costs twice the input"
    assert cost.total == pytest.approx(cost.input + cost.output + cost.cache_read + cost.cache_write)
    assert add_cost_to_usage(usage, priced).total_tokens == 6500


@pytest.mark.parametrize(("read", "rate"), [(100, 1), (200, 1), (201, 2), (5000, 4)])
def test_the_highest_tier_that_was_passed_holds_for_all(read: int, rate: int):
    tiers = (PriceTier(input_tokens_above=200, input=2), PriceTier(input_tokens_above=1000, input=4))
    usage = Usage(input=100, cache_read=read - 100)
    assert add_cost_to_usage(
        usage, model_for("x", cost=Prices(input=1, tiers=tiers))
    ).cost.input == pytest.approx(100 * rate / 1e6)


def test_what_the_provider_charged_counts_more():
    billed = add_cost_to_usage(Usage(input=10), model_for("x"), billed=0.25)
    assert (billed.cost.total, billed.cost.total_from_provider) == (0.25, True)
