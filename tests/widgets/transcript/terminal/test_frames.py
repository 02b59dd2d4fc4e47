"""A frame reaches a terminal that knows synchronised output as a whole: nothing is seen half drawn."""

import asyncio
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

ROOT = Path(__file__).parents[4]
ASKED, KNOWS = b"\x1b[?2026$p", b"\x1b[?2026;2$y"
FRAME = re.compile(rb"\x1b\[\?2026h(.*?)\x1b\[\?2026l", re.DOTALL)
DRAWS = re.compile(rb"\x1b\[[0-9;]*[Hrm]|word")
"""Moves, scroll regions, colours, text."""


class Terminal:
    """Takes what the app writes and says that it knows synchronised output."""

    def __init__(self) -> None:
        self.own, self.theirs = pty.openpty()
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.written = b""
        self._has_more = asyncio.Event()

    def start(self, socket: Path) -> "subprocess.Popen[bytes]":
        environment = {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        return subprocess.Popen(
            [sys.executable, "-m", "tests.widgets.transcript.terminal.driven_app", str(socket)],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdin=self.theirs,
            stdout=self.theirs,
            stderr=self.theirs,
            start_new_session=True,
        )

    def read(self) -> None:
        data = os.read(self.own, 65_536)
        if ASKED in self.written[-20:] + data:
            os.write(self.own, KNOWS)
        self.written += data
        self._has_more.set()

    async def shows(self, *wanted: bytes) -> None:
        async with asyncio.timeout(20):
            while not all(part in self.written for part in wanted):
                self._has_more.clear()
                await self._has_more.wait()


async def test_every_frame_is_sent_as_a_whole(tmp_path: Path) -> None:
    terminal = Terminal()
    socket = tmp_path / "app"
    app = terminal.start(socket)
    loop = asyncio.get_running_loop()
    loop.add_reader(terminal.own, terminal.read)
    try:
        await terminal.shows(ASKED, b"note")  # painted: it listens by then
        reader, writer = await asyncio.open_unix_connection(str(socket))
        for number in range(14):
            writer.write(f"t{number} step {number}\n".encode())
            assert (await asyncio.wait_for(reader.readline(), 20)).decode().strip() == f"t{number}"
            await terminal.shows(f"\x1b]2;t{number}\x07".encode())
            if not number:
                terminal.written = terminal.written[-20:]  # the first frames came before the answer
        frames = FRAME.findall(terminal.written)
        assert len(frames) > 5
        assert not DRAWS.search(FRAME.sub(b"", terminal.written))
        writer.close()
    finally:
        loop.remove_reader(terminal.own)
        app.kill()
        app.wait()
        os.close(terminal.own)
        os.close(terminal.theirs)
