"""Measures very long sessions: 50,000 messages, files of 6 and 200 MB, one message of 100 MB.

With `BENCH_PI` set to the command of pi, its openings are measured in alternation in the same
run."""

import asyncio
import json
import os
import random
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import msgspec

from app.values.codec import encode
from app.values.entries import CompactionEntry, MessageEntry, SessionHeader
from app.values.messages import AssistantMessage, Message, user_message
from app.values.usage import Usage
from bench.oneshot import APIS, MODEL, _model_entry
from bench.processes import Cost, Terminal, bayou_command, cpu_seconds, resident_bytes, temporary_home
from bench.processes import median as middle
from bench.sessions import random_turn
from bench.table import Row
from bench.transcript_corpus import conversation, markdown
from bench.transcript_stage import TranscriptApp, cpu, stream_deltas, transcript_app
from widgets.transcript.searching.finder import Finder
from widgets.transcript.searching.text_search import TextSearch
from widgets.transcript.transcript_blocks import ReplyBlock, ReplyProse

SMALL, LARGE = 10, 50_000
MEGABYTES = (6, 200)
REPEAT = 3
_LAST_TEXT = "the very last words of all"
_COMPACTION_INTERVAL = 400
_MESSAGE_POOL = 40


def rows() -> Iterator[Row]:
    yield from asyncio.run(_page_costs())
    yield from asyncio.run(_one_message())
    with temporary_home() as (cwd, env):
        env = {**env, "PI_OFFLINE": "1"}
        _write_model_file(Path(env["HOME"]))
        yield from _start_rows(cwd, env)
        for megabytes in MEGABYTES:
            yield from _opening_rows(megabytes, cwd, env)


async def _page_costs() -> list[Row]:
    source = markdown(random.Random(3), 1_200)
    found: dict[int, dict[str, float]] = {}
    for count in (SMALL, LARGE):
        async with transcript_app(0) as app:
            found[count] = await _measured(app, count, source)
    small, large = found[SMALL], found[LARGE]
    limits = {"stream": "≤ 1.2", "page": "", "resize": ""}
    names = {"stream": "1,000 deltas", "page": "page up", "resize": "another width"}
    rows = [
        Row(
            name=f"{names[what]}, {LARGE:,} messages",
            figure=large[what] * 1000,
            unit="ms CPU",
            ratio=large[what] / small[what],
            reference=f"{SMALL} messages",
            limit=limit,
        )
        for what, limit in limits.items()
    ]
    found_all = Row(
        name=f"search of {LARGE:,} messages", figure=large["search"] * 1000, unit="ms CPU", limit="300 ms"
    )
    held = Row(name="its longest part", figure=large["held"] * 1000, unit="ms CPU", limit="33 ms")
    return [*rows, found_all, held]


async def _measured(app: TranscriptApp, count: int, source: str) -> dict[str, float]:
    transcript, got = app.transcript, dict[str, float]()
    transcript.replace_all(conversation(count))
    app.paint()
    transcript.begin_reply("live")
    got["stream"] = stream_deltas(app, "live", source, 1_000)
    transcript.finish_reply("live")
    got["page"] = median(cpu(lambda: (transcript.keyboard.page(-1), app.paint())) for _ in range(30))
    got["resize"] = min(cpu(lambda width=width: transcript.column.resize(width)) for width in (100, 90, 80))
    transcript.column.resize(transcript.viewport.width)
    got["search"], got["held"] = await _search_cost(transcript.finder, transcript.overlay.search)
    return got


async def _search_cost(finder: Finder, search: TextSearch) -> tuple[float, float]:
    """Returns the CPU time of a whole search, and of its longest turn of the event loop."""
    longest, began = 0.0, time.process_time()
    finder.start_search()
    finder.search("terminal")
    while not search.is_done:
        before = time.process_time()
        await asyncio.sleep(0)
        longest = max(longest, time.process_time() - before)
    return time.process_time() - began, longest


async def _one_message() -> list[Row]:
    piece = markdown(random.Random(4), 200)
    text = (piece + "\n\n") * (100_000_000 // len(piece))
    async with transcript_app(0) as app:
        transcript = app.transcript

        def show() -> None:
            transcript.replace_all([ReplyBlock(id="a", parts=(ReplyProse(text=text),))])
            app.paint()

        def resize(width: int) -> None:
            place = transcript.viewport.remember_place()
            transcript.column.resize(width)
            transcript.viewport.restore_anchor(place)

        shown = cpu(show)
        resized = max(cpu(lambda width=width: resize(width)) for width in (100, 90, 80))
    return [
        Row(name="a message of 100 MB, shown", figure=shown * 1000, unit="ms CPU"),
        Row(name="the same, another width", figure=resized * 1000, unit="ms CPU", limit="33 ms"),
    ]


def _write_model_file(home: Path) -> None:
    card = {
        **_model_entry(APIS[0], "http://127.0.0.1:9"),
        "models": [{"id": MODEL, "contextWindow": 200_000}],
    }
    for folder in (".bayou", ".pi"):
        place = home / folder / "agent"
        place.mkdir(parents=True)
        (place / "models.json").write_text(json.dumps({"providers": {"local": card}}))


def _start_rows(cwd: Path, env: dict[str, str]) -> Iterator[Row]:
    """Measures from the start to the last message on the screen, for few and for many messages with
    compactions."""
    costs: dict[int, list[Cost]] = {}
    for count in (SMALL, LARGE):
        _write(cwd / f"{count}.jsonl", cwd, count=count)
    for number in range(REPEAT + 1):
        for count in (SMALL, LARGE):
            cost = _opening_cost(
                [*bayou_command(), "--session", str(cwd / f"{count}.jsonl"), "--model", f"local/{MODEL}"],
                cwd,
                env,
            )
            if number:
                costs.setdefault(count, []).append(cost)
    small, large = middle(costs[SMALL]), middle(costs[LARGE])
    yield Row(
        name=f"start with {LARGE:,} messages from disk, CPU",
        figure=large.cpu * 1000,
        unit="ms",
        ratio=large.cpu / small.cpu,
        reference=f"{SMALL} messages, {small.cpu * 1000:.0f} ms",
        limit="1.5x",
    )


def _opening_rows(megabytes: int, cwd: Path, env: dict[str, str]) -> Iterator[Row]:
    path = cwd / f"{megabytes}mb.jsonl"
    _write(path, cwd, megabytes=megabytes)
    commands = {"bayou": [*bayou_command(), "--session", str(path), "--model", f"local/{MODEL}"]}
    if pi := os.environ.get("BENCH_PI"):
        words = ("--session", str(path), "--provider", "local", "--model", MODEL)
        commands["pi"] = [*shlex.split(pi), *words]
    costs: dict[str, list[Cost]] = {program: [] for program in commands}
    for _ in range(REPEAT):
        for program, command in commands.items():
            costs[program].append(_opening_cost(command, cwd, env))
    ours = middle(costs["bayou"])
    theirs = middle(costs["pi"]) if "pi" in costs else None
    for title, field, unit, scale in (("wall", "wall", "ms", 1000), ("memory", "peak", "MiB", 1 / 2**20)):
        yield Row(
            name=f"open a session of {megabytes} MB: {title}",
            figure=getattr(ours, field) * scale,
            unit=unit,
            ratio=getattr(ours, field) / getattr(theirs, field) if theirs else None,
            reference=f"pi, {getattr(theirs, field) * scale:,.0f} {unit}" if theirs else "",
            limit="0.6x" if theirs and title == "wall" else "",
        )


def _opening_cost(command: list[str], cwd: Path, env: dict[str, str]) -> Cost:
    terminal = Terminal(command, cwd, env, (100, 30))
    try:
        wall = terminal.wait_for(_LAST_TEXT.encode(), timeout=120)
        return Cost(wall=wall, cpu=cpu_seconds(terminal.pid), peak=resident_bytes(terminal.pid))
    finally:
        terminal.close()


def _write(path: Path, cwd: Path, *, count: int = 0, megabytes: int = 0) -> None:
    """Writes a session of `count` short messages, or of `megabytes` of long ones."""
    pool = [random_turn(random.Random(number), number) for number in range(_MESSAGE_POOL)]
    parent: str | None = None
    size = written = 0
    with path.open("wb") as file:

        def put(entry: MessageEntry | CompactionEntry) -> str:
            nonlocal size
            size += file.write(encode(entry) + b"\n")
            return entry.id

        file.write(
            encode(SessionHeader(id=f"6f0c6c43-0000-4000-8000-{count + megabytes:012d}", cwd=str(cwd)))
            + b"\n"
        )
        while written < count or size < megabytes * 1_000_000:
            first = None
            for message in pool[written // 4 % _MESSAGE_POOL]:
                parent = put(
                    MessageEntry(parent_id=parent, message=_resized_message(message, short=bool(count)))
                )
                first = first or parent
                written += 1
            if count and written % _COMPACTION_INTERVAL == 0:
                kept = first or ""
                parent = put(
                    CompactionEntry(
                        parent_id=parent, summary="So far.", first_kept_entry_id=kept, tokens_before=1
                    )
                )
        put(MessageEntry(parent_id=parent, message=user_message(_LAST_TEXT)))


def _resized_message(message: Message, *, short: bool) -> Message:
    """Returns a message with token counts, and with texts ten times as long or a tenth as long."""
    if isinstance(message, AssistantMessage):
        message = msgspec.structs.replace(message, usage=Usage(input=1_000, output=100, total_tokens=1_100))
    content = getattr(message, "content", ())
    if isinstance(content, str):
        return message
    parts = tuple(
        msgspec.structs.replace(part, text=part.text[: len(part.text) // 8] if short else part.text * 10)
        if hasattr(part, "text")
        else part
        for part in content
    )
    return msgspec.structs.replace(message, content=parts)  # type: ignore[call-arg]
