"""Asks about staged changes in the approval bar when the agent is done, one at a time."""

import asyncio
from typing import Any

import msgspec

from app.engine.core.user_questions import ApprovalReply
from app.engine.session import Session
from app.tui.features.permissions.approvals import ApprovalQuestionQueue
from app.tui.page_protocols import ShowMessage, SpawnTask
from app.values.events import AgentSettled, AgentStart, Event, SessionReplaced
from app.values.pending import PendingChanged
from app.values.user_errors import UserError
from tools.edits.staged_actions import StagedAction
from tools.number_formatting import MINUS_SIGN
from tools.text_sanitizing import one_line
from widgets.transcript.transcript_blocks import AppNoteKind

_MAX_NAMED_STAGED_FILES = 3


class StagedChangeQuestions(msgspec.Struct):
    """Asks in the approval bar whether the staged changes of one session are applied. While the agent works, nothing is
    asked, because the agent may resolve them."""

    session: Session
    approvals: ApprovalQuestionQueue
    show_message: ShowMessage
    spawn: SpawnTask
    _is_working: bool = False
    _asked_id: str = ""
    _asked_action: StagedAction | None = None
    _answer_future: "asyncio.Future[Any] | None" = None

    def handle_event(self, event: Event) -> None:
        if isinstance(event, AgentStart):
            self._is_working = True
            self._withdraw_question()
        elif isinstance(event, AgentSettled | SessionReplaced | PendingChanged):
            self._is_working = self._is_working and isinstance(event, PendingChanged)
            self._ask_next()

    def _withdraw_question(self) -> None:
        answer, self._answer_future, self._asked_id = self._answer_future, None, ""
        if answer is not None:
            answer.cancel()

    def _ask_next(self) -> None:
        waiting = self.session.pending.waiting_actions
        if self._asked_id and all(one is not self._asked_action for one in waiting):
            self._withdraw_question()  # it is answered, or less of it would be written
        if waiting and not self._asked_id and not self._is_working:
            self._ask_about(waiting[0], len(waiting))

    def _ask_about(self, staged: StagedAction, count: int) -> None:
        # imported late, because few sessions open this page
        from app.tui.features.pending.page import staged_changes_card  # noqa: PLC0415

        files = [
            f"{one_line(file.display_path)}  +{file.diff.added} {MINUS_SIGN}{file.diff.removed}"
            f"{'  in conflict' if file.conflict_text else ''}"
            for file in staged.files
        ]
        if len(files) > _MAX_NAMED_STAGED_FILES:
            files[_MAX_NAMED_STAGED_FILES - 1 :] = [
                f"… and {len(files) - _MAX_NAMED_STAGED_FILES + 1} more files"
            ]
        self._asked_id, self._asked_action = staged.id, staged
        self._answer_future = self.approvals.ask_about_staged(
            one_line(staged.source_tool),
            "\n".join((one_line(staged.label), *files)),
            of=count,
            whole=staged_changes_card(staged),
            staged=staged,
        )
        self._answer_future.add_done_callback(lambda answer: self._apply_answer(staged.id, answer))

    def _apply_answer(self, id: str, answer: "asyncio.Future[Any]") -> None:
        if answer.cancelled():
            return
        reply: ApprovalReply = answer.result()
        self.spawn(self._resolve_change(id, reply))

    async def _resolve_change(self, id: str, reply: ApprovalReply) -> None:
        try:
            action = "apply" if reply.is_allowed else "discard"
            resolved = await self.session.pending.apply_or_discard(id, action, reply.reason)
            if not resolved.is_done:  # otherwise the message for the agent reports it
                self.show_message(one_line(resolved.text), AppNoteKind.WARNING)
        except UserError as problem:
            self.show_message(str(problem), AppNoteKind.WARNING)
        if self._asked_id == id:  # otherwise the next question is open already
            self._asked_id, self._answer_future = "", None
        self._ask_next()
