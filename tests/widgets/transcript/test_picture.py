"""Images as half blocks: their shape is kept, foreign bytes are harmless, and nothing waits for them."""

import asyncio
import base64
import io

import pytest
from PIL import Image

from tests.widgets.transcript.drawn import rows
from tests.widgets.transcript.page import Page
from tools.tool_result_values import Card, ImageBlock
from widgets.graphics import image_drawing
from widgets.graphics.drawn_image import IMAGE_TOO_LARGE_TEXT, DisplayableImage
from widgets.graphics.image_drawing import IMAGE_UNREADABLE_TEXT, ImageCellBox, encode_image_data
from widgets.transcript.leaves.image_leaf import (
    MAX_IMAGE_COLUMNS,
    MAX_IMAGE_ROWS,
    ImageLeaf,
    fit_image_cells,
)
from widgets.transcript.transcript_blocks import ToolCallBlock, UserPromptBlock


def png(width: int = 64, height: int = 32, color: str = "#3060c0", kind: str = "PNG") -> ImageBlock:
    """Its right half lets the page through."""
    image = Image.new("RGBA", (width, height), color)
    image.paste((0, 0, 0, 0), (width // 2, 0, width, height))
    out = io.BytesIO()
    (image if kind == "PNG" else image.convert("RGB")).save(out, kind)
    data = base64.b64encode(out.getvalue()).decode()
    return ImageBlock(mime_type=f"image/{kind.lower()}", byte_count=len(out.getvalue()), data=data)


def broken(data: str = "bm90IGFuIGltYWdl") -> ImageBlock:
    return ImageBlock(mime_type="image/png", byte_count=12, data=data, width=40, height=20)


def drawn(leaf: ImageLeaf) -> DisplayableImage | str:
    data, columns, rows = leaf.image_drawing_request
    made = encode_image_data(data, ImageCellBox(columns, rows, 10, 20), "blocks")
    return made if isinstance(made, str) else DisplayableImage(made.pixels, (), columns, rows)


@pytest.mark.parametrize(
    ("size", "room", "expected"),
    [
        ((400, 200), 100, (48, 12)),
        ((200, 800), 100, (6, 12)),
        ((4, 4), 100, (4, 2)),
        ((4000, 10), 20, (20, 1)),
    ],
)
def test_a_thumbnail_keeps_the_shape_of_the_image(
    size: tuple[int, int], room: int, expected: tuple[int, int]
) -> None:
    columns, height = fit_image_cells(*size, room)
    assert (columns, height) == expected
    assert columns <= min(room, MAX_IMAGE_COLUMNS)
    assert height <= MAX_IMAGE_ROWS


def test_two_pixels_share_a_cell_and_clear_ones_show_the_page() -> None:
    leaf = ImageLeaf(png())
    leaf.layout(40)
    leaf.show_image_drawing(drawn(leaf))
    cells = leaf.pieces(1)
    assert cells[0].key == "#3060c0#3060c0"
    assert cells[-1].text == " "
    assert rows([leaf], 40)[0].startswith("[image image/png 64×32")


def test_what_cannot_be_read_is_a_label() -> None:
    leaf = ImageLeaf(broken())
    before = leaf.measure_height(40)
    leaf.show_image_drawing(drawn(leaf))
    assert before > 1
    assert leaf.measure_height(40) == 2
    assert rows([leaf], 40)[0] == "[image image/png 40×20, 12 B, cannot be"
    assert encode_image_data("%%%", ImageCellBox(4, 4, 10, 20), "blocks") == IMAGE_UNREADABLE_TEXT
    assert ImageLeaf(ImageBlock(mime_type="image/png", byte_count=9)).measure_height(40) == 1


def test_an_image_that_is_far_too_large_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_drawing, "MAX_IMAGE_PIXELS", 100)
    assert encode_image_data(png(65, 33).data, ImageCellBox(8, 4, 10, 20), "blocks") == IMAGE_TOO_LARGE_TEXT


def test_without_colours_the_label_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert ImageLeaf(png()).measure_height(40) == 1


@pytest.mark.parametrize(
    ("orientation", "expected"), [(1, (48, 12)), (6, (12, 12)), (8, (12, 12)), (99, (48, 12))]
)
def test_a_photograph_on_its_side_has_the_place_that_it_takes_upright(
    orientation: int, expected: tuple[int, int]
) -> None:
    out, exif = io.BytesIO(), Image.Exif()
    exif[0x112] = orientation
    Image.new("RGB", (400, 200)).save(out, "JPEG", exif=exif)
    data = base64.b64encode(out.getvalue()).decode()
    for size in ({}, {"width": 400, "height": 200}):
        leaf = ImageLeaf(ImageBlock(mime_type="image/jpeg", byte_count=9, data=data, **size))
        leaf.layout(80)
        assert leaf.image_drawing_request[1:] == expected


async def test_a_picture_appears_where_its_place_was_kept() -> None:
    block = ToolCallBlock(id="c", card=Card(title="read", subject="a.png", blocks=(png(),)))
    page = Page(
        lambda transcript: transcript.replace_all(
            [UserPromptBlock(id="u", text="look", images=(png(),)), block]
        )
    )
    async with page.run_test(size=(60, 40)):
        transcript = page.transcript
        transcript.open_all(tools=True)
        before = transcript.column.heights.total
        transcript.painter.as_text()
        await asyncio.gather(*transcript.painter.thumbnails.tasks.values())
        assert transcript.column.heights.total == before
        assert transcript.painter.as_text().count("▀" * 20) == 24


async def test_the_place_of_a_picture_that_cannot_be_read_closes() -> None:
    blocks = [UserPromptBlock(id="u", text="look", images=(broken(),)), UserPromptBlock(id="v", text="below")]
    page = Page(lambda transcript: transcript.replace_all(blocks))
    async with page.run_test(size=(60, 40)):
        transcript = page.transcript
        transcript.painter.as_text()
        await asyncio.gather(*transcript.painter.thumbnails.tasks.values())
        assert transcript.painter.as_text() == (
            "› look\n  [image image/png 40×20, 12 B, cannot be read]\n\n› below"
        )
