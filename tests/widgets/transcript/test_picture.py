"""Images as half blocks: their shape is kept, foreign bytes are harmless, and nothing waits for them."""

import asyncio
import base64
import io

import pytest
from PIL import Image

from tests.widgets.transcript.drawn import rows
from tests.widgets.transcript.page import Page
from tools.results import Card, ImageBlock
from widgets.transcript import picture
from widgets.transcript.blocks import CardBlock, UserBlock
from widgets.transcript.picture import MOST_COLUMNS, MOST_ROWS, PictureLeaf, cells_of, thumbnail


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
    columns, height = cells_of(*size, room)
    assert (columns, height) == expected
    assert columns <= min(room, MOST_COLUMNS)
    assert height <= MOST_ROWS


def test_two_pixels_share_a_cell_and_clear_ones_show_the_page() -> None:
    leaf = PictureLeaf(png())
    leaf.layout(40)
    leaf.take(leaf.make())
    cells = leaf.pieces(1)
    assert cells[0].key == "#3060c0#3060c0"
    assert cells[-1].text == " "
    assert rows([leaf], 40)[0].startswith("[image image/png 64×32")


def test_what_cannot_be_read_is_a_label() -> None:
    leaf = PictureLeaf(broken())
    before = leaf.height(40)
    leaf.take(leaf.make())
    assert before > 1
    assert leaf.height(40) == 1
    assert thumbnail("%%%", 4, 4) is None
    assert PictureLeaf(ImageBlock(mime_type="image/png", byte_count=9)).height(40) == 1


def test_an_image_that_is_far_too_large_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "MOST_PIXELS", 100)
    assert thumbnail(png(65, 33).data, 8, 4) is None


def test_without_colours_the_label_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert PictureLeaf(png()).height(40) == 1


async def test_a_picture_appears_where_its_place_was_kept() -> None:
    block = CardBlock(id="c", card=Card(title="read", subject="a.png", blocks=(png(),)))
    page = Page(
        lambda transcript: transcript.replace_all([UserBlock(id="u", text="look", images=(png(),)), block])
    )
    async with page.run_test(size=(60, 40)):
        transcript = page.transcript
        transcript.open_all(tools=True)
        before = transcript.column.total
        transcript.painter.as_text()
        await asyncio.gather(*transcript.painter.thumbnails.tasks.values())
        assert transcript.column.total == before
        assert transcript.painter.as_text().count("▀" * 20) == 24


async def test_the_place_of_a_picture_that_cannot_be_read_closes() -> None:
    blocks = [UserBlock(id="u", text="look", images=(broken(),)), UserBlock(id="v", text="below")]
    page = Page(lambda transcript: transcript.replace_all(blocks))
    async with page.run_test(size=(60, 40)):
        transcript = page.transcript
        transcript.painter.as_text()
        await asyncio.gather(*transcript.painter.thumbnails.tasks.values())
        assert transcript.painter.as_text() == "› look\n  [image image/png 40×20, 12 B]\n\n› below"
