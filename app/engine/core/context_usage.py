"""Defines how many tokens of the context window are used."""

from app.values.wire import Wire


class ContextUsage(Wire, frozen=True, kw_only=True):
    tokens: int | None
    """The number of used tokens; None until the next answer has been counted."""
    context_window: int
    percent: float | None
