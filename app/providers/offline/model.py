"""Defines the offline guide's model. Its parser and its answers are imported at the first request (`guide`)."""

from app.values.models import Model


def offline_model(tokens_per_second: float | None = None) -> Model:
    """Returns the offline guide's model, which sends with the given number of tokens per second, or with that of
    the environment."""
    return Model(
        id="guide",
        name="Offline guide (no language model)",
        api="offline",
        provider="offline",
        reasoning=True,
        input=("text", "image"),
        context_window=128_000,
        max_tokens=8_192,
        compat=None if tokens_per_second is None else {"tokensPerSecond": tokens_per_second},
    )
