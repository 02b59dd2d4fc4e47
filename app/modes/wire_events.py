"""Events as lines for programs: which are sent, and deltas joined so that output follows time, not tokens."""

import time
from collections.abc import Callable

from app.engine.publisher import joined_deltas
from app.values.codec import encode
from app.values.events import Event, MessageUpdate

FRAME_SECONDS = 1 / 30


class EventLines:
    """Writes events as JSON lines; adjoining deltas of a block at most thirty times a second."""

    def __init__(
        self,
        write: Callable[[bytes], None],
        *,
        merge: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write = write
        self._merge = merge
        self._clock = clock
        self._held: MessageUpdate | None = None
        self._last_write = 0.0

    async def tell(self, event: Event) -> None:
        """A session listener."""
        if not self._merge or not isinstance(event, MessageUpdate):
            self.flush()
            self._write(encode(event))
            return
        joined = joined_deltas(self._held, event) if self._held is not None else None
        if joined is None:
            self.flush()
        self._held = joined if isinstance(joined, MessageUpdate) else event
        if self._clock() - self._last_write >= FRAME_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Writes what is held back."""
        held, self._held = self._held, None
        if held is not None:
            self._write(encode(held))
            self._last_write = self._clock()
