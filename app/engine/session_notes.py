"""Writes entries that are no messages to the session: names, notes, context edits."""

from typing import Any

import msgspec

from app.engine.core.conversation import Conversation
from app.engine.core.event_bus import EventBus
from app.engine.models.prompt_cache import PromptCacheLossWarner
from app.engine.preconditions import SessionPreconditions
from app.values.entries import ContextEditEntry, Entry
from app.values.events import EntryAppended, SessionInfoChanged


class NonMessageEntryWriter(msgspec.Struct, frozen=True):
    """Writes session entries that are no messages, and publishes them."""

    conversation: Conversation
    event_bus: EventBus
    cache: PromptCacheLossWarner
    preconditions: SessionPreconditions

    async def rename(self, name: str) -> None:
        cleaned = " ".join(name.split())
        self.conversation.record_session_name(cleaned)
        await self.event_bus.publish(SessionInfoChanged(name=cleaned or None))

    async def append_custom_entry(self, custom_type: str, data: Any) -> Entry:
        return await self._publish_entry(self.conversation.record_custom_entry(custom_type, data))

    async def edit_context(self, target_id: str, replacement: dict[str, Any] | None) -> Entry:
        edit = ContextEditEntry(parent_id=None, target_id=target_id, replacement=replacement)
        return await self._publish_entry(self.conversation.record_entry(edit))

    async def edit_context_for_user(self, target_id: str, replacement: dict[str, Any]) -> None:
        """Edits the context for the user: waits for a summary in progress, and warns about the prompt cache."""
        self.preconditions.require_idle("Changing the context")
        await self.edit_context(target_id, replacement)
        self.cache.warn_if_cache_lost("context")

    async def _publish_entry(self, entry: Entry) -> Entry:
        await self.event_bus.publish(EntryAppended(entry=entry))
        return entry
