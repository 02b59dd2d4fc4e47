"""Measures ten thousand sessions: continuing the last one and listing them, against a plain
start; the index against its text.

Half of them belong to the folder that bayou is started in. "Cold" means without the index,
which a first start builds; the files are in the system's cache anyway."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

from app.sessions.file.session_reader import read_session_header
from app.sessions.index.line_reader import SearchableTextCollector, read_session_lines
from app.sessions.index.session_index import SESSION_INDEX_FILE_NAME, SessionIndex
from app.sessions.session_library import session_folder_of_project
from app.values.codec import encode
from app.values.entries import MessageEntry, SessionHeader
from app.values.messages import Message, user_message
from bench.processes import Cost, Terminal, bayou_command, cpu_seconds, median, temporary_home
from bench.sessions import MEGABYTE, random_turn
from bench.startup import PAINTED, SIZE
from bench.table import Row

SESSIONS = 10_000
REPEAT = 7
_MESSAGE_POOL = 500
_NEWEST_TEXT = "the newest of all of them"
_START_COMMANDS = {
    "plain": ("a plain start", (), PAINTED, ""),
    "-c": ("-c", ("-c",), _NEWEST_TEXT.encode(), "1.3x"),
    "-r": ("-r, first rows", ("-r",), _NEWEST_TEXT.encode(), "1.5x"),
}


def rows() -> Iterator[Row]:
    with temporary_home() as (cwd, env):
        root = Path(env["HOME"]) / ".bayou" / "agent" / "sessions"
        files = _write(root, cwd)
        made = _indexed(root)
        yield from _starts(root, made, cwd, env)
        yield _index_size_row(made, files)


def _write(root: Path, cwd: Path) -> list[Path]:
    """Writes sessions of one turn each; the last one is the newest."""
    chance = random.Random(7)
    pool = [random_turn(chance, number) for number in range(_MESSAGE_POOL)]
    files: list[Path] = []
    for number in range(SESSIONS):
        here = cwd if number % 2 else Path(f"/project{number % 40}")
        path = session_folder_of_project(root, here) / f"2026_session-{number:05d}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        begin = _NEWEST_TEXT if number == SESSIONS - 1 else f"question {number}"
        lines: list[SessionHeader | MessageEntry] = [
            SessionHeader(id=f"session-{number:05d}", cwd=str(here)),
            *_chain([user_message(begin), *pool[number % _MESSAGE_POOL][1:]]),
        ]
        path.write_bytes(b"".join(encode(line) + b"\n" for line in lines))
        files.append(path)
    return files


def _chain(messages: list[Message]) -> Iterator[MessageEntry]:
    parent: str | None = None
    for message in messages:
        entry = MessageEntry(parent_id=parent, message=message)
        parent = entry.id
        yield entry


def _indexed(root: Path) -> Path:
    """Builds an index of all sessions and returns its file, to be copied."""
    index = SessionIndex(root)
    index.refresh()
    while index.index_text_batch():
        pass
    index.compact_database()
    index.close()
    kept = root.parent / "kept.sqlite"
    shutil.copyfile(root / SESSION_INDEX_FILE_NAME, kept)
    return kept


def _starts(root: Path, made: Path, cwd: Path, env: dict[str, str]) -> Iterator[Row]:
    """Measures starts in alternation; the first of each is left out, because it fills caches."""
    costs: dict[tuple[str, bool], list[Cost]] = {}
    for number in range(REPEAT + 1):
        for is_warm in (True, False):
            for way, (_, words, shown, _) in _START_COMMANDS.items():
                _put_index(root, made if is_warm else None)
                cost = _start_cost([*bayou_command(), *words], shown, cwd, env)
                if number:
                    costs.setdefault((way, is_warm), []).append(cost)
    for is_warm in (True, False):
        plain = median(costs["plain", is_warm])
        for way, (title, _, _, limit) in _START_COMMANDS.items():
            cost = median(costs[way, is_warm])
            for what, figure, of in (("wall", cost.wall, plain.wall), ("CPU", cost.cpu, plain.cpu)):
                yield Row(
                    name=f"{title} among {SESSIONS:,} sessions, {'warm' if is_warm else 'cold'}, {what}",
                    figure=figure * 1000,
                    unit="ms",
                    ratio=figure / of if limit else None,
                    reference="a plain start" if limit else "",
                    limit=limit,
                )


def _put_index(root: Path, made: Path | None) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        (root / f"{SESSION_INDEX_FILE_NAME}{suffix}").unlink(missing_ok=True)
    if made is not None:
        shutil.copyfile(made, root / SESSION_INDEX_FILE_NAME)


def _start_cost(command: list[str], shown: bytes, cwd: Path, env: dict[str, str]) -> Cost:
    terminal = Terminal(command, cwd, env, SIZE)
    try:
        wall = terminal.wait_for(shown)
        return Cost(wall=wall, cpu=cpu_seconds(terminal.pid))
    finally:
        terminal.close()


def _index_size_row(made: Path, files: list[Path]) -> Row:
    size = made.stat().st_size
    said = sum(map(_text_size, files))
    return Row(
        name=f"the index of {SESSIONS:,} sessions",
        figure=size / MEGABYTE,
        unit="MB",
        ratio=size / said,
        reference=f"the text in it, {said / MEGABYTE:.0f} MB",
        limit="0.5x",
    )


def _text_size(path: Path) -> int:
    """Returns the bytes of a session's searchable text."""
    texts = SearchableTextCollector()
    read_session_lines(path, read_session_header(path)[1], texts)
    return sum(len(text.text.encode()) for text in texts.found)
