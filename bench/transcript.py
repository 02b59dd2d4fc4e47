"""Measures the transcript: the same work with 10 and with 5,000 messages, and replies that are
hard to draw.

Everything is CPU time of this process unless stated otherwise. Compared runs alternate and the
best of three counts. Textual does not encode updates without a terminal, so the test app
encodes them as for a terminal."""

import asyncio
import gc
import os
import random
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TEXTUAL_FPS", "240")  # read when Textual is imported; bayou sets it too


# isort: split
from textual._compositor import ChopsUpdate, CompositorUpdate

from bench.table import Row
from bench.transcript_corpus import conversation, hard_replies, markdown
from bench.transcript_stage import TranscriptApp, best, cpu, stream_deltas, transcript_app

SMALL, LARGE = 10, 5_000
SECONDS = 4.0
"""The duration of a real-time stream, per subject."""
CHUNK = 12


async def _scaling() -> Iterator[Row]:
    source = markdown(random.Random(3), 1_200)
    figures: dict[int, dict[str, list[float]]] = {SMALL: {}, LARGE: {}}
    for turn in range(3):
        for count in (SMALL, LARGE) if turn % 2 else (LARGE, SMALL):
            blocks = conversation(count)
            async with transcript_app(0) as app:
                got = figures[count]

                def note(name: str, value: float, got: dict[str, list[float]] = got) -> None:
                    got.setdefault(name, []).append(value)

                _measure(app, blocks, source, note)
    small, large = (
        {name: best(values) for name, values in figures[count].items()} for count in (SMALL, LARGE)
    )
    return iter(_scaling_rows(small, large))


def _measure(app: TranscriptApp, blocks: list[Any], source: str, note: Callable[[str, float], None]) -> None:
    transcript = app.transcript
    app.paint(everything=True)

    def load() -> None:
        transcript.replace_all(blocks)
        app.paint()

    load()
    transcript.begin_reply("live")
    note("stream", stream_deltas(app, "live", source, 1_000))
    floor = [
        cpu(lambda: (app.output.forget_terminal_content(), app.paint(everything=True))) for _ in range(40)
    ]
    note("floor", statistics.median(floor))
    note("late", stream_deltas(app, "live", source, 1_000, at=3_000) if len(blocks) > SMALL else 0.0)
    transcript.finish_reply("live")
    transcript.remove_block("live")
    pages = []
    for _ in range(30):
        pages.append(cpu(lambda: (transcript.keyboard.page(-1), app.paint())))
        if transcript.scroll_offset.y == 0:
            transcript.viewport.follow_end()
    note("page", statistics.median(pages))
    chance = random.Random(1)

    def jump() -> None:
        transcript.viewport.scroll_to(0, chance.randrange(max(1, transcript.column.heights.total)))
        app.paint()

    note("jump", statistics.median(cpu(jump) for _ in range(20)))
    note("toggle", statistics.median(cpu(lambda: (transcript.toggle("b2"), app.paint())) for _ in range(10)))

    def resize(width: int) -> None:
        place = transcript.viewport.remember_place()
        transcript.column.resize(width)
        transcript.viewport.restore_anchor(place)
        transcript.painter.visible_strips(0, 39)

    note("resize", best([cpu(lambda width=width: resize(width)) for width in (100, 90, 80)]))
    resize(transcript.viewport.width)
    transcript.viewport.follow_end()
    note(
        "expand",
        best([cpu(lambda on=on: (transcript.open_all(tools=on), app.paint())) for on in (True, False) * 3]),
    )
    note("search", cpu(lambda: transcript.finder.search("terminal")))


def _scaling_rows(small: dict[str, float], large: dict[str, float]) -> list[Row]:
    def row(name: str, key: str, reference: float, words: str, limit: str) -> Row:
        figure = large[key] * 1_000
        return Row(
            name=name,
            figure=figure,
            unit="ms CPU",
            ratio=large[key] / reference,
            reference=words,
            limit=limit,
        )

    frame = large["stream"] / 250
    return [
        row("1,000 deltas, 5,000 messages", "stream", small["stream"], "10 messages", "≤ 1.2"),
        row("deltas 3,000 to 4,000 of one message", "late", large["stream"], "deltas 0 to 1,000", "≤ 1.25"),
        Row(
            name="streamed frame of 4 deltas",
            figure=frame * 1_000,
            unit="ms CPU",
            ratio=frame / large["floor"],
            reference="full repaint of kept rows, sent whole",
            limit="≤ 2.5",
        ),
        row("resize, 5,000 messages", "resize", small["resize"], "10 messages", "≤ 2"),
        row("open all tools, 5,000 messages", "expand", large["page"], "page up", "≤ 5"),
        row("open or close one block", "toggle", large["page"], "page up", "≤ 4"),
        row("jump anywhere, 5,000 messages", "jump", large["page"], "page up", "≤ 4"),
        Row(name="search 5,000 messages, 28,000 hits", figure=large["search"] * 1_000, unit="ms CPU"),
    ]


async def _load(count: int) -> float:
    """Returns the milliseconds until a conversation is first painted, in a process that has painted
    nothing before."""
    blocks = conversation(count)
    app = TranscriptApp()
    began = time.process_time()
    async with app.run_test(size=(120, 40)):
        app.transcript.replace_all(blocks)
        app.paint(everything=True)
        return (time.process_time() - began) * 1_000


async def _first_paint(count: int) -> float:
    """Returns the CPU milliseconds from the start of the process, with imports, to a first painted
    conversation."""
    began = time.process_time()
    blocks = conversation(count)
    spent = time.process_time() - began
    app = TranscriptApp()
    async with app.run_test(size=(120, 40)):
        app.transcript.replace_all(blocks)
        app.paint(everything=True)
        return (time.process_time() - spent) * 1_000


BARE_APP = """
import asyncio, time
from textual.app import App
from textual.widgets import Input

class Bare(App):
    def compose(self):
        yield Input()

async def paint():
    app = Bare()
    async with app.run_test(size=(120, 40)):
        app.screen._compositor.render_update(full=True).render_segments(app.console)
        print(time.process_time() * 1_000)

asyncio.run(paint())
"""
"""A separate program: an app that shows almost nothing."""


def _first_paint_rows() -> Iterator[Row]:
    bare, empty, full = [], [], []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", BARE_APP], capture_output=True, text=True, check=True)
        bare.append(float(done.stdout))
        empty.append(float(_in_own_process("first", "0")))
        full.append(float(_in_own_process("first", str(LARGE))))
    for words, figures, limit in (("empty", empty, "≤ 1.5"), ("5,000 messages", full, "≤ 2")):
        yield Row(
            name=f"start of a process to first paint, {words}",
            figure=best(figures),
            unit="ms CPU",
            ratio=best(figures) / best(bare),
            reference="an app with a line of input",
            limit=limit,
        )


async def _memory(count: int) -> float:
    """Returns the megabytes beyond the text itself, after paging through everything."""
    blocks = conversation(count)
    async with transcript_app(0) as app:
        before = _resident()
        app.transcript.replace_all(blocks)
        app.paint()
        while app.transcript.scroll_offset.y > 0:
            app.transcript.viewport.scroll_by(-400)
            app.paint()
        return _resident() - before


def _resident() -> float:
    gc.collect()
    status = Path("/proc/self/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    return int(found[1]) / 1_024 if found else 0.0


class LoopWatch:
    """Measures stalls of the event loop and the CPU time."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._began = time.monotonic()
        self._cpu = time.process_time()
        self._task = asyncio.create_task(self._beat())

    async def _beat(self) -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.005)
            self.longest = max(self.longest, time.monotonic() - before - 0.005)

    def stop(self) -> tuple[float, float, float]:
        """Returns the seconds, the share of a core and the longest stall."""
        self._task.cancel()
        seconds = time.monotonic() - self._began
        return seconds, (time.process_time() - self._cpu) / seconds, self.longest


async def _hard_reply_rows(name: str, source: str) -> list[Row]:
    """Measures the end of a long reply, in chunks of 12 characters every 10 ms."""
    async with transcript_app(SMALL) as app:
        transcript = app.transcript
        transcript.begin_reply("live")
        chunks = [source[at : at + CHUNK] for at in range(0, len(source), CHUNK)]
        timed = chunks[-int(SECONDS * 100) :]
        for chunk in chunks[: -len(timed)]:
            transcript.append_text("live", chunk)
        transcript.arriving.flush()
        await asyncio.sleep(0.2)
        watch = LoopWatch()
        began = time.monotonic()
        for number, chunk in enumerate(timed):
            transcript.append_text("live", chunk)
            await asyncio.sleep(max(0.0, began + (number + 1) * 0.01 - time.monotonic()))
        ideal = len(timed) * 0.01
        transcript.finish_reply("live")
        await asyncio.sleep(0)
        seconds, share, longest = watch.stop()
    return [
        Row(name=f"{name}: CPU", figure=share * 100, unit="% of a core", limit="≤ 30"),
        Row(name=f"{name}: longest stall (wall)", figure=longest * 1_000, unit="ms", limit="≤ 50"),
        Row(
            name=f"{name}: time",
            figure=seconds,
            unit="s",
            ratio=seconds / ideal,
            reference="the stream",
            limit="≤ 1.05",
        ),
    ]


async def _typing(count: int, *, streams: bool) -> tuple[list[float], list[float], float]:
    """Returns wall and CPU seconds from key to paint, and the share of a core, while 100 deltas a
    second stream."""
    source = markdown(random.Random(5), 600)
    walls: list[float] = []
    cpus: list[float] = []
    async with transcript_app(count) as app:
        app.transcript.begin_reply("live")
        watch = LoopWatch()
        number = 0
        began = time.monotonic()
        while time.monotonic() - began < SECONDS:
            if number % 12 == 5:
                done = asyncio.Event()
                wall, used = time.monotonic(), time.process_time()
                app.painted = done.set
                app.editor.insert("x")
                if len(app.editor.text) > 40:
                    app.editor.set_text("")
                await asyncio.wait_for(done.wait(), 2)
                app.painted = None
                walls.append(time.monotonic() - wall)
                cpus.append(time.process_time() - used)
            if streams:
                app.transcript.append_text("live", source[number * 38 : number * 38 + 38])
            number += 1
            await asyncio.sleep(max(0.0, began + number * 0.01 - time.monotonic()))
        _, share, _ = watch.stop()
    return walls, cpus, share


def _p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


async def _typing_rows() -> list[Row]:
    _, idle, _ = await _typing(LARGE, streams=False)
    walls, cpus, share = await _typing(LARGE, streams=True)
    reference = statistics.median(idle)
    return [
        Row(
            name="key to paint while streaming, 95 %",
            figure=_p95(walls) * 1_000,
            unit="ms wall",
            limit="≤ 10",
        ),
        Row(
            name="CPU between key and paint, 95 %",
            figure=_p95(cpus) * 1_000,
            unit="ms CPU",
            ratio=_p95(cpus) / reference,
            reference="median when idle",
            limit="≤ 2.5",
        ),
        Row(name="100 deltas a second, 5,000 messages", figure=share * 100, unit="% of a core", limit="≤ 20"),
    ]


async def _bytes(*, is_on: bool) -> float:
    """Returns the characters sent to the terminal per streamed character."""
    source = markdown(random.Random(9), 400)
    deltas = 400
    async with transcript_app(LARGE) as app:
        app.transcript.begin_reply("live")
        app.paint()
        sent = 0
        for number in range(0, deltas, 3):
            for index in range(number, number + 3):
                app.transcript.append_text("live", source[index * 38 : index * 38 + 38])
            app.transcript.arriving.flush()
            transcript = app.transcript
            compositor = app.screen._compositor
            widgets = [transcript, transcript.vertical_scrollbar]
            compositor.update_widgets({widget for widget in widgets if widget._dirty_regions})
            update = compositor.render_update()
            if isinstance(update, CompositorUpdate):
                if is_on:
                    sent += len(app.output.encode(update, app.console).encode())  # type: ignore[arg-type]
                else:
                    sent += len(_encode_update(update, app).encode())
        return sent / (deltas * 38)


def _encode_update(update: CompositorUpdate, app: TranscriptApp) -> str:
    """Encodes an update as Textual does, ignoring what the transcript has already encoded."""
    if isinstance(update, ChopsUpdate):
        for chops in update.chops:
            for strip in chops.values():
                if strip is not None:
                    strip._render_cache = None
    return update.render_segments(app.console)


async def _idle() -> float:
    async with transcript_app(LARGE) as app:
        app.painted = None
        await asyncio.sleep(0.5)
        frames = 0

        def count() -> None:
            nonlocal frames
            frames += 1

        app.painted = count
        began = time.process_time()
        await asyncio.sleep(5)
        return (time.process_time() - began) / 5 * 100 + frames


def rows() -> Iterator[Row]:
    yield from asyncio.run(_scaling())
    loads = {
        count: best([float(_in_own_process("load", str(count))) for _ in range(3)])
        for count in (SMALL, LARGE)
    }
    yield Row(
        name="start to first paint with 5,000 messages",
        figure=loads[LARGE],
        unit="ms CPU",
        ratio=loads[LARGE] / loads[SMALL],
        reference="10 messages",
        limit="≤ 1.5",
    )
    yield from _first_paint_rows()
    extra = [float(_in_own_process("memory", str(count))) for count in (SMALL, LARGE)]
    yield Row(
        name="resident memory for 5,000 messages, all seen",
        figure=extra[1],
        unit="MB",
        ratio=extra[1] - extra[0],
        reference="MB more than for 10",
        limit="≤ 15",
    )
    yield from asyncio.run(_typing_rows())
    for name, source in hard_replies().items():
        yield from asyncio.run(_hard_reply_rows(name, source))
    plain = asyncio.run(_bytes(is_on=False))
    figure = asyncio.run(_bytes(is_on=True))
    yield Row(
        name="bytes for each streamed character",
        figure=figure,
        unit="bytes",
        ratio=figure / plain,
        reference="Textual's own output",
        limit="≤ 16 bytes",
    )
    yield Row(
        name="idle with 5,000 messages: CPU, and a point for each frame",
        figure=asyncio.run(_idle()),
        unit="%",
        limit="≤ 0.1",
    )


def _in_own_process(*arguments: str) -> str:
    command = [sys.executable, "-m", "bench.transcript", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    if len(sys.argv) > 2:
        measure = {"memory": _memory, "load": _load, "first": _first_paint}[sys.argv[1]]
        print(asyncio.run(measure(int(sys.argv[2]))))
    else:
        for line in rows():
            print(line)
