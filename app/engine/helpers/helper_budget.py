"""The usage limits of one helper agent: counted with its parent's, announced to the helper while it works, and
checked before each request."""

import time
from collections.abc import Callable
from typing import Final

from app.engine.core.request_budget import SessionUsageBudget, SessionUsageLimits, UsageLimitReached
from app.providers.model_stream import AssistantStream
from app.values.usage import Usage

_HELPER_WARNING_USAGE_SHARE: Final = 0.8
_HELPER_LAST_ANSWER_TIME_SHARE: Final = 0.05
"""The share of a helper's time that is left for its last answer."""


class HelperUsageBudget(SessionUsageBudget):
    """Counts each request of a helper in its own limits and in its parent's."""

    def __init__(
        self,
        limits: SessionUsageLimits,
        parent: SessionUsageBudget,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(limits, clock=clock)
        self._parent = parent
        self.is_last_request = False
        """Whether the helper may send only one more request, without tools."""
        self._has_ended = self._has_warned = False
        self._earlier_usage = Usage()

    @property
    def seconds_left(self) -> float | None:
        """The seconds until the helper's or its parent's time limit, whichever ends first."""
        left = [one for one in (super().seconds_left, self._parent.seconds_left) if one is not None]
        return min(left, default=None)

    def check_limits(self, *, is_turn: bool = False) -> None:
        self._parent.check_limits()
        if is_turn and self._has_ended and not self._reached_limit_text(is_turn=True):
            self.has_refused_request = True
            raise UsageLimitReached(
                "The helper reached a limit and called tools instead of giving its last answer."
            )
        super().check_limits(is_turn=is_turn)
        self._has_ended = is_turn and self.is_last_request

    def count_usage_of_stream(self, stream: AssistantStream) -> AssistantStream:
        return super().count_usage_of_stream(self._parent.count_usage_of_stream(stream))

    def limit_notice(self) -> str:
        """Returns a notice for the helper after a request when its limits are nearly used up, each notice only
        once; mostly empty."""
        used, limits = self.usage_so_far, self.limits
        tokens = used.total_tokens, used.total_tokens - self._earlier_usage.total_tokens
        cost = used.cost.total, used.cost.total - self._earlier_usage.cost.total
        self._earlier_usage = used
        seconds = limits.max_seconds or 0
        spent = seconds - (super().seconds_left or 0)
        kinds = (
            ("tokens", limits.max_tokens, *tokens),
            ("cost", limits.max_cost, *cost),
            ("turns", limits.max_turns, self.turns, 0),
            ("time", limits.max_seconds, spent, seconds * _HELPER_LAST_ANSWER_TIME_SHARE),
        )
        reached = [(name, limit, now, last) for name, limit, now, last in kinds if limit]
        # The next request may be as large as the last one, and a limit is exceeded by one request at most.
        ending = [
            name for name, limit, now, last in reached if now + (last if name != "turns" else 1) >= limit
        ]
        if ending and not self.is_last_request:
            self.is_last_request = self._has_warned = True
            return (
                f"Your limit of {ending[0]} is nearly used up. This is your last answer, without tools: "
                f"say what you have found or done, and what is missing."
            )
        nearly = [name for name, limit, now, _ in reached if now >= _HELPER_WARNING_USAGE_SHARE * limit]
        if nearly and not self._has_warned:
            self._has_warned = True
            share = f"{_HELPER_WARNING_USAGE_SHARE:.0%}"
            return f"You have used {share} of your {nearly[0]}. Finish soon: do only what matters most."
        return ""
