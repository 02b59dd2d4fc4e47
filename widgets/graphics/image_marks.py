"""How the cells of an image are told from others when a row is on its way to the terminal."""

from rich.color import Color, ColorType
from rich.color_triplet import ColorTriplet
from rich.style import Style

_NAME = "image"


def palette_colour(number: int) -> Color:
    """A colour of the palette that stays one: it says which image it is, and no filter may make another of it."""
    return Color(f"color({number})", ColorType.EIGHT_BIT, number, ColorTriplet(number, number, number))


def mark_of_image(mark: str) -> Style:
    """`TOKEN.ROW`, of the image that is drawn over the cells."""
    return Style(meta={_NAME: mark})


def marked(style: Style | None) -> tuple[int, int] | None:
    """Token and row."""
    mark = style.meta.get(_NAME) if style is not None else None
    if mark is None:
        return None
    token, _, row = mark.partition(".")
    return int(token), int(row)
