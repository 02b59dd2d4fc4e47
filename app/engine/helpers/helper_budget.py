"""The limits of a helper: its own, and those of the session that started it."""

import time
from collections.abc import Callable

from app.engine.core.request_budget import RequestBudget, RequestLimits
from app.providers.model_stream import AssistantStream


class HelperBudget(RequestBudget):
    """Counts each request of a helper in its own limits and in its parent's."""

    def __init__(
        self, limits: RequestLimits, parent: RequestBudget, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(limits, clock=clock)
        self._parent = parent

    @property
    def seconds_left(self) -> float | None:
        """The time of whichever limit ends first."""
        left = [one for one in (super().seconds_left, self._parent.seconds_left) if one is not None]
        return min(left, default=None)

    def admit(self, *, is_turn: bool = False) -> None:
        self._parent.admit()
        super().admit(is_turn=is_turn)

    def watch(self, stream: AssistantStream) -> AssistantStream:
        return super().watch(self._parent.watch(stream))
