"""The same with a real tmux between: images get through it where it lets them, and are moved and clipped by it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from PIL import Image

from tests.support.picture_terminal import ITERM, KITTY, PictureTerminal, Speaks
from tests.support.terminals import Terminal, terminal
from tests.tui.test_images_in_terminal import ENV, UP, keep, scroll_past, until_blocks, until_one

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux here")


class Tmux:
    def __init__(self, folder: Path, *, passes: bool) -> None:
        self.socket = str(folder / "tmux.socket")
        self.conf = folder / "tmux.conf"
        self.conf.write_text(
            f"set -g allow-passthrough {'on' if passes else 'off'}\n"
            "set -g status off\nset -g default-terminal tmux-256color\nset -g focus-events on\n"
        )

    def say(self, *words: str) -> str:
        return subprocess.run(
            ["tmux", "-S", self.socket, *words], capture_output=True, text=True, check=False
        ).stdout

    def program(self, *words: str) -> str:
        """What starts it, with bayou in a window, which stays: a tmux that ends drops its last words."""
        bayou = " ".join([sys.executable, "-P", "-m", "app", *words, "--permissions", "full; cat"])
        line = ["tmux", "-u", "-S", self.socket, "-f", str(self.conf), "new-session", bayou]
        return f"import os; os.execvp('tmux', {line!r})"


@contextmanager
def opened(
    folder: Path, *, passes: bool = True, speaks: Speaks = KITTY
) -> Iterator[tuple[Terminal, PictureTerminal, Tmux]]:
    Image.radial_gradient("L").resize((320, 160)).convert("RGB").save(folder / "boat.png")
    keep({"expandTools": '"always"'})
    tmux = Tmux(folder, passes=passes)
    emulator = partial(PictureTerminal, speaks=speaks)
    env = {**ENV, "PATH": os.environ["PATH"]}
    try:
        with terminal(
            folder, program=tmux.program("'read boat.png'"), size=(80, 30), env=env, emulator=emulator
        ) as shown:
            assert isinstance(shown.emulator, PictureTerminal)
            yield shown, shown.emulator, tmux
    finally:
        tmux.say("kill-server")


def test_a_picture_goes_through_and_is_moved_clipped_and_taken_away(tmp_path: Path) -> None:
    with opened(tmp_path) as (shown, screen, tmux):
        until_one(shown, screen)
        scroll_past(shown, screen)
        shown.press(UP * 10)
        shown.until(lambda: len(screen.pictures) == 1)
        tmux.say("split-window", "-h", "-l", "50")
        shown.until(lambda: [seen.columns for seen in screen.pictures] == [25])
        tmux.say("kill-pane")
        shown.until(lambda: [seen.columns for seen in screen.pictures] == [48])
        shown.press("tide")  # while tmux draws anew, it hands nothing on
        shown.until("› tide")
        shown.press("\x15")
        shown.until(lambda: "tide" not in shown.screen)
        shown.press("\x04")
        shown.until("To resume this session")
        assert screen.left_behind == []


def test_where_it_lets_nothing_through_half_blocks_stand_for_it(tmp_path: Path) -> None:
    with opened(tmp_path, passes=False) as (shown, screen, _):
        until_blocks(shown, screen)
        assert screen.sent == [] and screen.faults == []


def test_files_do_not_go_through(tmp_path: Path) -> None:
    with opened(tmp_path, speaks=ITERM) as (shown, screen, _):
        until_blocks(shown, screen)
        assert screen.drawn == [] and screen.faults == []


def test_a_hidden_pane_sends_no_images_and_no_other_pane_gets_replies(tmp_path: Path) -> None:
    with opened(tmp_path) as (shown, screen, tmux):
        until_one(shown, screen)
        tmux.say("new-window", "cat -v")
        shown.until(lambda: screen.scraps == 0)
        count = len(screen.sent)
        tmux.say("send-keys", "-t", ":0", "read boat.png", "Enter")
        shown.until(lambda: "its card above" in tmux.say("capture-pane", "-p", "-t", ":0"))
        tmux.say("resize-window", "-t", ":0", "-x", "44")
        shown.until(lambda: "▀" in tmux.say("capture-pane", "-p", "-t", ":0"))
        assert len(screen.sent) == count
        assert tmux.say("capture-pane", "-p", "-t", ":1").strip() == ""
        tmux.say("set-option", "-t", ":0", "-wu", "window-size")
        tmux.say("select-window", "-t", ":0")
        shown.press("x")
        shown.until(lambda: bool(screen.pictures))
        assert screen.faults == []
