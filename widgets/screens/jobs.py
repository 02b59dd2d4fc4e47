"""Jobs in the background with the live end of what each says."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import BindingType

from widgets.lists.rows import ListRow
from widgets.screens.picker import PickerAction, PickerScreen, bindings_of
from widgets.screens.preview import Preview, PreviewText


class JobsScreen(PickerScreen):
    """Enter opens a job's whole output; `show_jobs` keeps the panel live while it is open."""

    ACTIONS = (
        PickerAction(id="app.jobs.stop", keys="ctrl+x", label="stop", closes=False, importance=7),
        PickerAction(id="app.jobs.pin", keys="ctrl+t", label="pin", closes=False),
        PickerAction(id="app.jobs.copy", keys="ctrl+y", label="copy output", closes=False),
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(ACTIONS)

    def __init__(self, rows: Sequence[ListRow], tail: Callable[[ListRow], PreviewText]) -> None:
        """`tail`: the end of a job's output."""
        super().__init__(
            "Jobs",
            rows,
            order="given",
            choose="open its output",
            empty="no jobs are running",
            preview=tail,
        )
        self.add_class("jobs")

    def show_jobs(self, rows: Sequence[ListRow]) -> None:
        """The jobs as they stand now; nothing is drawn when nothing changed."""
        pane = self.query_one("#preview", Preview)
        before = (self._rows, pane.shown)
        if tuple(rows) != self._rows:
            self.show_rows(rows)
        self.refresh_preview()
        if (self._rows, pane.shown) != before:
            pane.call_after_refresh(pane.scroll_end, animate=False)

    def _fit(self) -> None:
        super()._fit()
        if not self.has_class("beside") and self.app.size.height >= 20:
            self.add_class("below")
            self.query_one("#body").styles.height = min(len(self._rows) + 8, self.app.size.height * 3 // 5)
        else:
            self.remove_class("below")
