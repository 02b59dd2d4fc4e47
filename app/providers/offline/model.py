"""Who the offline guide is. What it understands and answers is imported when it is asked (`guide`)."""

from app.values.models import Model


def offline_model(tokens_per_second: float | None = None) -> Model:
    """The model; with a pace of its own, or with that of the environment."""
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
