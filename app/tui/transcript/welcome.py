"""What the first screen says while the offline guide answers: what works, how to connect a model, what to try here."""

import os
from pathlib import Path

from app.tui.handed import KeyTold
from widgets.transcript.blocks import NoteBlock

_TEXT = (
    "The offline guide answers. It reads, searches, changes and runs what is in\n"
    "this folder, but it is no language model: /login connects one, or a key in\n"
    "the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, …). Then /model chooses.\n"
    "\n"
    "Three things to try:"
)
_AFTER = "/help lists the commands, /hotkeys the keys"
_SOURCES = (".py", ".ts", ".js", ".go", ".rs", ".java", ".c", ".cpp", ".rb", ".md")
_MOST_LOOKED_AT = 200


def welcome(cwd: Path, key_told: KeyTold) -> NoteBlock:
    """Three requests that work in this very folder."""
    names = _names(cwd)
    key = key_told("app.interrupt", "Escape")
    after = f"{_AFTER}; {key} twice is the tree." if key else f"{_AFTER}."
    readable = next((name for name in names if name.lower().startswith("readme")), names[0] if names else "")
    source = next((name for end in _SOURCES for name in names if name.endswith(end) and name != readable), "")
    tries = (
        (f"read {readable}", "a file, as far as it is asked for")
        if readable
        else ("list", "what is in this folder"),
        (f"map {source}", "its outline, with the lines") if source else ("find *.py", "files by name"),
        ("run git status", "any command"),
    )
    return NoteBlock(
        id="welcome",
        title="Welcome to bayou",
        text=_TEXT,
        tries=tries,
        after=after,
    )


def _names(cwd: Path) -> list[str]:
    """Files here and one folder down, those here first."""
    here: list[str] = []
    below: list[str] = []
    try:
        for entry in sorted(os.scandir(cwd), key=lambda one: one.name)[:_MOST_LOOKED_AT]:
            if entry.name.startswith((".", "_")):
                continue
            if entry.is_file():
                here.append(entry.name)
            elif len(below) < _MOST_LOOKED_AT and entry.is_dir(follow_symlinks=False):
                with os.scandir(entry) as inner:
                    below += sorted(f"{entry.name}/{one.name}" for one in inner if one.is_file())
    except OSError:
        pass
    return [name for name in (*here, *below) if not name.rpartition("/")[2].startswith((".", "_"))]
