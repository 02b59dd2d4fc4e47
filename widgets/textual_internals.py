"""All uses of Textual's private API: the one module to check when Textual is upgraded.

Each function or small class states its reason and the change of Textual that would make it unnecessary ("Goes with").
`tests/widgets/test_textual_internals.py` compares the private names and signatures with the installed Textual and Rich;
`tests/architecture` checks that no other module uses private API."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, ClassVar, Generic, TypeVar

from rich.color import Color
from rich.console import RenderableType
from rich.segment import Segment
from rich.style import Style
from textual import events, on
from textual._compositor import ChopsUpdate, Compositor, CompositorUpdate, LayoutUpdate
from textual._parser import ParseError
from textual._styles_cache import StylesCache
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.binding import Binding, BindingType
from textual.css.model import RuleSet
from textual.css.styles import RenderStyles
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.driver import Driver
from textual.geometry import Region, Size
from textual.message import Message
from textual.screen import ModalScreen, Screen
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip
from textual.widget import Widget, _RenderCache

__all__ = ("ChopsUpdate", "CompositorUpdate", "LayoutUpdate")
"""Types of frame updates, as the compositor creates them; `widgets.terminal.terminal_output`
splits them. Goes with public names of these."""

Result = TypeVar("Result")

# -- size and place ----------------------------------------------------------------------------------------


def watch_widget_size(widget: Widget, changing: Callable[[], Callable[[bool], None]]) -> None:
    """Calls back when a widget gets another size, before the first paint at that size; the Resize event comes after it.

    `changing` is called while the old size still holds; it returns a function that is called with the new size in
    place, with whether anything changed.

    Goes with a Textual release that posts an event before the paint at a new size."""
    update = widget._size_updated

    def size_updated(size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        changed = changing()
        is_other = update(size, virtual_size, container_size, layout)
        changed(is_other)
        return is_other

    widget._size_updated = size_updated  # type: ignore[method-assign]


def resize_scrollable_content(widget: Widget, size: Size) -> None:
    """Sets a widget's scrollable size; the screen is laid out again only when the scroll bar appears or disappears.

    Goes with a Textual release whose `virtual_size` can be set without a layout."""
    widget.set_reactive(Widget.virtual_size, size)  # pyright: ignore[reportArgumentType]
    widget._scroll_update(size)


def vertical_scrollbar(widget: Widget, make: Callable[[int], ScrollBar]) -> ScrollBar:
    """Returns a widget's vertical scroll bar, created by `make(thickness)` on first use.

    Goes with a Textual release that can set the scroll bar class of one widget; `ScrollBar.renderer` applies to all."""
    bar = widget._vertical_scrollbar
    if bar is None:
        bar = widget._vertical_scrollbar = make(widget.scrollbar_size_vertical)
        bar.display = False
        widget.app._start_widget(widget, bar)
    return bar


# -- painting ----------------------------------------------------------------------------------------------
#
# Textual draws every row of a widget a second time, for border, padding and opacity, and draws a scroll bar through a
# table of renderables. In a scrolling list that is most of the cost of a key press. All of
# this goes with a widget that may paint its own rows (`render_lines` without the styles' cache).


class _UnframedRowRenderer(StylesCache):
    """Renders the rows of a widget that has neither border nor padding."""

    def render_line(self, *arguments: Any, **named: Any) -> Strip:
        """Draws one row of a widget without Textual's handling of borders."""
        y, draw = arguments[1], arguments[7]
        return draw(y)


def paint_without_frame(widget: Widget) -> None:
    """Makes the widget draw its rows in full width, without border, padding or opacity applied afterwards."""
    widget._styles_cache = _UnframedRowRenderer()


class FastScrollBar(ScrollBar):
    """A vertical scroll bar that draws its rows directly."""

    def __init__(self, thickness: int = 1) -> None:
        super().__init__(vertical=True, name="vertical", thickness=thickness)
        paint_without_frame(self)

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        """Skips the layout after a size change, because the bar has no children."""
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
        for at, cell in enumerate(cells):  # nearly all cells are the same object
            if not at or cell is not cells[at - 1]:
                whole = Segment(cell.text, base + cell.style if cell.style else base)
                strips.append(Strip([whole], self.size.width))
            else:
                strips.append(strips[-1])
        self._render_cache = _RenderCache(self.size, strips)
        clear_dirty_regions(self)


def clear_dirty_regions(widget: Widget) -> None:
    """Forgets the pending repaint of a widget that has already painted itself through its own lines."""
    widget._dirty_regions.clear()


def cached_strip_encoding(strip: Strip) -> str | None:
    """Returns a strip's cached terminal encoding, None if there is none. Goes with a Textual release whose drivers can
    give an encoder."""
    return strip._render_cache


def cache_strip_encoding(strip: Strip, text: str) -> None:
    """Stores a strip's terminal encoding in place of Textual's, which repeats every style in full. Goes with a Textual
    release whose drivers can give an encoder."""
    strip._render_cache = text


# -- screens -----------------------------------------------------------------------------------------------


class _CroppedCompositor(Compositor):
    """Textual's compositor, but for a changed region it draws only the widgets that overlap it and does not ask every
    visible widget."""

    def _get_renders(self, crop: Region | None = None) -> Iterable[tuple[Region, Region, list[Strip]]]:
        if crop is None:
            yield from super()._get_renders()
            return
        for widget, (region, clip) in self.visible_widgets.items():
            rows = clip.intersection(Region(clip.x, crop.y, clip.width, crop.height))
            shown = region.intersection(rows)
            if shown and crop.overlaps(shown):
                yield region, rows, widget.render_lines(shown.translate(-region.offset))


def paint_changed_widgets(screen: Screen[Any]) -> None:
    """Makes a new screen repaint only the widgets in a changed region. Call it before widgets are mounted.

    Goes with a Textual release whose compositor asks only those."""
    screen._compositor = _CroppedCompositor()


class ClosableModalScreen(ModalScreen[Result], Generic[Result]):
    """A screen above the page; Escape closes it without a result. It paints once when it opens and once per frame.

    Textual's screens paint at their first layout, before widgets know their size, which causes further layouts and
    paints; they also style new widgets twice and lay out every screen behind.

    Goes with a Textual release whose screens paint once a frame, and not before the first layout is done."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "cancel", "Close", show=False, id="tui.select.cancel")
    ]
    _is_painting = False
    """Whether painting is allowed: not before the first frame nor during one."""
    _wants_paint = False

    @on(events.ScreenResume)
    def _skip_first_style_update(self, event: events.ScreenResume) -> None:
        if not self.outer_size:
            event.refresh_styles = False

    @on(events.Resize)
    def _skip_covered_screens(self, event: events.Resize) -> None:
        if event.size == self.outer_size:
            event.prevent_default()
            for screen in self.app._background_screens:
                if (
                    screen.outer_size != event.size
                ):  # the terminal's size changed, and only this screen knew it already
                    screen._screen_resized(event.size)

    def _compositor_refresh(self) -> None:
        if not self._is_painting:
            self._wants_paint = True
            return
        is_whole = self._compositor.size.region in self._compositor._dirty_regions
        super()._compositor_refresh()
        if is_whole:  # requests made during the layout are painted too
            for widget in self._compositor.visible_widgets:
                widget._exchange_repaint_regions()

    def _on_timer_update(self) -> None:
        """Paints a frame of the screen. It runs first after the first layout, when every widget knows its size."""
        self._is_painting = False
        super()._on_timer_update()
        self._is_painting = True
        if self._wants_paint:
            self._wants_paint = False
            self._compositor_refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        if self.has_class("full-height"):  # everything is covered
            return [Strip.blank(crop.width, self.visual_style.rich_style)] * crop.height
        return super().render_lines(crop)

    def action_cancel(self) -> None:
        self.dismiss(None)


def render_screen_strips(screen: Screen[Any]) -> list[Strip]:
    """Renders a whole screen as one strip per row. Goes with a Textual release with a public `Screen.render_strips`."""
    return screen._compositor.render_strips()


# -- keys --------------------------------------------------------------------------------------------------


def node_bindings(node: DOMNode) -> dict[str, list[Binding]]:
    """Returns a node's bindings by key, in the original dict, so that bindings can be removed. Goes with a Textual
    release that has `unbind`."""
    return node._bindings.key_to_bindings


def active_widget_bindings(widget: Widget, key: str) -> Sequence[Binding]:
    """Returns a widget's bindings of a key, with the user's key map applied, if the widget is the first that handles
    keys; otherwise nothing.

    `Screen.active_bindings` would compute all bindings at each key press. Goes with a Textual release that can look up
    one key."""
    node, bindings = widget.screen._modal_binding_chain[0]
    return bindings.key_to_bindings.get(key, ()) if node is widget else ()


def app_keymap(app: App[Any]) -> Mapping[str, str]:
    """Returns the user's key map: keys by action id. Goes with a Textual release that has a getter beside
    `App.set_keymap`."""
    return app._keymap


_MAX_TERMINAL_SIZE = 3000
"""The largest number of columns or rows that a size report may claim."""


class TerminalInputParser:
    """Parses terminal input into events for keys, mouse and pastes.

    Textual's driver does this in a thread that cannot be woken. Goes with a Textual release with a public parser that
    says how long it waits for more."""

    def __init__(self, *, debug: bool = False) -> None:
        self._parser = XTermParser(debug)

    def feed(self, text: str) -> Iterator[Message]:
        """Parses terminal input and yields its events. A sequence on which Textual's parser fails is skipped; the text
        after it is parsed."""
        for character in text:
            try:
                messages = list(self._parser.feed(character))
            except (ValueError, OverflowError, ArithmeticError, ParseError):
                self._parser = XTermParser()
                continue
            yield from (
                one for one in messages if not isinstance(one, events.Resize) or _is_plausible_size(one.size)
            )

    def tick(self) -> Iterable[Message]:
        """Yields a pending lone Escape as a key event once nothing has followed it in time."""
        return self._parser.tick()

    def feed_final(self, text: str) -> Iterator[Message]:
        """Parses input after which nothing else came in time, so that an Escape at its end is a key at once."""
        if text:  # an empty text would end the parser
            yield from self.feed(text)
        if text and self._parser._timeout_time is not None:
            self._parser._timeout_time = time.monotonic()
            yield from self._parser.tick()

    @property
    def escape_timeout(self) -> float | None:
        """The seconds until a pending lone Escape counts as a key; None if no Escape is pending."""
        due = self._parser._timeout_time
        return None if due is None else max(0.0, due - time.monotonic())

    def close(self) -> None:
        try:
            for _ in self._parser.feed(""):
                pass
        except (EOFError, ParseError):
            pass


def _is_plausible_size(size: Size) -> bool:
    """Returns whether a reported terminal size is believable: input can contain forged reports that would make the page
    huge."""
    return 0 < size.width <= _MAX_TERMINAL_SIZE and 0 < size.height <= _MAX_TERMINAL_SIZE


# -- the application and its terminal ----------------------------------------------------------------------


def terminal_driver_of(app: App[Any]) -> Driver | None:
    """Returns the driver that writes to the terminal; None before the application starts. Goes with a Textual release
    with a public `App.driver`."""
    return app._driver


def driver_output_file(driver: Driver) -> Any:
    """Returns the file that a terminal driver writes to. Goes with a Textual release whose drivers are given their
    file."""
    return driver._file  # pyright: ignore[reportAttributeAccessIssue]  (every driver of a terminal has one)


def set_driver_output_file(driver: Driver, file: Any) -> None:
    """Sets the file that a terminal driver writes to: Textual uses standard error, but `bayou 2>file` must draw on the
    terminal.

    Goes with a Textual release whose drivers are given their file."""
    driver._file = file  # pyright: ignore[reportAttributeAccessIssue]


def set_unhandled_error_handler(app: App[Any], take: Callable[[Exception], None]) -> None:
    """Makes an application pass unhandled exceptions to `take`; Textual would print tracebacks over the terminal.
    Goes with a Textual release that has a hook for them."""
    app._handle_exception = take  # type: ignore[method-assign]


DisplayFrameFunction = Callable[[Screen[Any], RenderableType | None], None]


def route_display_through(
    app: App[Any], through: Callable[[DisplayFrameFunction], DisplayFrameFunction]
) -> None:
    """Puts a function between an application and its driver: every painted update passes through `through`. Goes with a
    Textual release whose drivers are given the update."""
    app._display = through(app._display)  # type: ignore[method-assign]


# -- styles ------------------------------------------------------------------------------------------------


class CachedStylesheet(Stylesheet):
    """A stylesheet that takes parsed rules from a cache (`kept`) and styles component classes on first use.

    Textual parses everything at every start and styles every component class of every widget, most of which are never
    drawn: a tenth of the start. Goes with a Textual release that caches rules and makes component styles on demand."""

    def __init__(self, *, variables: dict[str, str] | None = None) -> None:
        super().__init__(variables=variables)
        self.kept: Mapping[tuple[Any, ...], list[RuleSet]] = {}
        self.used: dict[tuple[Any, ...], list[RuleSet]] = {}
        """The rules of all sources so far, to be saved."""

    def _parse_rules(
        self,
        css: str,
        read_from: tuple[str, str],
        is_default_rules: bool = False,
        tie_breaker: int = 0,
        scope: str = "",
    ) -> list[RuleSet]:
        key = (css, read_from, is_default_rules, tie_breaker, scope)
        rules = self.kept.get(key)
        if rules is None:
            rules = super()._parse_rules(*key)
        self.used[key] = rules
        return rules

    def set_variables(self, variables: dict[str, str]) -> None:
        self.kept, self.used = {}, {}  # they were parsed with other variables
        super().set_variables(variables)

    def _process_component_classes(self, node: DOMNode) -> None:
        classes = node._get_component_classes()
        if not classes:
            return
        drawn = node._component_styles
        if isinstance(drawn, _LazyComponentStyles):
            before = dict(drawn)
            drawn.clear()
            if any(drawn[name] != styles for name, styles in before.items()):
                node.refresh()
        else:
            node._component_styles = _LazyComponentStyles(node, classes, self)


class _LazyComponentStyles(dict[str, RenderStyles]):
    """The styles of a widget's component classes, each computed when it is first looked up."""

    def __init__(self, node: DOMNode, classes: Set[str], sheet: Stylesheet) -> None:
        super().__init__()
        self._node, self._classes, self._sheet = node, classes, sheet

    def __contains__(self, name: object) -> bool:
        return name in self._classes

    def __missing__(self, name: str) -> RenderStyles:
        part = DOMNode(classes=name)
        part._attach(self._node)
        self._sheet.apply(part)
        self[name] = part.styles
        return part.styles
