"""The review desk: changed files above, the hunks of one below, drawn like cards; each is kept, taken back,
edited or remarked on.

The application computes the changes and carries out decisions: the screen sends requests and is filled by it."""

from collections.abc import Sequence
from typing import ClassVar, Literal

import msgspec
from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message

from widgets.key_table import Key, KeyTable
from widgets.line import cells
from widgets.lists.filtering import VisibleRow
from widgets.lists.row_list import RowList
from widgets.lists.rows import Badge, ListRow, Tone
from widgets.screens.block import BlockKeyboard, BlockView, SearchedScreen
from widgets.screens.requests import ScreenRequest
from widgets.screens.screen_parts import KeyHint, KeyHints, RuleTitle
from widgets.transcript.blocks import Block, NoteBlock
from widgets.transcript.item import Item
from widgets.transcript.leaves.diff_leaf import DiffLeaf, line_at
from widgets.transcript.leaves.safe_text import crop
from widgets.transcript.view import Transcript

_MAX_PATH_CELLS = 56
_SHARE = 4
"""The list has at most one fourth of the height."""

ReviewAction = Literal[
    "file",
    "keep",
    "take-back",
    "undo",
    "comment",
    "send",
    "spacing",
    "unfold",
    "scope",
    "scope-back",
    "older",
    "newer",
    "edit",
    "copy",
    "copy-all",
]


class FileRow(msgspec.Struct, frozen=True, kw_only=True):
    """A changed file as a row of the list."""

    path: str
    deed: str
    """The kind of change: `new`, `removed` or `changed`."""
    added: str = ""
    """The number of added lines, such as `+12`."""
    removed: str = ""
    by: str = ""
    why: str = ""
    """A remark about the file."""
    progress: str = ""
    """How many of its hunks are decided: `2/5`, or a mark when all are."""


class ReviewView(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the desk: the files, and what they are compared with."""

    title: str
    files: tuple[FileRow, ...]
    note: str = ""
    empty: str = "no changed files"
    start: str = ""
    """The file to begin with; empty: the one at the cursor."""


class HunkKeyboard(BlockKeyboard):
    """Keyboard of the desk: paging continues into the next file, and the cursor is on a hunk."""

    @property
    def item(self) -> Item:
        return self.column.find(self.cursor) or self.column.items[0]

    def begin(self) -> None:
        """Keeps the hunk at which the cursor is."""

    def end(self) -> None:
        """Keeps the hunk at which the cursor is, also while a search has the keyboard."""

    def go_to(self, block_id: str) -> None:
        """Moves the cursor to a hunk and shows it from its beginning if it is not visible as a whole."""
        index = self.column.index_of(block_id)
        if index is None:
            return
        self._set_cursor(block_id)
        self._scroll_into_view(index, from_below=False)

    def point_at(self, block_id: str) -> None:
        self._set_cursor(block_id)

    def page(self, direction: int) -> None:
        viewport = self.viewport
        is_at_end = viewport.top >= self.column.heights.total - viewport.height
        screen = self.widget.screen
        if direction > 0 and is_at_end and isinstance(screen, ReviewScreen):
            screen.step_file(1)
        elif direction < 0 and viewport.top <= 0 and isinstance(screen, ReviewScreen):
            screen.step_file(-1)
        else:
            super().page(direction)


class ReviewScreen(SearchedScreen):
    """The desk: a list of changed files, and the hunks of the selected one."""

    AUTO_FOCUS: ClassVar[str | None] = "Transcript"

    class ActionRequested(ScreenRequest["ReviewScreen"]):
        """The user wants another file or comparison, a decision about a hunk, an editor or a copy. `path`:
        the current file, `hunk`: the id of the block at the cursor; both may be empty."""

        def __init__(self, screen: "ReviewScreen", action: ReviewAction, path: str, hunk: str) -> None:
            super().__init__(screen)
            self.action: ReviewAction = action
            self.path = path
            self.hunk = hunk

    def __init__(self, view: ReviewView) -> None:
        super().__init__(HunksView(NoteBlock(id="nothing", text="" if view.files else view.empty)))
        self.view = view
        self.files = RowList(_rows(view), empty=view.empty, title_cells=_title_cells(view), id="files")
        self._between = RuleTitle(id="between")
        self._shown = ""
        self._hunks: tuple[str, ...] = ()
        self._from_below = False
        self._note = ""

    # -- calls ---------------------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        """The path of the file at the list's cursor."""
        row = self.files.current
        return row.id if row is not None else ""

    @property
    def hunk(self) -> str:
        """The id of the block at the cursor; empty if another file's blocks are shown."""
        return self._keyboard.cursor if self._shown == self.path else ""

    @property
    def line(self) -> int:
        """The first visible line of the current hunk, as a line number of the new file; 0: its first
        changed line."""
        rows = self.transcript.viewport.rows
        if rows and rows[0].item.block.id == self._keyboard.cursor:
            shown = ((row.leaf, row.row) for row in rows if self.transcript.viewport.top > 1)
            return next((line_at(leaf, row) for leaf, row in shown if isinstance(leaf, DiffLeaf)), 0)
        return 0

    @property
    def _keyboard(self) -> HunkKeyboard:
        keyboard = self.transcript.keyboard
        assert isinstance(keyboard, HunkKeyboard)
        return keyboard

    def show_view(self, view: ReviewView, *, is_new: bool = True) -> None:
        """Shows another comparison, or newer figures of the same; the cursor stays on its file."""
        keep, self.view = view.start or self.path, view
        self.files.empty, self.files.title_cells = view.empty, _title_cells(view)
        self.files.show([VisibleRow(row) for row in _rows(view)], keep=keep)
        self._fit()
        if is_new:
            self._note = ""
            self._shown = ""
            self.query_one("#keys", KeyHints).show(_hints(view))
            if not view.files:
                self._replace((NoteBlock(id="nothing", text=view.empty),))
            elif self.path == keep:  # the list sends no message if its cursor did not move
                self.ask("file")
        self._tell()

    def show_file(self, path: str, blocks: Sequence[Block], cursor: str = "") -> None:
        """Shows a file's hunks with the cursor on one; ignored if another file is selected by now."""
        if path != self.path:
            return
        ids = tuple(block.id for block in blocks)
        if path == self._shown and ids == self._hunks:
            for block in blocks:
                if block != self.transcript.block(block.id):
                    self.transcript.add(block)
        else:
            self._replace(blocks)
            cursor = cursor or (ids[-1] if self._from_below else ids[0])
        self._shown, self._hunks, self._from_below = path, ids, False
        if cursor:
            self._keyboard.go_to(cursor)
        self._tell()

    def _replace(self, blocks: Sequence[Block]) -> None:
        self.transcript.replace_all(blocks)
        self.transcript.viewport.set_following(False)
        self.transcript.keyboard.go_home()

    def show_note(self, note: str) -> None:
        """Shows a short message or an error at the right of the title."""
        self._note = note
        self._tell()

    def step(self, delta: int) -> None:
        """Moves to the next or previous hunk, also of the next file."""
        at = self._hunks.index(self.hunk) + delta if self.hunk in self._hunks else -1
        if 0 <= at < len(self._hunks):
            self._note = ""
            self._keyboard.go_to(self._hunks[at])
            self._tell()
        else:
            self._from_below = delta < 0 and self.files.index > 0
            self.step_file(delta)

    def step_file(self, delta: int) -> None:
        """Moves to the next or previous file."""
        at = self.files.index + delta
        if 0 <= at < len(self.view.files):
            self.files.move_to(at)
        elif self.view.files:
            self.show_note("this is the last file" if delta > 0 else "this is the first file")

    def go_to_file(self, path: str) -> None:
        at = next((at for at, file in enumerate(self.view.files) if file.path == path), None)
        if at is not None:
            self.files.move_to(at)

    def next_or_hit(self, delta: int) -> None:
        """Moves to the next search hit during a search, else to the next file."""
        if self.transcript.finder.is_on:
            self.transcript.finder.step(delta)
        else:
            self.step_file(delta)

    def ask(self, action: ReviewAction) -> None:
        self.post_message(self.ActionRequested(self, action, self.path, self.hunk))

    # -- screen --------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        self._fit()
        with Vertical(id="sheet"):
            note = self._told_note()
            yield RuleTitle(_title(self.view, note, self.app.size.width), note, id="title")
            yield self.files
            yield self._between
            yield self.transcript
            yield self.search_bar
            yield PressedHints(_hints(self.view), id="keys")

    def on_mount(self) -> None:
        if self.view.start:
            self.go_to_file(self.view.start)

    def on_resize(self) -> None:
        self._fit()
        self._tell()

    def _fit(self) -> None:
        most = max(2, self.app.size.height // _SHARE)
        self.files.styles.height = max(1, min(most, len(self.view.files)))
        self.files.display = self._between.display = bool(self.view.files)

    def _tell(self) -> None:
        if self.is_mounted:
            note = self._told_note()
            self.query_one("#title", RuleTitle).show(
                title=_title(self.view, note, self.app.size.width), note=note
            )
            count = len(self._hunks)
            at = self._hunks.index(self.hunk) + 1 if self.hunk in self._hunks else 0
            self._between.show(note=f"hunk {at} of {count}" if at and count > 1 else "")

    def _told_note(self) -> str:
        count = len(self.view.files)
        at = f"{self.files.index + 1} of {count}" if count else ""
        return " · ".join(word for word in (self._note, self.view.note, at) if word)

    @on(RowList.Moved)
    def _moved(self, message: RowList.Moved) -> None:
        message.stop()
        self._note = ""
        self._tell()
        if message.row is not None and message.row.id != self._shown:
            self.ask("file")

    @on(Transcript.FocusModeChanged)
    @on(Transcript.BranchRequested)
    @on(Transcript.RetryRequested)
    def _not_here(self, message: Message) -> None:
        message.stop()


KEYS: KeyTable[ReviewScreen] = KeyTable(
    Key("app.review.next", "j", "Next hunk", lambda screen: screen.step(1)),
    Key("app.review.previous", "k", "Previous hunk", lambda screen: screen.step(-1)),
    Key(
        "app.review.nextFile",
        "J,n,right,l,right_square_bracket",
        "Next file",
        lambda screen: screen.next_or_hit(1),
    ),
    Key(
        "app.review.previousFile",
        "K,p,N,left,h,left_square_bracket",
        "Previous file",
        lambda screen: screen.next_or_hit(-1),
    ),
    Key("app.review.keep", "space", "Keep the hunk", lambda screen: screen.ask("keep")),
    Key("app.review.takeBack", "x", "Take the hunk back", lambda screen: screen.ask("take-back")),
    Key("app.review.undo", "u", "Undo the last decision", lambda screen: screen.ask("undo")),
    Key("app.review.comment", "c", "Comment on the hunk", lambda screen: screen.ask("comment")),
    Key("app.review.send", "s", "Send the comments", lambda screen: screen.ask("send")),
    Key("app.review.edit", "e", "Open the file in your own editor", lambda screen: screen.ask("edit")),
    Key("app.review.unfold", "o", "Open a folded file", lambda screen: screen.ask("unfold")),
    Key("app.review.spacing", "w", "Hide changes of blanks", lambda screen: screen.ask("spacing")),
    Key(
        "app.review.scope", "tab", "Next comparison: session, prompt, git", lambda screen: screen.ask("scope")
    ),
    Key("app.review.scopeBack", "shift+tab", "Previous comparison", lambda screen: screen.ask("scope-back")),
    Key("app.review.older", "less_than_sign,comma", "Previous prompt", lambda screen: screen.ask("older")),
    Key(
        "app.review.newer",
        "greater_than_sign,full_stop",
        "Next prompt",
        lambda screen: screen.ask("newer"),
    ),
    Key("app.review.copy", "y", "Copy as a patch", lambda screen: screen.ask("copy")),
    Key("app.review.copyAll", "Y", "Copy all files as one patch", lambda screen: screen.ask("copy-all")),
)


class HunksView(BlockView):
    """Shows the hunks of one file."""

    BINDINGS: ClassVar[list[BindingType]] = KEYS.bindings

    def __init__(self, block: Block) -> None:
        super().__init__(block, keyboard=HunkKeyboard)

    def action_do(self, id: str) -> object:
        screen = self.screen
        if id in KEYS and isinstance(screen, ReviewScreen):
            return KEYS.do(id, screen)
        return super().action_do(id)

    @on(events.MouseDown)
    def _point(self, event: events.MouseDown) -> None:
        """Moves the cursor to the hunk under the pointer."""
        row, screen, keyboard = self.viewport.row_at(event.y), self.screen, self.keyboard
        if row is not None and isinstance(screen, ReviewScreen) and isinstance(keyboard, HunkKeyboard):
            keyboard.point_at(row.item.block.id)
            screen.show_note("")


class PressedHints(KeyHints):
    """Key hints that can be clicked: a click presses the key."""

    def on_click(self, event: events.Click) -> None:
        if (key := self.key_at(event.x)) is not None:
            self.app.simulate_key(key)


HINTS = (
    KeyHint("space", "keep", 9, "app.review.keep"),
    KeyHint("x", "take back", 9, "app.review.takeBack"),
    KeyHint("c", "comment", 8, "app.review.comment"),
    KeyHint("u", "undo", 7, "app.review.undo"),
    KeyHint("j/k", "hunk", 8, "app.review.next/app.review.previous"),
    KeyHint("J/K", "file", 7, "app.review.nextFile/app.review.previousFile"),
    KeyHint("e", "edit", 6, "app.review.edit"),
    KeyHint("tab", "session/git", 4, "app.review.scope"),
    KeyHint("less_than_sign/greater_than_sign", "prompt", 3, "app.review.older/app.review.newer"),
    KeyHint("w", "blanks", 2, "app.review.spacing"),
    KeyHint("y/Y", "copy patch", 3, "app.review.copy/app.review.copyAll"),
    KeyHint("slash", "search", 2, "tui.altScreen.search"),
    KeyHint("escape", "close", 9, "tui.select.cancel"),
)


_WITHOUT_FILES = {"app.review.scope", "app.review.older/app.review.newer", "tui.select.cancel"}


def _hints(view: ReviewView) -> list[KeyHint]:
    """Returns the key hints; those for a file only if there is one."""
    return [hint for hint in HINTS if view.files or hint.id in _WITHOUT_FILES]


def _title(view: ReviewView, note: str, width: int) -> str:
    """Returns the title, shortened so that the note has room."""
    return crop(view.title, max(24, width - cells(note) - 10))


def _rows(view: ReviewView) -> list[ListRow]:
    """Returns the list's rows with aligned columns: what happened to the file, lines added, lines
    removed, and how much is decided."""
    columns = [
        max((cells(text) for text in texts), default=0)
        for texts in (
            [file.progress for file in view.files],
            [file.deed for file in view.files],
            [file.added for file in view.files],
            [file.removed for file in view.files],
        )
    ]
    return [_row(file, *columns) for file in view.files]


def _row(file: FileRow, progress: int, deed: int, added: int, removed: int) -> ListRow:
    tones: dict[str, Tone] = {"new": "success", "removed": "error"}
    badges = [Badge(text=f"{file.progress:<{progress}}", tone="muted")] if progress else []
    badges += [Badge(text=f"{file.deed:<{deed}}", tone=tones.get(file.deed, "muted"))]
    badges += [Badge(text=f"{file.added:>{added}}", tone="success")] if added else []
    badges += [Badge(text=f"{file.removed:>{removed}}", tone="error")] if removed else []
    return ListRow(
        id=file.path,
        title=file.path,
        detail=" · ".join(word for word in (file.why, file.by) if word),
        badges=tuple(badges),
    )


def _title_cells(view: ReviewView) -> int:
    return min(_MAX_PATH_CELLS, max((cells(file.path) for file in view.files), default=0))
