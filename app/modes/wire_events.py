"""Sends events to programs: joins deltas to limit the number of messages per second, and writes lines."""

import asyncio
import time
from collections.abc import Callable, Iterable

from app.engine.core.event_bus import join_message_deltas
from app.values.codec import encode_line_in_pieces
from app.values.events import AgentSettled, AgentStart, Event, MessageUpdate

MIN_JOINED_DELTA_INTERVAL_SECONDS = 1 / 30


class DeltaJoiner:
    """Passes events on in order; consecutive deltas of a block are joined, at most thirty a second."""

    def __init__(self, send: Callable[[Event], None], *, merge: bool = True) -> None:
        self._send = send
        self._merge = merge
        self._pending_update: MessageUpdate | None = None
        self._last_write = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def handle_event(self, event: Event) -> None:
        """Receives an event of the session, as its subscriber."""
        if not self._merge or not isinstance(event, MessageUpdate):
            self.flush()
            self._send(event)
            return
        joined = (
            join_message_deltas(self._pending_update, event) if self._pending_update is not None else None
        )
        if joined is None:
            self.flush()
        self._pending_update = joined if isinstance(joined, MessageUpdate) else event
        wait = self._last_write + MIN_JOINED_DELTA_INTERVAL_SECONDS - time.monotonic()
        if wait <= 0:
            self.flush()
        elif self._timer is None:
            # Sends held-back text even when the model pauses.
            self._timer = asyncio.get_running_loop().call_later(wait, self.flush)

    def flush(self) -> None:
        """Sends the deltas that are held back."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        held, self._pending_update = self._pending_update, None
        if held is not None:
            self._send(held)
            self._last_write = time.monotonic()


class EventLineWriter(DeltaJoiner):
    """Writes events as JSON lines, each in pieces."""

    def __init__(
        self,
        write: Callable[[Iterable[bytes]], None],
        *,
        merge: bool = True,
        shape: Callable[[Event], Event] = lambda event: event,
    ) -> None:
        super().__init__(lambda event: write(encode_line_in_pieces(shape(event))), merge=merge)
        self.has_settled = False
        """Whether `agent_settled` was sent for the last run."""

    def handle_event(self, event: Event) -> None:
        if isinstance(event, AgentStart | AgentSettled):
            self.has_settled = isinstance(event, AgentSettled)
        super().handle_event(event)
