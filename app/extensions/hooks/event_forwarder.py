"""Passes a session's events to the extensions that have a handler for them.

In RPC mode it also publishes what the extensions' renderers draw.
"""

from __future__ import annotations

from typing import Final, cast

from app.engine.session import Session
from app.extensions.extension_catalogue import ExtensionCatalogue
from app.extensions.extension_runner import Extensions
from app.extensions.headless_ui import EventPublishingUi
from app.extensions.hooks import payloads as p
from app.extensions.hooks.event_hooks import HOOK_EVENT_TYPES
from app.extensions.hooks.hook_table import SESSION_EVENTS
from app.values.entries import CustomEntry
from app.values.events import CompactionEnd, EntryAppended, Event, MessageEnd
from app.values.messages import CustomMessage

_EVENTS_WITH_RENDERERS: Final = frozenset(("message_end", "entry_appended"))


class EventForwarder:
    """Keeps the set of event types to subscribe to: those with a handler, and those that renderers
    can show."""

    def __init__(self, extensions: Extensions, catalogue: ExtensionCatalogue) -> None:
        self._extensions = extensions
        self._hooks = extensions.hooks
        self._catalogue = catalogue
        self._event_kinds: set[str] = set()
        self._hooks.add_change_listener(self._update_types)

    def _update_types(self) -> None:
        """Updates the set of event types after handlers were added or removed."""
        wanted = {*HOOK_EVENT_TYPES, *(SESSION_EVENTS.keys() & self._hooks.handlers.keys())}
        if self._has_renderers:
            wanted |= _EVENTS_WITH_RENDERERS
        self._event_kinds &= wanted
        self._event_kinds |= wanted

    @property
    def _has_renderers(self) -> bool:
        return self._hooks.binding is not None and isinstance(self._hooks.binding.ui, EventPublishingUi)

    def subscribe_to_session(self, session: Session) -> None:
        self._update_types()
        session.subscribe(self._forward_event, hears=self._event_kinds)

    async def _forward_event(self, event: Event) -> None:
        """Handles one subscribed event in the order of publishing."""
        if isinstance(event, MessageEnd | EntryAppended) and self._has_renderers:
            self._publish_drawing(event)
        await self._extensions.handle_event(event)
        if isinstance(event, CompactionEnd) and event.result is None:
            await self._hooks.emit(
                "session_compact_failed",
                p.SessionCompactFailed(
                    reason=event.reason, error_message=event.error_message, aborted=event.aborted
                ),
            )

    def _publish_drawing(self, event: MessageEnd | EntryAppended) -> None:
        message = event.message if isinstance(event, MessageEnd) else None
        entry = event.entry if isinstance(event, EntryAppended) else None
        if isinstance(message, CustomMessage) and message.display:
            target_id, shown = message.id, self._catalogue.render_message(message, expanded=True)
        elif isinstance(entry, CustomEntry):
            target_id = entry.id
            shown = self._catalogue.render_entry(entry.custom_type, entry.data, expanded=True)
        else:
            return
        if shown is not None and shown.view is not None and self._hooks.binding is not None:
            cast("EventPublishingUi", self._hooks.binding.ui).show_view(target_id, shown.view)
