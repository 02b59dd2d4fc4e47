"""The review desk: changes of a prompt, the session or since a commit, decided hunk by hunk."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from app.engine.files.change_review import ChangeReview
from app.engine.files.session_files import DiffSource, EntryDiff, GitDiff, PromptDiff, SessionDiff
from app.engine.files.staged_review import StagedReview
from app.engine.session import Session
from app.tui.features.review.rows import FOLD_ID, ShownFile, blocks_of, is_decided, nothing_to_show
from app.tui.features.review.screen import FileRow, ReviewAction, ReviewScreen, ReviewView
from app.tui.features.shared_dialogs import select
from app.tui.page_protocols import AskPerson, Copy, OpenInEditor, ShowMessage
from app.undo.change_lists import FileDifference
from app.undo.review.review_records import Decisions, Remark
from app.undo.review.reviewed_files import (
    FileNow,
    ListedFile,
    ReviewedChanges,
    ReviewedHunk,
    folded_by_content,
)
from app.values.user_errors import UserError
from tools.amounts import changed_lines
from tools.edits.pending import StagedAction
from tools.files.presence import exists
from widgets.screens.dialogs import TextScreen
from widgets.transcript.blocks import NoteKind

_SCOPES: tuple[str, ...] = ("session", "prompt", "git")
_DIFF_SOURCES: dict[str, DiffSource] = {"session": SessionDiff(), "prompt": PromptDiff(), "git": GitDiff()}
_TITLES = {
    "session": "Changed by this session",
    "prompt": "Changed by the last prompt",
    "git": "Changed since the last commit",
    "staged": "Staged changes",
}
_EMPTY_TEXTS = {
    "session": "This session changed no files.",
    "prompt": "No prompt on this branch changed files.",
    "git": "No uncommitted changes.",
}
_NO_SCOPE = (
    "Unknown comparison. /review-changes takes prompt, session, git, or the id of an entry of this branch "
    "(/tree shows them); /diff shows the session's changes, /diff git the uncommitted ones."
)
_STAGED = "staged"
"""The scope of a desk for staged changes."""
_MAX_COUNTED_FILES = 300
"""Of more files it is not counted how much is decided."""
SEND, LATER, DROP = "Send now", "Keep for later", "Drop"


class ReviewPage(msgspec.Struct, frozen=True):
    """Opens the desk for one session."""

    session: Session
    ask: AskPerson
    say: ShowMessage
    copy: Copy
    edit: OpenInEditor

    async def open(self, scope: str = "prompt") -> None:
        if scope not in _SCOPES and scope not in self.session.log:
            raise UserError(_NO_SCOPE)
        await self._review(_Desk(self, self.session.review, scope))

    async def open_staged(self, staged: StagedAction) -> None:
        """Opens staged changes, of which hunks can be left out before the rest is applied."""
        await self._review(
            _Desk(self, StagedReview(self.session.review, self.session.tools.workspace, staged), _STAGED)
        )

    async def _review(self, desk: "_Desk") -> None:
        await desk.open()
        if desk.is_sending or (desk.remarked and self.session.review.decisions.remarks):
            await self.end(is_sending=desk.is_sending)

    async def end(self, *, is_sending: bool) -> None:
        """Sends the comments, keeps or drops them, as the person chooses."""
        review = self.session.review
        remarks, text = review.decisions.remarks, review.message()
        count = "1 comment" if len(remarks) == 1 else f"{len(remarks)} comments"
        answer = (
            SEND if is_sending else await select(self.ask, f"{count} on the changes", (SEND, LATER, DROP))
        )
        ids = frozenset(one.id for one in remarks)
        if answer == DROP:
            review.close_remarks(ids)
        elif answer == SEND:
            await self.session.prompt(text, while_running="follow_up", expand=False)
            review.close_remarks(ids)
        elif remarks:
            self.say(f"{count} kept: /review-changes opens them again.", NoteKind.INFO)


class _Decided(msgspec.Struct, frozen=True):
    """A decision of this visit, to be undone."""

    path: str
    block_id: str
    undo: Callable[[], Awaitable[None]]


class _Desk:
    """The state of one opened desk."""

    def __init__(self, page: ReviewPage, review: ChangeReview | StagedReview, scope: str) -> None:
        self._page = page
        self._review = review
        self._scope = scope
        self._prompt_id: str | None = None
        self._changes: ReviewedChanges | None = None
        self._hides_spacing = False
        self._opened: set[str] = set()
        self._visit: list[_Decided] = []
        self._turn = asyncio.Lock()
        self._shown: ShownFile | None = None
        self.remarked = False
        self.is_sending = False

    async def open(self) -> None:
        view = await self._view()
        start = await self._first_open()
        await self._page.ask(
            ReviewScreen(msgspec.structs.replace(view, start=start)), on_request=self._requested
        )

    # What is shown

    async def _view(self) -> ReviewView:
        """Computes the files to show; if that fails, the view contains the reason."""
        title = _TITLES.get(self._scope, "Changed since an entry")
        self._changes = None
        try:
            self._changes = changes = await self._review.changes(self._source())
        except UserError as problem:
            return ReviewView(title=title, files=(), empty=str(problem))
        shown = changes.differences
        figures = changed_lines(shown.added, shown.removed)
        return ReviewView(
            title=shown.title,
            files=await self._rows(changes),
            note=" · ".join(word for word in (shown.note, figures) if word),
            empty=_EMPTY_TEXTS.get(self._scope, "No changes since then."),
        )

    def _source(self) -> DiffSource:
        if self._scope == "prompt":
            return PromptDiff(entry_id=self._prompt_id)
        return _DIFF_SOURCES.get(self._scope) or EntryDiff(entry_id=self._scope)

    async def _rows(self, changes: ReviewedChanges) -> tuple[FileRow, ...]:
        decided = self._review.decisions
        return tuple([await self._row(one, decided) for one in changes.files])

    async def _row(self, listed: ListedFile, decided: Decisions) -> FileRow:
        file = listed.difference
        why = f"from {listed.origin}" if listed.origin else file.why
        return FileRow(
            path=file.path,
            deed=file.deed,
            added=f"+{file.added:,}" if file.added else "",
            removed=f"−{file.removed:,}" if file.removed else "",
            by=file.by,
            why=" · ".join(word for word in (listed.folded, why) if word),
            progress=await self._progress(listed, decided),
        )

    async def _progress(self, listed: ListedFile, decided: Decisions) -> str:
        """Returns how many hunks of a file are decided; empty before the first decision."""
        changes = self._changes
        if changes is None or len(changes.files) > _MAX_COUNTED_FILES:
            return ""
        if not decided.kept and not decided.remarks and not self._visit:
            return ""
        file = await asyncio.to_thread(changes.file, listed.difference.path)
        if file is None:
            return ""
        done = sum(is_decided(one, file.taken, decided.kept, decided.remarks) for one in file.hunks)
        return "✓" if done == len(file.hunks) else f"{done}/{len(file.hunks)}" if done else ""

    async def _first_open(self) -> str:
        """Returns the first file with an undecided hunk."""
        decided = self._review.decisions
        if self._changes is None or not (decided.kept or decided.remarks):
            return ""
        return await self._next_open_file("")

    async def _next_open_file(self, path: str) -> str:
        """Returns the next file behind `path` with an undecided hunk, from the start if there is none
        behind; empty when all is decided."""
        changes, decided = self._changes, self._review.decisions
        paths = [one.difference.path for one in changes.files] if changes is not None else []
        at = paths.index(path) + 1 if path in paths else 0
        for other in (*paths[at:], *paths[:at]):
            file = await asyncio.to_thread(changes.file, other) if changes is not None else None
            if file is not None and not all(
                is_decided(one, file.taken, decided.kept, decided.remarks) for one in file.hunks
            ):
                return other
        return ""

    async def _show(self, screen: ReviewScreen, path: str, cursor: str = "") -> None:
        changes = self._changes
        difference = self._file(path)
        if changes is None or difference is None:
            return
        file = await asyncio.to_thread(changes.file, path)
        if file is None:
            patch = await asyncio.to_thread(changes.differences.patch, path)
            if changes is self._changes:
                screen.show_file(path, [nothing_to_show(difference, patch.why)])
            return
        now = await self._review.on_disk(file)
        folded = next((one.folded for one in changes.files if one.difference.path == path), "")
        folded = "" if path in self._opened else folded or folded_by_content(file)
        hunks = [one for one in file.hunks if not (self._hides_spacing and one.is_spacing)]
        shown = ShownFile(
            file=file,
            conflicts={
                one.key: why
                for one in hunks
                if (why := now.conflict(one) if isinstance(now, FileNow) else now)
            },
            folded=folded,
            hidden=len(file.hunks) - len(hunks),
            words=self._review.words(path),
            hunks=tuple(hunks),
        )
        decided = self._review.decisions
        if changes is self._changes and path == screen.path:
            self._shown = shown
            first = self._first_of(shown, decided) if screen.hunk == "" else ""
            screen.show_file(path, blocks_of(shown, decided.kept, decided.remarks), cursor or first)

    def _first_of(self, shown: ShownFile, decided: Decisions) -> str:
        """Returns the block to begin with: the first undecided hunk; empty to leave the choice."""
        if shown.folded or not (decided.kept or decided.remarks or self._visit):
            return ""
        left = self._open_hunks(shown, decided)
        return left[0].key if left else ""

    def _open_hunks(self, shown: ShownFile, decided: Decisions) -> list[ReviewedHunk]:
        return [
            one for one in shown.hunks if not is_decided(one, shown.file.taken, decided.kept, decided.remarks)
        ]

    def _file(self, path: str) -> FileDifference | None:
        files = self._changes.files if self._changes is not None else ()
        return next((one.difference for one in files if one.difference.path == path), None)

    # Requests

    async def _requested(self, message: ReviewScreen.ActionRequested) -> None:
        """Carries out one request after the other, since a key may be pressed before the last one is done:
        each acts on the hunk at which the cursor is by then."""
        screen = message.screen
        async with self._turn:
            path, hunk = screen.path, screen.hunk
            try:
                await self._do(message.action, screen, path, hunk)
            except UserError as problem:
                if hunk:
                    await self._show(screen, path, hunk)
                screen.show_note(str(problem))

    async def _do(self, action: ReviewAction, screen: ReviewScreen, path: str, hunk: str) -> None:
        match action:
            case "file":
                await self._show(screen, path)
            case "keep" | "take-back" | "comment":
                await self._decide(action, screen, path, hunk)
            case "undo":
                await self._undo(screen, path, hunk)
            case "send":
                self._send(screen)
            case "spacing":
                self._hides_spacing = not self._hides_spacing
                await self._show(screen, path)
                screen.show_note("changes of blanks are hidden" if self._hides_spacing else "all is shown")
            case "unfold":
                self._opened ^= {path}
                await self._show(screen, path)
            case "scope" | "scope-back":
                await self._other_scope(screen, 1 if action == "scope" else -1)
            case "older" | "newer":
                await self._other_prompt(screen, is_older=action == "older")
            case "edit":
                await self._open_editor(screen, path, hunk)
            case "copy":
                await self._copy_one(screen, path)
            case "copy-all":
                await self._copy_all(screen)

    async def _other_scope(self, screen: ReviewScreen, step: int) -> None:
        if self._scope == _STAGED:
            screen.show_note("staged changes have no other comparison")
            return
        at = _SCOPES.index(self._scope) if self._scope in _SCOPES else -step
        self._scope = _SCOPES[(at + step) % len(_SCOPES)]
        self._prompt_id = None
        screen.show_view(await self._view())

    async def _other_prompt(self, screen: ReviewScreen, *, is_older: bool) -> None:
        shown = self._changes.differences if self._changes is not None else None
        if self._scope == _STAGED:
            screen.show_note("staged changes have no other comparison")
            return
        if self._scope != "prompt":
            self._scope, self._prompt_id = "prompt", None
        elif shown is not None:
            other = shown.older if is_older else shown.newer
            if other is None:
                screen.show_note("the first prompt that changed files" if is_older else "the last one")
                return
            self._prompt_id = other
        screen.show_view(await self._view())

    # Decisions

    async def _decide(self, action: ReviewAction, screen: ReviewScreen, path: str, block_id: str) -> None:
        shown, changes = self._shown, self._changes
        hunks = shown.chosen(block_id) if shown is not None and shown.file.path == path else ()
        if shown is None or changes is None or not hunks:
            screen.show_note("there is nothing to decide here")
            return
        keys = frozenset(one.key for one in hunks)
        match action:
            case "keep":
                undo = await self._keep(changes, path, keys, shown.file.taken)
            case "take-back":
                undo = await self._take_back(changes, path, keys - shown.file.taken)
            case _:
                undo = await self._comment(shown, hunks[0])
        if undo is None:
            await self._show(screen, path, block_id)
            return
        self._visit.append(_Decided(path, block_id, undo))
        await self._go_on(screen, path, block_id)

    async def _keep(
        self, changes: ReviewedChanges, path: str, keys: frozenset[str], taken: frozenset[str]
    ) -> Callable[[], Awaitable[None]]:
        review, back = self._review, keys & taken
        if back:
            await review.change_hunks(changes, path, back)
        review.keep(keys)

        async def undo() -> None:
            if back:
                await review.change_hunks(changes, path, back)
            review.reopen(keys)

        return undo

    async def _take_back(
        self, changes: ReviewedChanges, path: str, keys: frozenset[str]
    ) -> Callable[[], Awaitable[None]] | None:
        if not keys:
            return None
        await self._review.change_hunks(changes, path, keys)

        async def undo() -> None:
            await self._review.change_hunks(changes, path, keys)

        return undo

    async def _comment(self, shown: ShownFile, hunk: ReviewedHunk) -> Callable[[], Awaitable[None]] | None:
        """Asks for a remark; an emptied one is dropped."""
        old = next((one for one in self._review.decisions.remarks if one.key == hunk.key), None)
        place = f"{shown.file.path}:{hunk.first}" if hunk.first else shown.file.path
        text = await self._page.ask(TextScreen(f"Comment on {place}", prefill=old.text if old else ""))
        if text is None or (old is None and not text.strip()):
            return None
        if old is not None:
            self._review.close_remarks(frozenset((old.id,)))
        new: Remark | None = await self._review.remark(shown.file, hunk, text) if text.strip() else None
        self.remarked = True

        async def undo() -> None:
            if new is not None:
                self._review.close_remarks(frozenset((new.id,)))
            if old is not None:
                await self._review.remark(shown.file, hunk, old.text)

        return undo

    async def _go_on(self, screen: ReviewScreen, path: str, block_id: str) -> None:
        """Moves to the next undecided hunk, of this file or another one."""
        changes, shown = self._changes, self._shown
        file = await asyncio.to_thread(changes.file, path) if changes is not None else None
        if file is None or shown is None:
            return
        self._shown = shown = msgspec.structs.replace(shown, file=file)
        decided = self._review.decisions
        left = {one.key for one in self._open_hunks(shown, decided)}
        order = [one.key for one in shown.hunks]
        at = order.index(block_id) + 1 if block_id in order else 0
        following = next((key for key in (*order[at:], *order[:at]) if key in left), "")
        await self._show(screen, path, block_id if shown.folded else following or block_id)
        await self._count(screen)
        if following and not shown.folded:
            return
        other = await self._next_open_file(path)
        if other and other != path:
            screen.go_to_file(other)
            await self._show(screen, other)
        elif not other:
            screen.show_note("all is decided")

    async def _count(self, screen: ReviewScreen) -> None:
        """Updates how much of each file is decided."""
        if self._changes is not None:
            files = await self._rows(self._changes)
            screen.show_view(msgspec.structs.replace(screen.view, files=files, start=""), is_new=False)

    async def _undo(self, screen: ReviewScreen, path: str, block_id: str) -> None:
        """Undoes the decision about the hunk at the cursor, else the last decision of this visit."""
        changes, decided = self._changes, self._review.decisions
        last = next(
            (one for one in reversed(self._visit) if (one.path, one.block_id) == (path, block_id)), None
        )
        hunks = self._shown.chosen(block_id) if self._shown is not None else ()
        keys = frozenset(one.key for one in hunks)
        if last is None and self._shown is not None and changes is not None:
            back = keys & self._shown.file.taken
            if back:
                await self._review.change_hunks(changes, path, back)
            elif keys & decided.kept:
                self._review.reopen(keys)
            elif remarks := frozenset(one.id for one in decided.remarks if one.key in keys):
                self._review.close_remarks(remarks)
            elif self._visit:
                last = self._visit[-1]
            else:
                screen.show_note("nothing to undo here")
                return
        if last is not None:
            path, block_id = last.path, last.block_id
            await last.undo()
            self._visit.remove(last)
        await self._count(screen)
        if path != screen.path:
            screen.go_to_file(path)
        await self._show(screen, path, block_id)
        screen.show_note("undone")

    def _send(self, screen: ReviewScreen) -> None:
        if not self._review.decisions.remarks:
            screen.show_note("no comments wait")
            return
        self.is_sending = True
        screen.dismiss(None)

    # Files

    async def _open_editor(self, screen: ReviewScreen, path: str, block_id: str) -> None:
        file = self._file(path)
        if file is None or self._changes is None:
            return
        if not file.place or not exists(Path(file.place)):
            screen.show_note(
                "the file does not exist any more" if file.place else file.why or "the file cannot be opened"
            )
            return
        hunks = self._shown.chosen(block_id) if self._shown is not None and block_id != FOLD_ID else ()
        line = screen.line or next((one.first for one in hunks if one.first), 0)
        line = line or (await asyncio.to_thread(self._changes.differences.patch, path)).first_line
        if problem := self._page.edit(Path(file.place), line):
            screen.show_note(problem)
            return
        screen.show_view(await self._view())

    async def _copy_one(self, screen: ReviewScreen, path: str) -> None:
        file = self._file(path)
        if file is None or self._changes is None:
            return
        patch = await asyncio.to_thread(self._changes.differences.patch, path)
        if not patch.text:
            screen.show_note(f"no patch copied: {patch.why or file.why or 'nothing is held of it'}")
            return
        self._page.copy(patch.text, f"patch of {path}")
        screen.show_note("copied" if patch.is_whole else f"copied a part of the patch: {patch.why}")

    async def _copy_all(self, screen: ReviewScreen) -> None:
        if self._changes is None:
            return
        text, lacking = await asyncio.to_thread(self._changes.differences.patches)
        if not text:
            screen.show_note("no patch copied: these changes cannot be written as a patch")
            return
        self._page.copy(text, "patch of all files")
        screen.show_note(f"copied all except {len(lacking)}: {lacking[0]}" if lacking else "copied all files")
