"""A whole working session of the real program in tmux, key by key, its screens compared as plain text.

The screens lie in `snapshots/tui/test_whole_session`; `BAYOU_ACCEPT_SCREENS=1` writes them anew.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import OUTSIDE

SCREENS = Path(__file__).parents[2] / "snapshots" / "tui" / "test_whole_session"
LIMIT = 90.0
UNASKED = "--permissions full"
_VOLATILE = (
    (re.compile(r"\d+\.\d+s"), "0.0s"),
    (re.compile(r"\b\d\d:\d\d$", re.MULTILINE), "00:00"),
    (re.compile(r" +(?:now|\d+m)$", re.MULTILINE), " now"),
    (re.compile(r"[▐╸╺▁▂▃▄▅▆▇█][^\S\n]*$", re.MULTILINE), ""),
    (re.compile(r"(?: size|\d+ kB) "), "      "),
)

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


class Tmux:
    """bayou in a separate terminal."""

    def __init__(self, folder: Path, name: str) -> None:
        self._socket = f"bayou-{os.getpid()}-{name}"
        self._folder = folder

    def start(self, *words: str) -> None:
        bayou = f"{sys.executable} -P -m app --use-theme bayou-dark {UNASKED} {' '.join(words)}"
        command = f"unset COLUMNS LINES; {bayou}; echo ENDED; exec sh"
        self._run("-f", os.devnull, "new-session", "-d", "-x", "90", "-y", "26", command)

    def run_again(self, *words: str) -> None:
        self.type(f"clear; {sys.executable} -P -m app --use-theme bayou-dark {UNASKED} {' '.join(words)}")
        self.press("Enter")

    def press(self, *keys: str) -> None:
        self._run("send-keys", *keys)

    def type(self, text: str) -> None:
        self._run("send-keys", "-l", text)

    def until(self, *texts: str, gone: str = "") -> str:
        """The screen as soon as it shows all the texts, and two looks see the same."""
        end, before = time.monotonic() + LIMIT, ""
        while True:
            shown = self._run("capture-pane", "-p")
            if all(text in shown for text in texts) and (not gone or gone not in shown) and shown == before:
                return shown
            assert time.monotonic() < end, f"{texts} was not shown:\n{shown}"
            before = shown
            time.sleep(0.1)  # a terminal sends no notification after drawing

    def close(self) -> None:
        subprocess.run(["tmux", "-L", self._socket, "kill-server"], check=False, capture_output=True)

    def _run(self, *words: str) -> str:
        command = ["tmux", "-L", self._socket, *words]
        done = subprocess.run(command, cwd=self._folder, check=True, capture_output=True, text=True)
        return done.stdout


def same(name: str, shown: str) -> None:
    for pattern, instead in _VOLATILE:
        shown = pattern.sub(instead, shown)
    shown = "\n".join(line.rstrip() for line in shown.splitlines()).rstrip() + "\n"
    file = SCREENS / f"{name}.txt"
    if OUTSIDE.get("BAYOU_ACCEPT_SCREENS"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(shown, encoding="utf-8")
    assert _without_count(shown) == _without_count(file.read_text(encoding="utf-8"))


def _without_count(screen: str) -> str:
    """The tokens of the prompt and their share of the window depend on how long the folder's name is, and the room
    beside them on their figure."""
    return re.sub(r"↑[\d.]+k.*", lambda found: re.sub(r"^↑[\d.]+k|\d+ %| {2,}", "  ", found[0]), screen)


@pytest.fixture
def tmux(own_home: Path) -> Iterator[Tmux]:
    project = own_home / "project"
    project.mkdir()
    (project / "README.md").write_text("# Boats\n\nA small harbour.\n", encoding="utf-8")
    (project / "fleet.py").write_text("def launch(boat):\n    return boat\n", encoding="utf-8")
    terminal = Tmux(project, own_home.name)
    yield terminal
    terminal.close()


def test_a_whole_working_session(tmux: Tmux) -> None:
    tmux.start()
    tmux.until("offline guide", "Ask anything")
    tmux.type("read README.md")
    tmux.press("Enter")
    in_the_header = "read README.md"
    same("1-prompt", tmux.until("A small harbour.", "% of", in_the_header, gone="esc stop"))
    tmux.press("C-o")
    same("2-expanded", tmux.until("│ 1 # Boats"))
    tmux.press("C-o", "C-o")
    tmux.until("read README.md", gone="│ 1 # Boats")
    tmux.press("F3")
    tmux.until("words, or re:pattern")
    tmux.type("harbour")
    tmux.press("Enter")
    tmux.until("1 of ")
    tmux.press("Escape")
    tmux.press("Escape")
    tmux.until("Ask anything", gone="1 of ")
    tmux.type("read fleet.py")
    tmux.press("Enter")
    tmux.until("def launch", gone="esc stop")

    tmux.press("Escape", "Escape")
    same("3-tree", tmux.until("Session tree", "← here", "guide ·"))
    tmux.press("L")
    tmux.until("Label")
    tmux.type("the fleet")
    tmux.press("Enter")
    same("4-labelled", tmux.until("[the fleet]", "guide ·"))
    tmux.type("harbour")
    tmux.until("/ harbour")
    tmux.press("Escape")
    tmux.until("Session tree", gone="/ harbour")
    tmux.press("Home", "Enter")
    tmux.until("Leave this branch")
    tmux.press("Enter")
    tmux.until("read README.md", gone="Session tree")
    tmux.press("C-u")
    tmux.type("list")
    tmux.press("Enter")
    tmux.until("fleet.py", gone="esc stop")

    tmux.press("Escape", "Escape")
    same("5-two-branches", tmux.until("Session tree", "├─", "└─", "fleet.py", "guide ·"))
    tmux.press("f")
    tmux.until("Fork from here")
    time.sleep(0.5)  # the question takes no key for a moment
    tmux.press("Escape")
    tmux.until("Session tree", gone="Fork from here")
    tmux.press("Escape")
    tmux.until("Ask anything", gone="Session tree")
    tmux.type("/fork")
    tmux.press("Enter")
    tmux.until("Fork from")
    tmux.press("Enter")
    tmux.until("› list", gone="enter choose")
    tmux.press("C-u")
    tmux.type("read fleet.py")
    tmux.press("Enter")
    tmux.until("def launch", gone="esc stop")
    tmux.press("C-d")
    tmux.until("ENDED", "To resume this session: bayou --session")

    tmux.run_again("--resume")
    same("6-sessions", tmux.until("Sessions in this folder", " 13 ", " 5 ", "Last messages"))
    tmux.type("harbour")
    tmux.until("› harbour")
    tmux.press("Enter")
    tmux.until("Ask anything", gone="Sessions in this folder")
    tmux.press("C-d")
    tmux.until("To resume this session")
