"""Measures the cost of visible images: a reply that streams below them, and scrolling over them,
for each protocol.

Half blocks are the reference. CPU time is this process's; bytes are those of frames and of
images drawn over cells, without images that are sent once."""

import asyncio
import base64
import io
import random
from collections.abc import Iterator

from PIL import Image

from bench.table import Row
from bench.transcript_corpus import markdown
from bench.transcript_stage import TranscriptApp, best, cpu, stream_deltas
from tools.tool_result_values import ImageBlock
from widgets.graphics.image_overlay import IMAGE_SETTLE_SECONDS
from widgets.graphics.image_support import ImageProtocolSetting, TerminalImageSupport
from widgets.graphics.terminal_images import TerminalImages
from widgets.terminal.terminal_output import TerminalOutputDiff
from widgets.transcript.transcript_blocks import Block, UserPromptBlock

DRAWING_METHODS: tuple[ImageProtocolSetting, ...] = ("blocks", "kitty", "sixel")
TURNS = 3
ROWS = 120
DELTAS = 400


class PictureApp(TranscriptApp):
    """A test app that shows images in a transcript."""

    def __init__(self, setting: ImageProtocolSetting) -> None:
        super().__init__()
        self.written: list[str] = []
        self.images = TerminalImages(
            self.written.append,
            TerminalImageSupport(setting, env={"TERM": "xterm"}),
            lines=lambda: self.size.height,
        )
        self.output = TerminalOutputDiff(self, self.images.overlay)

    async def wait_until_drawn(self) -> None:
        """Waits until everything visible is drawn."""
        self.paint(everything=True)
        await asyncio.gather(*self.transcript.painter.thumbnails.tasks.values())
        self.paint(everything=True)
        await asyncio.sleep(2 * IMAGE_SETTLE_SECONDS)


def pictures(count: int) -> list[Block]:
    blocks: list[Block] = []
    for number in range(count):
        out = io.BytesIO()
        Image.effect_noise((480, 240), 40 + number).convert("RGB").save(out, "PNG")
        data = base64.b64encode(out.getvalue()).decode()
        image = ImageBlock(mime_type="image/png", byte_count=len(data) * 3 // 4, data=data)
        blocks.append(UserPromptBlock(id=f"u{number}", text=f"Picture {number}", images=(image,)))
    return blocks


async def _measured(setting: ImageProtocolSetting) -> dict[str, float]:
    app = PictureApp(setting)
    source = markdown(random.Random(3), 200)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        app.transcript.replace_all(pictures(6))
        await app.wait_until_drawn()
        app.written.clear()
        before = app.output.bytes_sent

        def scroll() -> None:
            for step in range(ROWS):
                app.transcript.viewport.scroll_by(-1 if step < ROWS // 2 else 1)
                app.paint()

        scrolled = cpu(scroll)
        sent = app.output.bytes_sent - before
        await app.wait_until_drawn()
        app.transcript.begin_reply("r")
        before, drawn = app.output.bytes_sent, len("".join(app.written))
        streamed = stream_deltas(app, "r", source, DELTAS)
        stream_sent = app.output.bytes_sent - before + len("".join(app.written)) - drawn
        await app.wait_until_drawn()
        before, drawn = app.output.bytes_sent, len("".join(app.written))
        await asyncio.sleep(1.0)
        idle = app.output.bytes_sent - before + len("".join(app.written)) - drawn
    return {
        "scroll": scrolled / ROWS,
        "scroll bytes": sent / ROWS,
        "stream": streamed / DELTAS,
        "stream bytes": stream_sent / (38 * DELTAS),
        "idle": idle,
    }


def rows() -> Iterator[Row]:
    got: dict[ImageProtocolSetting, list[dict[str, float]]] = {way: [] for way in DRAWING_METHODS}
    for _ in range(TURNS):
        for way in DRAWING_METHODS:
            got[way].append(asyncio.run(_measured(way)))
    figures = {
        way: {name: best([one[name] for one in many]) for name in many[0]} for way, many in got.items()
    }
    blocks = figures["blocks"]
    for way in DRAWING_METHODS[1:]:
        now = figures[way]
        for name, words, limit in (
            ("scroll", "a row scrolled over images", "≤ 1.5"),
            ("stream", "a delta streamed below images", "≤ 1.2"),
        ):
            yield Row(
                name=f"{words}, {way}",
                figure=now[name] * 1_000,
                unit="ms CPU",
                ratio=now[name] / blocks[name],
                reference="half blocks",
                limit=limit,
            )
        for name, words in (("scroll bytes", "a row scrolled"), ("stream bytes", "a character streamed")):
            yield Row(
                name=f"bytes for {words}, {way}",
                figure=now[name],
                unit="bytes",
                ratio=now[name] / blocks[name],
                reference="half blocks",
                limit="≤ 1.5",
            )
        yield Row(name=f"bytes in a second at rest, {way}", figure=now["idle"], unit="bytes", limit="0")
