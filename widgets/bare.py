"""Widgets that fill their rows themselves: what Textual would do to each row behind them is left out.

Textual makes every row of a widget a second time, for the border, the padding and the opacity that it might have, and
draws a scroll bar by way of a table of renderables. In a list that scrolls that is most of what a key costs.
"""

from typing import Any

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual._styles_cache import StylesCache
from textual.geometry import Size
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip
from textual.widget import Widget, _RenderCache


class BareRows(StylesCache):
    """The rows of a widget that has neither border nor padding, as it draws them itself in its full width."""

    def render_line(self, *arguments: Any, **named: Any) -> Strip:
        """Among the arguments of the wider one: which row, and what draws it."""
        y, draw = arguments[1], arguments[7]
        return draw(y)


class BareScrollBar(ScrollBar):
    """An upright scroll bar."""

    def __init__(self, *, thickness: int = 1) -> None:
        super().__init__(vertical=True, name="vertical", thickness=thickness)
        self._styles_cache = BareRows()

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        """It holds nothing, so nothing is to be laid out again when it has got its size."""
        return super()._size_updated(size, virtual_size, container_size, layout=False)

    def _render_content(self) -> None:
        bar = self.render()
        assert isinstance(bar, ScrollBarRender)
        style = bar.style if isinstance(bar.style, Style) else Style.parse(bar.style)
        cells = bar.render_bar(
            size=self.size.height,
            virtual_size=bar.virtual_size,
            window_size=bar.window_size,
            position=bar.position,
            thickness=self.size.width,
            vertical=True,
            back_color=style.bgcolor or Color.default(),
            bar_color=style.color or Color.default(),
        ).segments
        base, strips = self.rich_style, list[Strip]()
        for at, cell in enumerate(cells):  # nearly all are one and the same
            if not at or cell is not cells[at - 1]:
                whole = Segment(cell.text, base + cell.style if cell.style else base)
                strips.append(Strip([whole], self.size.width))
            else:
                strips.append(strips[-1])
        self._render_cache = _RenderCache(self.size, strips)
        self._dirty_regions.clear()


def bare_scrollbar(widget: Widget) -> ScrollBar:
    """The vertical scroll bar of a widget, made when it is first asked for."""
    if widget._vertical_scrollbar is None:
        widget._vertical_scrollbar = bar = BareScrollBar(thickness=widget.scrollbar_size_vertical)
        bar.display = False
        widget.app._start_widget(widget, bar)
    return widget._vertical_scrollbar
