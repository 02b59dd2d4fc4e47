"""Draws images over cells, once all their cells are visible and have stopped moving.

The cells below hold half blocks, which are visible while the image moves or is partly hidden.
The sent rows (`terminal_output`) tell which cells are on the screen, so no widget is involved.
An image is removed before any of its cells is written: its area is erased, and its cells are
sent again."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import NamedTuple

from textual.strip import Strip

from widgets.graphics import kitty
from widgets.graphics.drawn_image import DisplayableImage
from widgets.graphics.image_marks import read_image_mark
from widgets.terminal.written_cell_runs import WrittenCellRun, WrittenScreenRow

IMAGE_SETTLE_SECONDS = 0.2
"""Seconds without movement before an image is drawn, so that nothing is drawn while scrolling."""
_MAX_CACHED_IMAGE_STRIPS = 512


class ImagePosition(NamedTuple):
    """An image's position on the screen: its token and its upper left cell."""

    token: int
    x: int
    y: int


class _ImageCells(NamedTuple):
    """A range of cells in a screen row that shows one row of an image."""

    token: int
    row: int
    x: int
    end: int


class ImageOverlay:
    """Draws and removes the images of one terminal that lie over cells."""

    def __init__(
        self,
        image_of: Callable[[int], DisplayableImage | None],
        write: Callable[[str], None],
        lines: Callable[[], int],
    ) -> None:
        """Creates the overlay of a terminal. `image_of`: returns the image of a token if it is still valid. `lines`:
        returns the terminal's height."""
        self._image_of = image_of
        self._write = write
        self._terminal_height = lines
        self._drawn_images: dict[ImagePosition, DisplayableImage] = {}
        self._visible_places: set[ImagePosition] = set()
        self._image_cells_by_strip: OrderedDict[int, tuple[Strip, list[_ImageCells]]] = OrderedDict()
        """The image cells of each strip, by the strip's id; the strip is kept so that its id is not reused."""
        self._timer: asyncio.TimerHandle | None = None
        self.is_used = False
        """Whether any image was ever drawn over cells."""

    @property
    def drawn_image_positions(self) -> frozenset[ImagePosition]:
        return frozenset(self._drawn_images)

    def covers_rows(self, top: int, bottom: int) -> bool:
        """Returns whether an image is drawn over cells of these screen rows, which then must not be scrolled."""
        return any(
            place.y < bottom and place.y + image.rows > top for place, image in self._drawn_images.items()
        )

    def clear_images_before_write(
        self, rows: dict[int, WrittenScreenRow], wanted: dict[int, list[WrittenCellRun]]
    ) -> str:
        """Returns the output that removes the images whose cells are about to be overwritten; their other cells are
        added to those to be sent."""
        out: list[str] = []
        for place, image in tuple(self._drawn_images.items()):
            if not image.is_drawn_over_cells or self._is_overwritten(place, image, rows, wanted):
                out.append(self._remove_image(place, image))
                _request_cells_again(place, image, rows, wanted)
        return "".join(out)

    def _is_overwritten(
        self,
        place: ImagePosition,
        image: DisplayableImage,
        rows: dict[int, WrittenScreenRow],
        wanted: dict[int, list[WrittenCellRun]],
    ) -> bool:
        for y in range(place.y, place.y + image.rows):
            row = rows.get(y, {})
            for run in wanted.get(y, ()):
                if run.x >= place.x + image.columns or run.end <= place.x:
                    continue
                known = row.get(run.x)
                if known is None or known.end != run.end:
                    return True
                if known.strip is not run.strip and known.strip != run.strip:
                    return True
        return False

    def remove_all_images(self) -> str:
        """Removes all images before a full repaint or when the screen is left, and cancels pending drawing."""
        self._visible_places = set()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        return "".join(self._remove_image(place, image) for place, image in tuple(self._drawn_images.items()))

    def _remove_image(self, place: ImagePosition, image: DisplayableImage) -> str:
        del self._drawn_images[place]
        out = (
            kitty.kitty_hide_image_sequence(image.kitty_id, _kitty_placement_id(place))
            if image.kitty_id
            else ""
        )
        for y in range(place.y, place.y + image.rows):
            out += f"\x1b[{y + 1};{place.x + 1}H\x1b[0m\x1b[{image.columns}X"
        return out

    def schedule_drawing(self, rows: dict[int, WrittenScreenRow]) -> None:
        """Called after each frame: finds the fully visible images, and starts the timer after which those not drawn yet
        are drawn, if they do not move."""
        seen = set(self._find_fully_visible_images(rows)) if self.is_used else set[ImagePosition]()
        if seen == self._visible_places:
            return
        self._visible_places = seen
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seen - self._drawn_images.keys():
            self._timer = asyncio.get_running_loop().call_later(
                IMAGE_SETTLE_SECONDS, self._draw_visible_images
            )

    def _draw_visible_images(self) -> None:
        self._timer = None
        out: list[str] = []
        for place in sorted(self._visible_places - self._drawn_images.keys()):
            image = self._image_of(place.token)
            if image is not None and image.is_drawn_over_cells:
                self._drawn_images[place] = image
                out.append(f"\x1b[{place.y + 1};{place.x + 1}H")
                out.append(
                    image.drawing_sequence
                    or kitty.kitty_show_image_sequence(
                        image.kitty_id, _kitty_placement_id(place), image.columns, image.rows
                    )
                )
        if out:
            self._write("\x1b7" + "".join(out) + "\x1b8")

    def _find_fully_visible_images(self, rows: dict[int, WrittenScreenRow]) -> Iterable[ImagePosition]:
        found: dict[ImagePosition, set[int]] = {}
        for y, row in rows.items():
            for run in row.values():
                for part in self._image_cells_of(run.strip):
                    place = ImagePosition(part.token, run.x + part.x, y - part.row)
                    image = self._image_of(part.token)
                    if image is not None and part.end - part.x == image.columns:
                        found.setdefault(place, set()).add(part.row)
        for place, seen in found.items():
            image = self._image_of(place.token)
            if (
                image is not None
                and len(seen) == image.rows
                and place.y + image.rows < self._terminal_height()
            ):
                yield place  # on the last line, drawing it would scroll the screen

    def _image_cells_of(self, strip: Strip) -> list[_ImageCells]:
        kept = self._image_cells_by_strip.get(id(strip))
        if kept is not None and kept[0] is strip:
            return kept[1]
        parts: list[_ImageCells] = []
        x = 0
        for text, style, _ in strip:
            mark = read_image_mark(style)
            end = x + len(text)  # such cells are half blocks; wider ones belong to no image
            if mark is not None:
                last = parts[-1] if parts else None
                if last is not None and (last.token, last.row, last.end) == (*mark, x):
                    parts[-1] = last._replace(end=end)
                else:
                    parts.append(_ImageCells(*mark, x, end))
            x = end
        self._image_cells_by_strip[id(strip)] = (strip, parts)
        while len(self._image_cells_by_strip) > _MAX_CACHED_IMAGE_STRIPS:
            self._image_cells_by_strip.popitem(last=False)
        return parts


def _request_cells_again(
    place: ImagePosition,
    image: DisplayableImage,
    rows: dict[int, WrittenScreenRow],
    wanted: dict[int, list[WrittenCellRun]],
) -> None:
    """Adds the cells that a removed image covered to the cells to be sent, before other output of their row."""
    for y in range(place.y, place.y + image.rows):
        row = rows.get(y, {})
        runs = wanted.setdefault(y, [])
        for run in [run for run in row.values() if run.x < place.x + image.columns and run.end > place.x]:
            del row[run.x]
            if not any(new.x <= run.x and new.end >= run.end for new in runs):
                runs.insert(0, run)


def _kitty_placement_id(place: ImagePosition) -> int:
    """Returns the number that identifies an image's position in kitty's protocol."""
    return 1 + place.y * 1000 + place.x
