"""Marks the cells that show an image with a style, so that the code which writes rows to the terminal finds them."""

from rich.color import Color, ColorType
from rich.color_triplet import ColorTriplet
from rich.style import Style

_IMAGE_MARK_META_KEY = "image"


def make_palette_colour(number: int) -> Color:
    """Returns the 8-bit palette colour of a number, by which cells encode the id of an image; Textual's colour filters
    leave it as it is."""
    return Color(f"color({number})", ColorType.EIGHT_BIT, number, ColorTriplet(number, number, number))


def make_image_mark_style(mark: str) -> Style:
    """Returns the style that marks a cell as part of an image; `mark` is `TOKEN.ROW`: the image's token and the row of
    the image."""
    return Style(meta={_IMAGE_MARK_META_KEY: mark})


def read_image_mark(style: Style | None) -> tuple[int, int] | None:
    """Returns the image's token and the row of the image that a cell's style names; None for cells without an image."""
    mark = style.meta.get(_IMAGE_MARK_META_KEY) if style is not None else None
    if mark is None:
        return None
    token, _, row = mark.partition(".")
    return int(token), int(row)
