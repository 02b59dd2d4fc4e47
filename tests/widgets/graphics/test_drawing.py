"""Any file becomes a newly encoded image of at most the requested size, or a reason."""

import base64
import io
from collections.abc import Iterator

import pytest
from PIL import Image

from tests.support.picture_terminal import sixel_size
from widgets.graphics.drawn_image import IMAGE_TOO_LARGE_TEXT, MAX_IMAGE_BASE64_CHARS, ImageProtocol
from widgets.graphics.image_drawing import (
    IMAGE_UNREADABLE_TEXT,
    EncodedImage,
    ImageCellBox,
    encode_image_data,
)

BOX = ImageCellBox(48, 12, 10, 20)
PROTOCOLS: tuple[ImageProtocol, ...] = ("blocks", "kitty", "placements", "iterm2", "sixel")


def saved(image: Image.Image, kind: str, **how: object) -> str:
    out = io.BytesIO()
    image.save(out, kind, **how)
    return base64.b64encode(out.getvalue()).decode()


def odd() -> Iterator[tuple[str, str]]:
    frames = [Image.new("RGB", (30, 30), colour) for colour in ("red", "green", "blue")]
    yield "animated GIF", saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    yield "animated WebP", saved(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=True)
    yield "one pixel", saved(Image.new("RGB", (1, 1), "red"), "PNG")
    yield "30,000 by 1", saved(Image.new("RGB", (30_000, 1), "red"), "PNG")
    yield "1 by 30,000", saved(Image.new("RGB", (1, 30_000), "red"), "PNG")
    yield "CMYK", saved(Image.new("CMYK", (40, 20), (0, 255, 255, 0)), "JPEG")
    yield "palette", saved(Image.new("P", (40, 20), 1), "PNG", transparency=0)
    yield "grey with alpha", saved(Image.new("LA", (40, 20), (90, 255)), "PNG")
    yield "one bit", saved(Image.new("1", (40, 20), 1), "PNG")
    yield "16 bits", saved(Image.new("I;16", (40, 20), 40_000), "PNG")
    yield "bitmap", saved(Image.new("RGB", (40, 20), "red"), "BMP")


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("kind", "data"), odd(), ids=[kind for kind, _ in odd()])
def test_odd_images_are_drawn_within_their_cells(kind: str, data: str, protocol: ImageProtocol) -> None:
    made = encode_image_data(data, BOX, protocol)
    assert isinstance(made, EncodedImage), kind
    assert (len(made.pixels), len(made.pixels[0])) == (24, 48)
    width, height = size_sent(made, protocol)
    assert width <= 480 and height <= 240


def size_sent(made: EncodedImage, protocol: ImageProtocol) -> tuple[int, int]:
    if protocol == "blocks":
        assert made.data == ""
        return 0, 0
    if protocol == "sixel":
        return sixel_size(made.data.removeprefix("\x1bP0;1;0q").removesuffix("\x1b\\"))
    data = made.data.partition(":")[2].removesuffix("\x07") if protocol == "iterm2" else made.data
    with Image.open(io.BytesIO(base64.b64decode(data, validate=True)), formats=["PNG"]) as image:
        image.load()
        return image.size


def test_the_first_frame_counts_and_grey_of_16_bits_keeps_its_shade() -> None:
    by_kind = dict(odd())
    for kind in ("animated GIF", "animated WebP", "bitmap"):
        made = encode_image_data(by_kind[kind], BOX, "blocks")
        assert isinstance(made, EncodedImage)
        red, green, blue = (int(made.pixels[0][0][at : at + 2], 16) for at in (1, 3, 5))
        assert red > 240 and green < 15 and blue < 15, kind
    made = encode_image_data(by_kind["16 bits"], BOX, "blocks")
    assert isinstance(made, EncodedImage) and made.pixels[0][0] == "#9c9c9c"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_cannot_be_shown_is_said_in_words(protocol: ImageProtocol) -> None:
    noise = saved(Image.effect_noise((300, 300), 90), "PNG")
    assert encode_image_data(noise[: len(noise) // 8 * 4], BOX, protocol) == IMAGE_UNREADABLE_TEXT
    assert encode_image_data("bm90IGFuIGltYWdl", BOX, protocol) == IMAGE_UNREADABLE_TEXT
    assert encode_image_data("%%%", BOX, protocol) == IMAGE_UNREADABLE_TEXT
    assert encode_image_data("", BOX, protocol) == IMAGE_UNREADABLE_TEXT
    bomb = saved(Image.new("1", (20_000, 20_000)), "PNG")
    assert encode_image_data(bomb, BOX, protocol) == IMAGE_TOO_LARGE_TEXT
    assert encode_image_data("A" * (MAX_IMAGE_BASE64_CHARS + 4), BOX, protocol) == IMAGE_TOO_LARGE_TEXT


def test_bytes_of_the_file_are_never_handed_on() -> None:
    """Neither what hides behind its end nor what its comments say."""
    out = io.BytesIO()
    Image.new("RGB", (40, 20), "red").save(out, "JPEG", comment=b"\x1b]52;c;aGk=\x07")
    data = base64.b64encode(out.getvalue() + b"\x1b_Ga=d\x1b\\").decode()
    for protocol in PROTOCOLS:
        made = encode_image_data(data, BOX, protocol)
        assert isinstance(made, EncodedImage)
        inner = made.data.removeprefix("\x1bP0;1;0q").removeprefix("\x1b]1337;").removesuffix("\x1b\\")
        assert "\x1b" not in inner and "\x07" not in inner[:-1]
        if protocol in ("kitty", "placements"):
            assert b"c;aGk" not in base64.b64decode(made.data)


def test_a_rotated_photograph_stands_upright() -> None:
    """Its left half is red as it is seen, which is its lower half as it is stored."""
    stored = Image.new("RGB", (200, 100), "blue")
    stored.paste("red", (0, 50, 200, 100))
    exif = Image.Exif()
    exif[0x112] = 6
    made = encode_image_data(
        saved(stored, "JPEG", exif=exif, quality=95), ImageCellBox(10, 10, 10, 20), "blocks"
    )
    assert isinstance(made, EncodedImage)
    reds = [int(made.pixels[10][at][1:3], 16) for at in (1, 8)]
    assert reds[0] > 200 and reds[1] < 50
