"""Changes that wait for an answer: what each would do, applied or discarded by a key."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import BindingType

from widgets.lists.rows import ListRow
from widgets.screens.picker import PickerAction, PickerScreen, bindings_of
from widgets.screens.preview import PreviewText


class PendingScreen(PickerScreen):
    """Enter opens what would be written."""

    ACTIONS = (
        PickerAction(id="app.pending.apply", keys="ctrl+s", label="apply", closes=False, importance=8),
        PickerAction(id="app.pending.discard", keys="ctrl+x", label="discard", closes=False, importance=7),
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(ACTIONS)

    def __init__(self, rows: Sequence[ListRow], files: Callable[[ListRow], PreviewText]) -> None:
        """`files`: what would be changed, each with what is added and removed."""
        super().__init__(
            "Staged changes",
            rows,
            order="given",
            choose="see what would be written",
            empty="nothing waits any more",
            preview=files,
        )
