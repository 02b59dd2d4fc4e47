"""The first hour of a new user, in tmux: set-up as the README says, a local server, a first fix with approvals, undo, a
branch, leaving with a job, and coming back."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.model_server import ModelServer, Reply, model_server

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux here")

LIMIT = 30.0
BROKEN = "def total(price, count):\n    return price + count\n"
TEST = "from cart import total\nassert total(2, 5) == 10, 'total is wrong'\n"
ROOT = Path(__file__).parents[2]


class Pane:
    """A shell in tmux."""

    def __init__(self, folder: Path, size: tuple[int, int], env: Mapping[str, str]) -> None:
        self._socket = str(folder / "tmux.socket")
        columns, rows = map(str, size)
        conf = folder / "tmux.conf"
        conf.write_text("set -g status off\nset -g escape-time 10\nset -g default-terminal tmux-256color\n")
        subprocess.run(
            ["tmux", "-u", "-S", self._socket, "-f", str(conf), "new-session", "-d", "-x", columns, "-y", rows,
             "bash", "--norc", "--noprofile"],
            cwd=folder / "shop", env={**env, "PS1": "$ "}, check=True,
        )  # fmt: skip

    def _tmux(self, *words: str) -> str:
        asked = ["tmux", "-S", self._socket, *words]
        return subprocess.run(asked, capture_output=True, text=True, check=False).stdout

    @property
    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def enter(self, text: str) -> None:
        self.type(text)
        self.until(text.split()[-1])
        self.press("Enter")

    def until(self, text: str, *, gone: str = "") -> None:
        """Waits until one text is on the screen and another is not."""
        end = time.monotonic() + LIMIT
        wanted, unwanted = "".join(text.split()), "".join(gone.split())
        while wanted not in (shown := "".join(self.screen.split())) or (unwanted and unwanted in shown):
            assert time.monotonic() < end, (
                f"{text!r} is not there, or {gone!r} is. The screen:\n{self.screen}"
            )
            time.sleep(0.05)

    def close(self) -> None:
        self._tmux("kill-server")


def answer(messages: Sequence[Mapping[str, Any]]) -> Reply:
    """The agent: runs the test, mends the cart, runs the test again; starts a server; says a sentence otherwise."""
    at = max(number for number, message in enumerate(messages) if message["role"] == "user")
    asked, done = str(messages[at]["content"]), len(messages) - at
    if "mend the cart" in asked:
        steps: tuple[Reply, ...] = (
            {"tool": "bash", "command": "python3 -m no_such_tests 2>&1 | tail -3"},
            {
                "tool": "edit",
                "path": "cart.py",
                "edits": [{"oldText": "price + count", "newText": "price * count"}],
            },
            {"tool": "bash", "command": "python3 test_cart.py && echo all is well"},
            "The total multiplies now.",
        )
        return steps[done // 2]
    if "start the server" in asked:
        return {"tool": "bash", "command": "sleep 600", "background": True} if done == 1 else "It serves."
    return "Another way: a loop." if "another way" in asked else "I see."


@contextmanager
def shell(folder: Path, size: tuple[int, int]) -> Iterator[Pane]:
    """A new user's shell in a repository with a fault, with `bayou` on the path as the README suggests."""
    shop, programs = folder / "shop", folder / "bin"
    shop.mkdir()
    programs.mkdir()
    (shop / "cart.py").write_text(BROKEN)
    (shop / "test_cart.py").write_text(TEST)
    for words in (
        ("init", "-q"),
        ("add", "."),
        ("-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "all"),
    ):
        subprocess.run(["git", *words], cwd=shop, check=True)
    program = programs / "bayou"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -P -m app "$@"\n')
    program.chmod(0o755)
    pane = Pane(
        folder,
        size,
        {
            "HOME": str(folder),
            "PATH": f"{programs}:{os.environ['PATH']}",
            "SHELL": "/bin/bash",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
        },
    )
    try:
        yield pane
    finally:
        pane.close()


def connect(pane: Pane, server: ModelServer) -> None:
    pane.enter("bayou")
    pane.until("No model is connected yet")
    pane.enter("/login")
    pane.until("Connect a provider")
    pane.type("ollama")
    pane.until("Another server…")
    pane.press("Enter")
    pane.until("Address of the server")
    pane.press("C-u")
    pane.enter(server.url)
    pane.until("Model of ")
    pane.enter("barge")
    pane.until("Model: 127-0-0-1/barge")


def mend(pane: Pane, shop: Path) -> None:
    """The first fix: each step is asked about, and what failed in a pipeline is in sight."""
    pane.enter("mend the cart")
    pane.until("Run this command?")
    time.sleep(1)  # a person reads it; a key before that is not taken for an answer
    pane.press("y")
    pane.until("failed with 1")
    pane.until("price * count")
    time.sleep(1)
    pane.press("y")
    pane.until("echo all is well", gone="Change cart.py?")
    pane.until("Run this command?")
    time.sleep(1)
    pane.press("y")
    pane.until("The total multiplies now.")
    assert "*" in (shop / "cart.py").read_text()


def take_back(pane: Pane, shop: Path) -> None:
    pane.press("M-z")
    pane.until("cart.py")
    time.sleep(1)
    pane.press("Enter")
    end = time.monotonic() + LIMIT
    while (shop / "cart.py").read_text() != BROKEN:
        assert time.monotonic() < end, pane.screen
        time.sleep(0.05)


def branch(pane: Pane) -> None:
    pane.enter("/tree")
    pane.until("Session tree")
    pane.press("Home")
    pane.until("› • you: mend the cart")
    pane.press("Enter")
    pane.until("Leave this branch")
    pane.press("Enter")
    pane.until("› mend the cart", gone="Session tree")
    pane.press("C-c")  # the prompt is in the editor again
    pane.until("Ask anything")
    pane.enter("another way")
    pane.until("Another way: a loop.")
    assert "The total multiplies now." not in pane.screen


def leave_with_a_job(pane: Pane) -> None:
    pane.enter("start the server")
    pane.until("It serves.")
    pane.until("in the background, job1")
    pane.press("C-d")
    pane.until("Quit bayou? 1 job would be stopped")
    pane.until("Wait for the jobs first")
    pane.press("Enter")
    pane.until("To resume this session: bayou")


def come_back(pane: Pane, server: ModelServer) -> None:
    pane.enter("bayou -c")
    pane.until("It serves.")
    pane.until("job1", gone="To resume this session")
    pane.enter("and the server?")
    pane.until("I see.", gone="esc stop")
    assert "so it has no result" in str(server.requests[-1]["messages"])
    pane.press("C-d")
    pane.until("To resume this session: bayou")


@pytest.mark.parametrize(
    "size",
    [pytest.param((80, 24), id="80x24"), pytest.param((120, 40), id="120x40", marks=pytest.mark.long)],
)
def test_the_first_hour(tmp_path: Path, size: tuple[int, int]) -> None:
    shop = tmp_path / "shop"
    with model_server() as server, shell(tmp_path, size) as pane:
        server.answer = answer
        connect(pane, server)
        mend(pane, shop)
        take_back(pane, shop)
        branch(pane)
        leave_with_a_job(pane)
        come_back(pane, server)
