"""Changes that wait for an answer: what each would do, applied or discarded by a key."""

from collections.abc import Sequence
from typing import ClassVar

import msgspec
from textual.binding import BindingType

from widgets.lists.rows import ListRow
from widgets.screens.picker import PickerAction, PickerScreen, bindings_of
from widgets.screens.preview import PreviewPart, PreviewText


class PendingRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    label: str
    source: str = ""
    """Who made them."""
    files: tuple[str, ...] = ()
    """Each with what is added and removed."""


class PendingScreen(PickerScreen):
    """Enter opens what would be written; `show_waiting` keeps the list as it stands."""

    ACTIONS = (
        PickerAction(id="app.pending.apply", keys="ctrl+s", label="apply", closes=False, importance=8),
        PickerAction(id="app.pending.discard", keys="ctrl+x", label="discard", closes=False, importance=7),
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(ACTIONS)

    def __init__(self, waiting: Sequence[PendingRow]) -> None:
        self._waiting = {one.id: one for one in waiting}
        super().__init__(
            "Staged changes",
            _rows(waiting),
            order="given",
            choose="see what would be written",
            empty="nothing waits any more",
            preview=self._files,
        )

    def show_waiting(self, waiting: Sequence[PendingRow]) -> None:
        self._waiting = {one.id: one for one in waiting}
        self.show_rows(_rows(waiting))

    def _files(self, row: ListRow) -> PreviewText:
        one = self._waiting.get(row.id)
        text = (
            "\n".join(one.files)
            if one is not None and one.files
            else "no files: what applying does is its own"
        )
        return PreviewText(parts=(PreviewPart(text=text, tone="muted"),))


def _rows(waiting: Sequence[PendingRow]) -> list[ListRow]:
    return [ListRow(id=one.id, title=one.label, detail=one.source, right=one.id) for one in waiting]
