"""In a real terminal multiplexer: what the diffed output leaves on the screen is what a plain repaint would.

After each random step (streams, scrolls, resizes, modals, themes) the pane is captured, painted afresh, and captured
again: text and colours must be the same.
"""

import asyncio
import random
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.widgets.transcript.terminal.planted import PLANTED

ROOT = Path(__file__).parents[4]

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux to stand for the terminal")


_KINDS = {"38": "front", "39": "front", "48": "back", "49": "back"}


def cells(captured: str) -> list[list[tuple[str, str]]]:
    """The rows of a captured screen as characters with their style; a blank has no foreground."""
    styles: dict[str, str] = {}
    rows: list[list[tuple[str, str]]] = [[]]
    for style, char in re.findall(r"\x1b\[([0-9;:]*)m|([^\x1b])", captured):
        if char == "\n":
            rows.append([])  # the style goes on from one row to the next
        elif char:
            shown = {
                key: value for key, value in styles.items() if char != " " or key not in ("front", "1", "3")
            }
            rows[-1].append((char, repr(sorted(shown.items()))))
        elif style in ("", "0"):
            styles.clear()
        else:
            styles[_KINDS.get(style[:2], str(style))] = str(style)
    return rows


class Pane:
    """A tmux pane with the driven app in it."""

    def __init__(self, folder: Path) -> None:
        settings = folder / "tmux.conf"
        settings.write_text("set -g status off\n")
        self._tmux = ["tmux", "-S", str(folder / "tmux"), "-f", str(settings)]
        self._token = 0
        self.socket = folder / "app"
        self.reader: asyncio.StreamReader
        self.writer: asyncio.StreamWriter

    def tmux(self, *arguments: str) -> str:
        done = subprocess.run([*self._tmux, *arguments], capture_output=True, text=True, check=True)
        return done.stdout

    async def start(self, planted: str) -> None:
        command = [
            sys.executable,
            "-m",
            "tests.widgets.transcript.terminal.driven_app",
            str(self.socket),
            planted,
        ]
        environment = f"PYTHONPATH={ROOT} COLORTERM=truecolor TEXTUAL_ANIMATIONS=none TERM=screen-256color"
        self.tmux(
            "new-session",
            "-d",
            "-x",
            "100",
            "-y",
            "30",
            f"cd {ROOT}; exec env -u COLUMNS -u LINES {environment} {' '.join(command)}",
        )
        for _ in range(1500):
            if await self._connects():
                return
            await asyncio.sleep(0.02)
        raise AssertionError("the app does not listen")

    async def _connects(self) -> bool:
        """The file of a socket is there a moment before anybody listens at it."""
        try:
            self.reader, self.writer = await asyncio.open_unix_connection(str(self.socket))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        return True

    async def ask(self, command: str) -> None:
        """Have the app do something; returns when the terminal has taken in all of its output."""
        self._token += 1
        token = f"token-{self._token}"
        self.writer.write(f"{token} {command}\n".encode())
        assert (await asyncio.wait_for(self.reader.readline(), 20)).decode().strip() == token
        for _ in range(400):
            if self.tmux("display-message", "-p", "#{pane_title}").strip() == token:
                return
            await asyncio.sleep(0.01)
        raise AssertionError("the terminal did not take in the output")

    def picture(self) -> list[list[tuple[str, str]]]:
        """Every cell with its colours."""
        return cells(self.tmux("capture-pane", "-e", "-p", "-N"))

    def close(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False)


@asynccontextmanager
async def pane(folder: Path, planted: str = "") -> AsyncIterator[Pane]:
    made = Pane(folder)
    try:
        await made.start(planted)
        yield made
    finally:
        made.close()


async def differences(folder: Path, steps: int, seed: int, planted: str = "") -> list[str]:
    """Rows that a repaint changed, with the number of the step."""
    chance = random.Random(seed)
    found: list[str] = []
    async with pane(folder, planted) as terminal:
        for number in range(steps):
            if chance.random() < 0.06:
                await terminal.ask(
                    "close"
                )  # Textual lays the screen behind a modal out anew only when it is back
                width, height = chance.randint(60, 120), chance.randint(16, 36)
                terminal.tmux("resize-window", "-x", str(width), "-y", str(height))
                await terminal.ask(f"size {width} {height}")
            for _ in range(chance.choice([1, 1, 2, 3])):
                await terminal.ask(f"step {chance.randrange(1 << 30)}")
            before = terminal.picture()
            await terminal.ask("repaint")
            after = terminal.picture()
            for row, (old, new) in enumerate(zip(before, after, strict=True)):
                if old != new:
                    texts = ["".join(char for char, _ in line) for line in (old, new)]
                    odd = [pair for pair in zip(old, new, strict=False) if pair[0] != pair[1]][:3]
                    found.append(f"step {number}, row {row}: {texts} {odd}")
            if found:
                break
    return found


async def test_the_screen_is_what_a_repaint_would_make_it(tmp_path: Path) -> None:
    found = await differences(tmp_path, 25, seed=1)
    assert not found, "\n".join(found)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 8))
async def test_the_screen_is_what_a_repaint_would_make_it_for_long(tmp_path: Path, seed: int) -> None:
    found = await differences(tmp_path, 160, seed)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("planted", PLANTED)
async def test_planted_bugs_are_found(tmp_path: Path, planted: str) -> None:
    for seed in (7, 6, 5, 8, 3):
        (folder := tmp_path / str(seed)).mkdir()
        if await differences(folder, 60, seed, planted=planted):
            return
    raise AssertionError(f"{planted} was not found")
