"""Converts style keys to terminal styles with the widget's component classes.

A key is `name`, with flags after `+` (`b`old, `i`talic, `s`truck, `l`ink) and a background name after `|`;
`@address`, a
zero byte and a key make a link; `#rrggbb`, once or twice, is a pixel and the one below it; `%` and a number are an
image
cell (`graphics.kitty`), `=` and two numbers after a key a row of an image drawn over cells. Recreated on theme changes.
"""

from typing import TYPE_CHECKING

from rich.style import Style as RichStyle
from textual.strip import Strip
from textual.style import Style

from widgets.graphics.image_marks import make_image_mark_style, make_palette_colour
from widgets.readable_styles import make_style_readable
from widgets.textual_internals import cache_strip_encoding, cached_strip_encoding
from widgets.transcript.leaves.layout_leaf import ACTION_LINK_URL_PREFIX
from widgets.transcript.painting.sgr_encoding import color_system, encode_strip

if TYPE_CHECKING:
    from textual.widget import Widget

STYLE_PREFIX = "transcript--"
_PLAIN_NAMES = (
    "dim",
    "rule",
    "marker",
    "accent",
    "user",
    "user-mark",
    "user-note",
    "thinking",
    "thinking-label",
    "quote",
    "quote-mark",
    "code",
    "code-inline",
    "math",
    "html",
    "link",
    "table-header",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "title",
    "subject",
    "summary",
    "output",
    "path",
    "note-info",
    "note-success",
    "note-warning",
    "note-error",
    "state-pending",
    "state-asked",
    "state-running",
    "state-done",
    "state-failed",
    "state-aborted",
    "state-skipped",
    "added",
    "removed",
    "add",
    "remove",
    "add-word",
    "remove-word",
    "match",
    "current-match",
    "focus",
    "focus-glyph",
    "new-below",
    "hint",
    "hover",
    "turn",
    "look",
    "run",
    "change",
    "pill-failed",
    "pill-aborted",
)
_SYNTAX_NAMES = (
    "preprocessor",
    "comment",
    "type",
    "constant",
    "keyword",
    "builtin",
    "function",
    "decorator",
    "attribute",
    "string",
    "number",
    "operator",
    "deleted",
    "inserted",
)
_ANSI_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
COMPONENT_NAMES = frozenset(
    STYLE_PREFIX + name
    for name in (
        *_PLAIN_NAMES,
        *(f"syntax-{name}" for name in _SYNTAX_NAMES),
        *(f"ansi-{name}" for name in _ANSI_NAMES),
        *(f"ansi-bright-{name}" for name in _ANSI_NAMES),
    )
)


class StyleLookup:
    """Converts style keys to terminal styles, for one widget and theme."""

    def __init__(self, widget: "Widget", *, has_links: bool = True) -> None:
        self._widget = widget
        self._has_links = has_links
        self._styles: dict[str, RichStyle] = {}
        self._blanks: dict[int, Strip] = {}
        self._system = color_system(widget.app.console)
        self._filters = widget.get_line_filters()
        self._background = widget.background_colors[1]

    def style(self, key: str) -> RichStyle:
        found = self._styles.get(key)
        if found is None:
            if len(self._styles) > 5_000:  # links create keys without limit
                self._styles.clear()
            found = self._styles[key] = self._make_style(key)
        return found

    def encode_with_filters(self, strip: Strip) -> Strip:
        """Returns a strip with the terminal's settings applied (no colour, dimming), and its output encoded once and
        cached."""
        for line_filter in self._filters:
            strip = strip.apply_filter(line_filter, self._background)
        if cached_strip_encoding(strip) is None:
            cache_strip_encoding(strip, encode_strip(strip, self._system))
        return strip

    def blank_strip(self, width: int) -> Strip:
        found = self._blanks.get(width)
        if found is None:
            found = self._blanks[width] = self.encode_with_filters(Strip.blank(width, self.style("text")))
        return found

    def foreground(self, key: str) -> RichStyle:
        """Returns a style with only the text colour that belongs to a style key."""
        style = self.style(key)
        return RichStyle(color=style.bgcolor if key == "current-match" else style.color)

    def selection_style(self) -> RichStyle:
        return self._widget.screen.get_component_rich_style("screen--selection")

    def _make_style(self, key: str) -> RichStyle:
        if key.startswith("@"):
            href, _, inner = key[1:].partition("\0")
            has_address = self._has_links and not href.startswith(ACTION_LINK_URL_PREFIX)
            return self.style(inner) + RichStyle(link=href) if has_address else self.style(inner)
        if key.startswith("%"):
            return self.style("text") + RichStyle(color=make_palette_colour(int(key[1:])))
        if "=" in key:
            inner, _, mark = key.partition("=")
            return self.style(inner or "text") + make_image_mark_style(mark)
        if key.startswith("#"):
            return self.style("text") + RichStyle(color=key[:7], bgcolor=key[7:] or None)
        key, _, background = key.partition("|")
        name, _, flags = key.partition("+")
        style = self._base_style(name)
        if "l" in flags:
            style += self._component_style("link")
        if flags:
            style += Style(
                bold=True if "b" in flags else None,
                italic=True if "i" in flags else None,
                strike=True if "s" in flags else None,
            )
        for part in filter(None, background.split("|")):
            style += self._background_style(part)
        return make_style_readable(style.rich_style) if background else style.rich_style

    def _background_style(self, name: str) -> Style:
        """Returns the background for a background name; for added and removed text also its colour and attributes,
        since backgrounds do not fit every terminal palette."""
        if name.startswith("ansi-"):
            return Style(background=self._component_style(name).background)
        background = Style(background=self._base_style(name).background)
        if not name.startswith(("add", "remove")):
            return background
        own = self._component_style(name)
        return background + Style(foreground=own.foreground, bold=own.bold, underline=own.underline)

    def _base_style(self, name: str) -> Style:
        if name.startswith("syntax-"):
            return self._base_style("code") + self._component_style(name)
        if name.startswith("ansi-"):
            return self._base_style("output") + Style(foreground=self._component_style(name).foreground)
        if name == "text" or STYLE_PREFIX + name not in COMPONENT_NAMES:
            return self._widget.get_visual_style()
        own = self._widget.get_component_styles(STYLE_PREFIX + name).text_style
        # Textual's visual style lacks reverse, the only mark in a palette without backgrounds.
        return self._widget.get_visual_style(STYLE_PREFIX + name) + Style(reverse=own.reverse)

    def _component_style(self, name: str) -> Style:
        """Returns the style that a component class itself sets, without what it inherits."""
        styles = self._widget.get_component_styles(STYLE_PREFIX + name)
        text = styles.text_style
        return Style(
            foreground=styles.color if styles.has_rule("color") else None,
            background=styles.background if styles.has_rule("background") else None,
            bold=text.bold,
            italic=text.italic,
            underline=text.underline,
            reverse=text.reverse,
        )


class CurrentStyles:
    """The style lookup of a widget, created again after the theme changed."""

    def __init__(self, widget: "Widget") -> None:
        self._widget = widget
        self._look: StyleLookup | None = None
        self.has_links = True
        """Whether links are written so that the terminal can open them."""

    @property
    def current(self) -> StyleLookup:
        if self._look is None:
            self._look = StyleLookup(self._widget, has_links=self.has_links)
        return self._look

    def forget(self) -> None:
        self._look = None
