"""The review desk while it is open: the changes that it shows, and the actions for each key of its
screen."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from app.engine.files.change_review import ChangeReview
from app.engine.files.proposed_review import ProposedReview
from app.engine.files.session_files import DiffSource, EntryDiff, GitDiff, PromptDiff, SessionDiff
from app.engine.files.staged_review import StagedReview
from app.tui.features.review.hunk_blocks import (
    FOLD_BLOCK_ID,
    ShownFile,
    file_blocks,
    following_file_blocks,
    is_decided,
    no_content_note,
)
from app.tui.features.review.screen import (
    FileRow,
    HunkEditor,
    ReviewAction,
    ReviewAnswer,
    ReviewQuestionScreen,
    ReviewScreen,
    ReviewView,
)
from app.tui.page_protocols import AskOnScreen, CopyText, OpenInEditor
from app.undo.change_lists import FileDifference
from app.undo.review.review_records import Decisions, Remark
from app.undo.review.reviewed_files import (
    CurrentFile,
    ListedFile,
    ReviewedChanges,
    ReviewedHunk,
    fold_reason_of_content,
)
from app.values.user_errors import UserError
from tools.amounts import changed_lines
from tools.files.existence import exists
from tools.text import one_line
from widgets.screens.dialogs import TextEditScreen

REVIEW_SCOPES: tuple[str, ...] = ("session", "prompt", "git")
_DIFF_SOURCES: dict[str, DiffSource] = {"session": SessionDiff(), "prompt": PromptDiff(), "git": GitDiff()}
_SCOPE_TITLES = {
    "session": "Changed by this session",
    "prompt": "Changed by the last prompt",
    "git": "Changed since the last commit",
    "staged": "Staged changes",
}
_TEXT_WITHOUT_CHANGES = {
    "session": "This session changed no files.",
    "prompt": "No prompt on this branch changed files.",
    "git": "No uncommitted changes.",
    "staged": "All changes are applied.",
}
STAGED_SCOPE = "staged"
"""The scope of a desk for staged changes."""
PROPOSED_SCOPE = "proposed"
"""The scope of a desk for a call that waits for an answer."""
_NO_OTHER_SCOPE_TEXT = "proposed changes have no other comparison"
_MAX_COUNTED_FILES = 300
"""Of more files it is not counted how much is decided."""


class DeskQuestion(msgspec.Struct, frozen=True):
    """A question about a change that is answered on the review desk."""

    title: str
    answers: tuple[str, str, str]
    """Labels of yes, always and no; an empty one is no answer."""
    answer: Callable[[ReviewAnswer], str | None]
    """Returns None if the question is answered, else what the person should know."""


class _UndoableDecision(msgspec.Struct, frozen=True):
    """A decision about a hunk, with the function that undoes it."""

    path: str
    block_id: str
    undo: Callable[[], Awaitable[None]]
    first_line: int = -1
    """Of an edit: the hunk's first line, by which it is found in the changes that are computed again."""


class ReviewDesk:
    """The state of one opened review desk."""

    def __init__(
        self,
        ask: AskOnScreen,
        copy: CopyText,
        edit: OpenInEditor,
        review: ChangeReview | StagedReview | ProposedReview,
        scope: str,
        question: DeskQuestion | None = None,
    ) -> None:
        self._ask, self._copy_text, self._open_file = ask, copy, edit
        self._question = question
        self._review = review
        self._scope = scope
        self._prompt_id: str | None = None
        self._changes: ReviewedChanges | None = None
        self._hides_spacing = False
        self._unfolded_files: set[str] = set()
        self._undoable_decisions: list[_UndoableDecision] = []
        self._request_lock = asyncio.Lock()
        self._shown_file: ShownFile | None = None
        self.has_new_remark = False
        self.is_sending = False

    async def open(self) -> None:
        view = await self._load_view()
        start = await self._first_undecided_file()
        view = msgspec.structs.replace(view, first_file=start)
        screen = ReviewQuestionScreen(view, self._question.answer) if self._question else ReviewScreen(view)
        await self._ask(screen, on_request=self._handle_request)

    # What is shown

    async def _load_view(self) -> ReviewView:
        """Computes the files to show; if that fails, the view contains the reason."""
        title = _SCOPE_TITLES.get(self._scope, "Changed since an entry")
        self._changes = None
        try:
            self._changes = changes = await self._review.changes(self._diff_source())
        except UserError as problem:
            return ReviewView(title=title, files=(), empty_text=str(problem))
        shown = changes.differences
        figures = changed_lines(shown.added, shown.removed)
        return ReviewView(
            title=self._question.title if self._question else shown.title,
            answers=self._question.answers if self._question else ("", "", ""),
            files=await self._file_rows(changes),
            note=" · ".join(word for word in (shown.note, figures) if word),
            empty_text=_TEXT_WITHOUT_CHANGES.get(self._scope, "No changes since then."),
            applies_files=isinstance(self._review, StagedReview) and self._review.applies_files,
        )

    def _diff_source(self) -> DiffSource:
        if self._scope == "prompt":
            return PromptDiff(entry_id=self._prompt_id)
        return _DIFF_SOURCES.get(self._scope) or EntryDiff(entry_id=self._scope)

    async def _file_rows(self, changes: ReviewedChanges) -> tuple[FileRow, ...]:
        decided = self._review.decisions
        return tuple([await self._file_row(one, decided) for one in changes.files])

    async def _file_row(self, listed: ListedFile, decided: Decisions) -> FileRow:
        file = listed.difference
        why = f"from {listed.origin}" if listed.origin else file.why
        return FileRow(
            path=file.path,
            change=file.deed,
            added=f"+{file.added:,}" if file.added else "",
            removed=f"−{file.removed:,}" if file.removed else "",
            changed_by=file.changed_by,
            why=" · ".join(word for word in (listed.fold_reason, why) if word),
            progress=await self._progress(listed, decided),
        )

    async def _progress(self, listed: ListedFile, decided: Decisions) -> str:
        """Returns how many hunks of a file are decided; empty before the first decision."""
        changes = self._changes
        if changes is None or len(changes.files) > _MAX_COUNTED_FILES:
            return ""
        if not decided.kept and not decided.remarks and not self._undoable_decisions:
            return ""
        file = await asyncio.to_thread(changes.file, listed.difference.path)
        if file is None:
            return ""
        done = sum(
            is_decided(one, file.taken_back_hunks, decided.kept, decided.remarks) for one in file.hunks
        )
        return "✓" if done == len(file.hunks) else f"{done}/{len(file.hunks)}" if done else ""

    async def _first_undecided_file(self) -> str:
        """Returns the first file with an undecided hunk."""
        decided = self._review.decisions
        if self._changes is None or not (decided.kept or decided.remarks):
            return ""
        return await self._next_open_file("")

    async def _next_open_file(self, path: str) -> str:
        """Returns the next file after `path` with an undecided hunk, wrapping around at the end; empty when
        all hunks are decided."""
        changes, decided = self._changes, self._review.decisions
        paths = [one.difference.path for one in changes.files] if changes is not None else []
        at = paths.index(path) + 1 if path in paths else 0
        for other in (*paths[at:], *paths[:at]):
            file = await asyncio.to_thread(changes.file, other) if changes is not None else None
            if file is not None and not all(
                is_decided(one, file.taken_back_hunks, decided.kept, decided.remarks) for one in file.hunks
            ):
                return other
        return ""

    async def _show_file(self, screen: ReviewScreen, path: str, cursor: str = "") -> None:
        changes = self._changes
        difference = self._find_file(path)
        if changes is None or difference is None:
            return
        file = await asyncio.to_thread(changes.file, path)
        if file is None:
            patch = await asyncio.to_thread(changes.differences.patch, path)
            if changes is self._changes:
                screen.show_file(path, [no_content_note(difference, patch.incomplete_reason)])
            return
        now = await self._review.current_file(file)
        folded = next((one.fold_reason for one in changes.files if one.difference.path == path), "")
        folded = "" if path in self._unfolded_files else folded or fold_reason_of_content(file)
        hunks = [one for one in file.hunks if not (self._hides_spacing and one.is_spacing)]
        shown = ShownFile(
            file=file,
            conflicts={
                one.key: why
                for one in hunks
                if (why := now.conflict(one) if isinstance(now, CurrentFile) else now)
            },
            fold_reason=folded,
            hidden_hunk_count=len(file.hunks) - len(hunks),
            text_below=self._review.conflict_lines(path),
            hunks=tuple(hunks),
        )
        decided = self._review.decisions
        if changes is self._changes and path == screen.path:
            self._shown_file = shown
            first = self._first_undecided_block(shown, decided) if screen.hunk == "" else ""
            screen.show_file(path, file_blocks(shown, decided.kept, decided.remarks), cursor or first)
            await self._show_following_files(screen, changes, path)

    async def _show_following_files(self, screen: ReviewScreen, changes: ReviewedChanges, path: str) -> None:
        """Shows the next files below, and after the last one the first, as far as there is room."""
        index = [one.difference.path for one in changes.files].index(path)
        for listed in (*changes.files[index + 1 :], *changes.files[:index]):
            if (rows := screen.rows_left) <= 1 or path != screen.path:
                return
            if screen.is_following(listed.difference.path):
                continue
            file = await asyncio.to_thread(changes.file, listed.difference.path)
            if file is None or changes is not self._changes or path != screen.path:
                return
            folded = listed.fold_reason or fold_reason_of_content(file)
            blocks = following_file_blocks(file, folded, self._review.decisions, rows)
            screen.show_following_file(file.path, blocks)

    def _first_undecided_block(self, shown: ShownFile, decided: Decisions) -> str:
        """Returns the id of the first undecided hunk's block, where the cursor starts; empty if all hunks
        are decided."""
        if shown.fold_reason or not (decided.kept or decided.remarks or self._undoable_decisions):
            return ""
        left = self._undecided_hunks(shown, decided)
        return left[0].key if left else ""

    def _undecided_hunks(self, shown: ShownFile, decided: Decisions) -> list[ReviewedHunk]:
        return [
            one
            for one in shown.hunks
            if not is_decided(one, shown.file.taken_back_hunks, decided.kept, decided.remarks)
        ]

    def _find_file(self, path: str) -> FileDifference | None:
        files = self._changes.files if self._changes is not None else ()
        return next((one.difference for one in files if one.difference.path == path), None)

    # Requests

    async def _handle_request(self, message: ReviewScreen.ActionRequested) -> None:
        """Runs the requests of the review screen one after the other; each acts on the hunk under the
        cursor at that time."""
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
        if self._scope in (STAGED_SCOPE, PROPOSED_SCOPE):
            screen.show_note(_NO_OTHER_SCOPE_TEXT)
            return
        at = REVIEW_SCOPES.index(self._scope) if self._scope in REVIEW_SCOPES else -step
        self._scope = REVIEW_SCOPES[(at + step) % len(REVIEW_SCOPES)]
        self._prompt_id = None
        screen.show_view(await self._load_view())

    async def _switch_prompt(self, screen: ReviewScreen, *, is_older: bool) -> None:
        shown = self._changes.differences if self._changes is not None else None
        if self._scope in (STAGED_SCOPE, PROPOSED_SCOPE):
            screen.show_note(_NO_OTHER_SCOPE_TEXT)
            return
        if self._scope != "prompt":
            self._scope, self._prompt_id = "prompt", None
        elif shown is not None:
            other = shown.older if is_older else shown.newer
            if other is None:
                screen.show_note(
                    "the first prompt that changed files"
                    if is_older
                    else "the last prompt that changed files"
                )
                return
            self._prompt_id = other
        screen.show_view(await self._load_view())

    # Decisions

    async def _apply_file(self, screen: ReviewScreen, path: str) -> None:
        """Applies the file under the cursor from a helper's staged changes."""
        if not isinstance(self._review, StagedReview) or not path:
            screen.show_note("only staged changes can be applied; these are already written")
            return
        told = await self._review.apply_file(path)
        screen.show_view(await self._load_view())
        screen.show_note(one_line(told))

    async def _decide(self, action: ReviewAction, screen: ReviewScreen, path: str, block_id: str) -> None:
        shown, changes = self._shown_file, self._changes
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
        self, shown: ShownFile, hunk: ReviewedHunk
    ) -> Callable[[], Awaitable[None]] | None:
        """Asks for a comment on a hunk; an empty text removes the comment."""
        old = next((one for one in self._review.decisions.remarks if one.key == hunk.key), None)
        place = f"{shown.file.path}:{hunk.first_line}" if hunk.first_line else shown.file.path
        text = await self._ask(TextEditScreen(f"Comment on {place}", prefill=old.text if old else ""))
        if text is None or (old is None and not text.strip()):
            return None
        if old is not None:
            self._review.close_remarks(frozenset((old.id,)))
        new: Remark | None = await self._review.add_remark(shown.file, hunk, text) if text.strip() else None
        self.has_new_remark = True

        async def undo() -> None:
            if new is not None:
                self._review.close_remarks(frozenset((new.id,)))
            if old is not None:
                await self._review.add_remark(shown.file, hunk, old.text)

        return undo

    async def _edit_hunk(self, screen: ReviewScreen, path: str, block_id: str) -> None:
        """Opens the lines of a hunk in an editor, and writes the edited lines to the file."""
        shown, changes = self._shown_file, self._changes
        hunks = shown.hunks_of_block(block_id) if shown is not None and shown.file.path == path else ()
        if shown is None or changes is None or len(hunks) != 1:
            screen.show_note("o unfolds the file to edit its hunks" if hunks else "nothing to edit")
            return
        hunk = hunks[0]
        if why := shown.conflicts.get(hunk.key):
            raise UserError(f"{why}: E opens the file in your editor.")
        place = f"{shown.file.path}:{hunk.first_line}" if hunk.first_line else shown.file.path
        new = await self._ask(HunkEditor(place, shown.file.text_of(hunk), hunk.first_line))
        if not isinstance(new, str):
            return
        before = await self._review.edit_hunk(changes, path, hunk.key, new)
        key = await self._recompute_changes(screen, path, hunk.first_line)
        if key:
            self._review.keep_hunks(frozenset((key,)))

        async def undo() -> None:
            again = self._changes
            if again is not None and key:
                await self._review.edit_hunk(again, path, key, before)
                self._review.reopen_hunks(frozenset((key,)))

        if key:
            self._undoable_decisions.append(_UndoableDecision(path, key, undo, hunk.first_line))
            await self._go_to_next_undecided(screen, path, key)
        else:
            screen.show_note("edited: same as before the change")

    async def _recompute_changes(self, screen: ReviewScreen, path: str, line: int) -> str:
        """Computes the changes again after an edit, and returns the hunk that the line belongs to now."""
        screen.show_view(msgspec.structs.replace(await self._load_view(), first_file=path))
        file = await asyncio.to_thread(self._changes.file, path) if self._changes is not None else None
        hunks = file.hunks if file is not None else ()
        key = next(
            (one.key for one in hunks if one.first_line <= line <= one.last_line or one.kind == "file"), ""
        )
        key = key or next((one.key for one in hunks if one.first_line >= line), "")
        await self._show_file(screen, path, key)
        return key

    async def _go_to_next_undecided(self, screen: ReviewScreen, path: str, block_id: str) -> None:
        """Moves to the next undecided hunk, of this file or another one."""
        changes, shown = self._changes, self._shown_file
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
        other = await self._next_open_file(path)
        if other and other != path:
            screen.go_to_file(other)
            await self._show_file(screen, other)
        elif not other:
            screen.show_note("all hunks are decided")

    async def _update_progress(self, screen: ReviewScreen) -> None:
        """Updates how much of each file is decided."""
        if self._changes is not None:
            files = await self._file_rows(self._changes)
            screen.show_view(msgspec.structs.replace(screen.view, files=files, first_file=""), is_new=False)

    async def _undo_decision(self, screen: ReviewScreen, path: str, block_id: str) -> None:
        """Undoes the review decision about the hunk at the cursor, else the last decision."""
        changes, decided = self._changes, self._review.decisions
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
                screen.show_note("nothing to undo here")
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
        if self._scope == PROPOSED_SCOPE:
            screen.show_note("n denies the call with your comments")
            return
        self.is_sending = True
        screen.dismiss(None)

    # Files

    async def _open_editor(self, screen: ReviewScreen, path: str, block_id: str) -> None:
        file = self._find_file(path)
        if file is None or self._changes is None:
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
            if self._shown_file is not None and block_id != FOLD_BLOCK_ID
            else ()
        )
        line = screen.line or next((one.first_line for one in hunks if one.first_line), 0)
        line = line or (await asyncio.to_thread(self._changes.differences.patch, path)).first_line
        if problem := self._open_file(Path(file.absolute_path), line):
            screen.show_note(problem)
            return
        screen.show_view(await self._load_view())

    async def _copy_file_patch(self, screen: ReviewScreen, path: str) -> None:
        file = self._find_file(path)
        if file is None or self._changes is None:
            return
        patch = await asyncio.to_thread(self._changes.differences.patch, path)
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
        if self._changes is None:
            return
        text, lacking = await asyncio.to_thread(self._changes.differences.patches)
        if not text:
            screen.show_note("no patch copied: these changes cannot be written as a patch")
            return
        self._copy_text(text, "patch of all files")
        screen.show_note(f"copied all except {len(lacking)}: {lacking[0]}" if lacking else "copied all files")
