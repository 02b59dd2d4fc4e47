"""Measures the whole program in a terminal: opening a screen, and the time from a key to its
paint.

A session of 5,000 entries with forks is open; 2,000 models and 300 sessions are known. Costs
are CPU time of all threads; key times are wall time, from the byte written to the byte read."""

import json
import random
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from app.sessions.session_library import session_folder_of_project
from app.values.codec import encode
from app.values.entries import MessageEntry, SessionHeader
from app.values.messages import Message
from bench.processes import Terminal, bayou_command, cpu_seconds, temporary_home
from bench.sessions import random_turn
from bench.table import Row

SIZE = (120, 40)
ENTRIES = 5000
MODELS = 2000
SESSIONS = 300
OPENINGS = 9
KEYS = 300
CURSOR = "›".encode()
ESCAPE = b"\x1b"
DOWN, UP = b"\x1b[B", b"\x1b[A"
TREE, MODEL_LIST = f"the tree of {ENTRIES:,}", f"the list of {MODELS:,} models"
SCREENS: dict[str, tuple[bytes, bytes]] = {
    TREE: (b"\x1b[18~", b"Session tree"),
    MODEL_LIST: (b"\x0c", b"Model"),
    f"the list of {SESSIONS} sessions": (b"\x1b[19~", b"this folder"),
    "the palette": (b"\x1b[20~", b"Actions"),
    "the settings": (b"/settings\r", b"Settings"),
    "the table of keys": (b"/hotkeys\r", b"Keys"),
    "the themes": (b"/theme\r", b"Theme"),
}
"""The keys that open each screen, and the text that it has drawn then."""
OWN_KEYS = {"app.session.tree": "f7", "app.session.resume": "f8", "app.palette": "f9"}


def rows() -> Iterator[Row]:
    with temporary_home() as (cwd, env):
        session = _fill(Path(env["HOME"]), cwd)
        terminal = Terminal(bayou_command("--session", str(session)), cwd, env, SIZE)
        try:
            terminal.wait_until_quiet(2)
            _wait_until_idle(terminal)
            for name, (keys, title) in SCREENS.items():
                yield _opening(terminal, name, keys, title)
            yield from _keys("in the editor", _letters(terminal))
            for name, way in ((TREE, UP), (MODEL_LIST, DOWN)):  # from the initial position of the cursor
                yield from _keys(f"in {name}", _cursor_moves(terminal, *SCREENS[name], way))
        finally:
            terminal.close()


def _opening(terminal: Terminal, name: str, keys: bytes, title: bytes) -> Row:
    """Measures opening a screen with the last byte; earlier input is not counted."""
    found = []
    for _ in range(OPENINGS):
        if len(keys) > 6:  # a command, whose completion list opens first
            terminal.write(keys[:-1])
            terminal.wait_until_quiet(0.4)
        terminal.drawn = b""
        before = cpu_seconds(terminal.pid)
        terminal.write(keys if len(keys) <= 6 else keys[-1:])
        _wait_for(terminal, title)
        terminal.wait_until_quiet(0.4)
        found.append(cpu_seconds(terminal.pid) - before)
        terminal.write(ESCAPE)
        terminal.wait_until_quiet(0.4)
    return Row(name=f"open {name}", figure=statistics.median(found) * 1000, unit="ms CPU", limit="60 ms")


def _wait_until_idle(terminal: Terminal) -> None:
    """Waits until the background work after the start is done, such as reading the texts of all
    sessions."""
    before = 0.0
    while (now := cpu_seconds(terminal.pid)) - before > 0.01:
        before = now
        terminal.read_for(1)


class Paint(NamedTuple):
    """Seconds from a key to its effect on the screen."""

    wall: float
    cpu: float


def _letters(terminal: Terminal) -> list[Paint]:
    """Types letters that occur in no escape sequence, each different from the one before."""
    return [_paint(terminal, key := chr(0x430 + number % 32).encode(), key) for number in range(KEYS)]


def _cursor_moves(terminal: Terminal, keys: bytes, title: bytes, way: bytes) -> list[Paint]:
    """Moves the cursor back and forth, mostly beyond the visible rows."""
    terminal.write(b"\x15")  # clears the editor
    terminal.drawn = b""
    terminal.write(keys)
    _wait_for(terminal, title)
    terminal.wait_until_quiet(0.4)
    moves = [way] * (KEYS // 2) + [DOWN if way == UP else UP] * (KEYS // 2)
    waits = [_paint(terminal, key, CURSOR) for key in moves]
    terminal.write(ESCAPE)
    terminal.wait_until_quiet(0.4)
    return waits


def _paint(terminal: Terminal, key: bytes, shown: bytes) -> Paint:
    terminal.read_for(0.02)
    terminal.drawn = b""
    before = cpu_seconds(terminal.pid)
    pressed = time.perf_counter()
    terminal.write(key)
    _wait_for(terminal, shown)
    wall = time.perf_counter() - pressed
    return Paint(wall, cpu_seconds(terminal.pid) - before)


def _wait_for(terminal: Terminal, text: bytes) -> None:
    terminal.started = time.perf_counter()
    terminal.wait_for(text)


def _keys(name: str, paints: list[Paint]) -> Iterator[Row]:
    """Reports wall time, and CPU time, which depends less on the machine's load."""
    at = int(len(paints) * 0.99)
    wall = sorted(paint.wall for paint in paints)[at]
    cpu = sorted(paint.cpu for paint in paints)[at]
    yield Row(name=f"key to paint {name}, p99", figure=wall * 1000, unit="ms", limit="33 ms")
    yield Row(name=f"the same {name}", figure=cpu * 1000, unit="ms CPU", limit="33 ms")


def _fill(home: Path, cwd: Path) -> Path:
    """Fills a home with keys, models and sessions; returns the path of the long session."""
    agent = home / ".bayou" / "agent"
    agent.mkdir(parents=True)
    (agent / "keybindings.json").write_text(json.dumps(OWN_KEYS))
    models = [
        {"id": f"model-{n}", "name": f"Model {n}", "contextWindow": 8000 * (n % 30 + 1)}
        for n in range(MODELS)
    ]
    work = {
        "baseUrl": "http://localhost:9/v1",
        "api": "openai-completions",
        "apiKey": "none",
        "models": models,
    }
    (agent / "models.json").write_text(json.dumps({"providers": {"work": work}}))
    folder = session_folder_of_project(agent / "sessions", cwd)
    folder.mkdir(parents=True)
    chance = random.Random(5)
    for number in range(SESSIONS):
        messages = [message for part in range(2) for message in random_turn(chance, part)]
        _write(folder / f"2026-01-01T00-00-00-000Z_session-{number:05d}.jsonl", cwd, messages, 1)
    long = folder / "2026-01-02T00-00-00-000Z_long.jsonl"
    messages = [message for part in range(ENTRIES // 4) for message in random_turn(chance, part)]
    _write(long, cwd, messages, 50)
    return long


def _write(path: Path, cwd: Path, messages: list[Message], fork_every: int) -> None:
    """Writes a conversation that forks every `fork_every` entries, from thirty entries before."""
    ids: list[str] = []
    lines = [encode(SessionHeader(id=path.stem.rpartition("_")[2], cwd=str(cwd)))]
    for number, message in enumerate(messages):
        is_fork = number and number % fork_every == 0 and number > 30
        parent = ids[-31 if is_fork else -1] if ids else None
        entry = MessageEntry(parent_id=parent, message=message)
        ids.append(entry.id)
        lines.append(encode(entry))
    path.write_bytes(b"\n".join(lines) + b"\n")
