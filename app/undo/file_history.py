"""Computes how files change along the tree of a session, and how far an undo goes. Pure.

The state of the files at an entry follows from the path to it. Going from one entry to another takes
back what happened since their common ancestor, newest first, then applies what happened from there to
the other."""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from app.undo.change_records import (
    FILE_RESTORE_ENTRY_TYPE,
    MEMORY_NOTE_CALL_ID_PREFIX,
    FileChangesData,
    FileRestoreData,
    FileWithoutStoredContent,
    RecordedFileChange,
    StoredFileState,
    content_hashes_of_changes,
    decode_file_changes,
    file_changes_data_of_entry,
    file_data_to_entry_data,
    file_restore_data_of_entry,
    is_same_stored_state,
    merge_file_changes,
)
from app.undo.content_store import StoredContentMissing
from app.values.content import text_of
from app.values.entries import CustomEntry, Entry, MessageEntry
from app.values.messages import ToolResultMessage, UserMessage
from tools.number_formatting import format_changed_files

LoadContent = Callable[[str], bytes]
"""A function that returns a content by its hash; raises `StoredContentMissing`."""
EntriesToRoot = Callable[[str | None], Sequence[Entry]]
"""A function that returns the entries from the root to an entry; none for None."""


class FileHistorySegment(msgspec.Struct, frozen=True, kw_only=True):
    """One segment of a file's history: the state in which the session left the file, and the state to which it
    is restored."""

    expected_image: StoredFileState | None
    target_image: StoredFileState | None


class FileHistory(msgspec.Struct, kw_only=True):
    """The states of one file along a path between two entries of a session."""

    name: str
    segments: list[FileHistorySegment]
    """The segments of the history; there are several if a program outside the session changed the file in between."""
    changed_by: list[str]
    """The labels of the calls that changed the file, oldest first."""
    folders: tuple[str, ...] = ()
    """The folders that were created for the file and are removed with it."""
    is_shared: bool = False
    """Whether the file has hard links with unknown names and only tools changed it, so that these are restored with
    it."""

    @property
    def has_folder(self) -> bool:
        """Whether one of the file's states is an empty folder."""
        images = (image for one in self.segments for image in (one.expected_image, one.target_image))
        return any(image is not None and image.kind == "folder" for image in images)

    @property
    def expected_image(self) -> StoredFileState | None:
        return self.segments[0].expected_image

    @property
    def target_image(self) -> StoredFileState | None:
        return self.segments[-1].target_image


class FileChangesAlongPath(msgspec.Struct, frozen=True, kw_only=True):
    """The file changes along a path between two entries of a session."""

    files: tuple[FileHistory, ...] = ()
    unstored_files: tuple[FileWithoutStoredContent, ...] = ()
    """The files that are known not to be restorable."""
    head_moves: tuple[tuple[str, str], ...] = ()
    """The moves of the repository's head by the commands that are taken back."""


class RestoreTarget(msgspec.Struct, frozen=True, kw_only=True):
    """The point of a session to which files are restored."""

    entry_id: str | None
    title: str
    """The prompt before which the files had this state, or the last prompt on the path to the entry, as a title."""
    is_before_prompt: bool = False
    undoes: str | None = None

    @property
    def label(self) -> str:
        if self.undoes is not None:
            return "Redo of the last restore"
        if self.is_before_prompt:
            return f"Restore to before “{self.title}”"
        return f"Restore to after “{self.title}”" if self.title else "Restore to the beginning"


def load_changes_of_entry(
    entry: Entry, load: LoadContent
) -> tuple[tuple[RecordedFileChange, ...], tuple[FileWithoutStoredContent, ...], str]:
    """Returns the file changes that an entry records, the changes that are unknown, and a label for their cause."""
    files, restored = file_changes_data_of_entry(entry), file_restore_data_of_entry(entry)
    if files is not None:
        label, uncovered = files.tool, files.uncovered
    elif restored is not None and not restored.is_move:
        label, uncovered = "restored", ()
    else:
        return (), (), ""
    data = files or restored
    assert data is not None
    changes = load_changes_of_data(data, load)
    if changes is not None:
        return changes, uncovered, label
    lost = FileWithoutStoredContent(
        path=f"{data.total} files", why=f"the list of changes of {label} is no longer stored"
    )
    return (), (*uncovered, lost), label


def load_changes_of_data(
    data: FileChangesData | FileRestoreData, load: LoadContent
) -> tuple[RecordedFileChange, ...] | None:
    """Returns the file changes in an entry's data; None: the list was long, and its content is no longer stored."""
    if data.more is None:
        return data.changes
    try:
        return decode_file_changes(load(data.more))
    except (StoredContentMissing, ValueError, RecursionError):
        return None


def combine_changes_along_path(
    back: Sequence[Entry], forth: Sequence[Entry], load: LoadContent
) -> FileChangesAlongPath:
    """Combines the file changes of two branches. `back`: from the common ancestor to here, `forth`: from there
    to the target; both oldest first, without the ancestor."""
    files: dict[str, FileHistory] = {}
    unheld: dict[tuple[str, str], FileWithoutStoredContent] = {}
    heads: list[tuple[str, str]] = []
    for entry in reversed(back):
        changes, uncovered, label = load_changes_of_entry(entry, load)
        unheld.update(((one.path, one.why), one) for one in uncovered)
        for change in changes:
            segment = FileHistorySegment(expected_image=change.after, target_image=change.before)
            _extend_history(files, change, segment, label, is_back=True)
        data = file_changes_data_of_entry(entry)
        if data is not None and data.head is not None:
            heads.insert(0, data.head)
    for entry in forth:
        changes, uncovered, label = load_changes_of_entry(entry, load)
        unheld.update(((one.path, one.why), one) for one in uncovered)
        for change in changes:
            _extend_history(
                files,
                change,
                FileHistorySegment(expected_image=change.before, target_image=change.after),
                label,
                is_back=False,
            )
    going = [
        history
        for history in files.values()
        if len(history.segments) > 1 or not is_same_stored_state(history.expected_image, history.target_image)
    ]
    return FileChangesAlongPath(
        files=tuple(sorted(going, key=lambda history: history.name)),
        unstored_files=tuple(unheld.values()),
        head_moves=tuple(heads),
    )


def _extend_history(
    files: dict[str, FileHistory],
    change: RecordedFileChange,
    segment: FileHistorySegment,
    label: str,
    *,
    is_back: bool,
) -> None:
    if is_same_stored_state(segment.expected_image, segment.target_image):
        return
    history = files.get(change.name)
    if history is None:
        history = files[change.name] = FileHistory(
            name=change.name, segments=[segment], changed_by=[], is_shared=True
        )
    elif is_same_stored_state(history.target_image, segment.expected_image):
        history.segments[-1] = FileHistorySegment(
            expected_image=history.segments[-1].expected_image, target_image=segment.target_image
        )
    else:
        history.segments.append(segment)
    history.is_shared = history.is_shared and change.is_shared
    if label and label != "restored":
        history.changed_by.insert(0 if is_back else len(history.changed_by), label)
    if (change.before if is_back else change.after) is None:
        history.folders = tuple(dict.fromkeys((*change.folders, *history.folders)))


def changes_that_undo_restore(
    path: Sequence[Entry], entry_id: str, load: LoadContent
) -> FileChangesAlongPath:
    """Returns the path of file changes that takes back a restore and everything after it. A restore that belongs
    to a move is taken back alone, since the entries before it are on another branch."""
    at = [entry.id for entry in path].index(entry_id)
    restored = file_restore_data_of_entry(path[at])
    if restored is None or not restored.is_move:
        return combine_changes_along_path(path[at:], (), load)
    alone = FileRestoreData(
        id=restored.id, changes=restored.changes, more=restored.more, count=restored.count
    )
    custom = path[at]
    assert isinstance(custom, CustomEntry)
    return combine_changes_along_path(
        [msgspec.structs.replace(custom, data=file_data_to_entry_data(alone)), *path[at + 1 :]], (), load
    )


def path_with_file_entries(path: Sequence[Entry], below: Callable[[str], Sequence[Entry]]) -> list[Entry]:
    """Returns a path that ends with a tool result together with the file entry of that call, which is
    recorded behind the result."""
    found = list(path)
    last = found[-1] if found else None
    if not isinstance(last, MessageEntry) or not isinstance(last.message, ToolResultMessage):
        return found
    call_id = last.message.tool_call_id
    for entry in below(last.id):
        files = file_changes_data_of_entry(entry)
        if files is not None and files.call_id == call_id:
            found.append(entry)
            break
    return found


def entry_has_file_changes(entry: Entry) -> bool:
    files, restored = file_changes_data_of_entry(entry), file_restore_data_of_entry(entry)
    return bool(files is not None and (files.total or files.uncovered)) or bool(restored and restored.total)


def find_undo_target(leaf_id: str | None, path_to: EntriesToRoot, count: int) -> RestoreTarget | None:
    """Returns the point before the last `count` prompts whose file changes are not undone yet; None if there are
    fewer."""
    path = list(path_to(leaf_id))
    pending, found = False, 0
    while path:
        entry = path.pop()
        restored = file_restore_data_of_entry(entry)
        if restored is not None and restored.hunks:
            continue  # the rest of the prompt's changes still waits
        if restored is not None and not restored.is_move:
            if restored.interrupted and found == 0 and not pending and count == 1:
                return RestoreTarget(entry_id=restored.target, title=restored.title, is_before_prompt=True)
            path = list(path_to(restored.target)) if not restored.interrupted else path
            pending = False if not restored.interrupted else pending
            continue
        files = file_changes_data_of_entry(entry)
        if (
            files is not None
            and files.total
            and files.call_id.startswith(MEMORY_NOTE_CALL_ID_PREFIX)
            and not pending
        ):
            found += 1
            if found == count:
                above = path[-1].id if path else None
                return RestoreTarget(entry_id=above, title="your note", is_before_prompt=True)
        elif files is not None and (files.total or files.uncovered):
            pending = True
        elif pending and isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
            found, pending = found + 1, False
            if found == count:
                above = path[-1].id if path else None
                return RestoreTarget(
                    entry_id=above, title=title_of_prompt_message(entry.message), is_before_prompt=True
                )
    return None


def find_redo_target(path: Sequence[Entry]) -> RestoreTarget | None:
    """Returns the point that undoes the last restore, which `undoes` names; None if there is no restore, or if
    files changed since."""
    waiting: list[tuple[Entry, FileRestoreData]] = []
    for entry in path:
        restored = file_restore_data_of_entry(entry)
        if restored is not None and restored.undoes is not None:
            waiting = [one for one in waiting if one[0].id != restored.undoes]
        elif restored is not None and restored.total:
            waiting.append((entry, restored))
        elif entry_has_file_changes(entry):
            waiting.clear()
    if not waiting:
        return None
    entry, restored = waiting[-1]
    return RestoreTarget(entry_id=restored.origin, title=restored.title, undoes=entry.id)


def restore_by_undone_entry(path: Sequence[Entry]) -> dict[str, str]:
    """Returns the entries of a branch whose file changes are undone at its end, each with the restore that undid it."""
    if not any(type(entry) is CustomEntry and entry.custom_type == FILE_RESTORE_ENTRY_TYPE for entry in path):
        return {}
    undone: dict[str, str] = {}
    places: dict[str | None, int] = {None: 0}
    undone_at: list[dict[str, str]] = [undone]
    for number, entry in enumerate(path, 1):
        restored = file_restore_data_of_entry(entry)
        if (
            restored is not None
            and restored.total
            and restored.target in places
            and not (restored.hunks or restored.is_move or restored.interrupted)
        ):
            place = places[restored.target]
            later = (
                one.id for one in path[place : number - 1] if file_changes_data_of_entry(one) is not None
            )
            undone = undone_at[place] | {id: undone.get(id, entry.id) for id in later}
        places[entry.id] = number
        undone_at.append(undone)
    return undone


def prompt_title_at(path: Sequence[Entry]) -> str:
    """Returns the last prompt on the path as a title for its end; empty before the first prompt."""
    for entry in reversed(path):
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
            return title_of_prompt_message(entry.message)
    return ""


def title_of_prompt_message(message: UserMessage) -> str:
    words = " ".join(text_of(message.content).split())
    return words if len(words) <= 60 else words[:59] + "…"


def referenced_content_hashes(entries: Iterable[Entry], load: LoadContent) -> Iterable[str]:
    """Yields the hashes of all contents that the entries refer to."""

    for entry in entries:
        files, restored = file_changes_data_of_entry(entry), file_restore_data_of_entry(entry)
        data = files or restored
        if data is None:
            continue
        if data.more is not None:
            yield data.more
        yield from content_hashes_of_changes(load_changes_of_data(data, load) or ())


class FileChangeCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of changed files, each counted once, and of changed lines, summed over all changes."""

    files: int = 0
    added: int = 0
    removed: int = 0
    is_minimum: bool = False
    """Whether the number of files is a minimum, because long lists are stored elsewhere and not
    compared."""
    unstored_files: tuple[str, ...] = ()
    """The number of files that cannot be restored."""
    paths: tuple[str, ...] = ()
    """The names of the changed files, without those of lists that are stored elsewhere."""

    @property
    def summary(self) -> str:
        """The counts as a text: `3 files +40 −12`."""
        least = "at least " if self.is_minimum else ""
        return least + format_changed_files(self.files, self.added, self.removed)


def count_file_changes(entries: Iterable[Entry]) -> FileChangeCounts:
    """Counts the file changes of tool calls; restores are not included."""
    found = [data for entry in entries if (data := file_changes_data_of_entry(entry)) is not None]
    known = [data for data in found if data.total]
    here = merge_file_changes(change for data in known for change in data.changes)
    elsewhere = [data for data in known if data.more is not None]
    counts = [len(here), *(data.total for data in elsewhere)]
    return FileChangeCounts(
        files=max(counts, default=0),
        added=sum(change.added for change in here) + sum(data.added for data in elsewhere),
        removed=sum(change.removed for change in here) + sum(data.removed for data in elsewhere),
        is_minimum=bool(elsewhere) and len(known) > 1,
        paths=tuple(change.path for change in here),
        unstored_files=tuple(dict.fromkeys(path for data in found for path in _unrestorable_files(data))),
    )


def _unrestorable_files(data: FileChangesData) -> Iterable[str]:
    """Yields single files that cannot be restored, but not whole folders: each command's card names those."""
    return (one.path for one in data.uncovered if one.path != ".")


class PromptWithFileChanges(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt whose run changed files, with the entries of those changes."""

    prompt_id: str | None
    """The id of the prompt's entry; None: the changes were made before the first prompt."""
    title: str
    entries: tuple[Entry, ...]


def prompts_with_file_changes(path: Sequence[Entry]) -> list[PromptWithFileChanges]:
    """Returns the prompts whose runs changed files or may have changed some, oldest first."""
    found: list[PromptWithFileChanges] = []
    prompt: MessageEntry | None = None
    gathered: list[Entry] = []

    def end() -> None:
        if gathered:
            title = (
                title_of_prompt_message(prompt.message)
                if prompt is not None and isinstance(prompt.message, UserMessage)
                else ""
            )
            found.append(
                PromptWithFileChanges(
                    prompt_id=prompt.id if prompt else None, title=title, entries=tuple(gathered)
                )
            )
            gathered.clear()

    for entry in path:
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
            end()
            prompt = entry
        elif (files := file_changes_data_of_entry(entry)) is not None and (files.total or files.uncovered):
            gathered.append(entry)
    end()
    return found
