"""The comparison that a review desk shows: the scope, the changed files, and how much of each is decided."""

import asyncio

from app.engine.files.change_review import ChangeReview
from app.engine.files.proposed_review import ProposedCallReview
from app.engine.files.session_files import (
    DiffSource,
    EntryDiffRequest,
    GitDiffRequest,
    PromptDiffRequest,
    SessionDiffRequest,
)
from app.engine.files.staged_review import StagedChangesReview
from app.tui.features.review.hunk_blocks import is_hunk_decided
from app.tui.features.review.rows import ReviewDeskContent, ReviewDeskFileRow
from app.undo.change_lists import ChangedFileRow
from app.undo.review.review_records import ReviewDecisions
from app.undo.review.reviewed_files import ReviewedChanges, ReviewedFile, ReviewFileRow
from app.values.user_errors import UserError
from tools.number_formatting import format_changed_lines

Review = ChangeReview | StagedChangesReview | ProposedCallReview
REVIEW_SCOPES: tuple[str, ...] = ("session", "prompt", "git")
_DIFF_SOURCE_BY_REVIEW_SCOPE: dict[str, DiffSource] = {
    "session": SessionDiffRequest(),
    "prompt": PromptDiffRequest(),
    "git": GitDiffRequest(),
}
_REVIEW_SCOPE_TITLES = {
    "session": "Changed by this session",
    "prompt": "Changed by the last prompt",
    "git": "Changed since the last commit",
    "staged": "Staged changes",
}
_NO_CHANGES_TEXT_BY_SCOPE = {
    "session": "This session changed no files.",
    "prompt": "No prompt on this branch changed files.",
    "git": "No uncommitted changes.",
    "staged": "All changes are applied.",
}
STAGED_REVIEW_SCOPE = "staged"
"""The scope of a desk for staged changes."""
PROPOSED_REVIEW_SCOPE = "proposed"
"""The scope of a desk for a call that waits for an answer."""
_MAX_REVIEW_FILES_WITH_COUNTED_LINES = 300
"""Of more files it is not counted how much is decided."""


class ReviewComparison:
    """The changed files of a review's scope, computed again whenever they are loaded."""

    def __init__(self, review: Review, scope: str) -> None:
        self._review = review
        self.scope = scope
        self._prompt_id: str | None = None
        self.changes: ReviewedChanges | None = None
        """The changes that were loaded last; None if that failed."""

    async def load(self, *, counts_decided: bool) -> ReviewDeskContent:
        """Computes the changed files and returns the review desk's content; if that fails, the content has the
        reason."""
        title = _REVIEW_SCOPE_TITLES.get(self.scope, "Changed since an entry")
        self.changes = None
        try:
            self.changes = changes = await self._review.changes(self._diff_source())
        except UserError as problem:
            return ReviewDeskContent(title=title, files=(), empty_text=str(problem))
        shown = changes.differences
        figures = format_changed_lines(shown.added, shown.removed)
        return ReviewDeskContent(
            title=shown.title,
            files=await self.changed_file_rows(counts_decided=counts_decided),
            note=" · ".join(word for word in (shown.note, figures) if word),
            empty_text=_NO_CHANGES_TEXT_BY_SCOPE.get(self.scope, "No changes since then."),
            applies_files=isinstance(self._review, StagedChangesReview)
            and self._review.can_apply_single_files,
        )

    def set_review_scope(self, scope: str, prompt_id: str | None = None) -> None:
        """Sets what the next load compares with. `prompt_id`: the prompt if the scope is `prompt`; None for the last
        one."""
        self.scope, self._prompt_id = scope, prompt_id

    def _diff_source(self) -> DiffSource:
        if self.scope == "prompt":
            return PromptDiffRequest(entry_id=self._prompt_id)
        return _DIFF_SOURCE_BY_REVIEW_SCOPE.get(self.scope) or EntryDiffRequest(entry_id=self.scope)

    async def changed_file_rows(self, *, counts_decided: bool) -> tuple[ReviewDeskFileRow, ...]:
        """Returns a list row for each changed file. `counts_decided`: counts the decided hunks even if no decision is
        stored yet."""
        decided = self._review.decisions
        files = self.changes.files if self.changes is not None else ()
        counts = len(files) <= _MAX_REVIEW_FILES_WITH_COUNTED_LINES and bool(
            counts_decided or decided.kept or decided.remarks
        )
        return tuple([await self._file_row(one, decided, counts=counts) for one in files])

    async def _file_row(
        self, listed: ReviewFileRow, decided: ReviewDecisions, *, counts: bool
    ) -> ReviewDeskFileRow:
        file = listed.difference
        why = f"from {listed.origin}" if listed.origin else file.why
        return ReviewDeskFileRow(
            path=file.path,
            change=file.deed,
            added_lines=file.added,
            removed_lines=file.removed,
            changed_by=file.changed_by,
            why=" · ".join(word for word in (listed.fold_reason, why) if word),
            progress=await self._progress(listed, decided) if counts else "",
        )

    async def _progress(self, listed: ReviewFileRow, decided: ReviewDecisions) -> str:
        """Returns how many hunks of a file are decided: `2/5`, a check mark for all, empty for none."""
        file = await self.read_reviewed_file(listed.difference.path)
        if file is None:
            return ""
        done = sum(
            is_hunk_decided(one, file.taken_back_hunks, decided.kept, decided.remarks) for one in file.hunks
        )
        return "✓" if done == len(file.hunks) else f"{done}/{len(file.hunks)}" if done else ""

    async def first_undecided_file(self) -> str:
        """Returns the path of the first changed file with an undecided hunk; empty if all are decided."""
        decided = self._review.decisions
        if self.changes is None or not (decided.kept or decided.remarks):
            return ""
        return await self.next_undecided_file("")

    async def next_undecided_file(self, path: str) -> str:
        """Returns the path of the next file after `path` with an undecided hunk, wrapping around at the end; empty when
        all hunks are decided."""
        changes, decided = self.changes, self._review.decisions
        paths = [one.difference.path for one in changes.files] if changes is not None else []
        at = paths.index(path) + 1 if path in paths else 0
        for other in (*paths[at:], *paths[:at]):
            file = await self.read_reviewed_file(other)
            if file is not None and not all(
                is_hunk_decided(one, file.taken_back_hunks, decided.kept, decided.remarks)
                for one in file.hunks
            ):
                return other
        return ""

    async def read_reviewed_file(self, path: str) -> ReviewedFile | None:
        """Returns a changed file with its hunks; None if its content cannot be shown."""
        changes = self.changes
        return await asyncio.to_thread(changes.file, path) if changes is not None else None

    def find_changed_file(self, path: str) -> ChangedFileRow | None:
        files = self.changes.files if self.changes is not None else ()
        return next((one.difference for one in files if one.difference.path == path), None)
