"""Everything of Textual's inside that bayou reaches: the one module to look at when Textual is upgraded.

One function or small class for each reach, with its reason. `tests/widgets/test_textual_inside.py` holds the names and
signatures that it stands on against the installed Textual, and `tests/architecture` that nobody else reaches there.
"""

from collections.abc import Callable

from textual.geometry import Size
from textual.scrollbar import ScrollBar
from textual.widget import Widget

# -- size and place ----------------------------------------------------------------------------------------


def watch_size(widget: Widget, changing: Callable[[], Callable[[bool], None]]) -> None:
    """Tells of a size before the first paint at it; the Resize event comes after that paint.

    `changing` is called while the old size still holds, what it returns when the new one does, with whether anything
    is another.
    """
    update = widget._size_updated

    def size_updated(size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        changed = changing()
        is_other = update(size, virtual_size, container_size, layout)
        changed(is_other)
        return is_other

    widget._size_updated = size_updated  # type: ignore[method-assign]


def set_scroll(widget: Widget, y: int) -> None:
    """Puts a view somewhere without a layout of the screen and without telling its watchers."""
    widget.set_reactive(Widget.scroll_y, float(y))  # pyright: ignore[reportArgumentType]
    widget.set_reactive(Widget.scroll_target_y, float(y))  # pyright: ignore[reportArgumentType]


def set_virtual_size(widget: Widget, size: Size) -> None:
    widget.set_reactive(Widget.virtual_size, size)  # pyright: ignore[reportArgumentType]


def vertical_scrollbar(widget: Widget, make: Callable[[int], ScrollBar]) -> ScrollBar:
    """The vertical scroll bar of a widget, made by `make` from its thickness when it is first asked for.

    Textual has no way to say which class of scroll bar one widget shall have.
    """
    bar = widget._vertical_scrollbar
    if bar is None:
        bar = widget._vertical_scrollbar = make(widget.scrollbar_size_vertical)
        bar.display = False
        widget.app._start_widget(widget, bar)
    return bar


# -- painting ----------------------------------------------------------------------------------------------


def forget_dirty(widget: Widget) -> None:
    """What was to be painted of a widget that has painted all of itself, by lines of its own."""
    widget._dirty_regions.clear()
