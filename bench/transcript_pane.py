"""Measures bytes that reach a terminal: an app in a tmux pane streams a reply while its output is
counted.

With the argument `plain` or `diff`, the module is that app."""

import asyncio
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("TEXTUAL_FPS", "240")  # read when Textual is imported; bayou sets it too

from textual.app import App, ComposeResult
from textual.widgets import Input

from bench.table import Row
from bench.transcript_corpus import conversation, markdown
from widgets.terminal.terminal_output import TerminalOutputDiff
from widgets.themes import default_style_variables
from widgets.transcript.view import Transcript

ROOT = Path(__file__).parent.parent
DELTAS = 500
SIZE = 38


class Streaming(App[None]):
    """Streams 100 deltas a second into a conversation of 5,000 messages and ends."""

    CSS_PATH = ROOT / "styles" / "transcript.tcss"
    CSS = "Input { dock: bottom; }"

    def __init__(self, *, is_on: bool, done: Path) -> None:
        super().__init__()
        self.is_on = is_on
        self.done = done

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return default_style_variables()

    def compose(self) -> ComposeResult:
        yield Transcript()
        yield Input()

    def on_mount(self) -> None:
        self.query_one(Input).cursor_blink = False
        if self.is_on:
            TerminalOutputDiff(self).install_output_diff()
        self.query_one(Transcript).replace_all(conversation(5_000))
        self.run_worker(self.stream())

    async def stream(self) -> None:
        transcript = self.query_one(Transcript)
        source = markdown(random.Random(9), 300)
        await asyncio.sleep(1)
        (self.done.parent / "started").touch()
        await asyncio.sleep(1)
        used, began = time.process_time(), time.monotonic()
        transcript.begin_reply("live")
        for number in range(DELTAS):
            transcript.append_text("live", source[number * SIZE : number * SIZE + SIZE])
            await asyncio.sleep(max(0.0, began + (number + 1) * 0.01 - time.monotonic()))
        await asyncio.sleep(0.2)
        share = (time.process_time() - used) / (time.monotonic() - began)
        self.done.write_text(f"{share}")
        await asyncio.sleep(30)


def rows() -> Iterator[Row]:
    if shutil.which("tmux") is None:
        return
    plain, _ = _measure("plain")
    figure, share = _measure("diff")
    yield Row(
        name="bytes for each streamed character, in a tmux pane",
        figure=figure,
        unit="bytes",
        ratio=figure / plain,
        reference="Textual's own output",
        limit="≤ 16 bytes",
    )
    yield Row(name="100 deltas a second in a tmux pane", figure=share * 100, unit="% of a core", limit="≤ 20")


def _measure(mode: str) -> tuple[float, float]:
    """Returns the bytes per character, and the share of a core."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        done, log = folder / "done", folder / "log"
        tmux = ["tmux", "-S", str(folder / "tmux"), "-f", os.devnull]
        command = (
            f"cd {ROOT}; exec env -u COLUMNS -u LINES {sys.executable} -m bench.transcript_pane {mode} {done}"
        )
        try:
            subprocess.run([*tmux, "new-session", "-d", "-x", "120", "-y", "41", command], check=True)
            _wait_for(folder / "started")
            subprocess.run([*tmux, "pipe-pane", "-O", f"cat > {log}"], check=True)
            _wait_for(done)
            subprocess.run([*tmux, "pipe-pane"], check=True)
            time.sleep(0.3)
            return log.stat().st_size / (DELTAS * SIZE), float(done.read_text())
        finally:
            subprocess.run([*tmux, "kill-server"], check=False, capture_output=True)


def _wait_for(path: Path) -> None:
    for _ in range(600):
        if path.exists() and (path.name == "started" or path.read_text()):
            return
        time.sleep(0.1)
    raise TimeoutError(f"{path.name} did not come")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        Streaming(is_on=sys.argv[1] == "diff", done=Path(sys.argv[2])).run()
    else:
        for line in rows():
            print(line)
