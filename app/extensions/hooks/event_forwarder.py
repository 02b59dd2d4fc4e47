"""Passes a session's events to the extensions that have a handler for them.

In RPC mode it also publishes what the extensions' renderers draw.
"""

from __future__ import annotations

from typing import Final, cast

from app.engine.session import Session
from app.extensions.catalogue import ExtensionCatalogue
from app.extensions.extension_runner import Extensions
from app.extensions.headless_ui import EventUi
from app.extensions.hooks import payloads as p
from app.extensions.hooks.event_hooks import HOOK_EVENT_TYPES
from app.extensions.hooks.hook_table import SESSION_EVENTS
from app.values.entries import CustomEntry
from app.values.events import CompactionEnd, EntryAppended, Event, MessageEnd
from app.values.messages import CustomMessage

_RENDERED_EVENTS: Final = frozenset(("message_end", "entry_appended"))


class EventForwarder:
    """Keeps the set of event types to subscribe to: those with a handler, and those that renderers
    can show."""

    def __init__(self, extensions: Extensions, catalogue: ExtensionCatalogue) -> None:
        self._extensions = extensions
        self._hooked = extensions.hooked
        self._catalogue = catalogue
        self._kinds: set[str] = set()
        self._hooked.follow(self._sort)

    def _sort(self) -> None:
        """Updates the set of event types after handlers were added or removed."""
        wanted = {*HOOK_EVENT_TYPES, *(SESSION_EVENTS.keys() & self._hooked.waiting.keys())}
        if self._shows:
            wanted |= _RENDERED_EVENTS
        self._kinds &= wanted
        self._kinds |= wanted

    @property
    def _shows(self) -> bool:
        return self._hooked.bound is not None and isinstance(self._hooked.bound.ui, EventUi)

    def listen_to(self, session: Session) -> None:
        self._sort()
        session.subscribe(self._forward, hears=self._kinds)

    async def _forward(self, event: Event) -> None:
        """Handles one subscribed event in the order of publishing."""
        if isinstance(event, MessageEnd | EntryAppended) and self._shows:
            self._show(event)
        await self._extensions.hear(event)
        if isinstance(event, CompactionEnd) and event.result is None:
            await self._hooked.emit(
                "session_compact_failed",
                p.SessionCompactFailed(
                    reason=event.reason, error_message=event.error_message, aborted=event.aborted
                ),
            )

    def _show(self, event: MessageEnd | EntryAppended) -> None:
        message = event.message if isinstance(event, MessageEnd) else None
        entry = event.entry if isinstance(event, EntryAppended) else None
        if isinstance(message, CustomMessage) and message.display:
            target_id, shown = message.id, self._catalogue.render_message(message, expanded=True)
        elif isinstance(entry, CustomEntry):
            target_id = entry.id
            shown = self._catalogue.render_entry(entry.custom_type, entry.data, expanded=True)
        else:
            return
        if shown is not None and shown.view is not None and self._hooked.bound is not None:
            cast("EventUi", self._hooked.bound.ui).show_view(target_id, shown.view)
