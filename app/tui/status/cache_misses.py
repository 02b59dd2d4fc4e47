"""Reports requests that should have hit the provider's prompt cache but did not."""

from collections.abc import Callable

from app.tui.page_protocols import ShowMessage
from app.values.events import CompactionEnd, Event, MessageEnd, ModelChanged, SessionReplaced
from app.values.messages import AssistantMessage
from tools.amounts import tokens
from widgets.transcript.blocks import NoteKind

KEPT_SECONDS = 300
"""The minimum time for which providers keep a prompt in the cache."""


class CacheMisses:
    """Watches the answers of one session for cache misses."""

    EVENT_TYPES = (MessageEnd, SessionReplaced, ModelChanged, CompactionEnd)

    def __init__(self, say: ShowMessage, *, is_told: Callable[[], bool]) -> None:
        """`is_told`: returns whether the user wants these reports."""
        self._say = say
        self._is_told = is_told
        self._last: AssistantMessage | None = None

    def note(self, event: Event) -> None:
        if isinstance(event, SessionReplaced | ModelChanged | CompactionEnd):
            self._last = None
        message = event.message if isinstance(event, MessageEnd) else None
        if not isinstance(message, AssistantMessage) or message.stop_reason in ("error", "aborted"):
            return
        if self._is_told() and self._is_missed(message):
            sent = tokens(message.usage.input + message.usage.cache_write)
            self._say(f"The prompt cache was missed: {sent} tokens were read anew.", NoteKind.WARNING)
        self._last = message

    def _is_missed(self, message: AssistantMessage) -> bool:
        before = self._last
        return (
            before is not None
            and before.usage.cache_read + before.usage.cache_write > 0
            and message.usage.cache_read == 0
            and message.timestamp - before.timestamp < KEPT_SECONDS * 1000
        )
