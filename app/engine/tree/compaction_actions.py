"""Compaction for interfaces and extensions: run at once, drafted for editing, and undone."""

import msgspec

from app.engine.agent_runner import AgentRunner
from app.engine.context.compactor import CompactionDraft, Compactor
from app.engine.core.conversation import Conversation
from app.engine.core.prompt_intake import SessionRequestRefused
from app.engine.preconditions import SessionPreconditions
from app.engine.tree.navigation import SessionNavigation
from app.values.entries import CompactionEntry
from app.values.events import CompactionResult


class CompactionActions(msgspec.Struct, frozen=True, kw_only=True):
    """The compaction operations of one session. Each method waits for a summary in progress; `Compactor` does
    the work."""

    compactor: Compactor
    conversation: Conversation
    runner: AgentRunner
    preconditions: SessionPreconditions
    navigation: SessionNavigation

    async def compact(self, instructions: str | None = None) -> CompactionResult:
        """Replaces the older part of the context by a summary, after stopping the agent's run."""
        await self.runner.abort_cells()
        self.preconditions.require_model()
        return await self.compactor.compact("manual", instructions)

    async def draft_summary(self, instructions: str | None = None) -> CompactionDraft:
        """Returns the summary that `compact` would write, for the user to edit; nothing is recorded."""
        self.preconditions.require_idle("Compaction")
        self.preconditions.require_model()
        return await self.compactor.draft_compaction(instructions)

    async def compact_with_draft(self, draft: CompactionDraft) -> CompactionResult:
        """Compacts the session with a draft as the user edited it."""
        self.preconditions.require_idle("Compaction")
        return await self.compactor.compact("manual", draft=draft)

    async def record_summary(self, summary: str, first_kept_entry_id: str | None) -> bool:
        """Records an extension's summary as a compaction; returns False, after a notice, if there is nothing to
        replace."""
        return await self.compactor.record_extension_summary(summary, first_kept_entry_id)

    async def undo_compaction(self) -> str | None:
        """Goes back to the full history before the last compaction; returns the prompt that preceded it."""
        path = self.conversation.log.path_to()
        found = next((entry for entry in reversed(path) if isinstance(entry, CompactionEntry)), None)
        if found is None:
            raise SessionRequestRefused(
                "Nothing on this branch has been compacted, so the full history is already there."
            )
        arrival = await self.navigation.go_to_entry(found.parent_id)
        self.compactor.pause_automatic_compaction()
        return arrival.prompt_text
