"""The open review desk: the changes that it shows, and the actions for each key of its screen."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from app.engine.files.staged_review import StagedChangesReview
from app.tui.features.review.comparison import (
    PROPOSED_REVIEW_SCOPE,
    REVIEW_SCOPES,
    STAGED_REVIEW_SCOPE,
    Review,
    ReviewComparison,
)
from app.tui.features.review.hunk_blocks import (
    FOLDED_FILE_BLOCK_ID,
    ShownReviewFile,
    following_file_blocks,
    is_hunk_decided,
    selected_file_blocks,
    unshowable_file_note,
)
from app.tui.features.review.review_page_content import fill_review_page
from app.tui.features.review.rows import ReviewDeskContent
from app.tui.features.review.screen import (
    ReviewAction,
    ReviewAnswer,
    ReviewQuestionScreen,
    ReviewScreen,
)
from app.tui.page_protocols import AskOnScreen, CopyText, OpenInEditor
from app.undo.review.review_records import ReviewDecisions, ReviewRemark
from app.undo.review.reviewed_files import (
    ReviewedChanges,
    ReviewedFileOnDisk,
    ReviewedHunk,
    fold_reason_of_content,
)
from app.values.user_errors import UserError
from tools.files.path_existence import exists
from tools.text_sanitizing import one_line
from widgets.screens.dialogs import LinesEditScreen, TextEditScreen

_MIN_ROWS_FOR_NEXT_FILES = 2
"""Rows that a file below another one needs at least: a blank one and its path."""
_NO_OTHER_REVIEW_SCOPE_TEXT = "proposed changes have no other comparison"


class ReviewDeskQuestion(msgspec.Struct, frozen=True):
    """A question, such as whether a call may run, that the user answers on the review desk."""

    title: str
    answers: tuple[str, str, str]
    """Labels of yes, always and no; an empty one is no answer."""
    answer: Callable[[ReviewAnswer], str | None]
    """Returns None if the question is answered, else what the person should know."""


class _UndoableDecision(msgspec.Struct, frozen=True):
    """A decision about a hunk on the review desk, with the function that undoes it."""

    path: str
    block_id: str
    undo: Callable[[], Awaitable[None]]
    first_line: int = -1
    """Of an edit: the hunk's first line, by which it is found in the changes that are computed again."""


class ReviewDesk:
    """The control of one opened review desk: loads the changes, and runs the screen's requests on files and hunks."""

    def __init__(
        self,
        ask: AskOnScreen,
        copy: CopyText,
        edit: OpenInEditor,
        review: Review,
        scope: str,
        question: ReviewDeskQuestion | None = None,
    ) -> None:
        self._ask, self._copy_text, self._open_file = ask, copy, edit
        self._question = question
        self._review = review
        self._comparison = ReviewComparison(review, scope)
        self._hides_spacing = False
        self._unfolded_files: set[str] = set()
        self._undoable_decisions: list[_UndoableDecision] = []
        self._request_lock = asyncio.Lock()
        self._shown_file: ShownReviewFile | None = None
        self.has_new_remark = False
        self.is_sending = False

    async def open(self) -> None:
        view = await self._load_view()
        view = msgspec.structs.replace(view, first_file=await self._comparison.first_undecided_file())
        screen = ReviewQuestionScreen(view, self._question.answer) if self._question else ReviewScreen(view)
        await self._ask(screen, on_request=self._handle_request)

    # What is shown

    async def _load_view(self) -> ReviewDeskContent:
        view = await self._comparison.load(counts_decided=bool(self._undoable_decisions))
        if self._question is None:
            return view
        return msgspec.structs.replace(view, title=self._question.title, answers=self._question.answers)

    async def _show_file(self, screen: ReviewScreen, path: str, cursor: str = "") -> None:
        changes = self._comparison.changes
        difference = self._comparison.find_changed_file(path)
        if changes is None or difference is None:
            return
        file = await asyncio.to_thread(changes.file, path)
        if file is None:
            patch = await asyncio.to_thread(changes.differences.patch, path)
            if changes is self._comparison.changes:
                screen.show_file(path, [unshowable_file_note(difference, patch.incomplete_reason)])
            return
        now = await self._review.reviewed_file_on_disk(file)
        folded = next((one.fold_reason for one in changes.files if one.difference.path == path), "")
        folded = "" if path in self._unfolded_files else folded or fold_reason_of_content(file)
        hunks = [one for one in file.hunks if not (self._hides_spacing and one.is_spacing)]
        shown = ShownReviewFile(
            file=file,
            conflicts={
                one.key: why
                for one in hunks
                if (why := now.hunk_conflict_reason(one) if isinstance(now, ReviewedFileOnDisk) else now)
            },
            fold_reason=folded,
            hidden_hunk_count=len(file.hunks) - len(hunks),
            text_below=self._review.conflict_lines(path),
            hunks=tuple(hunks),
        )
        self._shown_file = shown
        files = await self._files_on_page(screen, changes, shown)
        if changes is not self._comparison.changes or path != screen.path:
            return
        decided = self._review.decisions
        first = self._first_undecided_block(shown, decided) if screen.hunk == "" else ""
        page = fill_review_page(files, decided, page_rows=screen.page_rows, count_rows=screen.count_rows)
        screen.show_file(path, page.blocks, cursor or first, following=page.following)

    async def _files_on_page(
        self, screen: ReviewScreen, changes: ReviewedChanges, shown: ShownReviewFile
    ) -> list[ShownReviewFile]:
        """Returns the selected file and as many of the next ones as may be visible below it, in the order of the
        list."""
        files, decided = [shown], self._review.decisions
        index = [one.difference.path for one in changes.files].index(shown.file.path)
        left = screen.page_rows - screen.count_rows(selected_file_blocks(shown, decided))
        for listed in changes.files[index + 1 :]:
            if left < _MIN_ROWS_FOR_NEXT_FILES:
                break
            file = await asyncio.to_thread(changes.file, listed.difference.path)
            if file is not None:
                folded = listed.fold_reason or fold_reason_of_content(file)
                files.append(ShownReviewFile(file=file, conflicts={}, fold_reason=folded, hunks=file.hunks))
                left -= 1 + screen.count_rows(following_file_blocks(files[-1], decided, left))
        return files

    def _first_undecided_block(self, shown: ShownReviewFile, decided: ReviewDecisions) -> str:
        """Returns the id of the first undecided hunk's block, where the cursor starts; empty if all hunks
        are decided."""
        if shown.fold_reason or not (decided.kept or decided.remarks or self._undoable_decisions):
            return ""
        left = self._undecided_hunks(shown, decided)
        return left[0].key if left else ""

    def _undecided_hunks(self, shown: ShownReviewFile, decided: ReviewDecisions) -> list[ReviewedHunk]:
        return [
            one
            for one in shown.hunks
            if not is_hunk_decided(one, shown.file.taken_back_hunks, decided.kept, decided.remarks)
        ]

    # Requests

    async def _handle_request(self, message: ReviewScreen.ActionRequested) -> None:
        """Runs a request of the review screen after earlier ones are done, on the hunk under the cursor at that time; a
        failure is shown as a note."""
        screen = message.screen
        async with self._request_lock:
            path, hunk = screen.path, screen.hunk
            try:
                await self._run_action(message.action, screen, path, hunk)
            except UserError as problem:
                if hunk:
                    await self._show_file(screen, path, hunk)
                screen.show_note(str(problem))

    async def _run_action(self, action: ReviewAction, screen: ReviewScreen, path: str, hunk: str) -> None:
        match action:
            case "file":
                await self._show_file(screen, path)
            case "keep" | "take-back" | "comment":
                await self._decide(action, screen, path, hunk)
            case "undo":
                await self._undo_decision(screen, path, hunk)
            case "apply":
                await self._apply_file(screen, path)
            case "send":
                self._send_comments(screen)
            case "spacing":
                self._hides_spacing = not self._hides_spacing
                await self._show_file(screen, path)
                screen.show_note(
                    "whitespace changes are hidden" if self._hides_spacing else "whitespace changes are shown"
                )
            case "unfold":
                self._unfolded_files ^= {path}
                await self._show_file(screen, path)
            case "scope" | "scope-back":
                await self._switch_scope(screen, 1 if action == "scope" else -1)
            case "older" | "newer":
                await self._switch_prompt(screen, is_older=action == "older")
            case "edit":
                await self._edit_hunk(screen, path, hunk)
            case "own-editor":
                await self._open_editor(screen, path, hunk)
            case "copy":
                await self._copy_file_patch(screen, path)
            case "copy-all":
                await self._copy_all_patches(screen)

    async def _switch_scope(self, screen: ReviewScreen, step: int) -> None:
        scope = self._comparison.scope
        if scope in (STAGED_REVIEW_SCOPE, PROPOSED_REVIEW_SCOPE):
            screen.show_note(_NO_OTHER_REVIEW_SCOPE_TEXT)
            return
        at = REVIEW_SCOPES.index(scope) if scope in REVIEW_SCOPES else -step
        self._comparison.set_review_scope(REVIEW_SCOPES[(at + step) % len(REVIEW_SCOPES)])
        screen.show_view(await self._load_view())

    async def _switch_prompt(self, screen: ReviewScreen, *, is_older: bool) -> None:
        shown = self._comparison.changes.differences if self._comparison.changes is not None else None
        if self._comparison.scope in (STAGED_REVIEW_SCOPE, PROPOSED_REVIEW_SCOPE):
            screen.show_note(_NO_OTHER_REVIEW_SCOPE_TEXT)
            return
        if self._comparison.scope != "prompt":
            self._comparison.set_review_scope("prompt")
        elif shown is not None:
            other = shown.older if is_older else shown.newer
            if other is None:
                screen.show_note(
                    "the first prompt that changed files"
                    if is_older
                    else "the last prompt that changed files"
                )
                return
            self._comparison.set_review_scope("prompt", other)
        screen.show_view(await self._load_view())

    # Decisions

    async def _apply_file(self, screen: ReviewScreen, path: str) -> None:
        """Applies one file of a helper's staged changes, the one under the cursor; the other files stay staged."""
        if not isinstance(self._review, StagedChangesReview) or not path:
            screen.show_note("only staged changes can be applied; these are already written")
            return
        told = await self._review.apply_file(path)
        screen.show_view(await self._load_view())
        screen.show_note(one_line(told))

    async def _decide(self, action: ReviewAction, screen: ReviewScreen, path: str, block_id: str) -> None:
        shown, changes = self._shown_file, self._comparison.changes
        hunks = shown.hunks_of_block(block_id) if shown is not None and shown.file.path == path else ()
        if shown is None or changes is None or not hunks:
            screen.show_note("no changes to keep or revert here")
            return
        keys = frozenset(one.key for one in hunks)
        match action:
            case "keep":
                undo = await self._keep_hunks(changes, path, keys, shown.file.taken_back_hunks)
            case "take-back":
                undo = await self._take_back_hunks(changes, path, keys - shown.file.taken_back_hunks)
            case _:
                undo = await self._comment_on_hunk(shown, hunks[0])
        if undo is None:
            await self._show_file(screen, path, block_id)
            return
        self._undoable_decisions.append(_UndoableDecision(path, block_id, undo))
        await self._go_to_next_undecided(screen, path, block_id)

    async def _keep_hunks(
        self, changes: ReviewedChanges, path: str, keys: frozenset[str], taken: frozenset[str]
    ) -> Callable[[], Awaitable[None]]:
        review, back = self._review, keys & taken
        if back:
            await review.change_hunks(changes, path, back)
        review.keep_hunks(keys)

        async def undo() -> None:
            if back:
                await review.change_hunks(changes, path, back)
            review.reopen_hunks(keys)

        return undo

    async def _take_back_hunks(
        self, changes: ReviewedChanges, path: str, keys: frozenset[str]
    ) -> Callable[[], Awaitable[None]] | None:
        if not keys:
            return None
        await self._review.change_hunks(changes, path, keys)

        async def undo() -> None:
            await self._review.change_hunks(changes, path, keys)

        return undo

    async def _comment_on_hunk(
        self, shown: ShownReviewFile, hunk: ReviewedHunk
    ) -> Callable[[], Awaitable[None]] | None:
        """Asks the user for a comment on a hunk and stores it; an empty text removes the comment."""
        old = next((one for one in self._review.decisions.remarks if one.key == hunk.key), None)
        place = f"{shown.file.path}:{hunk.first_line}" if hunk.first_line else shown.file.path
        text = await self._ask(TextEditScreen(f"Comment on {place}", prefill=old.text if old else ""))
        if text is None or (old is None and not text.strip()):
            return None
        if old is not None:
            self._review.close_remarks(frozenset((old.id,)))
        new: ReviewRemark | None = (
            await self._review.add_remark(shown.file, hunk, text) if text.strip() else None
        )
        self.has_new_remark = True

        async def undo() -> None:
            if new is not None:
                self._review.close_remarks(frozenset((new.id,)))
            if old is not None:
                await self._review.add_remark(shown.file, hunk, old.text)

        return undo

    async def _edit_hunk(self, screen: ReviewScreen, path: str, block_id: str) -> None:
        """Opens the lines of a hunk in an editor, and writes the edited lines to the file."""
        shown, changes = self._shown_file, self._comparison.changes
        hunks = shown.hunks_of_block(block_id) if shown is not None and shown.file.path == path else ()
        if shown is None or changes is None or len(hunks) != 1:
            screen.show_note(
                "o unfolds the file to edit its hunks" if hunks else "this file has no lines to edit"
            )
            return
        hunk = hunks[0]
        if why := shown.conflicts.get(hunk.key):
            raise UserError(f"{why}: E opens the file in your editor.")
        place = f"{shown.file.path}:{hunk.first_line}" if hunk.first_line else shown.file.path
        new = await self._ask(LinesEditScreen(place, shown.file.text_of(hunk), hunk.first_line))
        if not isinstance(new, str):
            return
        before = await self._review.edit_hunk(changes, path, hunk.key, new)
        key = await self._recompute_changes(screen, path, hunk.first_line)
        if key:
            self._review.keep_hunks(frozenset((key,)))

        async def undo() -> None:
            again = self._comparison.changes
            if again is not None and key:
                await self._review.edit_hunk(again, path, key, before)
                self._review.reopen_hunks(frozenset((key,)))

        if key:
            self._undoable_decisions.append(_UndoableDecision(path, key, undo, hunk.first_line))
            await self._go_to_next_undecided(screen, path, key)
        else:
            screen.show_note("edited: same as before the change")

    async def _recompute_changes(self, screen: ReviewScreen, path: str, line: int) -> str:
        """Computes the changes again after an edit, shows the file, and returns the key of the hunk that now has the
        edited line."""
        screen.show_view(msgspec.structs.replace(await self._load_view(), first_file=path))
        file = await self._comparison.read_reviewed_file(path)
        hunks = file.hunks if file is not None else ()
        key = next(
            (one.key for one in hunks if one.first_line <= line <= one.last_line or one.kind == "file"), ""
        )
        key = key or next((one.key for one in hunks if one.first_line >= line), "")
        await self._show_file(screen, path, key)
        return key

    async def _go_to_next_undecided(self, screen: ReviewScreen, path: str, block_id: str) -> None:
        """Moves the cursor to the next undecided hunk, in this file or another one."""
        changes, shown = self._comparison.changes, self._shown_file
        file = await asyncio.to_thread(changes.file, path) if changes is not None else None
        if file is None or shown is None:
            return
        self._shown_file = shown = msgspec.structs.replace(shown, file=file)
        decided = self._review.decisions
        left = {one.key for one in self._undecided_hunks(shown, decided)}
        order = [one.key for one in shown.hunks]
        at = order.index(block_id) + 1 if block_id in order else 0
        following = next((key for key in (*order[at:], *order[:at]) if key in left), "")
        await self._show_file(screen, path, block_id if shown.fold_reason else following or block_id)
        await self._update_progress(screen)
        if following and not shown.fold_reason:
            return
        other = await self._comparison.next_undecided_file(path)
        if other and other != path:
            screen.go_to_file(other)
            await self._show_file(screen, other)
        elif not other:
            screen.show_note("all hunks are decided")

    async def _update_progress(self, screen: ReviewScreen) -> None:
        """Updates in the file list how many hunks of each file are decided."""
        if self._comparison.changes is not None:
            files = await self._comparison.changed_file_rows(counts_decided=bool(self._undoable_decisions))
            screen.show_view(msgspec.structs.replace(screen.view, files=files, first_file=""), is_new=False)

    async def _undo_decision(self, screen: ReviewScreen, path: str, block_id: str) -> None:
        """Undoes the decision about the hunk at the cursor; if there is none, the last decision."""
        changes, decided = self._comparison.changes, self._review.decisions
        last = next(
            (
                one
                for one in reversed(self._undoable_decisions)
                if (one.path, one.block_id) == (path, block_id)
            ),
            None,
        )
        hunks = self._shown_file.hunks_of_block(block_id) if self._shown_file is not None else ()
        keys = frozenset(one.key for one in hunks)
        if last is None and self._shown_file is not None and changes is not None:
            back = keys & self._shown_file.file.taken_back_hunks
            if back:
                await self._review.change_hunks(changes, path, back)
            elif keys & decided.kept:
                self._review.reopen_hunks(keys)
            elif remarks := frozenset(one.id for one in decided.remarks if one.key in keys):
                self._review.close_remarks(remarks)
            elif self._undoable_decisions:
                last = self._undoable_decisions[-1]
            else:
                screen.show_note("no decision in this review to undo")
                return
        if last is not None:
            path, block_id = last.path, last.block_id
            await last.undo()
            self._undoable_decisions.remove(last)
            if last.first_line >= 0:
                block_id = await self._recompute_changes(screen, path, last.first_line) or block_id
        await self._update_progress(screen)
        if path != screen.path:
            screen.go_to_file(path)
        await self._show_file(screen, path, block_id)
        screen.show_note("undone")

    def _send_comments(self, screen: ReviewScreen) -> None:
        if not self._review.decisions.remarks:
            screen.show_note("no comments to send")
            return
        if self._comparison.scope == PROPOSED_REVIEW_SCOPE:
            screen.show_note("n denies the call with your comments")
            return
        self.is_sending = True
        screen.dismiss(None)

    # Files

    async def _open_editor(self, screen: ReviewScreen, path: str, block_id: str) -> None:
        file = self._comparison.find_changed_file(path)
        if file is None or self._comparison.changes is None:
            return
        if not file.absolute_path or not exists(Path(file.absolute_path)):
            screen.show_note(
                "the file does not exist any more"
                if file.absolute_path
                else file.why or "the file cannot be opened"
            )
            return
        hunks = (
            self._shown_file.hunks_of_block(block_id)
            if self._shown_file is not None and block_id != FOLDED_FILE_BLOCK_ID
            else ()
        )
        line = screen.line or next((one.first_line for one in hunks if one.first_line), 0)
        line = line or (await asyncio.to_thread(self._comparison.changes.differences.patch, path)).first_line
        if problem := self._open_file(Path(file.absolute_path), line):
            screen.show_note(problem)
            return
        screen.show_view(await self._load_view())

    async def _copy_file_patch(self, screen: ReviewScreen, path: str) -> None:
        file = self._comparison.find_changed_file(path)
        if file is None or self._comparison.changes is None:
            return
        patch = await asyncio.to_thread(self._comparison.changes.differences.patch, path)
        if not patch.text:
            screen.show_note(
                f"no patch copied: {patch.incomplete_reason or file.why or 'its contents are not stored'}"
            )
            return
        self._copy_text(patch.text, f"patch of {path}")
        screen.show_note(
            "copied" if patch.is_whole else f"copied a part of the patch: {patch.incomplete_reason}"
        )

    async def _copy_all_patches(self, screen: ReviewScreen) -> None:
        if self._comparison.changes is None:
            return
        text, lacking = await asyncio.to_thread(self._comparison.changes.differences.patches)
        if not text:
            screen.show_note("no patch copied: these changes cannot be written as a patch")
            return
        self._copy_text(text, "patch of all files")
        screen.show_note(
            f"copied the patch without {len(lacking)}: {lacking[0]}"
            if lacking
            else "copied the patch of all files"
        )
