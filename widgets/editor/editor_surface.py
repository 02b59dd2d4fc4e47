"""Draws the visible part of the prompt editor: the rows of text between two rules, and the caret."""

from collections.abc import Sequence

from textual import events
from textual.geometry import Offset, Region
from textual.strip import Strip
from textual.widget import Widget

from widgets.editor.editor_model import EditorModel, TextPosition, selection_range
from widgets.editor.editor_painting import (
    PROMPT_MARK_COLUMN_CELLS,
    EditorBorderText,
    EditorStyles,
    draw_editor_border,
    draw_editor_row,
)
from widgets.editor.text_layout import TextLayout
from widgets.status.status_segments import StatusSegment
from widgets.terminal import caret


class EditorSurface:
    """Lays out, scrolls and draws the prompt editor's text within its widget, and places the caret."""

    def __init__(self, widget: Widget, model: EditorModel, *, placeholder: str) -> None:
        self._widget = widget
        self._model = model
        self.placeholder = placeholder
        self.screen_share = 1 / 3
        """The share of the screen's height that the text may use before it scrolls."""
        self.empty_editor_hint = ""
        """The input that the editor waits for, shown in the lower rule."""
        self.has_shared_upper_rule = False
        """Whether another rule is directly above, so that the upper one is blank."""
        self._padding_x = 0
        self._is_caret_blinking = False
        self._is_caret_bar = False
        self._layout = TextLayout()
        self._first_visible_row = 0
        self._goal_column: int | None = None
        """The column to keep while moving between rows."""
        self._thinking_level = "off"
        self._rule_text = EditorBorderText()
        self.status: tuple[StatusSegment, ...] = ()
        """The mode and the model, shown below the text."""
        self._editor_styles: EditorStyles | None = None

    # -- appearance ----------------------------------------------------------------------------------------

    def show_thinking_level(self, level: str) -> None:
        """Sets the model's thinking level, which the editor's rules show by their colour."""
        self._thinking_level = level
        self._widget.refresh()

    def show_mode_and_model(self, status: Sequence[StatusSegment]) -> None:
        """Shows the mode and the model below the text."""
        if tuple(status) != self.status:
            self.status = tuple(status)
            self._widget.refresh(Region(0, self._widget.size.height - 1, self._widget.size.width, 1))

    def show_border_text(self, told: EditorBorderText) -> None:
        """Sets the text in the rule above the editor and redraws only that row."""
        if told == self._rule_text:
            return
        is_mark_alone = (
            told._replace(mark="") == self._rule_text._replace(mark="") and told.mark and self._rule_text.mark
        )
        self._rule_text = told
        width = PROMPT_MARK_COLUMN_CELLS if is_mark_alone else self._widget.size.width
        self._widget.refresh(Region(0, 0, width, 1))

    @property
    def _text_indent(self) -> int:
        return PROMPT_MARK_COLUMN_CELLS + self._padding_x

    def set_side_padding(self, columns: int) -> None:
        """Sets the number of blank columns at both sides of the editor's text."""
        if columns != self._padding_x:
            self._padding_x = columns
            if self._widget.is_attached:
                self.update_layout()

    def set_blinking(self, blinks: bool) -> None:
        """Sets whether the terminal's cursor blinks at the editor's caret."""
        if blinks != self._is_caret_blinking:
            self._is_caret_blinking = blinks
            if self._widget.has_focus:
                caret.show_terminal_cursor(self._widget, blinks=blinks, is_bar=self._is_caret_bar)

    def set_bar_caret(self, is_bar: bool) -> None:
        """Sets the shape of the editor's caret: a bar between characters, or a block on one."""
        if is_bar != self._is_caret_bar:
            self._is_caret_bar = is_bar
            if self._widget.has_focus:
                caret.show_terminal_cursor(self._widget, blinks=self._is_caret_blinking, is_bar=is_bar)

    def handle_event(self, event: events.Event) -> None:
        match event:
            case events.Mount():
                caret.show_cursor_after_suspension(
                    self._widget, blinks=lambda: self._is_caret_blinking, is_bar=lambda: self._is_caret_bar
                )
            case events.Resize():
                self.update_layout()
            case events.Focus():
                caret.show_terminal_cursor(
                    self._widget, blinks=self._is_caret_blinking, is_bar=self._is_caret_bar
                )
            case events.Blur():
                caret.hide_terminal_cursor(self._widget)
            case events.MouseScrollUp():
                self._scroll_by_wheel(-1, event)
            case events.MouseScrollDown():
                self._scroll_by_wheel(1, event)

    def forget_styles(self) -> None:
        self._editor_styles = None

    # -- places --------------------------------------------------------------------------------------------

    @property
    def visible_rows(self) -> int:
        most = max(1, max(3, int(self._widget.app.size.height * self.screen_share)) - 2)
        return min(self._layout.row_count, most)

    @property
    def is_cursor_in_first_row(self) -> bool:
        return self._layout.row_and_cell_of_position(self._model.cursor)[0] == 0

    @property
    def is_cursor_in_last_row(self) -> bool:
        return self._layout.row_and_cell_of_position(self._model.cursor)[0] + 1 >= self._layout.row_count

    def position_at(self, offset: Offset) -> TextPosition:
        """Returns the text position under a cell of the editor widget, such as one that was clicked."""
        return self._layout.position_at(
            self._first_visible_row + offset.y - 1, max(0, offset.x - self._text_indent)
        )

    def move_rows(self, delta: int) -> None:
        """Moves the cursor up or down by screen rows; it keeps its column, and is at the row's end where a row is
        shorter."""
        row, cell = self._layout.row_and_cell_of_position(self._model.cursor)
        goal = cell if self._goal_column is None else self._goal_column
        self._model.move_to(self._layout.position_at(row + delta, goal))
        self._goal_column = goal

    def reset_goal_column(self) -> None:
        self._goal_column = None

    # -- visible rows --------------------------------------------------------------------------------------

    def update_layout(self) -> None:
        """Wraps the editor's text again after the text or the size changed, and scrolls to the cursor."""
        widget, chips = self._widget, self._model.chips
        labels = chips.chip_labels_in(self._model.text) if chips.chip_by_character else {}
        width = (widget.size.width or widget.app.size.width) - self._text_indent - self._padding_x - 1
        self._layout.update(self._model.lines, width, labels)
        height = self.visible_rows + 2
        if widget.styles.height is None or widget.styles.height.value != height:
            widget.styles.height = height
        self.scroll_to_cursor()

    def scroll_to_cursor(self) -> None:
        row = self._layout.row_and_cell_of_position(self._model.cursor)[0]
        rows = self.visible_rows
        self._first_visible_row = max(0, min(self._first_visible_row, row, self._layout.row_count - rows))
        if row >= self._first_visible_row + rows:
            self._first_visible_row = row - rows + 1
        self._widget.refresh()

    def scroll_to_top(self) -> None:
        self._first_visible_row = 0

    def _scroll_by_wheel(self, delta: int, event: events.MouseEvent) -> None:
        top = min(max(0, self._first_visible_row + delta), self._layout.row_count - self.visible_rows)
        if top != self._first_visible_row:
            self._first_visible_row = top
            self._widget.refresh()
            event.stop()

    # -- drawing -------------------------------------------------------------------------------------------

    def place_caret(self) -> None:
        """Places the terminal's cursor at the caret of the prompt editor."""
        row, cell = self._layout.row_and_cell_of_position(self._model.cursor)
        if self._widget.has_focus:
            caret.place_terminal_cursor(
                self._widget, self._text_indent + cell, 1 + row - self._first_visible_row
            )

    def draw_line(self, y: int) -> Strip:
        widget, look = self._widget, self._editor_styles
        if look is None:
            look = self._editor_styles = EditorStyles(widget)
        width = widget.size.width
        last = widget.size.height - 1
        key = self._rule_style_name
        if y == 0:
            char = " " if self.has_shared_upper_rule else look.rule
            return draw_editor_border(
                look, key, width, self._rule_text, hidden=self._first_visible_row, arrow="↑", char=char
            )
        if y == last:
            mode, _, begun = self.empty_editor_hint.partition(" · ")
            below = self._layout.row_count - self._first_visible_row - self.visible_rows
            return draw_editor_border(
                look,
                key,
                width,
                EditorBorderText(mode, begun),
                hidden=max(0, below),
                arrow="↓",
                char=look.rule,
                status=self.status,
            )
        is_drawn = widget.has_focus and caret.must_draw_caret(widget)
        return draw_editor_row(
            look,
            self._model,
            self._layout,
            self._first_visible_row + y - 1,
            width=width,
            padding=self._padding_x,
            place=self._layout.row_and_cell_of_position(self._model.cursor) if is_drawn else None,
            placeholder=self.placeholder,
            is_focused=widget.has_focus,
            selected=selection_range(self._model),
        )

    @property
    def _rule_style_name(self) -> str:
        if not self._widget.has_focus:
            return "resting"
        if self._model.lines[0].startswith(("!", "$ ", "$$ ")):
            return "shell"
        return f"thinking-{self._thinking_level}"
