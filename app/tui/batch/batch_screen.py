"""The table of a batch: its progress, and its runs as a list that is refreshed a few times a second."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.strip import Strip
from textual.widget import Widget

from app.tui.batch.batch_table_data import COLUMN_HEADS, BatchTableData
from widgets.lists.row_list import ALL_ROW_TONES
from widgets.row_builder import RIGHT_MARGIN_CELLS, RowBuilder
from widgets.screens.picker import PickerAction, PickerScreen, picker_bindings
from widgets.screens.screen_parts import KeyHint

BATCH_OPEN_RUN_ACTION = "app.batch.open"
BATCH_STOP_RUN_ACTION = "app.batch.stop"
BATCH_PAUSE_ACTION = "app.batch.pause"
BATCH_SHOW_PATCH_ACTION = "app.batch.patch"
BATCH_APPLY_PATCH_ACTION = "app.batch.apply"
BATCH_PUSH_PATCH_ACTION = "app.batch.push"
BATCH_LEAVE_ACTION = "app.batch.leave"
_BATCH_TABLE_REFRESH_SECONDS = 0.25
_MIN_SCREEN_ROWS_FOR_MARGINS = 30
"""Rows of the terminal from which there are blank rows around the progress."""


class BatchProgress(Widget):
    """A widget with the two lines above a batch's table, in the colours of the outcomes."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"batch-progress--{tone}" for tone in ALL_ROW_TONES}
    DEFAULT_CSS = "BatchProgress { height: 2; }"

    def __init__(self, view: BatchTableData) -> None:
        super().__init__(id="progress")
        self._view = view

    def render_line(self, y: int) -> Strip:
        line = RowBuilder(self.size.width, self.rich_style, edge=RIGHT_MARGIN_CELLS).pad(2)
        for text, tone in self._view.progress_lines(self.size.width)[y]:
            line.add(text, self.get_component_rich_style(f"batch-progress--{tone}"))
        return line.strip()


class BatchScreen(PickerScreen):
    """A screen with the list of a batch's runs; the application does what its keys ask for."""

    IS_SEARCHED: ClassVar[bool] = False
    IS_COUNTED: ClassVar[bool] = False
    ACTIONS = (
        PickerAction(
            id=BATCH_SHOW_PATCH_ACTION,
            keys="d",
            label="diff",
            help="Show the run's changes",
            closes=False,
            importance=7,
        ),
        PickerAction(
            id=BATCH_APPLY_PATCH_ACTION,
            keys="a",
            label="apply",
            help="Apply the run's changes to the project",
            closes=False,
            importance=6,
        ),
        PickerAction(
            id=BATCH_PUSH_PATCH_ACTION,
            keys="b",
            label="push branch",
            help="Push the run's changes as a branch",
            closes=False,
            importance=4,
        ),
        PickerAction(
            id=BATCH_STOP_RUN_ACTION, keys="x", label="stop", help="Stop the run", closes=False, importance=7
        ),
        PickerAction(
            id=BATCH_PAUSE_ACTION,
            keys="p",
            label="pause",
            help="Start no further runs, or start them again",
            closes=False,
            needs_row=False,
            importance=6,
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        *picker_bindings(ACTIONS),
        Binding("q", "cancel", "Close", show=False, id=BATCH_LEAVE_ACTION),
    ]

    def __init__(self, view: BatchTableData) -> None:
        super().__init__(
            f"Batch {view.batch_folder.name}", view.run_rows(), order="given", choose="open",
            heads=COLUMN_HEADS, empty="no runs of this batch yet", is_full_height=True,
        )  # fmt: skip
        self.view = view
        self._shown_changes = -1

    def _fit(self) -> None:
        super()._fit()
        is_roomy = self.app.size.height >= _MIN_SCREEN_ROWS_FOR_MARGINS
        self.query_one(BatchProgress).styles.margin = (1, 0) if is_roomy else 0

    def compose_above_filter(self) -> ComposeResult:
        yield BatchProgress(self.view)

    def on_mount(self) -> None:
        self.refresh_table()
        self.set_interval(_BATCH_TABLE_REFRESH_SECONDS, self.refresh_table)

    def refresh_table(self) -> None:
        """Redraws the batch's rows and progress lines; the elapsed times of running rows change with every
        call."""
        view = self.view
        if view.changes == self._shown_changes and not view.is_running:
            return
        self._shown_changes = view.changes
        self.query_one(BatchProgress).refresh()
        rows = view.run_rows()
        if tuple(rows) == self._rows:
            return
        is_first = self.row is not None and self.row.id == self._rows[0].id
        self.show_rows(
            rows, current=rows[0].id if is_first and rows else ""
        )  # the first row stays the newest

    def hints(self) -> list[KeyHint]:
        """Returns the key hints of the batch screen, without keys that have no effect now."""
        is_live = self.view.is_running
        return [
            hint
            for hint in super().hints()
            if is_live or hint.id not in (BATCH_STOP_RUN_ACTION, BATCH_PAUSE_ACTION)
        ]

    def action_choose(self) -> None:
        if self.row is not None:
            self.post_message(self.ActionRequested(self, BATCH_OPEN_RUN_ACTION, self.row))

    def action_cancel(self) -> None:
        self.post_message(self.ActionRequested(self, BATCH_LEAVE_ACTION, self.row))
