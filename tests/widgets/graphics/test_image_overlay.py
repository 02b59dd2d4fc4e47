"""What is drawn over cells: when all of it is at rest, taken off before text comes, and never after leaving."""

import asyncio

from rich.segment import Segment
from textual.strip import Strip

from widgets.graphics.drawn_image import DisplayableImage
from widgets.graphics.image_marks import make_image_mark_style
from widgets.graphics.image_overlay import IMAGE_SETTLE_SECONDS, ImageOverlay
from widgets.terminal.written_cell_runs import WrittenCellRun, WrittenScreenRow


class OnePicture:
    """Of four cells by two, where it stands on a screen of 80 by 10."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.image = DisplayableImage((), (), 4, 2)
        self.image.overlay_token, self.image.drawing_sequence = 7, "<picture>"
        self.over = ImageOverlay(self._image_of, self.written.append, lambda: 10)
        self.over.is_used = True

    def _image_of(self, token: int) -> DisplayableImage | None:
        return self.image if token == 7 else None

    def rows(self, top: int, *, parts: tuple[int, ...] = (0, 1)) -> dict[int, WrittenScreenRow]:
        return {top + row: {0: WrittenCellRun(0, 80, self.row(part))} for row, part in enumerate(parts)}

    def row(self, part: int) -> Strip:
        cells = [Segment("▀▀▀▀", make_image_mark_style(f"7.{part}"))]
        return Strip([Segment("  "), *cells, Segment(" " * 74)], 80)

    async def at_rest(self) -> str:
        await asyncio.sleep(1.5 * IMAGE_SETTLE_SECONDS)
        written, self.written[:] = "".join(self.written), []
        return written


async def test_it_is_drawn_where_its_first_cell_is() -> None:
    one = OnePicture()
    one.over.schedule_drawing(one.rows(3))
    assert one.written == []
    assert await one.at_rest() == "\x1b7\x1b[4;3H<picture>\x1b8"
    one.over.schedule_drawing(one.rows(3))
    assert await one.at_rest() == "", "once"


async def test_a_part_of_it_is_not_drawn_nor_what_would_scroll_the_screen() -> None:
    one = OnePicture()
    for rows in (one.rows(0, parts=(1,)), one.rows(3, parts=(0, 0)), one.rows(3, parts=(1, 0)), one.rows(8)):
        one.over.schedule_drawing(rows)
        assert await one.at_rest() == ""


async def test_it_is_erased_before_its_cells_are_written_and_they_are_sent_again() -> None:
    one = OnePicture()
    rows = one.rows(3)
    one.over.schedule_drawing(rows)
    await one.at_rest()
    wanted = {4: [WrittenCellRun(0, 80, Strip([Segment("x" * 80)], 80))]}
    kept = rows[3][0]
    assert (
        one.over.clear_images_before_write(rows, wanted) == "\x1b[4;3H\x1b[0m\x1b[4X\x1b[5;3H\x1b[0m\x1b[4X"
    )
    assert wanted[3] == [kept] and len(wanted[4]) == 1
    assert not one.over.drawn_image_positions


async def test_what_is_written_beside_it_leaves_it_alone() -> None:
    one = OnePicture()
    rows = one.rows(3)
    one.over.schedule_drawing(rows)
    await one.at_rest()
    same = {3: [rows[3][0]], 8: [WrittenCellRun(0, 80, Strip([Segment("x" * 80)], 80))]}
    assert one.over.clear_images_before_write(rows, same) == "" and one.over.drawn_image_positions


async def test_nothing_is_drawn_after_the_screen_was_left() -> None:
    one = OnePicture()
    one.over.schedule_drawing(one.rows(3))
    assert one.over.remove_all_images() == ""
    assert await one.at_rest() == ""
