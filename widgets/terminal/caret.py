"""Places the terminal's own cursor at the caret of a text field, so that input methods open their window there.

Textual always hides the cursor; here it is visible while a text widget has the focus. It is steady unless blinking is
set. Without a terminal (pictures, tests) a reversed cell is drawn instead."""

from collections.abc import Callable

from textual.geometry import Offset
from textual.widget import Widget

from widgets import textual_internals as textual_inside

_STEADY_BLOCK_SEQUENCE, _BLINKING_BLOCK_SEQUENCE = "\x1b[2 q", "\x1b[1 q"
_STEADY_BAR_SEQUENCE, _BLINKING_BAR_SEQUENCE = "\x1b[6 q", "\x1b[5 q"
_SHOW_CURSOR_SEQUENCE = "\x1b[?25h"
_HIDE_CURSOR_SEQUENCE = "\x1b[?25l"
_DEFAULT_CURSOR_SHAPE_SEQUENCE = "\x1b[0 q"


def must_draw_caret(widget: Widget) -> bool:
    """Returns whether the widget must draw the caret itself, because there is no terminal cursor."""
    return widget.app.is_headless


def show_terminal_cursor(widget: Widget, *, blinks: bool = False, is_bar: bool = False) -> None:
    """Shows the terminal's cursor at a text field's caret: as a bar between characters, or a block on one."""
    block = _BLINKING_BLOCK_SEQUENCE if blinks else _STEADY_BLOCK_SEQUENCE
    bar = _BLINKING_BAR_SEQUENCE if blinks else _STEADY_BAR_SEQUENCE
    _write_to_terminal(widget, (bar if is_bar else block) + _SHOW_CURSOR_SEQUENCE)


def hide_terminal_cursor(widget: Widget) -> None:
    """Hides the terminal's cursor; when the application ends, only gives it back the shell's shape."""
    is_leaving = widget.app.return_code is not None or not widget.app.is_running
    _write_to_terminal(
        widget,
        _DEFAULT_CURSOR_SHAPE_SEQUENCE
        if is_leaving
        else _HIDE_CURSOR_SEQUENCE + _DEFAULT_CURSOR_SHAPE_SEQUENCE,
    )


def show_cursor_after_suspension(
    widget: Widget, *, blinks: Callable[[], bool] = lambda: False, is_bar: Callable[[], bool] = lambda: False
) -> None:
    """Shows the cursor again after the application returns from the background."""

    def shown_again(_: object) -> None:
        if widget.has_focus:
            show_terminal_cursor(widget, blinks=blinks(), is_bar=is_bar())

    widget.app.app_resume_signal.subscribe(widget, shown_again, immediate=True)


def place_terminal_cursor(widget: Widget, x: int, y: int) -> None:
    """Sets the position of the terminal's cursor to a cell of the widget; the next paint moves it there."""
    region = widget.content_region
    widget.app.cursor_position = Offset(region.x + x, region.y + y)


def _write_to_terminal(widget: Widget, sequence: str) -> None:
    driver = textual_inside.terminal_driver_of(widget.app)
    if driver is not None and not widget.app.is_headless:
        driver.write(sequence)
        driver.flush()
