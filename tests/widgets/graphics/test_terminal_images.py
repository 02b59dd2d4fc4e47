"""What a terminal holds: each image once, no more than a limit, and nothing of what is not shown any more."""

import base64
import io

import pytest
from PIL import Image

from tests.support.picture_terminal import KITTY, PictureTerminal
from widgets.graphics.drawn_image import DisplayableImage
from widgets.graphics.image_support import TerminalImageSupport
from widgets.graphics.terminal_images import TerminalImages

MOST = 64


def picture(shade: int) -> str:
    out = io.BytesIO()
    Image.new("RGB", (40, 20), (shade % 256, shade // 256, 9)).save(out, "PNG")
    return base64.b64encode(out.getvalue()).decode()


class Held:
    """A terminal, and the images sent to it."""

    def __init__(self) -> None:
        self.terminal = PictureTerminal(80, 24, reply=self._hear, speaks=KITTY)
        self.images = TerminalImages(
            lambda sequence: self.terminal.feed(sequence.encode()),
            TerminalImageSupport("auto", env={"TERM": "x"}),
        )

    def _hear(self, answer: bytes) -> None:
        self.images.handle_reply(answer.decode())

    async def show(self, data: str, columns: int = 4, rows: int = 2) -> DisplayableImage:
        drawn = await self.images.draw_image(data, columns, rows)
        assert isinstance(drawn, DisplayableImage)
        return drawn


async def test_an_image_is_sent_once_for_each_size() -> None:
    held = Held()
    held.terminal.feed(held.images.begin_terminal_use().encode())
    first = await held.show(picture(1))
    assert await held.show(picture(1)) is first
    assert await held.show(picture(1), 6, 3) is not first
    assert len(held.terminal.sent) == 2 and held.terminal.faults == []


async def test_the_one_used_longest_ago_goes_first_and_can_come_back() -> None:
    held = Held()
    held.terminal.feed(held.images.begin_terminal_use().encode())
    shown = [await held.show(picture(shade)) for shade in range(MOST)]
    held.images.mark_image_used(shown[0])
    await held.show(picture(MOST))
    assert not shown[0].is_stale and shown[1].is_stale
    assert len(held.terminal.held) == MOST
    assert shown[1].kitty_id not in held.terminal.held
    for shade in range(400):
        await held.show(picture(shade))
    assert len(held.terminal.held) == MOST and held.terminal.faults == []


async def test_leaving_takes_all_of_them_away() -> None:
    held = Held()
    held.terminal.feed(held.images.begin_terminal_use().encode())
    shown = [await held.show(picture(shade)) for shade in range(3)]
    held.terminal.feed(held.images.end_terminal_use().encode())
    assert held.terminal.held == {} and all(image.is_stale for image in shown)
    assert await held.images.draw_image(picture(1), 4, 2)
    assert held.terminal.held == {}, "it is the shell's"


@pytest.mark.parametrize("setting", ["blocks", "sixel", "iterm2"])
async def test_another_image_setting_removes_images_at_once(setting: str) -> None:
    held = Held()
    held.terminal.feed(held.images.begin_terminal_use().encode())
    drawn = await held.show(picture(1))
    held.images.apply_setting(setting)  # pyright: ignore[reportArgumentType]  (one of them)
    assert held.terminal.held == {} and drawn.is_stale


async def test_a_terminal_that_fails_again_and_again_is_asked_for_no_more() -> None:
    held = Held()
    held.terminal.feed(held.images.begin_terminal_use().encode())
    for shade in range(3):
        drawn = await held.show(picture(shade))
        assert drawn.has_placeholders
        held.images.handle_reply(f"\x1b_Gi={drawn.kitty_id};ENOSPC:there is no room\x1b\\")
    assert not (await held.show(picture(9))).has_placeholders
    assert held.terminal.held == {}
