"""Files along the tree of a session: what happened to each between two entries, and how far an undo goes. Pure.

The state of the files at an entry is a fold over the path from the root. Going from one entry to another takes back
what happened since their common ancestor, newest first, and then does what happened from there to the other.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from app.undo.blobs import Missing
from app.undo.images import (
    Change,
    FileImage,
    FilesData,
    RestoredData,
    Uncovered,
    as_data,
    files_of,
    hashes_of,
    is_same,
    restored_of,
    unpacked,
)
from app.values.content import text_of
from app.values.entries import CustomEntry, Entry, MessageEntry
from app.values.messages import ToolResultMessage, UserMessage

Load = Callable[[str], bytes]
"""Content by its hash; raises `Missing`."""
PathTo = Callable[[str | None], Sequence[Entry]]
"""The entries from the root to one; none for None."""


class Leg(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of a file's way: what it should be, and what it becomes."""

    expected: FileImage | None
    wanted: FileImage | None


class FileWay(msgspec.Struct, kw_only=True):
    """What one file goes through on the way from one entry to another."""

    name: str
    legs: list[Leg]
    """More than one: somebody else changed it in between."""
    by: list[str]
    """What had changed it, in words, oldest first."""
    folders: tuple[str, ...] = ()
    """Made for it by what is taken back."""
    is_shared: bool = False
    """Only tools changed it, and with it names that are not known: they go back with it."""

    @property
    def expected(self) -> FileImage | None:
        return self.legs[0].expected

    @property
    def wanted(self) -> FileImage | None:
        return self.legs[-1].wanted


class Journey(msgspec.Struct, frozen=True, kw_only=True):
    ways: tuple[FileWay, ...] = ()
    unheld: tuple[Uncovered, ...] = ()
    """What is known to be out of reach."""
    heads: tuple[tuple[str, str], ...] = ()
    """Moves of the repository's head by what is taken back."""


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Where files are taken to."""

    entry_id: str | None
    title: str
    """The prompt before which that is, or the last one on the way to the entry."""
    is_before_prompt: bool = False
    undoes: str | None = None

    @property
    def words(self) -> str:
        if self.undoes is not None:
            return "The last restore taken back"
        if self.is_before_prompt:
            return f"Files back to before “{self.title}”"
        return (
            f"Files as they were behind “{self.title}”"
            if self.title
            else "Files as they were at the beginning"
        )


def changes_of(entry: Entry, load: Load) -> tuple[tuple[Change, ...], tuple[Uncovered, ...], str]:
    """What an entry says happened to files, what of it cannot be known, and by whom."""
    files, restored = files_of(entry), restored_of(entry)
    if files is not None:
        label, uncovered = files.tool, files.uncovered
    elif restored is not None and not restored.is_move:
        label, uncovered = "restored", ()
    else:
        return (), (), ""
    data = files or restored
    assert data is not None
    changes = changes_in(data, load)
    if changes is not None:
        return changes, uncovered, label
    lost = Uncovered(path=f"{data.total} files", why=f"the list of what {label} changed is not kept any more")
    return (), (*uncovered, lost), label


def changes_in(data: FilesData | RestoredData, load: Load) -> tuple[Change, ...] | None:
    """None: the list is long, and is not kept any more."""
    if data.more is None:
        return data.changes
    try:
        return unpacked(load(data.more))
    except (Missing, msgspec.DecodeError):
        return None


def journey(back: Sequence[Entry], forth: Sequence[Entry], load: Load) -> Journey:
    """`back`: from the common ancestor to here, `forth`: from it to there; both oldest first, without the ancestor."""
    ways: dict[str, FileWay] = {}
    unheld: dict[tuple[str, str], Uncovered] = {}
    heads: list[tuple[str, str]] = []
    for entry in reversed(back):
        changes, uncovered, label = changes_of(entry, load)
        unheld.update(((one.path, one.why), one) for one in uncovered)
        for change in changes:
            leg = Leg(expected=change.after, wanted=change.before)
            _lengthen(ways, change, leg, label, is_back=True)
        files = files_of(entry)
        if files is not None and files.head is not None:
            heads.insert(0, files.head)
    for entry in forth:
        changes, uncovered, label = changes_of(entry, load)
        unheld.update(((one.path, one.why), one) for one in uncovered)
        for change in changes:
            _lengthen(ways, change, Leg(expected=change.before, wanted=change.after), label, is_back=False)
    going = [way for way in ways.values() if len(way.legs) > 1 or not is_same(way.expected, way.wanted)]
    return Journey(
        ways=tuple(sorted(going, key=lambda way: way.name)), unheld=tuple(unheld.values()), heads=tuple(heads)
    )


def _lengthen(ways: dict[str, FileWay], change: Change, leg: Leg, label: str, *, is_back: bool) -> None:
    if is_same(leg.expected, leg.wanted):
        return
    way = ways.get(change.name)
    if way is None:
        way = ways[change.name] = FileWay(name=change.name, legs=[leg], by=[], is_shared=True)
    elif is_same(way.wanted, leg.expected):
        way.legs[-1] = Leg(expected=way.legs[-1].expected, wanted=leg.wanted)
    else:
        way.legs.append(leg)
    way.is_shared = way.is_shared and change.is_shared
    if label and label != "restored":
        way.by.insert(0 if is_back else len(way.by), label)
    if is_back:
        way.folders = tuple(dict.fromkeys((*change.folders, *way.folders)))


def taking_back(path: Sequence[Entry], entry_id: str, load: Load) -> Journey:
    """The way from here to before a restore on this path. One that went along with a move stands alone: what was
    before it belongs to the branch that was left.
    """
    at = [entry.id for entry in path].index(entry_id)
    restored = restored_of(path[at])
    if restored is None or not restored.is_move:
        return journey(path[at:], (), load)
    alone = RestoredData(id=restored.id, changes=restored.changes, more=restored.more, count=restored.count)
    custom = path[at]
    assert isinstance(custom, CustomEntry)
    return journey([msgspec.structs.replace(custom, data=as_data(alone)), *path[at + 1 :]], (), load)


def settled(path: Sequence[Entry], below: Callable[[str], Sequence[Entry]]) -> list[Entry]:
    """A path with the changes of the call that it ends with, which stand directly behind its result."""
    found = list(path)
    last = found[-1] if found else None
    if not isinstance(last, MessageEntry) or not isinstance(last.message, ToolResultMessage):
        return found
    call_id = last.message.tool_call_id
    for entry in below(last.id):
        files = files_of(entry)
        if files is not None and files.call_id == call_id:
            found.append(entry)
            break
    return found


def has_changes(entry: Entry) -> bool:
    files, restored = files_of(entry), restored_of(entry)
    return bool(files is not None and (files.total or files.uncovered)) or bool(restored and restored.total)


def undo_target(leaf_id: str | None, path_to: PathTo, count: int) -> Target | None:
    """Before the last `count` prompts that changed files and are not taken back; None: there are not so many."""
    path = list(path_to(leaf_id))
    pending, found = False, 0
    while path:
        entry = path.pop()
        restored = restored_of(entry)
        if restored is not None and not restored.is_move:
            if restored.interrupted and found == 0 and not pending and count == 1:
                return Target(entry_id=restored.target, title=restored.title, is_before_prompt=True)
            path = list(path_to(restored.target)) if not restored.interrupted else path
            pending = False if not restored.interrupted else pending
            continue
        files = files_of(entry)
        if files is not None and (files.total or files.uncovered):
            pending = True
        elif pending and isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
            found, pending = found + 1, False
            if found == count:
                above = path[-1].id if path else None
                return Target(entry_id=above, title=title_of(entry.message), is_before_prompt=True)
    return None


def redo_target(path: Sequence[Entry]) -> Target | None:
    """The last restore that is not taken back, if nothing changed files since; `undoes` names it."""
    waiting: list[tuple[Entry, RestoredData]] = []
    for entry in path:
        restored = restored_of(entry)
        if restored is not None and restored.undoes is not None:
            waiting = [one for one in waiting if one[0].id != restored.undoes]
        elif restored is not None and restored.total:
            waiting.append((entry, restored))
        elif has_changes(entry):
            waiting.clear()
    if not waiting:
        return None
    entry, restored = waiting[-1]
    return Target(entry_id=restored.origin, title=restored.title, undoes=entry.id)


def title_at(path: Sequence[Entry]) -> str:
    """What a person calls this place: the last prompt on the way to it; nothing at the beginning."""
    for entry in reversed(path):
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
            return title_of(entry.message)
    return ""


def title_of(message: UserMessage) -> str:
    words = " ".join(text_of(message.content).split())
    return words if len(words) <= 60 else words[:59] + "…"


def needed_by(entries: Iterable[Entry], load: Load) -> Iterable[str]:
    """The names of all contents that these entries speak of."""

    for entry in entries:
        files, restored = files_of(entry), restored_of(entry)
        data = files or restored
        if data is None:
            continue
        if data.more is not None:
            yield data.more
        yield from hashes_of(changes_in(data, load) or ())
