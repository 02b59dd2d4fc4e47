"""Derives hooks from a session's events, adding data that extensions need and the event lacks."""

from pathlib import Path
from typing import Any

from app.engine.session import Session
from app.extensions.hooks import payloads as p
from app.values.entries import CompactionEntry
from app.values.events import (
    CompactionEnd,
    Event,
    ModelChanged,
    QuestionAsked,
    SessionReplaced,
    ThinkingLevelChanged,
)
from app.values.models import Model

HOOK_EVENT_TYPES = frozenset(
    kind.__struct_config__.tag
    for kind in (ModelChanged, ThinkingLevelChanged, SessionReplaced, CompactionEnd, QuestionAsked)
)
"""The types of events from which a hook follows."""


class HookEventState:
    """Remembers the session's earlier model, thinking level and file, so that a hook can report the change."""

    def __init__(self) -> None:
        self._model: Model | None = None
        self._thinking_level: str | None = None
        self._file: Path | None = None

    def start_session(self, session: Session) -> None:
        state = session.state
        self._model, self._thinking_level, self._file = state.model, state.thinking, state.file

    def hook_for_event(self, event: Event, session: Session | None) -> tuple[str, Any] | None:
        """Returns the hook that follows from this event and its payload, or None."""
        if isinstance(event, ModelChanged):
            previous, self._model = self._model, event.model
            payload = p.ModelSelect(model=event.model, previous_model=previous, source=event.source)
            return "model_select", payload
        if isinstance(event, ThinkingLevelChanged):
            before, self._thinking_level = self._thinking_level, event.level
            return "thinking_level_select", p.ThinkingLevelSelect(level=event.level, previous_level=before)
        if isinstance(event, SessionReplaced) and event.reason in ("new", "resume", "fork"):
            file, self._file = self._file, session.state.file if session is not None else None
            return "session_start", p.SessionStart(reason=event.reason, previous_session_file=file)
        if isinstance(event, QuestionAsked) and event.answer is not None:
            title = event.title or event.message or ""
            return "question_asked", p.QuestionWaits(title=title, is_approval=event.approval is not None)
        if isinstance(event, CompactionEnd) and event.result is not None:
            entry = _last_compaction(session)
            if entry is None:
                return None
            by_extension = entry.from_hook is True
            told = p.SessionCompact(entry=entry, from_extension=by_extension, reason=event.reason)
            return "session_compact", told
        return None


def _last_compaction(session: Session | None) -> CompactionEntry | None:
    entries = reversed(session.log.entries) if session is not None else ()
    return next((entry for entry in entries if isinstance(entry, CompactionEntry)), None)
