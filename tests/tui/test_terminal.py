"""The real program in a real pseudo-terminal: how it starts, ends and survives."""

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

LIMIT = 20.0


class Terminal:
    """bayou in a pseudo-terminal; everything that it printed is in `shown`."""

    def __init__(self, cwd: Path, *words: str) -> None:
        self.shown = b""
        self._ours, theirs = pty.openpty()
        os.set_blocking(self._ours, False)
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "app", *words],
            cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def read(self) -> None:
        try:
            self.shown += os.read(self._ours, 65536)
        except (BlockingIOError, OSError):
            time.sleep(0.02)  # nobody tells when a terminal has more to read

    def until(self, text: str) -> None:
        """Reads until `text` was shown."""
        end = time.monotonic() + LIMIT
        while text.encode() not in self.shown:
            assert time.monotonic() < end, f"{text!r} was not shown: {self.shown[-2000:]!r}"
            self.read()

    def ended(self) -> int:
        end = time.monotonic() + LIMIT
        while self.process.poll() is None:
            assert time.monotonic() < end, "it did not end"
            self.read()
        self.read()
        return self.process.returncode

    def hang_up(self) -> None:
        os.close(self._ours)


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        if terminal.process.poll() is None:
            terminal.process.kill()
            terminal.process.wait()


def opened(terminals: list[Terminal], cwd: Path, *words: str) -> Terminal:
    terminal = Terminal(cwd, *words)
    terminals.append(terminal)
    terminal.until("offline")
    return terminal


def test_ctrl_d_leaves_and_the_terminal_is_given_back(terminals: list[Terminal], tmp_path: Path) -> None:
    terminal = opened(terminals, tmp_path)
    terminal.type("\x04")
    assert terminal.ended() == 0
    assert terminal.shown.rstrip().endswith(b"\x1b[?1004l") or b"\x1b[?1049l" in terminal.shown


def test_the_way_back_is_printed(terminals: list[Terminal], tmp_path: Path) -> None:
    terminal = opened(terminals, tmp_path, "help")
    terminal.until("shows this")
    terminal.type("\x04")
    assert terminal.ended() == 0
    assert b"To resume this session: bayou --session" in terminal.shown


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_end_it_with_their_code(
    number: signal.Signals, code: int, terminals: list[Terminal], tmp_path: Path
) -> None:
    terminal = opened(terminals, tmp_path)
    terminal.process.send_signal(number)
    assert terminal.ended() == code
    assert b"\x1b[?1049l" in terminal.shown


def test_a_terminal_that_goes_away_takes_bayou_with_it(terminals: list[Terminal], tmp_path: Path) -> None:
    terminal = opened(terminals, tmp_path)
    terminal.hang_up()
    terminal.process.send_signal(signal.SIGHUP)
    assert terminal.process.wait(LIMIT) in (129, -signal.SIGHUP)


def test_a_draft_survives_a_kill(terminals: list[Terminal], tmp_path: Path) -> None:
    first = opened(terminals, tmp_path, "help")
    first.until("shows this")
    first.type("a draft that must survive")
    first.until("survive")
    drafts = Path(os.environ["BAYOU_AGENT_DIR"])
    end = time.monotonic() + LIMIT
    while not any(b"must survive" in path.read_bytes() for path in drafts.rglob("*.draft")):
        assert time.monotonic() < end
        first.read()
    first.process.kill()
    first.process.wait()
    second = opened(terminals, tmp_path, "-c")
    second.until("a draft that must survive")
