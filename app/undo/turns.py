"""What each prompt of a branch did to files, counted from the session's entries. Pure.

A prompt is whatever the person said, a word in between too: what `/undo` takes back one by one.
"""

from collections.abc import Iterable, Sequence

import msgspec

from app.undo.history import title_of
from app.undo.images import FilesData, files_of, joined
from app.values.entries import Entry, MessageEntry
from app.values.messages import UserMessage
from tools.amounts import changed_files


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """How much was changed: each file once, lines change by change."""

    files: int = 0
    added: int = 0
    removed: int = 0
    is_least: bool = False
    """Long lists of files are kept elsewhere, and may name the same ones."""
    unheld: tuple[str, ...] = ()
    """What cannot be put back."""

    @property
    def words(self) -> str:
        """`3 files +40 −12`."""
        least = "at least " if self.is_least else ""
        return least + changed_files(self.files, self.added, self.removed)


def tally(entries: Iterable[Entry]) -> Tally:
    """Of what calls did; restores are told by themselves."""
    found = [data for entry in entries if (data := files_of(entry)) is not None]
    known = [data for data in found if data.total]
    here = joined(change for data in known for change in data.changes)
    elsewhere = [data for data in known if data.more is not None]
    counts = [len(here), *(data.total for data in elsewhere)]
    return Tally(
        files=max(counts, default=0),
        added=sum(change.added for change in here) + sum(data.added for data in elsewhere),
        removed=sum(change.removed for change in here) + sum(data.removed for data in elsewhere),
        is_least=bool(elsewhere) and len(known) > 1,
        unheld=tuple(dict.fromkeys(path for data in found for path in _unheld(data))),
    )


def _unheld(data: FilesData) -> Iterable[str]:
    """Single ones: of a folder that is not looked at each command's card says so."""
    return (one.path for one in data.uncovered if one.path != ".")


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt that changed files, and the entries of what it did."""

    prompt_id: str | None
    """None: it came before any prompt."""
    title: str
    entries: tuple[Entry, ...]


def turns_of(path: Sequence[Entry]) -> list[Turn]:
    """Those that changed files or may have, oldest first."""
    found: list[Turn] = []
    prompt: MessageEntry | None = None
    gathered: list[Entry] = []

    def end() -> None:
        if gathered:
            title = (
                title_of(prompt.message)
                if prompt is not None and isinstance(prompt.message, UserMessage)
                else ""
            )
            found.append(Turn(prompt_id=prompt.id if prompt else None, title=title, entries=tuple(gathered)))
            gathered.clear()

    for entry in path:
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
            end()
            prompt = entry
        elif (files := files_of(entry)) is not None and (files.total or files.uncovered):
            gathered.append(entry)
    end()
    return found
