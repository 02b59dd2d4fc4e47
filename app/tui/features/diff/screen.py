"""The diff screen: the list of changed files above, the diff of one below, drawn like cards.

The application computes the differences and opens files: the screen sends requests, and the application fills it."""

from typing import ClassVar, Literal

import msgspec
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message

from widgets.key_table import Key, KeyTable
from widgets.line import cells
from widgets.lists.filtering import VisibleRow
from widgets.lists.row_list import RowList
from widgets.lists.rows import Badge, ListRow, Tone
from widgets.screens.block import BlockKeyboard, BlockView, SearchedScreen, show_only
from widgets.screens.requests import ScreenRequest
from widgets.screens.screen_parts import KeyHint, KeyHints, RuleTitle
from widgets.transcript.blocks import Block, NoteBlock
from widgets.transcript.leaves.diff_leaf import DiffLeaf, line_at
from widgets.transcript.leaves.safe_text import crop
from widgets.transcript.view import Transcript

_MAX_PATH_CELLS = 56
_SHARE = 4
"""The list has at most one fourth of the height."""

DiffAction = Literal["file", "scope", "scope-back", "older", "newer", "edit", "copy", "copy-all"]


class DiffFile(msgspec.Struct, frozen=True, kw_only=True):
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


class DiffView(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the diff screen: the files, and what they are compared with."""

    title: str
    files: tuple[DiffFile, ...]
    note: str = ""
    empty: str = "no changed files"


class DiffKeyboard(BlockKeyboard):
    """Keyboard of the diff: paging continues into the next file."""

    def page(self, direction: int) -> None:
        viewport = self.viewport
        is_at_end = viewport.top >= self.column.heights.total - viewport.height
        screen = self.widget.screen
        if direction > 0 and is_at_end and isinstance(screen, DiffScreen):
            screen.step(1)
        elif direction < 0 and viewport.top <= 0 and isinstance(screen, DiffScreen):
            screen.step(-1)
        else:
            super().page(direction)


class DiffScreen(SearchedScreen):
    """The diff screen: a list of changed files, and the diff of the selected one."""

    AUTO_FOCUS: ClassVar[str | None] = "Transcript"

    class ActionRequested(ScreenRequest["DiffScreen"]):
        """The user wants another file, another comparison, an editor or a copy. `path`: the current
        file; may be empty."""

        def __init__(self, screen: "DiffScreen", action: DiffAction, path: str) -> None:
            super().__init__(screen)
            self.action: DiffAction = action
            self.path = path

    def __init__(self, view: DiffView) -> None:
        super().__init__(FileDiff(NoteBlock(id="nothing", text="" if view.files else view.empty)))
        self.view = view
        self.files = RowList(_rows(view), empty=view.empty, title_cells=_title_cells(view), id="files")
        self._between = RuleTitle(id="between")
        self._shown = ""
        self._note = ""

    # -- calls ---------------------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        """The path of the file at the list's cursor."""
        row = self.files.current
        return row.id if row is not None else ""

    @property
    def line(self) -> int:
        """The first visible line, as a line number of the new file; 0 means the first changed line."""
        viewport = self.transcript.viewport
        shown = ((row.leaf, row.row) for row in viewport.rows if viewport.top > 1)
        return next((line_at(leaf, row) for leaf, row in shown if isinstance(leaf, DiffLeaf)), 0)

    def show_view(self, view: DiffView) -> None:
        """Shows another comparison; the cursor stays on its file if the file is in it."""
        keep, self.view = self.path, view
        self.files.empty, self.files.title_cells = view.empty, _title_cells(view)
        self._note = ""
        self._shown = ""
        self.files.show([VisibleRow(row) for row in _rows(view)], keep=keep)
        self._fit()
        self._tell()
        self.query_one("#keys", KeyHints).show(_hints(view))
        if not view.files:
            show_only(self.transcript, NoteBlock(id="nothing", text=view.empty))
        elif self.path == keep:  # the list sends no message if its cursor did not move
            self.ask("file")

    def show_file(self, path: str, block: Block) -> None:
        """Shows a file's diff; ignored if another file is selected by now."""
        if path != self.path:
            return
        is_again = path == self._shown
        self._shown = path
        if is_again:
            self.transcript.add(block)
        else:
            show_only(self.transcript, block)

    def show_note(self, note: str) -> None:
        """Shows a short message or an error at the right of the title."""
        self._note = note
        self._tell()

    def step(self, delta: int) -> None:
        """Moves to the next or previous file."""
        at = self.files.index + delta
        if 0 <= at < len(self.view.files):
            self.files.move_to(at)
        elif self.view.files:
            self.show_note("this is the last file" if delta > 0 else "this is the first file")

    def next_or_hit(self, delta: int) -> None:
        """Moves to the next search hit during a search, else to the next file."""
        if self.transcript.finder.is_on:
            self.transcript.finder.step(delta)
        else:
            self.step(delta)

    def ask(self, action: DiffAction) -> None:
        self.post_message(self.ActionRequested(self, action, self.path))

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
            yield KeyHints(_hints(self.view), id="keys")

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

    def _told_note(self) -> str:
        count = len(self.view.files)
        at = f"{self.files.index + 1} of {count}" if count else ""
        return " · ".join(word for word in (self._note, self.view.note, at) if word)

    @on(RowList.Moved)
    def _moved(self, message: RowList.Moved) -> None:
        message.stop()
        self._note = ""
        self._tell()
        if message.row is not None:
            self.ask("file")

    @on(Transcript.FocusModeChanged)
    @on(Transcript.BranchRequested)
    @on(Transcript.RetryRequested)
    def _not_here(self, message: Message) -> None:
        message.stop()


KEYS: KeyTable[DiffScreen] = KeyTable(
    Key("app.diff.next", "n,right,l,right_square_bracket", "Next file", lambda screen: screen.next_or_hit(1)),
    Key(
        "app.diff.previous",
        "p,N,left,h,left_square_bracket",
        "Previous file",
        lambda screen: screen.next_or_hit(-1),
    ),
    Key("app.diff.scope", "tab", "Next comparison: session, prompt, git", lambda screen: screen.ask("scope")),
    Key("app.diff.scopeBack", "shift+tab", "Previous comparison", lambda screen: screen.ask("scope-back")),
    Key("app.diff.older", "less_than_sign,comma", "Previous prompt", lambda screen: screen.ask("older")),
    Key(
        "app.diff.newer",
        "greater_than_sign,full_stop",
        "Next prompt",
        lambda screen: screen.ask("newer"),
    ),
    Key("app.diff.edit", "e", "Open the file in your own editor", lambda screen: screen.ask("edit")),
    Key("app.diff.copy", "y", "Copy as a patch", lambda screen: screen.ask("copy")),
    Key("app.diff.copyAll", "Y", "Copy all files as one patch", lambda screen: screen.ask("copy-all")),
)


class FileDiff(BlockView):
    """Shows the diff of one file."""

    BINDINGS: ClassVar[list[BindingType]] = KEYS.bindings

    def __init__(self, block: Block) -> None:
        super().__init__(block, keyboard=DiffKeyboard)

    def action_do(self, id: str) -> object:
        screen = self.screen
        if id in KEYS and isinstance(screen, DiffScreen):
            return KEYS.do(id, screen)
        return super().action_do(id)


HINTS = (
    KeyHint("n/p", "file", 8, "app.diff.next/app.diff.previous"),
    KeyHint("tab", "session/git", 7, "app.diff.scope"),
    KeyHint("less_than_sign/greater_than_sign", "prompt", 5, "app.diff.older/app.diff.newer"),
    KeyHint("e", "editor", 6, "app.diff.edit"),
    KeyHint("y/Y", "copy patch", 6, "app.diff.copy/app.diff.copyAll"),
    KeyHint("slash", "search", 4, "tui.altScreen.search"),
    KeyHint("escape", "close", 9, "tui.select.cancel"),
)


_OF_A_FILE = {
    "app.diff.next/app.diff.previous",
    "app.diff.edit",
    "app.diff.copy/app.diff.copyAll",
    "tui.altScreen.search",
}


def _hints(view: DiffView) -> list[KeyHint]:
    """Returns the key hints; those for a file only if there is one."""
    return [hint for hint in HINTS if view.files or hint.id not in _OF_A_FILE]


def _title(view: DiffView, note: str, width: int) -> str:
    """Returns the title, shortened so that the note has room."""
    return crop(view.title, max(24, width - cells(note) - 10))


def _rows(view: DiffView) -> list[ListRow]:
    """Returns the list's rows with aligned columns: what happened to the file, lines added, lines
    removed."""
    deed, added, removed = (
        max((cells(text) for text in texts), default=0)
        for texts in (
            [file.deed for file in view.files],
            [file.added for file in view.files],
            [file.removed for file in view.files],
        )
    )
    return [_row(file, deed, added, removed) for file in view.files]


def _row(file: DiffFile, deed: int, added: int, removed: int) -> ListRow:
    tones: dict[str, Tone] = {"new": "success", "removed": "error"}
    badges = [Badge(text=f"{file.deed:<{deed}}", tone=tones.get(file.deed, "muted"))]
    badges += [Badge(text=f"{file.added:>{added}}", tone="success")] if added else []
    badges += [Badge(text=f"{file.removed:>{removed}}", tone="error")] if removed else []
    return ListRow(
        id=file.path,
        title=file.path,
        detail=" · ".join(word for word in (file.why, file.by) if word),
        badges=tuple(badges),
    )


def _title_cells(view: DiffView) -> int:
    return min(_MAX_PATH_CELLS, max((cells(file.path) for file in view.files), default=0))
