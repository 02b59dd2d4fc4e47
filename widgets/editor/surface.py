"""Draws the editor's visible rows between its two rules, and the caret."""

from textual import events
from textual.geometry import Offset, Region
from textual.strip import Strip
from textual.widget import Widget

from widgets.editor.layout import Layout
from widgets.editor.model import EditorModel, Position, selected
from widgets.editor.painting import MARK_CELLS, EditorStyles, RuleText, draw_row, draw_rule
from widgets.terminal import caret


class Surface:
    """Lays out and draws the editor's text within its widget."""

    def __init__(self, widget: Widget, model: EditorModel, *, placeholder: str) -> None:
        self._widget = widget
        self._model = model
        self.placeholder = placeholder
        self.screen_share = 1 / 3
        """The share of the screen's height that the text may use before it scrolls."""
        self.hint = ""
        """The input that the editor waits for, shown in the lower rule."""
        self.is_below_rule = False
        """Whether another rule is directly above, so that the upper one is blank."""
        self._padding_x = 0
        self._blinks = False
        self._is_bar = False
        self._layout = Layout()
        self._top = 0
        self._goal: int | None = None
        """The column to keep while moving between rows."""
        self._thinking = "off"
        self._rule_text = RuleText()
        self._look: EditorStyles | None = None

    # -- appearance ----------------------------------------------------------------------------------------

    def show_thinking(self, level: str) -> None:
        """Sets the thinking level, which the rules show by their colour."""
        self._thinking = level
        self._widget.refresh()

    def show_rule_text(self, told: RuleText) -> None:
        """Redraws only the upper rule with another text."""
        if told == self._rule_text:
            return
        is_mark_alone = (
            told._replace(mark="") == self._rule_text._replace(mark="") and told.mark and self._rule_text.mark
        )
        self._rule_text = told
        width = MARK_CELLS if is_mark_alone else self._widget.size.width
        self._widget.refresh(Region(0, 0, width, 1))

    @property
    def _indent(self) -> int:
        return MARK_CELLS + self._padding_x

    def set_padding(self, columns: int) -> None:
        """Sets the number of blank columns on both sides."""
        if columns != self._padding_x:
            self._padding_x = columns
            if self._widget.is_attached:
                self.lay_out()

    def set_blinking(self, blinks: bool) -> None:
        """Whether the terminal's cursor blinks at the caret."""
        if blinks != self._blinks:
            self._blinks = blinks
            if self._widget.has_focus:
                caret.show(self._widget, blinks=blinks, is_bar=self._is_bar)

    def set_bar(self, is_bar: bool) -> None:
        """Sets the caret's shape: a bar between characters, or a block on one."""
        if is_bar != self._is_bar:
            self._is_bar = is_bar
            if self._widget.has_focus:
                caret.show(self._widget, blinks=self._blinks, is_bar=is_bar)

    def handle_event(self, event: events.Event) -> None:
        match event:
            case events.Mount():
                caret.follow_suspension(
                    self._widget, blinks=lambda: self._blinks, is_bar=lambda: self._is_bar
                )
            case events.Resize():
                self.lay_out()
            case events.Focus():
                caret.show(self._widget, blinks=self._blinks, is_bar=self._is_bar)
            case events.Blur():
                caret.hide(self._widget)
            case events.MouseScrollUp():
                self._scroll(-1, event)
            case events.MouseScrollDown():
                self._scroll(1, event)

    def forget_styles(self) -> None:
        self._look = None

    # -- places --------------------------------------------------------------------------------------------

    @property
    def visible_rows(self) -> int:
        most = max(1, max(3, int(self._widget.app.size.height * self.screen_share)) - 2)
        return min(self._layout.row_count, most)

    @property
    def is_first_row(self) -> bool:
        return self._layout.place(self._model.cursor)[0] == 0

    @property
    def is_last_row(self) -> bool:
        return self._layout.place(self._model.cursor)[0] + 1 >= self._layout.row_count

    def position_at(self, offset: Offset) -> Position:
        """Returns the text position under a cell of the widget."""
        return self._layout.position(self._top + offset.y - 1, max(0, offset.x - self._indent))

    def move_rows(self, delta: int) -> None:
        """Moves the cursor up or down; it returns to its column in rows that are long enough."""
        row, cell = self._layout.place(self._model.cursor)
        goal = cell if self._goal is None else self._goal
        self._model.move_to(self._layout.position(row + delta, goal))
        self._goal = goal

    def forget_goal(self) -> None:
        self._goal = None

    # -- visible rows --------------------------------------------------------------------------------------

    def lay_out(self) -> None:
        """Lays out again after the text or the size changed."""
        widget, chips = self._widget, self._model.chips
        labels = chips.labels(self._model.text) if chips.known else {}
        width = (widget.size.width or widget.app.size.width) - self._indent - self._padding_x
        self._layout.update(self._model.lines, width, labels)
        height = self.visible_rows + 2
        if widget.styles.height is None or widget.styles.height.value != height:
            widget.styles.height = height
        self.show_cursor()

    def show_cursor(self) -> None:
        row = self._layout.place(self._model.cursor)[0]
        rows = self.visible_rows
        self._top = max(0, min(self._top, row, self._layout.row_count - rows))
        if row >= self._top + rows:
            self._top = row - rows + 1
        self._widget.refresh()

    def go_to_top(self) -> None:
        self._top = 0

    def _scroll(self, delta: int, event: events.MouseEvent) -> None:
        top = min(max(0, self._top + delta), self._layout.row_count - self.visible_rows)
        if top != self._top:
            self._top = top
            self._widget.refresh()
            event.stop()

    # -- drawing -------------------------------------------------------------------------------------------

    def place_caret(self) -> None:
        """Places the terminal's cursor at the caret."""
        row, cell = self._layout.place(self._model.cursor)
        if self._widget.has_focus:
            caret.place(self._widget, self._indent + cell, 1 + row - self._top)

    def line(self, y: int) -> Strip:
        widget, look = self._widget, self._look
        if look is None:
            look = self._look = EditorStyles(widget)
        width = widget.size.width
        last = widget.size.height - 1
        key = self._rule_key
        if y == 0:
            char = " " if self.is_below_rule else "─"
            return draw_rule(look, key, width, self._rule_text, hidden=self._top, arrow="↑", char=char)
        if y == last:
            mode, _, begun = self.hint.partition(" · ")
            below = self._layout.row_count - self._top - self.visible_rows
            return draw_rule(look, key, width, RuleText(mode, begun), hidden=max(0, below), arrow="↓")
        is_drawn = widget.has_focus and caret.is_drawn(widget)
        return draw_row(
            look,
            self._model,
            self._layout,
            self._top + y - 1,
            width=width,
            padding=self._padding_x,
            place=self._layout.place(self._model.cursor) if is_drawn else None,
            placeholder=self.placeholder,
            is_focused=widget.has_focus,
            selected=selected(self._model),
        )

    @property
    def _rule_key(self) -> str:
        if not self._widget.has_focus:
            return "resting"
        if self._model.lines[0].startswith(("!", "$ ", "$$ ")):
            return "shell"
        return f"thinking-{self._thinking}"
