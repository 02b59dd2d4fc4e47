"""Commands about pending changes: listing and answering them."""

from collections.abc import Sequence
from typing import Literal

from app.engine.commands import response_data
from app.engine.commands.session_command import session_command
from app.engine.files.pending_changes import to_pending_action
from app.engine.session import Session
from app.values.pending import PendingAction


@session_command("Staged changes to apply or discard", "Oldest first.", answer="actions")
async def list_pending(session: Session) -> Sequence[PendingAction]:
    return [to_pending_action(staged) for staged in session.pending.waiting_actions]


@session_command(
    "Apply or discard staged changes",
    "`pendingId`: optional for the only one. `files`: only these of a helper.",
)
async def resolve_pending(
    session: Session,
    action: Literal["apply", "discard"],
    reason: str = "",
    pending_id: str | None = None,
    files: Sequence[str] = (),
) -> response_data.PendingResolved:
    resolved = await session.pending.apply_or_discard(pending_id, action, reason, by="program", files=files)
    return {"id": resolved.staged.id, "done": resolved.is_done, "text": resolved.text}
