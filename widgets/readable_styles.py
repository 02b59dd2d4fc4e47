"""Makes text colours readable on any background of any theme; a selected row is brighter than the page."""

from rich.style import Style

from widgets.colors import make_text_color_readable


def make_style_readable(style: Style) -> Style:
    """Returns a style whose text colour is moved towards black or white if it is unreadable on its background; colours
    of the terminal's palette are unchanged."""
    ink, ground = style.color, style.bgcolor
    if ink is None or ground is None or ink.triplet is None or ground.triplet is None:
        return style
    wanted = make_text_color_readable(ink.triplet.hex, ground.triplet.hex)
    return style if wanted == ink.triplet.hex else style + Style(color=wanted)


def has_background_color(style: Style) -> bool:
    """Returns whether a style sets a background other than the terminal's default one."""
    return style.bgcolor is not None and not style.bgcolor.is_default


def selected_row_style(style: Style, ground: Style) -> Style:
    """Returns a style with the background of the selected row; reversed where backgrounds are invisible."""
    if not has_background_color(ground):
        return Style(bold=style.bold, italic=style.italic, underline=style.underline, reverse=True)
    return make_style_readable(style + Style(bgcolor=ground.bgcolor, bold=ground.bold))
