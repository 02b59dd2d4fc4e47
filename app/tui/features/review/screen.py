"""The screen of the review desk: changed files above, the hunks of one file below, each of which can be
kept, taken back, edited or commented on, and below them those of the next files as far as there is room. The
application computes the changes and carries out the screen's requests."""

from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message

from app.tui.features.review.rows import (
    ReviewDeskContent,
    fit_review_title,
    review_key_hints,
    review_list_heads,
    review_list_rows,
    title_cells,
)
from widgets.key_table import KeyTable, KeyTableRow
from widgets.lists.row_filter import MatchedListRow
from widgets.lists.row_list import MIN_TERMINAL_ROWS_FOR_COLUMN_HEADS, RowList
from widgets.screens.block import BlockScreenKeyboard, SearchableTranscriptScreen, SingleBlockTranscript
from widgets.screens.screen_parts import KeyHints, RuleTitle
from widgets.screens.screen_request import ScreenRequest
from widgets.transcript.block_item import BlockItem
from widgets.transcript.block_items import make_transcript_items
from widgets.transcript.block_stack import BlockStack
from widgets.transcript.leaves.diff_leaf import DiffLeaf, diff_line_number_at
from widgets.transcript.transcript_blocks import AppNoteBlock, Block
from widgets.transcript.view import Transcript

_MAX_MEASURED_PAGES = 4
"""Blocks of more pages are not measured: they do not fit in any case."""
_MIN_ROWS_FOR_GAP = 24
"""Rows of the terminal from which a blank row separates the hunks from the keys."""
_REVIEW_FILE_LIST_HEIGHT_DIVISOR = 4
"""The list has at most one fourth of the height."""

ReviewAction = Literal[
    "file", "keep", "take-back", "undo", "comment", "apply", "send", "spacing", "unfold",
    "scope", "scope-back", "older", "newer", "edit", "own-editor", "copy", "copy-all",
]  # fmt: skip


class ReviewHunkKeyboard(BlockScreenKeyboard):
    """The keys for the hunks on the review desk: paging continues into the next file, and the cursor is always on a
    hunk."""

    @property
    def item(self) -> BlockItem:
        return self.column.find(self.cursor) or self.column.items[0]

    def begin(self) -> None:
        """Leaves the cursor where it is when the focus mode begins: on a hunk."""

    def end(self) -> None:
        """Does nothing, so that the cursor stays on its hunk when the keyboard goes elsewhere, such as to a search."""

    def go_to(self, block_id: str) -> None:
        """Moves the cursor to a hunk and scrolls to its beginning if it is not visible as a whole."""
        index = self.column.index_of(block_id)
        if index is None:
            return
        self._set_cursor(block_id)
        self._scroll_into_view(index, from_below=False)

    def move_to_block(self, block_id: str) -> None:
        self._set_cursor(block_id)

    def page(self, direction: int) -> None:
        viewport = self.viewport
        screen = self.widget.screen
        end = (
            screen.selected_file_row_count if isinstance(screen, ReviewScreen) else self.column.heights.total
        )
        is_at_end = viewport.top >= end - viewport.height
        if direction > 0 and is_at_end and isinstance(screen, ReviewScreen):
            screen.select_adjacent_file(1)
        elif direction < 0 and viewport.top <= 0 and isinstance(screen, ReviewScreen):
            screen.select_adjacent_file(-1)
        else:
            super().page(direction)


class ReviewScreen(SearchableTranscriptScreen):
    """The screen of the review desk: a list of changed files, and below it the hunks of the selected file."""

    AUTO_FOCUS: ClassVar[str | None] = "Transcript"

    class ActionRequested(ScreenRequest["ReviewScreen"]):
        """Message: the user wants another file or comparison, a decision about a hunk, an editor or a copy. `path`: the
        current file, `hunk`: the id of the block at the cursor; both may be empty."""

        def __init__(self, screen: "ReviewScreen", action: ReviewAction, path: str, hunk: str) -> None:
            super().__init__(screen)
            self.action: ReviewAction = action
            self.path = path
            self.hunk = hunk

    def __init__(self, view: ReviewDeskContent) -> None:
        super().__init__(
            ReviewHunksView(AppNoteBlock(id="nothing", text="" if view.files else view.empty_text))
        )
        self.view = view
        self.files = RowList(
            review_list_rows(view, 0), empty=view.empty_text, title_cells=title_cells(view), id="files"
        )
        self._separator = RuleTitle(id="between")
        self._shown_path = ""
        self._hunks: tuple[str, ...] = ()
        self._following: dict[str, str] = {}
        """The paths of the files below the selected one, by the ids of their blocks."""
        self._starts_at_last_hunk = False
        self._note = ""

    # -- calls ---------------------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        """The path of the file at the cursor of the review desk's list."""
        row = self.files.current
        return row.id if row is not None else ""

    @property
    def hunk(self) -> str:
        """The id of the hunk's block at the cursor; empty if another file's blocks are shown."""
        cursor = self._keyboard.cursor
        return cursor if self._shown_path == self.path and cursor not in self._following else ""

    @property
    def selected_file_row_count(self) -> int:
        """The number of rows that the selected file's hunks take."""
        heights, count = self.transcript.column.heights, len(self._hunks)
        return heights.top_of_block(count) if self._following and count else heights.total

    @property
    def page_rows(self) -> int:
        """The number of visible rows for hunks; 0 before the screen is laid out."""
        return self.transcript.viewport.height if self.transcript.column.width > 0 else 0

    def count_rows(self, blocks: Sequence[Block]) -> int:
        """Returns the rows that blocks would take; only an estimate where they are much more than a page."""
        shown = self.transcript.column
        column = BlockStack()
        column.expansion, column.width = shown.expansion, shown.width
        column.replace(make_transcript_items(blocks))
        if column.heights.total < _MAX_MEASURED_PAGES * self.page_rows:
            for index in range(len(column)):
                column.measure(index)
        return column.heights.total

    @property
    def line(self) -> int:
        """The line of the new file that the first visible row of the current hunk shows; 0 if the hunk is shown from
        its beginning."""
        rows = self.transcript.viewport.rows
        if rows and rows[0].item.block.id == self._keyboard.cursor:
            shown = ((row.leaf, row.row) for row in rows if self.transcript.viewport.top > 1)
            return next(
                (diff_line_number_at(leaf, row) for leaf, row in shown if isinstance(leaf, DiffLeaf)), 0
            )
        return 0

    @property
    def _keyboard(self) -> ReviewHunkKeyboard:
        keyboard = self.transcript.keyboard
        assert isinstance(keyboard, ReviewHunkKeyboard)
        return keyboard

    def show_view(self, view: ReviewDeskContent, *, is_new: bool = True) -> None:
        """Shows another comparison on the review desk, or newer figures of the same; the cursor stays on its file."""
        keep, self.view = view.first_file or self.path, view
        self.files.empty_text, self.files.title_cells = view.empty_text, title_cells(view)
        self._show_rows(keep)
        self._fit()
        if is_new:
            self._note = ""
            self._shown_path = ""
            self.query_one("#keys", KeyHints).show(review_key_hints(view))
            if not view.files:
                self._replace_blocks((AppNoteBlock(id="nothing", text=view.empty_text),))
            elif self.path == keep:  # the list sends no message if its cursor did not move
                self.request_action("file")
        self._announce_hunk()

    def show_file(
        self,
        path: str,
        blocks: Sequence[Block],
        cursor: str = "",
        *,
        following: Sequence[tuple[str, Block]] = (),
    ) -> None:
        """Shows a file's hunks with the cursor on one, and below them blocks of the next files, each with its path.
        Does nothing if another file is selected by now."""
        if path != self.path:
            return
        ids = tuple(block.id for block in blocks)
        others = {block.id: other for other, block in following}
        every = [*blocks, *(block for _, block in following)]
        is_same = path == self._shown_path and ids == self._hunks
        if is_same and others == self._following:
            for block in every:
                if block != self.transcript.find_block(block.id):
                    self.transcript.add(block)
        else:
            kept = self.hunk if is_same else ""
            self._replace_blocks(every)
            cursor = cursor or kept or (ids[-1] if self._starts_at_last_hunk else ids[0])
        self._shown_path, self._hunks, self._starts_at_last_hunk = path, ids, False
        self._following = others
        if cursor:
            self._keyboard.go_to(cursor)
        self._announce_hunk()

    def move_to_block(self, block_id: str) -> None:
        """Moves the cursor to a hunk's block; for a block of a file below, selects that file."""
        if block_id in self._following:
            self.go_to_file(self._following[block_id])
        else:
            self._keyboard.move_to_block(block_id)
            self.show_note("")

    def _replace_blocks(self, blocks: Sequence[Block]) -> None:
        self._following = {}
        self.transcript.replace_all(blocks)
        self.transcript.viewport.set_following(False)
        self.transcript.keyboard.go_home()

    def show_note(self, note: str) -> None:
        """Shows a short message or an error at the right of the title."""
        self._note = note
        self._announce_hunk()

    def move_to_adjacent_hunk(self, delta: int) -> None:
        """Moves the review cursor to the next or previous hunk, continuing into the next file."""
        at = self._hunks.index(self.hunk) + delta if self.hunk in self._hunks else -1
        if 0 <= at < len(self._hunks):
            self._note = ""
            self._keyboard.go_to(self._hunks[at])
            self._announce_hunk()
        else:
            self._starts_at_last_hunk = delta < 0 and self.files.index > 0
            self.select_adjacent_file(delta)

    def select_adjacent_file(self, delta: int) -> None:
        """Selects the next or previous file of the review."""
        at = self.files.index + delta
        if 0 <= at < len(self.view.files):
            self.files.move_to(at)
        elif self.view.files:
            self.show_note("this is the last file" if delta > 0 else "this is the first file")

    def go_to_file(self, path: str) -> None:
        at = next((at for at, file in enumerate(self.view.files) if file.path == path), None)
        if at is not None:
            self.files.move_to(at)

    def go_to_next_hit_or_file(self, delta: int) -> None:
        """Moves to the next search hit while a search is active, else to the next file."""
        if self.transcript.finder.is_on:
            self.transcript.finder.step(delta)
        else:
            self.select_adjacent_file(delta)

    def request_action(self, action: ReviewAction) -> None:
        self.post_message(self.ActionRequested(self, action, self.path, self.hunk))

    # -- screen --------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        self._fit()
        with Vertical(id="sheet"):
            note = self._note_text()
            yield RuleTitle(fit_review_title(self.view, note, self.app.size.width), note, id="title")
            yield self.files
            yield self._separator
            yield self.transcript
            yield self.search_bar
            yield ClickableKeyHints(review_key_hints(self.view), id="keys")

    def on_mount(self) -> None:
        self._fit()
        self._show_rows(self.path)
        if self.view.first_file:
            self.go_to_file(self.view.first_file)

    def on_resize(self) -> None:
        self._show_rows(self.path)
        self._fit()
        self._announce_hunk()
        self.call_after_refresh(self._fill_again)

    def _fill_again(self) -> None:
        """Requests the selected file again, because more or fewer rows are visible now."""
        if self._shown_path == self.path and self._shown_path:
            self.request_action("file")

    def _show_rows(self, keep: str) -> None:
        """Shows the list of files with the columns for which there is room; the cursor goes to the file `keep`."""
        width = self.app.size.width
        self.files.column_heads = review_list_heads(self.view, width)
        self.files.show_rows([MatchedListRow(row) for row in review_list_rows(self.view, width)], keep=keep)

    def _fit(self) -> None:
        most = max(2, self.app.size.height // _REVIEW_FILE_LIST_HEIGHT_DIVISOR)
        heads = (
            self.app.size.height >= MIN_TERMINAL_ROWS_FOR_COLUMN_HEADS
            and review_list_heads(self.view, 0) is not None
        )
        self.files.styles.height = max(1, min(most, len(self.view.files))) + heads
        self.files.display = self._separator.display = bool(self.view.files)
        for hints in self.query(KeyHints):
            hints.styles.margin = (1, 0, 0, 0) if self.app.size.height >= _MIN_ROWS_FOR_GAP else 0

    def _announce_hunk(self) -> None:
        if self.query("#title"):  # a request may be done after the desk was closed
            note = self._note_text()
            self.query_one("#title", RuleTitle).show(
                title=fit_review_title(self.view, note, self.app.size.width), note=note
            )
            count = len(self._hunks)
            at = self._hunks.index(self.hunk) + 1 if self.hunk in self._hunks else 0
            self._separator.show(note=f"hunk {at} of {count}" if at and count > 1 else "")

    def _note_text(self) -> str:
        count = len(self.view.files)
        at = f"file {self.files.index + 1} of {count}" if count > 1 else ""
        return " · ".join(word for word in (self._note, self.view.note, at) if word)

    @on(RowList.Moved)
    def _follow_cursor(self, message: RowList.Moved) -> None:
        message.stop()
        self._note = ""
        self._announce_hunk()
        if message.row is not None and message.row.id != self._shown_path:
            self.request_action("file")

    @on(Transcript.FocusModeChanged)
    @on(Transcript.BranchRequested)
    @on(Transcript.RetryRequested)
    def _ignore_request(self, message: Message) -> None:
        message.stop()


ReviewAnswer = Literal["yes", "always", "no"]


class ReviewQuestionScreen(ReviewScreen):
    """The review screen for a change that waits for approval, with keys that answer the question."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,alt+a", "answer('yes')", "Allow", show=False, priority=True, id="app.review.allow"),
        Binding(
            "a,alt+w", "answer('always')", "Always allow", show=False, priority=True, id="app.review.always"
        ),
        Binding("n,alt+x", "answer('no')", "Deny", show=False, priority=True, id="app.review.deny"),
    ]

    def __init__(self, view: ReviewDeskContent, answer: Callable[[ReviewAnswer], str | None]) -> None:
        """Creates the screen. `answer` returns None if it answered the question, else a text that tells why not."""
        super().__init__(view)
        self._answer = answer

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disables the answer keys while the search line has the keyboard, because they are letters
        there."""
        if action == "answer" and not isinstance(self.focused, Transcript):
            return False
        if parameters == ("always",) and not self.view.answers[1]:
            return False  # the key has its usual meaning
        return super().check_action(action, parameters)

    def action_answer(self, answer: ReviewAnswer) -> None:
        label = self.view.answers[("yes", "always", "no").index(answer)]
        problem = self._answer(answer) if label else "this answer is not offered for this call"
        if problem is None:
            self.dismiss(None)
        else:
            self.show_note(problem)


REVIEW_SCREEN_KEYS: KeyTable[ReviewScreen] = KeyTable(
    KeyTableRow("app.review.next", "j", "Next hunk", lambda screen: screen.move_to_adjacent_hunk(1)),
    KeyTableRow("app.review.previous", "k", "Previous hunk", lambda screen: screen.move_to_adjacent_hunk(-1)),
    KeyTableRow(
        "app.review.nextFile", "J,n,right,l,right_square_bracket", "Next file",
        lambda screen: screen.go_to_next_hit_or_file(1),
    ),
    KeyTableRow(
        "app.review.previousFile", "K,p,N,left,h,left_square_bracket", "Previous file",
        lambda screen: screen.go_to_next_hit_or_file(-1),
    ),
    KeyTableRow("app.review.keep", "space", "Keep the hunk", lambda screen: screen.request_action("keep")),
    KeyTableRow("app.review.takeBack", "x", "Revert the hunk", lambda screen: screen.request_action("take-back")),
    KeyTableRow("app.review.undo", "u", "Undo the last decision", lambda screen: screen.request_action("undo")),
    KeyTableRow("app.review.comment", "c", "Comment on the hunk", lambda screen: screen.request_action("comment")),
    KeyTableRow(
        "app.review.apply", "a", "Apply the file of a helper's changes",
        lambda screen: screen.request_action("apply"),
    ),
    KeyTableRow("app.review.send", "s", "Send the comments", lambda screen: screen.request_action("send")),
    KeyTableRow("app.review.edit", "e", "Edit the lines of the hunk", lambda screen: screen.request_action("edit")),
    KeyTableRow(
        "app.review.ownEditor", "E", "Open the file in your editor",
        lambda screen: screen.request_action("own-editor"),
    ),
    KeyTableRow("app.review.unfold", "o", "Open a folded file", lambda screen: screen.request_action("unfold")),
    KeyTableRow(

        "app.review.spacing", "w", "Hide whitespace changes", lambda screen: screen.request_action("spacing"),
    ),
    KeyTableRow(
        "app.review.scope", "tab", "Compare with: session, prompt, git",
        lambda screen: screen.request_action("scope"),
    ),
    KeyTableRow(
        "app.review.scopeBack", "shift+tab", "Previous comparison",
        lambda screen: screen.request_action("scope-back"),
    ),
    KeyTableRow(
        "app.review.older", "less_than_sign,comma", "Previous prompt",
        lambda screen: screen.request_action("older"),
    ),
    KeyTableRow(
        "app.review.newer", "greater_than_sign,full_stop", "Next prompt",
        lambda screen: screen.request_action("newer"),
    ),
    KeyTableRow("app.review.copy", "y", "Copy as a patch", lambda screen: screen.request_action("copy")),
    KeyTableRow(
        "app.review.copyAll", "Y", "Copy all files as one patch",
        lambda screen: screen.request_action("copy-all"),
    ),
)  # fmt: skip


class ReviewHunksView(SingleBlockTranscript):
    """The transcript widget of the review desk that shows the hunks of the selected file and of those below."""

    BINDINGS: ClassVar[list[BindingType]] = REVIEW_SCREEN_KEYS.bindings

    def __init__(self, block: Block) -> None:
        super().__init__(block, keyboard=ReviewHunkKeyboard)

    def action_do(self, id: str) -> object:
        screen = self.screen
        if id in REVIEW_SCREEN_KEYS and isinstance(screen, ReviewScreen):
            return REVIEW_SCREEN_KEYS.run_key_action(id, screen)
        return super().action_do(id)

    @on(events.MouseDown)
    def _move_to_pointer(self, event: events.MouseDown) -> None:
        """Moves the cursor to the hunk under the pointer."""
        row, screen = self.viewport.row_at(event.y), self.screen
        if row is not None and isinstance(screen, ReviewScreen):
            screen.move_to_block(row.item.block.id)


class ClickableKeyHints(KeyHints):
    """A line of key hints that can be clicked: a click presses the key."""

    def on_click(self, event: events.Click) -> None:
        if (key := self.key_at_column(event.x)) is not None:
            self.app.simulate_key(key)
