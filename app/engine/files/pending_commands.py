"""Commands about pending changes: listing and answering them."""

from collections.abc import Sequence
from typing import Literal

from app.engine.commands import response_data
from app.engine.commands.session_command import session_command
from app.engine.files.pending_changes import as_action
from app.engine.session import Session
from app.values.pending import PendingAction


@session_command("Changes that were staged and wait for an answer", "The oldest first.", answer="actions")
async def list_pending(session: Session) -> Sequence[PendingAction]:
    return [as_action(staged) for staged in session.pending.waiting]


@session_command(
    "Apply or discard staged changes",
    "Without `pendingId` the only one. All or nothing; of helpers, by file.",
)
async def resolve_pending(
    session: Session, action: Literal["apply", "discard"], reason: str = "", pending_id: str | None = None
) -> response_data.PendingResolved:
    resolved = await session.pending.answer(pending_id, action, reason, by="program")
    return {"id": resolved.staged.id, "done": resolved.is_done, "text": resolved.text}
