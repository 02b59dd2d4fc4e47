"""How full the window is."""

from app.values.wire import Wire


class ContextUsage(Wire, frozen=True, kw_only=True):
    tokens: int | None
    """None: not known until the next answer."""
    context_window: int
    percent: float | None
