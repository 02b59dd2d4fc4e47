"""Marks the cells of an image, so that the output stage recognises them in a row."""

from rich.color import Color, ColorType
from rich.color_triplet import ColorTriplet
from rich.style import Style

_MARK_META_KEY = "image"


def make_palette_colour(number: int) -> Color:
    """Returns a palette colour that encodes an image id; no filter may change it."""
    return Color(f"color({number})", ColorType.EIGHT_BIT, number, ColorTriplet(number, number, number))


def make_image_mark_style(mark: str) -> Style:
    """Returns the style that marks a cell as part of an image; `mark` is `TOKEN.ROW`."""
    return Style(meta={_MARK_META_KEY: mark})


def read_image_mark(style: Style | None) -> tuple[int, int] | None:
    """Returns the token and row of an image's cell; None for other cells."""
    mark = style.meta.get(_MARK_META_KEY) if style is not None else None
    if mark is None:
        return None
    token, _, row = mark.partition(".")
    return int(token), int(row)
