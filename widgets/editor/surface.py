"""The part of the editor that draws: rows of the model between two rules, the caret, the part in sight.

Commands and keys are in `prompt`.
"""

from typing import ClassVar

from textual import events
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from widgets import caret
from widgets.editor.drawing import COMPONENTS, EditorLook, draw_row, draw_rule
from widgets.editor.layout import Layout
from widgets.editor.model import EditorModel


class EditorSurface(Widget, can_focus=True):
    COMPONENT_CLASSES: ClassVar[set[str]] = set(COMPONENTS)

    def __init__(self, *, placeholder: str, padding_x: int, id: str | None, classes: str | None) -> None:
        super().__init__(id=id, classes=classes)
        self.model = EditorModel()
        self.placeholder = placeholder
        self.screen_share = 1 / 3
        """How much of the screen's height the text may take before it scrolls."""
        self._padding_x = padding_x
        self._blinks = False
        self._layout = Layout()
        self._top = 0
        self._jump: bool | None = None
        """Waiting for the character to jump to: forward or not."""
        self._thinking = "off"
        self._is_shell = False
        self._status = ""
        self._look: EditorLook | None = None

    def set_border_state(
        self,
        thinking_level: str | None = None,
        is_shell_mode: bool | None = None,
        status: str | None = None,
    ) -> None:
        """What the rules tell: the level by their colour, shell mode likewise, the status in the upper one."""
        if thinking_level is not None:
            self._thinking = thinking_level
        if is_shell_mode is not None:
            self._is_shell = is_shell_mode
        if status is not None:
            self._status = status
        self.refresh()

    def set_padding(self, columns: int) -> None:
        """Columns that are left free on both sides."""
        if columns != self._padding_x:
            self._padding_x = columns
            if self.is_attached:
                self._relayout()

    def set_blinking(self, blinks: bool) -> None:
        """Whether the terminal's cursor blinks at the caret."""
        if blinks != self._blinks:
            self._blinks = blinks
            if self.has_focus:
                caret.show(self, blinks=blinks)

    # -- drawing -------------------------------------------------------------------------------------------

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._look = None

    def on_mount(self) -> None:
        caret.follow_suspension(self, blinks=lambda: self._blinks)

    def on_resize(self) -> None:
        self._relayout()

    def on_focus(self) -> None:
        caret.show(self, blinks=self._blinks)

    def on_blur(self) -> None:
        self._jump = None
        caret.hide(self)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self._visible_rows + 2

    def render_lines(self, crop: Region) -> list[Strip]:
        row, cell = self._layout.place(self.model.cursor)
        if self.has_focus:
            caret.place(self, self._padding_x + cell, 1 + row - self._top)
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        look = self._look
        if look is None:
            look = self._look = EditorLook(self)
        width = self.size.width
        last = self.size.height - 1
        key = self._rule_key
        if y == 0:
            return draw_rule(look, key, width, left=self._status, hidden=self._top, arrow="↑")
        if y == last:
            below = self._layout.row_count - self._top - self._visible_rows
            hint = "jump to character: " if self._jump is not None else ""
            return draw_rule(look, key, width, left=hint, hidden=max(0, below), arrow="↓")
        place = self._layout.place(self.model.cursor) if self.has_focus and caret.is_drawn(self) else None
        return draw_row(
            look,
            self.model,
            self._layout,
            self._top + y - 1,
            width=width,
            padding=self._padding_x,
            place=place,
            placeholder=self.placeholder,
        )

    @property
    def _rule_key(self) -> str:
        if self._is_shell or self.model.lines[0].startswith("!"):
            return "shell"
        return f"thinking-{self._thinking}"

    @property
    def _visible_rows(self) -> int:
        most = max(1, max(3, int(self.app.size.height * self.screen_share)) - 2)
        return min(self._layout.row_count, most)

    def _relayout(self) -> None:
        chips = self.model.chips
        labels = chips.labels(self.model.text) if chips.known else {}
        width = (self.size.width or self.app.size.width) - 2 * self._padding_x
        self._layout.update(self.model.lines, width, labels)
        height = self._visible_rows + 2
        if self.styles.height is None or self.styles.height.value != height:
            self.styles.height = height
        self._show_cursor()

    def _show_cursor(self) -> None:
        row = self._layout.place(self.model.cursor)[0]
        rows = self._visible_rows
        self._top = max(0, min(self._top, row, self._layout.row_count - rows))
        if row >= self._top + rows:
            self._top = row - rows + 1
        self.refresh()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._scroll(-1, event)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._scroll(1, event)

    def _scroll(self, delta: int, event: events.MouseEvent) -> None:
        top = min(max(0, self._top + delta), self._layout.row_count - self._visible_rows)
        if top != self._top:
            self._top = top
            self.refresh()
            event.stop()
