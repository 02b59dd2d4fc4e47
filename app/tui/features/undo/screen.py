"""The screen to restore files: a row per file with what happens to it and why, and its diff below. Nothing happens
before Enter. The application provides the possible actions and texts."""

from collections.abc import Callable, Sequence
from typing import ClassVar

import msgspec
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from tools.number_formatting import count_with_noun
from tools.tool_result_values import Card, DiffBlock, TextBlock
from widgets.lists.list_rows import ListRow, RowBadge, RowTone, make_column_heads
from widgets.lists.row_list import RowList
from widgets.row_builder import cells
from widgets.screens.block import SingleBlockTranscript, show_single_block
from widgets.screens.picker import PickerScreen
from widgets.screens.screen_parts import KeyHint, RuleTitle
from widgets.transcript.transcript_blocks import AppNoteBlock, CardState, ToolCallBlock

_RESTORE_CHOICE_MARKS: dict[str, tuple[str, RowTone]] = {
    "restore": ("✓ ", "text"),
    "merge": ("⋈ ", "text"),
    "keep": ("  ", "dim"),
}
_RESTORE_CHOICE_REFUSAL_TEXTS = {
    "merge": "it cannot be merged",
    "keep": "it cannot be skipped",
    "restore": "it cannot be restored",
}
_RESTORE_OUTCOME_TEXTS = {"merge": "is merged", "keep": "stays as it is"}
_SHOWN_CHANGES = {
    "changes": "goes back",
    "is removed": "is deleted",
    "will be restored": "comes back",
    "stays": "stays as it is",
}
"""What happens to a file in plain words, by the words of the plan."""
_CHANGE_HEAD = "what happens"
_MIN_ROWS_FOR_SUMMARY = 16
"""Rows of the terminal from which a sentence above the list sums it up."""
_RESTORE_FILE_LIST_HEIGHT_DIVISOR = 3
"""The list has at most one third of the height."""


class RestoreScreenRow(msgspec.Struct, frozen=True, kw_only=True):
    """A file in the list of the restore screen, with what happens to it and the possible choices."""

    path: str
    change: str
    """The effect on the file: `comes back`, `is removed` or `changes`."""
    why: str = ""
    changed_by: str = ""
    line_counts: str = ""
    """The changed lines, such as `+3 -1`."""
    choices: tuple[str, ...] = ()
    """The possible actions: `restore`, `merge`, `keep`; empty if the file stays in any case."""
    choice: str = "keep"
    is_conflict: bool = False


class FileRestoreScreen(PickerScreen):
    """The screen to restore files; returns a row to apply, and `choices` has the action for each file."""

    IS_SEARCHED: ClassVar[bool] = False  # single letters are keys here
    IS_COUNTED: ClassVar[bool] = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "cycle(1)", "Restore or skip the file", show=False, id="app.files.choose"),
        Binding("right", "cycle(1)", "Next choice for the file", show=False, id="app.files.next"),
        Binding("left", "cycle(-1)", "Previous choice for the file", show=False, id="app.files.previous"),
        Binding("a", "all", "Select all files, or none", show=False, id="app.files.all"),
        Binding("m", "choice('merge')", "Merge the file's versions", show=False, id="app.files.merge"),
        Binding("k", "choice('keep')", "Skip the file", show=False, id="app.files.keep"),
        Binding("t", "choice('restore')", "Use the file's old version", show=False, id="app.files.take"),
    ]

    def __init__(
        self,
        title: str,
        changes: Sequence[RestoreScreenRow],
        *,
        figures: str = "",
        diff: Callable[[str, str], str],
        remarks: Sequence[str] = (),
    ) -> None:
        """Creates the screen. `figures`: the totals, as text. `diff`: returns the diff of a path for a choice.
        `remarks`: further notes."""
        self._changes = {
            row.path: msgspec.structs.replace(row, change=_SHOWN_CHANGES.get(row.change, row.change))
            for row in changes
        }
        self.choices = {row.path: row.choice for row in changes if row.choices}
        self._diff = diff
        self._remarks = tuple(remarks)
        self._figures = figures
        self._diff_pane = SingleBlockTranscript(AppNoteBlock(id="nothing", text=""))
        super().__init__(
            title,
            self._list_rows(),
            order="given",
            choose="restore",
            note=self._count_changes(),
            heads=self._column_heads(),
            below=(RuleTitle(id="between"), self._diff_pane),
            is_full_height=True,
        )

    def compose_above_filter(self) -> ComposeResult:
        yield Static(self._summary_text(), id="message", markup=False)

    def _summary_text(self) -> str:
        """Returns in a sentence what Enter does."""
        goes, stays = self.chosen_file_count, len(self._changes) - self.chosen_file_count
        told = (
            f"{count_with_noun(goes, 'file')} {'goes' if goes == 1 else 'go'} back"
            if goes
            else "No file goes back"
        )
        rest = f", {stays} {'stays as it is' if stays == 1 else 'stay as they are'}" if stays else ""
        return f"  {told}{rest}. The conversation does not change."

    def hints(self) -> list[KeyHint]:
        can_merge = any("merge" in change.choices for change in self._changes.values())
        return [
            KeyHint("enter", "restore", 9, "tui.select.confirm"),
            KeyHint("space", "toggle", 8, "app.files.choose"),
            KeyHint("a", "all", 4, "app.files.all"),
            *([KeyHint("m", "merge", 5, "app.files.merge")] if can_merge else []),
            KeyHint("k", "skip", 5, "app.files.keep"),
            KeyHint("t", "use old version", 5, "app.files.take"),
            KeyHint("escape", "cancel", 9, "tui.select.cancel"),
        ]

    def _fit(self) -> None:
        most = max(2, self.app.size.height // _RESTORE_FILE_LIST_HEIGHT_DIVISOR)
        self.set_class(True, "below")
        rows = self.query_one(RowList)
        rows.styles.height = max(1, min(most, len(self._rows))) + rows.column_head_height
        self.query_one("#message").display = self.app.size.height >= _MIN_ROWS_FOR_SUMMARY

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        self.refresh_preview()

    def refresh_preview(self) -> None:
        """Shows in the lower pane what would happen to the file under the cursor."""
        if (row := self.row) is None:
            return
        block = self._change_card(self._changes[row.id])
        if self._diff_pane.find_block(block.id) is not None:
            self._diff_pane.add(block)
        else:
            show_single_block(self._diff_pane, block)

    @property
    def chosen_file_count(self) -> int:
        return sum(choice != "keep" for choice in self.choices.values())

    def action_choose(self) -> None:
        if not self.chosen_file_count:
            self.show_note("no files are selected")
            return
        super().action_choose()

    def action_cycle(self, delta: int) -> None:
        change = self._changes.get(self.row.id) if self.row else None
        if change is None or not change.choices:
            return
        at = change.choices.index(self.choices[change.path])
        self.choices[change.path] = change.choices[(at + delta) % len(change.choices)]
        self._refresh_rows()

    def action_choice(self, choice: str) -> None:
        change = self._changes.get(self.row.id) if self.row else None
        if change is None or choice not in change.choices:
            self.show_note(
                _RESTORE_CHOICE_REFUSAL_TEXTS[choice]
                if change is not None and change.choices
                else "it cannot be restored"
            )
            return
        self.choices[change.path] = choice
        self._refresh_rows()

    def action_all(self) -> None:
        """Chooses all files for restoring, or none; files with conflicts are chosen one by one."""
        plain = [row for row in self._changes.values() if row.choices and not row.is_conflict]
        is_all = all(self.choices[row.path] != "keep" for row in plain)
        for row in plain:
            self.choices[row.path] = "keep" if is_all else "restore"
        self._refresh_rows()

    def _refresh_rows(self) -> None:
        self.show_rows(self._list_rows(), note=self._count_changes())
        self.query_one("#message", Static).update(self._summary_text())
        self.refresh_preview()

    def _count_changes(self) -> str:
        chosen = f"{self.chosen_file_count} of {len(self.choices)} selected" if self.choices else ""
        return " · ".join(filter(None, (self._figures, chosen)))

    def _column_widths(self) -> tuple[int, int, int]:
        """Returns the widths of the columns: what happens to the file, lines added, lines removed."""
        changes = list(self._changes.values())
        figures = [_line_count_texts(change) for change in changes]
        return (
            max(map(cells, (_CHANGE_HEAD, *(change.change for change in changes)))),
            max((cells(added) for added, _ in figures), default=0),
            max((cells(removed) for _, removed in figures), default=0),
        )

    def _column_heads(self) -> ListRow:
        change, *figures = self._column_widths()
        heads = [f"{head:>{size}}" for head, size in zip(("+", "−"), figures, strict=True) if size]
        return make_column_heads(
            "File", prefix="  ", badges=(f"{_CHANGE_HEAD:<{change}}", *heads), detail="changed by"
        )

    def _list_rows(self) -> list[ListRow]:
        """Returns the list's rows with aligned columns."""
        widths = self._column_widths()
        return [self._list_row(change, widths) for change in self._changes.values()]

    def _list_row(self, change: RestoreScreenRow, widths: tuple[int, int, int]) -> ListRow:
        choice = self.choices.get(change.path)
        mark, tone = ("– ", "dim") if choice is None else _RESTORE_CHOICE_MARKS[choice]
        if change.is_conflict and choice == "keep":
            mark, tone = "▲ ", "warning"
        deed, *sizes = widths
        tone_of_deed: RowTone = "text" if choice not in (None, "keep") else "muted"
        badges = [RowBadge(text=f"{change.change:<{deed}}", tone=tone_of_deed)]
        tones: tuple[RowTone, RowTone] = ("success", "error")
        for figure, size, colour in zip(_line_count_texts(change), sizes, tones, strict=True):
            badges += [RowBadge(text=f"{figure:>{size}}", tone=colour)] if size else []
        return ListRow(
            id=change.path,
            title=change.path,
            prefix=mark,
            detail=" · ".join(word for word in (change.why, change.changed_by) if word),
            badges=tuple(badges),
            tone=tone,
            search_words=change.changed_by,
        )

    def _change_card(self, change: RestoreScreenRow) -> ToolCallBlock:
        """Returns the change of a file as a card like that of an edit that waits for approval."""
        choice = self.choices.get(change.path, "keep")
        becomes = change.change if choice == "restore" else _RESTORE_OUTCOME_TEXTS[choice]
        remarks = [TextBlock(text=text) for text in self._remarks]
        diff = self._diff(change.path, choice)
        parts = [DiffBlock(path=change.path, diff=diff)] if diff else []
        by = f"changed by {change.changed_by}" if change.changed_by else ""
        summary = " · ".join(word for word in (becomes, change.why, by) if word)
        card = Card(title=change.path, summary=summary, blocks=(*remarks, *parts))
        return ToolCallBlock(id=change.path, card=card, state=CardState.ASKED)


def _line_count_texts(change: RestoreScreenRow) -> tuple[str, str]:
    """Splits the counts of changed lines into the added and the removed ones, such as `+3` and `−1`."""
    words = change.line_counts.split()
    added = next((word for word in words if word.startswith("+")), "")
    return added, next((word for word in words if word != added), "")
