"""Saves the unfinished answer of a model beside the session file, so that a crash loses one second of it
at most."""

import asyncio
import math
import threading
import time
from collections.abc import Callable

import msgspec

from app.sessions.errors import SessionWriteError
from app.sessions.file.atomic_replace import replace_sidecar_file_atomically
from app.sessions.session_ids import session_sidecar_path
from app.sessions.session_log import SessionLog
from app.values.codec import decode, encode
from app.values.content import Text, Thinking
from app.values.entries import MessageEntry
from app.values.messages import AssistantMessage
from app.values.wire import Wire, now_ms
from tools.files.regular_files import read_regular_file

PARTIAL_ANSWER_WRITE_INTERVAL = 0.5
"""The number of seconds between two writes while an answer streams in."""
MIN_WRITE_PAUSE_FACTOR = 20
"""The pause after a write as a multiple of the write's duration, so that a long answer is written less often."""
MAX_PARTIAL_ANSWER_CHARACTERS = 8_000_000
"""The maximum length of an answer that is saved, in characters; each write writes the whole answer, and models
hardly produce longer ones."""


class SavedPartialAnswer(Wire, frozen=True, kw_only=True):
    """The part of a model's answer that had arrived when it was saved."""

    session_id: str
    leaf_id: str | None
    """The id of the entry that would have been the answer's parent."""
    message: AssistantMessage
    saved: int = 0

    def recovered_message(self) -> AssistantMessage:
        """Returns the partial answer as an aborted message with text and thinking; unfinished tool calls are
        dropped."""
        kept = tuple(block for block in self.message.content if isinstance(block, Text | Thinking))
        unsigned = tuple(
            msgspec.structs.replace(block, thinking_signature=None) if isinstance(block, Thinking) else block
            for block in kept
        )
        return msgspec.structs.replace(
            self.message,
            content=unsigned,
            stop_reason="aborted",
            error_message="bayou ended while this answer was being written; this part had arrived.",
        )


class PartialAnswerFile:
    """Writes the file beside an open session that holds the unfinished answer. A session in memory has no such
    file."""

    def __init__(self, log: SessionLog, *, interval: float = PARTIAL_ANSWER_WRITE_INTERVAL) -> None:
        self.path = session_sidecar_path(log.path, "partial") if log.path is not None else None
        self._session_id = log.session_id
        self._interval = interval
        self._lock = threading.Lock()
        self._write_timer: asyncio.TimerHandle | None = None
        self._next_write_at = 0.0
        self._ended_answers = 0
        """The number of answers that have ended; a write scheduled for an earlier answer is skipped."""

    def schedule_write(self, answer: Callable[[], AssistantMessage | None], leaf_id: str | None) -> None:
        """Schedules a write of the growing answer for the end of the interval, in a thread; may be called
        any number of times. `answer` is called only then: most answers have ended by that time."""
        if self.path is None or self._write_timer is not None or self._next_write_at == math.inf:
            return
        loop = asyncio.get_running_loop()
        number = self._ended_answers

        def look() -> None:
            self._write_timer = None
            message = answer()
            if (
                message is not None
                and len(message.text) + len(message.thinking) > MAX_PARTIAL_ANSWER_CHARACTERS
            ):
                self._next_write_at = math.inf
            elif message is not None:
                loop.run_in_executor(None, self._write, self._make_partial_answer(message, leaf_id), number)

        if not self._next_write_at:
            self._next_write_at = time.monotonic() + self._interval
        self._write_timer = loop.call_later(max(0.0, self._next_write_at - time.monotonic()), look)

    def write_now(self, message: AssistantMessage, leaf_id: str | None) -> None:
        """Writes the answer, as far as it has arrived, immediately."""
        self._write(self._make_partial_answer(message, leaf_id), self._ended_answers)

    def _make_partial_answer(self, message: AssistantMessage, leaf_id: str | None) -> SavedPartialAnswer:
        return SavedPartialAnswer(
            session_id=self._session_id, leaf_id=leaf_id, message=message, saved=now_ms()
        )

    def _write(self, newest: SavedPartialAnswer, number: int) -> None:
        """Writes the file of the unfinished answer. A failed write does not stop the answer; the next write
        tries again."""
        with self._lock:
            if self.path is None or number != self._ended_answers:
                return
            began = time.monotonic()
            try:
                replace_sidecar_file_atomically(self.path, encode(newest))
            except SessionWriteError:
                pass
            now = time.monotonic()
            self._next_write_at = now + max(self._interval, MIN_WRITE_PAUSE_FACTOR * (now - began))

    def discard(self) -> None:
        """Deletes the file of the unfinished answer, once the message is in the session file or is not needed
        any more."""
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None
        with self._lock:
            self._ended_answers += 1
            self._next_write_at = 0.0
            try:
                if self.path is not None:
                    self.path.unlink(missing_ok=True)
            except OSError:
                pass  # a disk that became read-only; what is left behind is recognised as recorded


def read_unrecorded_answer(log: SessionLog) -> SavedPartialAnswer | None:
    """Returns the answer that a crash cut off, unless the session file has it."""
    if log.path is None:
        return None
    try:
        partial: SavedPartialAnswer = decode(
            read_regular_file(session_sidecar_path(log.path, "partial")), SavedPartialAnswer
        )
    except (OSError, msgspec.DecodeError):
        return None
    if partial.session_id != log.session_id or not partial.message.content:
        return None
    if partial.leaf_id is not None and partial.leaf_id not in log:
        return None
    return None if _is_in_session(partial, log) else partial


def _is_in_session(partial: SavedPartialAnswer, log: SessionLog) -> bool:
    return any(
        isinstance(entry, MessageEntry)
        and isinstance(entry.message, AssistantMessage)
        and entry.message.timestamp == partial.message.timestamp
        for entry in log.children(partial.leaf_id)
    )
