"""The restore screen: a row per file with what happens to it and why, and its diff below.

Nothing happens before Enter. The application provides the possible actions and texts."""

from collections.abc import Callable, Sequence
from typing import ClassVar

import msgspec
from textual.binding import Binding, BindingType

from tools.results import Card, DiffBlock, TextBlock
from widgets.line import cells
from widgets.lists.row_list import RowList
from widgets.lists.rows import Badge, ListRow, Tone
from widgets.screens.block import BlockView, show_only
from widgets.screens.picker import PickerScreen
from widgets.screens.screen_parts import KeyHint, RuleTitle
from widgets.transcript.blocks import CardBlock, CardState, NoteBlock

_CHOICES: dict[str, tuple[str, Tone]] = {
    "restore": ("✓ ", "text"),
    "merge": ("⋈ ", "text"),
    "keep": ("  ", "dim"),
}
_REFUSAL_TEXTS = {
    "merge": "it cannot be merged",
    "keep": "it cannot be kept",
    "restore": "it cannot be restored",
}
_OUTCOME_TEXTS = {"restore": "is put back", "merge": "is merged", "keep": "stays as it is"}
_SHARE = 3
"""The list has at most one third of the height."""


class ChangeRow(msgspec.Struct, frozen=True, kw_only=True):
    """A file as a row of the restore screen, with what happens to it."""

    path: str
    deed: str
    """The effect on the file: `comes back`, `is removed` or `changes`."""
    why: str = ""
    by: str = ""
    lines: str = ""
    """The changed lines, such as `+3 -1`."""
    choices: tuple[str, ...] = ()
    """The possible actions: `restore`, `merge`, `keep`; empty if the file stays in any case."""
    choice: str = "keep"
    is_conflict: bool = False


class ChangesScreen(PickerScreen):
    """The restore screen; returns a row to apply, and `choices` has the action for each file."""

    IS_SEARCHED: ClassVar[bool] = False  # single letters are keys here
    IS_COUNTED: ClassVar[bool] = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "cycle(1)", "Restore or skip", show=False, id="app.files.choose"),
        Binding("right", "cycle(1)", "Next choice", show=False, id="app.files.next"),
        Binding("left", "cycle(-1)", "Previous choice", show=False, id="app.files.previous"),
        Binding("a", "all", "All or none", show=False, id="app.files.all"),
        Binding("m", "choice('merge')", "Merge", show=False, id="app.files.merge"),
        Binding("k", "choice('keep')", "Skip", show=False, id="app.files.keep"),
        Binding("t", "choice('restore')", "use the old version", show=False, id="app.files.take"),
    ]

    def __init__(
        self,
        title: str,
        changes: Sequence[ChangeRow],
        *,
        figures: str = "",
        diff: Callable[[str, str], str],
        remarks: Sequence[str] = (),
    ) -> None:
        """`figures`: the totals. `diff`: returns the diff of a path for a choice. `remarks`: further
        notes."""
        self._changes = {row.path: row for row in changes}
        self.choices = {row.path: row.choice for row in changes if row.choices}
        self._diff = diff
        self._remarks = tuple(remarks)
        self._figures = figures
        self._pane = BlockView(NoteBlock(id="nothing", text=""))
        super().__init__(
            title,
            self._listed(),
            order="given",
            choose="put back",
            note=self._counted(),
            below=(RuleTitle(id="between"), self._pane),
            is_full_height=True,
        )

    def hints(self) -> list[KeyHint]:
        can_merge = any("merge" in change.choices for change in self._changes.values())
        return [
            KeyHint("enter", "put back", 9, "tui.select.confirm"),
            KeyHint("space", "choose", 8, "app.files.choose"),
            KeyHint("a", "all", 4, "app.files.all"),
            *([KeyHint("m", "merge", 5, "app.files.merge")] if can_merge else []),
            KeyHint("k", "keep", 5, "app.files.keep"),
            KeyHint("t", "take old", 5, "app.files.take"),
            KeyHint("escape", "nothing", 9, "tui.select.cancel"),
        ]

    def _fit(self) -> None:
        most = max(2, self.app.size.height // _SHARE)
        self.set_class(True, "below")
        self.query_one(RowList).styles.height = max(1, min(most, len(self._rows)))

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        self.refresh_preview()

    def refresh_preview(self) -> None:
        """Shows what would happen to the file under the cursor."""
        if (row := self.row) is None:
            return
        block = self._described(self._changes[row.id])
        if self._pane.block(block.id) is not None:
            self._pane.add(block)
        else:
            show_only(self._pane, block)

    @property
    def chosen_count(self) -> int:
        return sum(choice != "keep" for choice in self.choices.values())

    def action_choose(self) -> None:
        if not self.chosen_count:
            self.show_note("nothing is chosen")
            return
        super().action_choose()

    def action_cycle(self, delta: int) -> None:
        change = self._changes.get(self.row.id) if self.row else None
        if change is None or not change.choices:
            return
        at = change.choices.index(self.choices[change.path])
        self.choices[change.path] = change.choices[(at + delta) % len(change.choices)]
        self._show()

    def action_choice(self, choice: str) -> None:
        change = self._changes.get(self.row.id) if self.row else None
        if change is None or choice not in change.choices:
            self.show_note(
                _REFUSAL_TEXTS[choice] if change is not None and change.choices else "it cannot be restored"
            )
            return
        self.choices[change.path] = choice
        self._show()

    def action_all(self) -> None:
        """Chooses all files or none, except conflicts, which are chosen one by one."""
        plain = [row for row in self._changes.values() if row.choices and not row.is_conflict]
        is_all = all(self.choices[row.path] != "keep" for row in plain)
        for row in plain:
            self.choices[row.path] = "keep" if is_all else "restore"
        self._show()

    def _show(self) -> None:
        self.show_rows(self._listed(), note=self._counted())
        self.refresh_preview()

    def _counted(self) -> str:
        chosen = f"{self.chosen_count} of {len(self.choices)} chosen" if self.choices else ""
        return " · ".join(filter(None, (self._figures, chosen)))

    def _listed(self) -> list[ListRow]:
        """Returns the list's rows with aligned columns: what happens to the file, lines added, lines
        removed."""
        changes = list(self._changes.values())
        figures = [_figures(change) for change in changes]
        widths = (
            max((cells(change.deed) for change in changes), default=0),
            max((cells(added) for added, _ in figures), default=0),
            max((cells(removed) for _, removed in figures), default=0),
        )
        return [self._row_of(change, widths) for change in changes]

    def _row_of(self, change: ChangeRow, widths: tuple[int, int, int]) -> ListRow:
        choice = self.choices.get(change.path)
        mark, tone = ("– ", "dim") if choice is None else _CHOICES[choice]
        if change.is_conflict and choice == "keep":
            mark, tone = "▲ ", "warning"
        deed, *sizes = widths
        tone_of_deed: Tone = "text" if choice not in (None, "keep") else "muted"
        badges = [Badge(text=f"{change.deed:<{deed}}", tone=tone_of_deed)]
        tones: tuple[Tone, Tone] = ("success", "error")
        for figure, size, colour in zip(_figures(change), sizes, tones, strict=True):
            badges += [Badge(text=f"{figure:>{size}}", tone=colour)] if size else []
        return ListRow(
            id=change.path,
            title=change.path,
            prefix=mark,
            detail=" · ".join(word for word in (change.why, change.by) if word),
            badges=tuple(badges),
            tone=tone,
            words=change.by,
        )

    def _described(self, change: ChangeRow) -> CardBlock:
        """Returns the change as a card like that of an edit that waits for approval."""
        choice = self.choices.get(change.path, "keep")
        becomes = (
            f"{_OUTCOME_TEXTS[choice]}: {change.deed}" if choice == "restore" else _OUTCOME_TEXTS[choice]
        )
        remarks = [TextBlock(text=text) for text in self._remarks]
        diff = self._diff(change.path, choice)
        parts = [DiffBlock(path=change.path, diff=diff)] if diff else []
        summary = " · ".join(word for word in (becomes, change.why, change.by) if word)
        card = Card(title=change.path, summary=summary, blocks=(*remarks, *parts))
        return CardBlock(id=change.path, card=card, state=CardState.ASKED)


def _figures(change: ChangeRow) -> tuple[str, str]:
    """Splits the changed lines into added and removed, such as `+3` and `−1`."""
    words = change.lines.split()
    added = next((word for word in words if word.startswith("+")), "")
    return added, next((word for word in words if word != added), "")
