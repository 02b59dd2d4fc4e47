"""Telling when a request that should have found its beginning in the provider's prompt cache did not."""

from app.tui.stage import Stage
from app.tui.status.bars import amount
from app.values.events import CompactionEnd, Event, MessageEnd, ModelChanged, SessionReplaced
from app.values.messages import AssistantMessage
from widgets.transcript.blocks import NoteKind

KEPT_SECONDS = 300
"""How long providers keep a prompt at the least."""


class CacheMisses:
    """Follows one session's answers."""

    def __init__(self, app: Stage) -> None:
        self._app = app
        self._last: AssistantMessage | None = None

    def note(self, event: Event) -> None:
        match event:
            case MessageEnd(message=AssistantMessage(stop_reason="error" | "aborted")):
                pass
            case MessageEnd(message=AssistantMessage() as message):
                if self._app.assembled.settings.model.show_cache_miss_notices and self._is_missed(message):
                    sent = amount(message.usage.input + message.usage.cache_write)
                    text = f"The prompt cache was missed: {sent} tokens were read anew."
                    self._app.presenter.note(text, NoteKind.WARNING)
                self._last = message
            case SessionReplaced() | ModelChanged() | CompactionEnd():
                self._last = None
            case _:
                pass

    def _is_missed(self, message: AssistantMessage) -> bool:
        before = self._last
        return (
            before is not None
            and before.usage.cache_read + before.usage.cache_write > 0
            and message.usage.cache_read == 0
            and message.timestamp - before.timestamp < KEPT_SECONDS * 1000
        )
