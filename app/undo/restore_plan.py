"""Plans a restore: lists every file with its planned change and the reason. Only reads.

The default protects the user's work: a file that differs from what the session left is a conflict and
stays unchanged."""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from app.permits.secret_files import autorun_reason
from app.undo.change_records import (
    RestoreChoice,
    RestoredHunkData,
    StoredFileState,
    decode_file_text,
    is_same_stored_state,
    readable_file_name,
)
from app.undo.content_store import BlobStore, StoredContentMissing
from app.undo.disk_files import (
    FileOnDisk,
    UnsupportedFileForUndo,
    absolute_path_of_name,
    is_inside_folders,
    name_spelled_as_on_disk,
    names_differing_in_case,
    read_disk_file_state,
)
from app.undo.file_history import FileChangesAlongPath, FileHistory, FileHistorySegment, RestoreTarget
from app.values.user_errors import UserError
from tools.edits.diffs import make_diff_of_texts
from tools.edits.three_way_merge import merge_three_way

RowState = Literal["ready", "conflict", "same", "unheld", "refused"]
_MAX_DIFF_BYTES = 1 << 20
_MAX_FILES_WITH_COUNTED_LINES = 200
"""The maximum number of files in a plan whose changed lines are counted; counting more would take too long."""


class RestoreFileRow(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One file of a restore plan, as user interfaces show it."""

    path: str
    state: RowState
    deed: str
    """The planned change: `comes back`, `is removed`, `changes`, `mode 644 → 755`, `stays`."""
    why: str = ""
    by: str = ""
    """The tools and commands that changed the file."""
    added: int = 0
    removed: int = 0
    can_merge: bool = False
    choice: RestoreChoice = "keep"
    """The default choice for the file: whether it is restored."""


class FileRestoreStep(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a restore plan with the data that is needed to restore it."""

    row: RestoreFileRow
    name: str
    path: str = ""
    disk_file: FileOnDisk = FileOnDisk()
    target_image: StoredFileState | None = None
    history: FileHistory | None = None


class RestorePlan(msgspec.Struct, frozen=True, kw_only=True):
    """A restore that is planned: its target, and the planned change of each file."""

    target: RestoreTarget
    origin: str | None
    steps: tuple[FileRestoreStep, ...]
    head_moves: tuple[tuple[str, str], ...] = ()
    is_move: bool = False
    hunks: tuple[RestoredHunkData, ...] = ()
    """The hunks to which the restore is limited; empty: whole files are restored."""
    contents: "ContentStoreWithLimit"

    def diff(self, path: str, *, is_merged: bool = False) -> str:
        """Returns the diff that the restore would make to a file; empty when it is not text. Blocks."""
        step = next((step for step in self.steps if step.row.path == path), None)
        if step is None:
            raise UserError(f"{path} is not part of this restore.")
        return diff_of_restore_step(step, self.contents, is_merged=is_merged)

    @property
    def rows(self) -> tuple[RestoreFileRow, ...]:
        return tuple(step.row for step in self.steps)

    @property
    def digest(self) -> str:
        """A hash of the planned changes, by which a changed plan is noticed."""
        whole = hashlib.sha256(repr((self.target.entry_id, self.target.undoes)).encode())
        for step in self.steps:
            now = step.disk_file.image.identity if step.disk_file.image else None
            wanted = step.target_image.identity if step.target_image else None
            whole.update(repr((step.name, step.row.state, now, wanted)).encode("utf-8", "surrogatepass"))
        return whole.hexdigest()[:16]

    @property
    def added(self) -> int:
        return sum(row.added for row in self.rows if row.choice != "keep")

    @property
    def removed(self) -> int:
        return sum(row.removed for row in self.rows if row.choice != "keep")


class ContentStoreWithLimit:
    """The content store together with the size limit of stored files."""

    def __init__(self, store: BlobStore, limit: Callable[[], int]) -> None:
        """Connects the content store with a limit. `limit` returns the maximum size of a stored file in bytes; it
        is called each time, because the setting may change."""
        self.store = store
        self._limit = limit

    @property
    def max_file_bytes(self) -> int:
        return self._limit()


def make_restore_plan(
    path: FileChangesAlongPath,
    target: RestoreTarget,
    *,
    origin: str | None,
    root: Path,
    contents: ContentStoreWithLimit,
    is_move: bool = False,
) -> RestorePlan:
    """Compares every file on the restore's path with the disk and returns the restore plan. Blocks."""
    real: dict[str, str] = {}
    counts = len(path.files) <= _MAX_FILES_WITH_COUNTED_LINES
    alike = names_differing_in_case(history.name for history in path.files)
    _drop_foreign_folders(path.files, root)
    _plan_folder_removals(path.files, root)
    freed = frozenset(
        folder for history in path.files if history.target_image is None for folder in history.folders
    )
    gone = _removed_links(path.files, root, contents, real)
    steps = [
        _plan_file(
            history,
            root,
            contents,
            real,
            counts=counts,
            is_exact=history.name in alike,
            freed=freed,
            gone=gone,
        )
        for history in path.files
    ]
    steps = [step for step in steps if step.row.state != "same"]
    steps = _refuse_full_folders(steps)
    steps = _with_renames(steps)
    unheld = {one.path: one.why for one in path.unstored_files}
    steps = [_as_conflict_if_unsure(step, unheld.get(step.row.path)) for step in steps]
    known = {step.row.path for step in steps}
    steps += [
        FileRestoreStep(
            row=RestoreFileRow(path=one.path, state="unheld", deed="stays", why=one.why), name=one.path
        )
        for one in path.unstored_files
        if one.path not in known
    ]
    return RestorePlan(
        target=target,
        origin=origin,
        steps=tuple(steps),
        head_moves=path.head_moves,
        is_move=is_move,
        contents=contents,
    )


def _drop_foreign_folders(files: tuple[FileHistory, ...], root: Path) -> None:
    """Drops recorded parent folders that do not contain the file, because a session file from elsewhere may name
    any folder."""
    for history in files:
        if history.folders:
            top = "/" if os.path.isabs(history.name) else f"{root}/"  # noqa: PTH117  (a name, not a path)
            place = os.path.normpath(os.path.join(root, history.name))  # noqa: PTH118  (an absolute name stays)
            history.folders = tuple(
                folder
                for folder in history.folders
                if folder.startswith(top) and place.startswith(f"{folder}/") and ".." not in folder.split("/")
            )


def _plan_folder_removals(files: tuple[FileHistory, ...], root: Path) -> None:
    """Plans the removal of the files and folders below a folder that a restored file replaces."""
    coming = {history.name for history in files if history.target_image is not None}
    for history in files:
        if history.target_image is not None:
            continue
        above = _folders_above(history.name)
        at = next((place for place, name in enumerate(above) if name in coming), None)
        if at is not None:
            gone = (os.path.join(root, name) for name in above[at:])  # noqa: PTH118  (an absolute name stays)
            history.folders = tuple(dict.fromkeys((*history.folders, *gone)))


def _removed_links(
    files: tuple[FileHistory, ...], root: Path, contents: ContentStoreWithLimit, real: dict[str, str]
) -> frozenset[str]:
    """Returns the links that a restore removes because folders with their former files replace them."""
    found: list[str] = []
    for history in files:
        expected = history.expected_image
        if history.target_image is not None or expected is None or expected.kind != "link":
            continue
        try:
            place = absolute_path_of_name(root, history.name, real)
            now = read_disk_file_state(place, contents.max_file_bytes).image
        except UnsupportedFileForUndo:
            continue
        if len(history.segments) == 1 and is_same_stored_state(now, expected):
            found.append(place)
    return frozenset(found)


def _refuse_full_folders(steps: list[FileRestoreStep]) -> list[FileRestoreStep]:
    """Refuses steps of a restore that remove or replace folders which hold other files."""
    going = {step.path for step in steps if step.target_image is None and step.row.state == "ready"}
    going.update(
        folder
        for step in steps
        if step.target_image is None and step.history
        for folder in step.history.folders
    )
    return [
        _with_row_fields(
            step, state="refused", deed="stays", choice="keep", why="it now contains other files"
        )
        if step.disk_file.image is not None
        and step.disk_file.image.kind == "folder"
        and not _will_be_empty(step.path, going)
        else step
        for step in steps
    ]


def _will_be_empty(folder: str, going: set[str]) -> bool:
    try:
        return all(f"{folder}/{name}" in going for name in os.listdir(folder))  # noqa: PTH208  (as above)
    except OSError:
        return False


def _folders_above(name: str) -> list[str]:
    """Returns the parent folders of a file name, outermost first."""
    parts = name.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _plan_file(
    history: FileHistory,
    root: Path,
    contents: ContentStoreWithLimit,
    real: dict[str, str],
    *,
    counts: bool,
    is_exact: bool,
    freed: frozenset[str],
    gone: frozenset[str],
) -> FileRestoreStep:
    """Plans the restore of one file. `freed` has the folders, and `gone` the links, that the restore will have
    removed before."""
    path, by = readable_file_name(history.name), text_of_calls_that_changed(history.changed_by)
    try:
        why = guarded_file_reason(root, history.name)
        if why and not contents.store.was_file_changed_here(f"{root / history.name}"):
            raise UnsupportedFileForUndo(f"{why}, and no session on this machine changed it")
        place = absolute_path_of_name(root, history.name, real, gone)
        is_there = not is_exact or name_spelled_as_on_disk(str(root), history.name) == history.name
        is_freed = place in freed and os.path.isdir(place)  # noqa: PTH112  (as above)
        is_there = is_there and not is_freed
        is_there = is_there and not is_inside_folders(place, gone)
        now = (
            read_disk_file_state(place, contents.max_file_bytes, takes_folder=history.has_folder)
            if is_there
            else FileOnDisk()
        )
    except UnsupportedFileForUndo as problem:
        return FileRestoreStep(
            row=RestoreFileRow(path=path, state="refused", deed="stays", why=str(problem), by=by),
            name=history.name,
        )
    wanted = history.target_image
    step = FileRestoreStep(
        row=RestoreFileRow(path=path, state="ready", deed="", by=by),
        name=history.name,
        path=place,
        disk_file=now,
    )
    step = msgspec.structs.replace(step, target_image=wanted, history=history)
    if is_same_stored_state(now.image, wanted):
        return _with_row_fields(step, state="same", deed="stays")
    if wanted is not None and wanted.hash and not contents.store.has(wanted.hash):
        return _with_row_fields(step, state="unheld", deed="stays", why="its content is no longer stored")
    added, removed = count_lines_of_restore_step(step, contents) if counts else (0, 0)
    # The contents of many files need much memory, and may change before the restore.
    now = msgspec.structs.replace(now, data=None)
    step = msgspec.structs.replace(step, disk_file=now)
    step = _with_row_fields(step, deed=_restore_action(now.image, wanted), added=added, removed=removed)
    expected = history.expected_image
    was_folder = is_freed and expected is not None and expected.kind == "folder"
    if len(history.segments) == 1 and (was_folder or is_same_stored_state(now.image, expected)):
        return _with_row_fields(step, choice="restore")
    return _with_row_fields(
        step,
        state="conflict",
        why=_conflict_reason(history, now.image),
        can_merge=merged_content_of_restore_step(step, contents) is not None,
    )


def guarded_file_reason(root: Path, name: str) -> str:
    """Returns why a file is restored only if a session on this machine changed it; empty for other files."""
    if name.startswith("/"):
        return "it is outside the session's folder"
    place = os.path.normpath(f"{root}/{name}")
    return autorun_reason(place, os.path.expanduser("~")) or ""  # noqa: PTH111  (as above)


def _as_conflict_if_unsure(step: FileRestoreStep, why: str | None) -> FileRestoreStep:
    """Makes a restore step a conflict when some change of its file is unknown."""
    if why is None or step.row.state != "ready":
        return step
    return _with_row_fields(
        step, state="conflict", choice="keep", why=f"some of its changes are not recorded: {why}"
    )


def _with_row_fields(step: FileRestoreStep, **said: object) -> FileRestoreStep:
    return msgspec.structs.replace(step, row=msgspec.structs.replace(step.row, **said))


def _conflict_reason(history: FileHistory, now: StoredFileState | None) -> str:
    if now is None:
        return "you deleted it since"
    if history.expected_image is None:
        return "you created it since"
    if is_same_stored_state(now, history.expected_image):
        return "you changed it in between"
    return "you changed it since"


def _restore_action(now: StoredFileState | None, wanted: StoredFileState | None) -> str:
    if wanted is None:
        return "is removed"
    if now is None:
        return "will be restored"
    if now.kind == wanted.kind and now.hash == wanted.hash:
        return f"mode {now.mode:o} → {wanted.mode:o}"
    if wanted.kind != now.kind:
        return f"will be a {wanted.kind} again"
    return "changes" if now.kind == "file" else "will point to its old target"


def text_of_calls_that_changed(by: Sequence[str]) -> str:
    """Returns which calls had changed a file, each label once: `write, 2 × edit`."""
    return ", ".join(one if count == 1 else f"{count} × {one}" for one, count in Counter(by).items())


def _with_renames(steps: list[FileRestoreStep]) -> list[FileRestoreStep]:
    """Adds remarks to steps that remove and restore the same content: together they undo a rename."""
    leaving = {
        step.disk_file.image.hash: step
        for step in steps
        if step.target_image is None
        and step.disk_file.image is not None
        and step.disk_file.image.size
        and step.row.state == "ready"
    }
    renamed: dict[str, str] = {}
    for step in steps:
        if (
            step.target_image is not None
            and step.disk_file.image is None
            and step.target_image.hash in leaving
        ):
            renamed[leaving[step.target_image.hash].row.path] = step.row.path
    backwards = {new: old for old, new in renamed.items()}
    return [
        _with_row_fields(step, why=f"will be renamed back to {renamed[step.row.path]}")
        if step.row.path in renamed
        else _with_row_fields(step, why=f"was renamed to {backwards[step.row.path]}")
        if step.row.path in backwards and not step.row.why
        else step
        for step in steps
    ]


def count_lines_of_restore_step(step: FileRestoreStep, contents: ContentStoreWithLimit) -> tuple[int, int]:
    """Returns the numbers of lines that a restore step adds and removes, where both sides are text and not too
    large."""
    texts = _texts_of_step(step, contents)
    if texts is None or texts[0] == texts[1]:
        return 0, 0
    diff = make_diff_of_texts(step.row.path, *texts)
    return diff.added, diff.removed


def diff_of_restore_step(
    step: FileRestoreStep, contents: ContentStoreWithLimit, *, is_merged: bool = False
) -> str:
    """Returns the unified diff from the present file to the restored one; empty when there is none."""
    texts = _texts_of_step(step, contents)
    if texts is None:
        return ""
    wanted = merged_content_of_restore_step(step, contents) if is_merged else None
    then = texts[1] if wanted is None else wanted.decode("utf-8")
    return make_diff_of_texts(step.row.path, texts[0], then).patch


def _texts_of_step(step: FileRestoreStep, contents: ContentStoreWithLimit) -> tuple[str, str] | None:
    now = _content_of_image(step.disk_file.image, step, contents)
    then = _content_of_image(step.target_image, step, contents)
    if now is None or then is None:
        return None
    before, after = decode_file_text(now), decode_file_text(then)
    return None if before is None or after is None else (before, after)


def _content_of_image(
    image: StoredFileState | None, step: FileRestoreStep, contents: ContentStoreWithLimit
) -> bytes | None:
    """Returns the content of a file image: the present one from the disk, others from the store."""
    if image is None:
        return b""
    if image.kind != "file" or image.size > _MAX_DIFF_BYTES:
        return None
    try:
        if image is step.disk_file.image:
            if step.disk_file.data is not None:
                return step.disk_file.data
            found = read_disk_file_state(step.path, contents.max_file_bytes)
            return found.data if found.image is not None and found.image.hash == image.hash else None
        return contents.store.get(image.hash)
    except (StoredContentMissing, UnsupportedFileForUndo):
        return None


def merged_content_of_restore_step(step: FileRestoreStep, contents: ContentStoreWithLimit) -> bytes | None:
    """Returns the present file with the session's changes taken back; None where others changed the same
    lines."""
    if step.history is None or step.disk_file.image is None or step.disk_file.image.kind != "file":
        return None
    text = _decoded_text(_content_of_image(step.disk_file.image, step, contents))
    for segment in step.history.segments:
        text = _merge_segment(text, step.disk_file.image, segment, contents)
        if text is None:
            return None
    return text.encode("utf-8") if text is not None else None


def _merge_segment(
    text: str | None, now: StoredFileState, segment: FileHistorySegment, contents: ContentStoreWithLimit
) -> str | None:
    if text is None or segment.expected_image is None or segment.target_image is None:
        return None
    if segment.expected_image.kind != "file" or segment.target_image.kind != "file":
        return None
    try:
        base, other = (
            _decoded_text(contents.store.get(segment.expected_image.hash)),
            _decoded_text(contents.store.get(segment.target_image.hash)),
        )
    except StoredContentMissing:
        return None
    return merge_three_way(base, text, other) if base is not None and other is not None else None


def _decoded_text(data: bytes | None) -> str | None:
    return None if data is None or len(data) > _MAX_DIFF_BYTES else decode_file_text(data)
