"""The first screen in offline mode: what works, how to connect a model, what to try."""

import os
from pathlib import Path

from app.engine.session import Session
from app.tui.page_protocols import KeyLabel
from tools.amounts import pluralized
from widgets.transcript.blocks import NoteBlock

_TEXT = (
    "The offline guide reads, searches, changes and runs what is in this folder. It is no language model: "
    "/login connects one, as does a key in the environment.\n"
    "\n"
    "Three things to try, by number and enter:"
)
_MAX_FILES_LOOKED_AT = 200


class WelcomeMessage:
    """The welcome message of one page, with numbered suggestions."""

    def __init__(self, session: Session, key_label: KeyLabel) -> None:
        self._session = session
        self._key_label = key_label
        self._tries: tuple[tuple[str, str], ...] = ()

    def block(self, sessions: Path) -> NoteBlock:
        """Returns the welcome block. `sessions`: the folder of this project's sessions."""
        self._tries = suggested_requests(self._session.cwd)
        return NoteBlock(
            id="welcome",
            mark="≈",
            title="Welcome to bayou",
            text=_TEXT,
            tries=self._tries,
            hints=self._hints(sessions),
        )

    def meant(self, text: str) -> str:
        """Replaces a suggestion's number by its request, while nothing else has been sent."""
        number = text.strip()
        if not (number.isdecimal() and 1 <= int(number) <= len(self._tries)) or self._session.messages:
            return text
        return self._tries[int(number) - 1][0]

    def _hints(self, sessions: Path) -> tuple[tuple[str, str], ...]:
        kept = _count(sessions)
        tree, everything = (
            self._key_label("app.interrupt", "Escape"),
            self._key_label("app.palette", "Ctrl+K"),
        )
        hints = (
            ("/login", "connect a model"),
            ("/resume" if kept else "", pluralized(kept, "earlier session") + " here"),
            (everything, "everything, by name"),
            (f"{tree} {tree}" if tree else "", "the tree of the session"),
        )
        return tuple((pressed, does) for pressed, does in hints if pressed)


def suggested_requests(cwd: Path) -> tuple[tuple[str, str], ...]:
    """Returns three suggested requests that work in this folder."""
    names = _names(cwd)
    readable = next((name for name in names if name.lower().startswith("readme")), names[0] if names else "")
    return (
        (f"read {readable}", "a file") if readable else ("list", "what is in this folder"),
        ("run git status", "a command"),
        ("tour", "bayou, step by step"),
    )


def _count(sessions: Path) -> int:
    try:
        with os.scandir(sessions) as entries:
            return sum(entry.name.endswith(".jsonl") for entry in entries)
    except OSError:
        return 0


def _names(cwd: Path) -> list[str]:
    """Returns the files in this folder and one level below, those of the folder first."""
    here: list[str] = []
    below: list[str] = []
    try:
        for entry in sorted(os.scandir(cwd), key=lambda one: one.name)[:_MAX_FILES_LOOKED_AT]:
            if entry.name.startswith((".", "_")):
                continue
            if entry.is_file():
                here.append(entry.name)
            elif len(below) < _MAX_FILES_LOOKED_AT and entry.is_dir(follow_symlinks=False):
                with os.scandir(entry) as inner:
                    below += sorted(f"{entry.name}/{one.name}" for one in inner if one.is_file())
    except OSError:
        pass
    return [name for name in (*here, *below) if not name.rpartition("/")[2].startswith((".", "_"))]
