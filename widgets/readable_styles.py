"""Inks that can be read on their ground, whatever theme and ground it is: a selected row is brighter than the page."""

from rich.style import Style

from widgets.colors import legible


def readable(style: Style) -> Style:
    """The style, its colour nearer to black or white where it could not be read; a terminal's own colours stay."""
    ink, ground = style.color, style.bgcolor
    if ink is None or ground is None or ink.triplet is None or ground.triplet is None:
        return style
    wanted = legible(ink.triplet.hex, ground.triplet.hex)
    return style if wanted == ink.triplet.hex else style + Style(color=wanted)


def has_background(style: Style) -> bool:
    """Whether it lies on another ground than the page; in the terminal's own palette none does."""
    return style.bgcolor is not None and not style.bgcolor.is_default


def on_selected_row(style: Style, ground: Style) -> Style:
    """The style on the ground of the row that is current; reversed where no ground can be seen."""
    if not has_background(ground):
        return Style(bold=style.bold, italic=style.italic, underline=style.underline, reverse=True)
    return readable(style + Style(bgcolor=ground.bgcolor, bold=ground.bold))
