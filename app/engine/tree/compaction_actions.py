"""Compaction for interfaces and extensions: at once, as a draft, and undone."""

import msgspec

from app.engine.agent_runner import AgentRunner
from app.engine.context.compactor import CompactionDraft, Compactor
from app.engine.core.conversation import Conversation
from app.engine.core.prompt_intake import RequestRefused
from app.engine.preconditions import Preconditions
from app.engine.tree.navigation import Navigation
from app.values.entries import CompactionEntry
from app.values.events import CompactionResult


class CompactionActions(msgspec.Struct, frozen=True, kw_only=True):
    """The compaction of one session. Each method waits for a running summary; `Compactor` does the work."""

    compactor: Compactor
    conversation: Conversation
    runner: AgentRunner
    preconditions: Preconditions
    branches: Navigation

    async def run(self, instructions: str | None = None) -> CompactionResult:
        """Replaces the older part of the context by a summary, after stopping a running run."""
        await self.runner.abort()
        self.preconditions.require_model()
        return await self.compactor.compact("manual", instructions)

    async def draft(self, instructions: str | None = None) -> CompactionDraft:
        """Returns the summary that `run` would write, for the user to edit; nothing is recorded."""
        self.preconditions.require_idle("Compaction")
        self.preconditions.require_model()
        return await self.compactor.draft(instructions)

    async def accept(self, draft: CompactionDraft) -> CompactionResult:
        """Compacts with a draft as the user edited it."""
        self.preconditions.require_idle("Compaction")
        return await self.compactor.compact("manual", draft=draft)

    async def record(self, summary: str, first_kept_entry_id: str | None) -> bool:
        """Records a summary of an extension; returns False, after a notice, if there is nothing to replace."""
        return await self.compactor.record_extension_summary(summary, first_kept_entry_id)

    async def undo(self) -> str | None:
        """Returns to the full history before the last compaction; returns the prompt that preceded it."""
        path = self.conversation.log.path_to()
        found = next((entry for entry in reversed(path) if isinstance(entry, CompactionEntry)), None)
        if found is None:
            raise RequestRefused(
                "Nothing on this branch has been compacted, so the full history is already there."
            )
        arrival = await self.branches.go_to(found.parent_id)
        self.compactor.hold()
        return arrival.text
