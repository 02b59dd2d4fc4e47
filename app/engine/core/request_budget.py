"""Limits of a session's usage: requests, cost, tokens and time. They are checked before each request, so at most the
running request exceeds them. When the time is over, running work is stopped."""

import time
from collections.abc import Callable

import msgspec

from app.providers.model_stream import AssistantStream
from app.providers.shared_rate_limit import SharedRateLimit
from app.values.usage import Usage, format_dollars, total_usage
from app.values.user_errors import UserError
from tools.number_formatting import count_with_noun


class UsageLimitReached(UserError):
    """Raised if a request was not sent because a limit is reached; the text names the limit."""


class SessionUsageLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a session's usage: requests, cost, tokens and time. None means no limit."""

    max_turns: int | None = None
    """The maximum number of the agent's requests, including retries. Summaries and side questions count for cost
    and tokens only."""
    max_cost: float | None = None
    """The maximum cost in US dollars."""
    max_tokens: int | None = None
    """The maximum of all tokens, sent and received, including cached ones."""
    max_seconds: float | None = None
    """The maximum time in seconds since this process opened the session."""


class SessionUsageBudget:
    """Counts the usage of a session against its limits. Sessions that share a budget share its limits."""

    def __init__(
        self,
        limits: SessionUsageLimits = SessionUsageLimits(),  # noqa: B008  (frozen)
        *,
        clock: Callable[[], float] = time.monotonic,
        rate_limit: SharedRateLimit | None = None,
    ) -> None:
        self.limits = limits
        self.rate_limit = rate_limit
        """The providers' limits as shared with other processes; None: no other process shares them."""
        self.has_refused_request = False
        """Whether a request was refused because of a limit, in which case all later ones are refused too."""
        self.has_run_out = False
        """Whether the time limit ended while work was running, which was then stopped."""
        self.turns = 0
        self._clock = clock
        self._started_at = clock()
        self._ended_usage = Usage()
        self._running_streams: list[AssistantStream] = []

    @property
    def usage_so_far(self) -> Usage:
        """The usage of all requests, including what running requests have reported so far."""
        over = [stream for stream in self._running_streams if stream.is_over]
        self._running_streams = [stream for stream in self._running_streams if not stream.is_over]
        self._ended_usage = total_usage((self._ended_usage, *(stream.draft.usage for stream in over)))
        return total_usage((self._ended_usage, *(stream.draft.usage for stream in self._running_streams)))

    @property
    def seconds_left(self) -> float | None:
        """The seconds until the time limit; None without a limit."""
        limit = self.limits.max_seconds
        return None if limit is None else max(0.0, limit - (self._clock() - self._started_at))

    def note_time_limit_reached(self) -> None:
        """Notes that the time limit was reached while work was running."""
        self.has_refused_request = self.has_run_out = True

    def check_limits(self, *, is_turn: bool = False) -> None:
        """Checks the usage limits before a request. Raises `UsageLimitReached`."""
        reached = self._reached_limit_text(is_turn=is_turn)
        if reached:
            self.has_refused_request = True
            raise UsageLimitReached(
                f"The limit of {reached} is reached. No further request was sent. Raise the limit to "
                "continue."
            )
        self.turns += is_turn

    def count_usage_of_stream(self, stream: AssistantStream) -> AssistantStream:
        """Counts the usage of a request while its response arrives; returns the response's stream."""
        self._running_streams.append(stream)
        return stream

    def _reached_limit_text(self, *, is_turn: bool) -> str:
        limits = self.limits
        if is_turn and limits.max_turns is not None and self.turns >= limits.max_turns:
            return count_with_noun(limits.max_turns, "turn")
        if limits.max_seconds is not None and self._clock() - self._started_at >= limits.max_seconds:
            return f"{limits.max_seconds:g} seconds"
        if limits.max_cost is None and limits.max_tokens is None:
            return ""
        used = self.usage_so_far
        if limits.max_cost is not None and used.cost.total >= limits.max_cost:
            return f"{format_dollars(limits.max_cost)} ({format_dollars(used.cost.total)} used)"
        if limits.max_tokens is not None and used.total_tokens >= limits.max_tokens:
            return f"{count_with_noun(limits.max_tokens, 'token')} ({used.total_tokens:,} used)"
        return ""
