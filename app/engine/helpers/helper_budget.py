"""The limits of one helper: counted with its parent's, told to the helper while it works, and kept before each
request."""

import time
from collections.abc import Callable
from typing import Final

from app.engine.core.request_budget import LimitReached, RequestBudget, RequestLimits
from app.providers.model_stream import AssistantStream
from app.values.usage import Usage

_NEARLY: Final = 0.8
_MINUTES_TO_END: Final = 0.05
"""The share of its time that a helper has for its last answer."""


class HelperBudget(RequestBudget):
    """Counts each request of a helper in its own limits and in its parent's."""

    def __init__(
        self, limits: RequestLimits, parent: RequestBudget, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(limits, clock=clock)
        self._parent = parent
        self.is_ending = False
        """Whether only one more request is sent, without tools."""
        self._has_ended = self._is_told = False
        self._before = Usage()

    @property
    def seconds_left(self) -> float | None:
        """The time of whichever limit ends first."""
        left = [one for one in (super().seconds_left, self._parent.seconds_left) if one is not None]
        return min(left, default=None)

    def admit(self, *, is_turn: bool = False) -> None:
        self._parent.admit()
        if is_turn and self._has_ended and not self._reached_limit(is_turn=True):
            self.has_refused = True
            raise LimitReached("Its limits left room for one last answer, and it called tools instead.")
        super().admit(is_turn=is_turn)
        self._has_ended = is_turn and self.is_ending

    def watch(self, stream: AssistantStream) -> AssistantStream:
        return super().watch(self._parent.watch(stream))

    def word_for_helper(self) -> str:
        """Returns what the helper is told of its limits after a request, each thing once; mostly empty."""
        used, limits = self.used, self.limits
        tokens = used.total_tokens, used.total_tokens - self._before.total_tokens
        cost = used.cost.total, used.cost.total - self._before.cost.total
        self._before = used
        seconds = limits.seconds or 0
        spent = seconds - (super().seconds_left or 0)
        kinds = (
            ("tokens", limits.tokens, *tokens),
            ("cost", limits.cost, *cost),
            ("turns", limits.turns, self.turns, 0),
            ("time", limits.seconds, spent, seconds * _MINUTES_TO_END),
        )
        reached = [(name, limit, now, last) for name, limit, now, last in kinds if limit]
        # The next request may be as large as the last one, and a limit is exceeded by one request at most.
        ending = [
            name for name, limit, now, last in reached if now + (last if name != "turns" else 1) >= limit
        ]
        if ending and not self.is_ending:
            self.is_ending = self._is_told = True
            return (
                f"Your limit of {ending[0]} is as good as used up. This is your last answer, without tools: say what "
                "you have found or done, and what is missing."
            )
        nearly = [name for name, limit, now, _ in reached if now >= _NEARLY * limit]
        if nearly and not self._is_told:
            self._is_told = True
            return f"You have used {_NEARLY:.0%} of your {nearly[0]}. Come to the end: do only what matters most."
        return ""
