"""The message that a model is still writing, kept beside the session file so that a crash loses a second at most."""

import threading
import time

import msgspec

from app.sessions.atomic import replace_file
from app.sessions.errors import SessionWriteError
from app.sessions.ids import sidecar
from app.sessions.log import SessionLog
from app.values.codec import decode, encode
from app.values.content import Text, Thinking
from app.values.entries import MessageEntry
from app.values.messages import AssistantMessage, now_ms
from app.values.wire import Wire

INTERVAL = 0.5
"""Seconds between two writes while text streams."""


class Partial(Wire, frozen=True, kw_only=True):
    """What had arrived of an answer."""

    session_id: str
    leaf_id: str | None
    """The entry that the answer would have hung below."""
    message: AssistantMessage
    saved: int = 0

    def recovered(self) -> AssistantMessage:
        """The answer as an aborted message: its text and thinking; half a tool call is nobody's wish."""
        kept = tuple(block for block in self.message.content if isinstance(block, Text | Thinking))
        unsigned = tuple(
            msgspec.structs.replace(block, thinking_signature=None) if isinstance(block, Thinking) else block
            for block in kept
        )
        return msgspec.structs.replace(
            self.message,
            content=unsigned,
            stop_reason="aborted",
            error_message="bayou ended while this answer was being written; this is what had arrived.",
        )


class PartialFile:
    """The sidecar of one session that is being written. A session in memory has none."""

    def __init__(self, log: SessionLog, *, interval: float = INTERVAL) -> None:
        self.path = sidecar(log.path, "partial") if log.path is not None else None
        self._session_id = log.session_id
        self._interval = interval
        self._lock = threading.Lock()
        self._newest: Partial | None = None
        self._timer: threading.Timer | None = None
        self._written = 0.0

    def update(self, message: AssistantMessage, leaf_id: str | None) -> None:
        """The message so far; call it as often as you like. Written at once, or when the interval is over.

        A disk that takes nothing is no reason to stop an answer: the next write tries again.
        """
        if self.path is None:
            return
        with self._lock:
            self._newest = Partial(
                session_id=self._session_id, leaf_id=leaf_id, message=message, saved=now_ms()
            )
            wait = self._written + self._interval - time.monotonic()
            if wait <= 0:
                self._write()
            elif self._timer is None:
                self._timer = threading.Timer(wait, self.flush)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        """Writes what is known now."""
        with self._lock:
            self._write()

    def _write(self) -> None:
        self._stop_timer()
        if self._newest is None or self.path is None:
            return
        try:
            replace_file(self.path, encode(self._newest))
        except SessionWriteError:
            return
        finally:
            self._written = time.monotonic()
        self._newest = None

    def discard(self) -> None:
        """The message has ended and is in the session file, or nobody wants it."""
        with self._lock:
            self._stop_timer()
            self._newest = None
            self._written = 0.0
            try:
                if self.path is not None:
                    self.path.unlink(missing_ok=True)
            except OSError:
                pass  # a disk that became read-only; what is left behind is recognised as recorded

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def left_behind(log: SessionLog) -> Partial | None:
    """The answer that a crash cut off, unless it reached the session file after all."""
    if log.path is None:
        return None
    try:
        partial: Partial = decode(sidecar(log.path, "partial").read_bytes(), Partial)
    except (OSError, msgspec.DecodeError):
        return None
    if partial.session_id != log.session_id or not partial.message.content:
        return None
    if partial.leaf_id is not None and partial.leaf_id not in log:
        return None
    return None if _is_recorded(partial, log) else partial


def _is_recorded(partial: Partial, log: SessionLog) -> bool:
    return any(
        isinstance(entry, MessageEntry)
        and isinstance(entry.message, AssistantMessage)
        and entry.message.timestamp == partial.message.timestamp
        for entry in log.children(partial.leaf_id)
    )
