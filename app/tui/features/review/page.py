"""The page that opens the review desk: changes of a prompt, of the session or since a commit, decided hunk by hunk."""

import msgspec

from app.engine.files.proposed_review import ProposedCallReview
from app.engine.files.staged_review import StagedChangesReview
from app.engine.session import Session
from app.tui.features.review.comparison import (
    PROPOSED_REVIEW_SCOPE,
    REVIEW_SCOPES,
    STAGED_REVIEW_SCOPE,
    Review,
)
from app.tui.features.review.desk import ReviewDesk, ReviewDeskQuestion
from app.tui.features.shared_dialogs import select_option
from app.tui.page_protocols import AskOnScreen, CopyText, OpenInEditor, ShowMessage
from app.values.approvals import Approval
from app.values.user_errors import UserError
from tools.edits.staged_actions import StagedAction
from widgets.transcript.transcript_blocks import AppNoteKind

_UNKNOWN_REVIEW_SCOPE_TEXT = (
    "Unknown comparison. /review-changes takes prompt, session, git, or the id of an entry of this branch "
    "(/tree shows them); /diff shows the session's changes, /diff git the uncommitted ones."
)
SEND_NOW, SEND_LATER, DROP_COMMENTS = "Send the comments now", "Send the comments later", "Drop the comments"


class ChangeReviewPage(msgspec.Struct, frozen=True):
    """Opens the review desk for the changes of one session."""

    session: Session
    ask: AskOnScreen
    show_message: ShowMessage
    copy: CopyText
    open_in_editor: OpenInEditor

    async def open(self, scope: str = "prompt") -> None:
        if scope not in REVIEW_SCOPES and scope not in self.session.log:
            raise UserError(_UNKNOWN_REVIEW_SCOPE_TEXT)
        await self._run_desk(self._make_desk(self.session.review, scope))

    async def open_staged_changes(
        self, staged: StagedAction, question: ReviewDeskQuestion | None = None
    ) -> None:
        """Opens staged changes on the review desk, where hunks can be left out before the rest is applied."""
        review = StagedChangesReview(
            self.session.review, self.session.tools.workspace, self.session.pending, staged
        )
        await self._run_desk(self._make_desk(review, STAGED_REVIEW_SCOPE, question))

    def review_of_approval(self, approval: Approval) -> ProposedCallReview:
        """Returns the review of a call that waits for approval: its files as they would become."""
        return ProposedCallReview(self.session.previews.proposed_files, approval)

    async def open_proposed_changes(self, review: ProposedCallReview, question: ReviewDeskQuestion) -> None:
        """Opens the change of a call that waits for approval on the review desk, where the question can be answered."""
        await self._make_desk(review, PROPOSED_REVIEW_SCOPE, question).open()

    def _make_desk(
        self,
        review: Review,
        scope: str,
        question: ReviewDeskQuestion | None = None,
    ) -> ReviewDesk:
        return ReviewDesk(self.ask, self.copy, self.open_in_editor, review, scope, question)

    async def _run_desk(self, desk: ReviewDesk) -> None:
        try:
            await desk.open()
        finally:
            await self.session.review.report_to_model()
        if desk.is_sending or (desk.has_new_remark and self.session.review.decisions.remarks):
            await self.offer_to_send_comments(is_sending=desk.is_sending)

    async def offer_to_send_comments(self, *, is_sending: bool) -> None:
        """Asks whether the comments written on the review desk are sent to the agent, kept or deleted."""
        review = self.session.review
        remarks, text = review.decisions.remarks, review.message()
        count = "1 comment" if len(remarks) == 1 else f"{len(remarks)} comments"
        answer = (
            SEND_NOW
            if is_sending
            else await select_option(
                self.ask, f"{count} on the changes", (SEND_NOW, SEND_LATER, DROP_COMMENTS)
            )
        )
        ids = frozenset(one.id for one in remarks)
        if answer == DROP_COMMENTS:
            review.close_remarks(ids)
        elif answer == SEND_NOW:
            await self.session.prompt(text, while_running="follow_up", expand=False)
            review.close_remarks(ids)
        elif remarks:
            self.show_message(f"{count} saved: /review-changes opens them again.", AppNoteKind.INFO)
