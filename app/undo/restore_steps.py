"""Carries out a restore plan: each file in one atomic step, its present content stored first, so that the
restore can be taken back.

Files that changed since the plan, or that cannot be restored, are left alone and reported; the others
are restored."""

import os
from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

from app.undo.change_records import (
    FileWithoutStoredContent,
    RecordedFileChange,
    RestoreChoice,
    StoredFileState,
    is_same_stored_state,
    path_fields_of_change,
)
from app.undo.content_store import StoredContentMissing, blob_hash
from app.undo.disk_files import (
    FileOnDisk,
    UnsupportedFileForUndo,
    has_file_signature,
    name_spelled_as_on_disk,
    names_differing_in_case,
    read_disk_file_state,
    remove_empty_folders,
    resolved_folder,
    write_stored_file_state,
)
from app.undo.restore_plan import (
    ContentStoreWithLimit,
    FileRestoreStep,
    RestorePlan,
    merged_content_of_restore_step,
)

RESTORE_SKIPPED_REASON = "skipped"
"""The reason that is reported for a file that the user excluded from a restore."""
RESTORE_NOT_REACHED_REASON = "bayou ended before it was restored"
"""The reason that is reported for a file that an interrupted restore did not reach."""


class ChosenRestoreStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step of a restore plan that will be carried out, with the content to write."""

    step: FileRestoreStep
    image: StoredFileState | None
    data: bytes
    writes_in_place: bool = False
    """Whether the file is written in place, so that it changes under all its hard links."""


class RestoreOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a restore: changes made, and files left unchanged."""

    changes: tuple[RecordedFileChange, ...] = ()
    skipped_files: tuple[FileWithoutStoredContent, ...] = ()


def prepare_restore_steps(
    plan: RestorePlan, choices: Mapping[str, RestoreChoice], contents: ContentStoreWithLimit
) -> tuple[list[ChosenRestoreStep], list[FileWithoutStoredContent]]:
    """Returns the restore steps to carry out, with all contents in the store, and the files left unchanged with
    the reason. Blocks."""
    wanted: list[ChosenRestoreStep] = []
    kept: list[FileWithoutStoredContent] = []
    for step in plan.steps:
        choice = choices.get(step.row.path, step.row.choice)
        if step.row.state in ("unheld", "refused"):
            kept.append(FileWithoutStoredContent(path=step.row.path, why=step.row.why))
        elif choice == "keep":
            kept.append(
                FileWithoutStoredContent(path=step.row.path, why=step.row.why or RESTORE_SKIPPED_REASON)
            )
        else:
            try:
                wanted.append(_chosen_step(step, choice, contents))
            except (UnsupportedFileForUndo, StoredContentMissing) as problem:
                kept.append(FileWithoutStoredContent(path=step.row.path, why=str(problem)))
            except OSError as problem:
                kept.append(
                    FileWithoutStoredContent(
                        path=step.row.path, why=f"cannot be stored first: {problem.strerror}"
                    )
                )
    return _with_kept_names(wanted, plan), kept


def _with_kept_names(wanted: list[ChosenRestoreStep], plan: RestorePlan) -> list[ChosenRestoreStep]:
    """Decides which files with several hard links a restore writes in place: those where all links get the same
    content."""
    goals: dict[int, set[tuple[str, str, int] | str | None]] = {}
    meant: dict[int, set[str]] = {}
    shared: dict[int, bool] = {}
    by_name = {one.step.name: one for one in wanted}
    for step in plan.steps:
        inode = _inode_with_names(step)
        if inode is None:
            continue
        one = by_name.get(step.name)
        goal = "stays" if one is None else one.image.identity if one.image is not None else None
        goals.setdefault(inode, set()).add(goal)
        meant.setdefault(inode, set()).add(step.path)
        is_shared = step.history is not None and step.history.is_shared
        is_shared = is_shared and plan.contents.store.was_file_changed_here(step.path)
        shared[inode] = shared.get(inode, True) and is_shared
    found: list[ChosenRestoreStep] = []
    for one in wanted:
        inode = _inode_with_names(one.step)
        is_whole = inode is not None and (len(meant[inode]) == one.step.disk_file.link_count or shared[inode])
        is_file = one.image is not None and one.image.kind == "file"
        keeps = inode is not None and is_whole and is_file and len(goals[inode]) == 1
        found.append(msgspec.structs.replace(one, writes_in_place=keeps))
    return found


def _inode_with_names(step: FileRestoreStep) -> int | None:
    now = step.disk_file
    if now.signature is None or now.link_count <= 1 or now.image is None or now.image.kind != "file":
        return None
    return now.signature[0]


def _chosen_step(
    step: FileRestoreStep, choice: RestoreChoice, contents: ContentStoreWithLimit
) -> ChosenRestoreStep:
    image, data = step.target_image, b""
    if choice == "merge":
        together = merged_content_of_restore_step(step, contents)
        if together is None or step.disk_file.image is None:
            raise UnsupportedFileForUndo("both changed the same lines")
        mode = step.target_image.mode if step.target_image is not None else step.disk_file.image.mode
        image = StoredFileState(hash=blob_hash(together), mode=mode, size=len(together))
        data = together
        contents.store.put(together, image.hash)
    elif image is not None and image.hash:
        data = contents.store.get(image.hash)
    now = step.disk_file.image
    if now is not None and now.hash and not contents.store.has(now.hash):
        found = read_disk_file_state(step.path, contents.max_file_bytes)
        if found.data is None or not is_same_stored_state(found.image, now):
            raise UnsupportedFileForUndo("it changed during the restore")
        contents.store.put(found.data, now.hash)
    return ChosenRestoreStep(step=step, image=image, data=data)


def intended_restore_changes(wanted: list[ChosenRestoreStep]) -> tuple[RecordedFileChange, ...]:
    """Returns the file changes that a restore is about to make, for the ledger."""
    return tuple(
        RecordedFileChange(
            **path_fields_of_change(one.step.name),
            before=one.step.disk_file.image,
            after=one.image,
            by="restore",
        )
        for one in wanted
    )


def run_restore_steps(
    wanted: list[ChosenRestoreStep], *, after_each: Callable[[], None] = lambda: None
) -> RestoreOutcome:
    """Carries out the steps of a restore: removals first, innermost before their folders, to free names. Blocks."""
    done: dict[str, RecordedFileChange] = {}
    kept: list[FileWithoutStoredContent] = []
    doing = _RunningRestore()
    removed = False
    removals = sorted(
        (one for one in wanted if one.image is None), key=lambda one: one.step.name, reverse=True
    )
    for one in (
        *removals,
        *sorted((one for one in wanted if one.image is not None), key=lambda one: one.step.name),
    ):
        step = one.step
        if one.image is not None and not removed:
            removed = True
            _remove_folders(wanted, done)
            doing.forget_folders()
        try:
            made = doing.run_step(one)
        except UnsupportedFileForUndo as problem:
            kept.append(FileWithoutStoredContent(path=step.row.path, why=str(problem)))
            continue
        except OSError as problem:
            why = f"cannot be written: {problem.strerror or problem}"
            kept.append(FileWithoutStoredContent(path=step.row.path, why=why))
            continue
        done[step.name] = RecordedFileChange(
            **path_fields_of_change(step.name),
            before=step.disk_file.image,
            after=one.image,
            by="restore",
            added=step.row.added,
            removed=step.row.removed,
            folders=tuple(made),
        )
        after_each()
    _remove_folders(wanted, done)
    for one in removals:
        change, history = done.get(one.step.name), one.step.history
        if change is not None and history is not None:
            gone = tuple(folder for folder in history.folders if not os.path.lexists(folder))
            done[one.step.name] = msgspec.structs.replace(change, folders=gone)
    return RestoreOutcome(
        changes=tuple(done[one.step.name] for one in wanted if one.step.name in done),
        skipped_files=tuple(kept),
    )


def _remove_folders(wanted: list[ChosenRestoreStep], done: Mapping[str, RecordedFileChange]) -> None:
    """Removes the folders that were created together with removed files, if they are empty."""
    folders: dict[str, None] = {}
    for one in wanted:
        if one.image is None and one.step.name in done and one.step.history is not None:
            folders.update(dict.fromkeys(one.step.history.folders))
    remove_empty_folders(tuple(folders))


class _RunningRestore:
    """A restore in progress. Remembers the files that it changed, because they appear as changed under their other
    hard links too."""

    def __init__(self) -> None:
        self._resolved_folders: dict[str, str] = {}
        self._written_inodes: set[int] = set()

    def forget_folders(self) -> None:
        """Clears the cache of resolved folders, after a restore removed links."""
        self._resolved_folders.clear()

    def run_step(self, one: ChosenRestoreStep) -> list[str]:
        step = one.step
        folder = os.path.dirname(step.path)  # noqa: PTH120  (bytes of the name as they are)
        if resolved_folder(folder, self._resolved_folders) != folder:
            raise UnsupportedFileForUndo("its folder is now a link to another one")
        inode = _inode_with_names(step)
        is_ours = inode in self._written_inodes
        if is_ours and one.writes_in_place:
            if is_same_stored_state(read_disk_file_state(step.path, 1 << 62, reads=False).image, one.image):
                return []  # the file was written under another of its names
            raise UnsupportedFileForUndo("it changed during the restore")
        was_folder = step.disk_file.image is not None and step.disk_file.image.kind == "folder"
        is_folder = os.path.isdir(step.path) and not os.path.islink(step.path)  # noqa: PTH112, PTH114  (as above)
        if is_folder and one.image is not None and one.image.kind == "folder":
            return []  # the folder was made just now, for files that return to it
        if is_folder != was_folder:
            raise UnsupportedFileForUndo("is a folder now" if is_folder else "it changed during the restore")
        if not is_folder and not has_file_signature(
            step.path, step.disk_file.signature, but_for_names=is_ours
        ):
            raise UnsupportedFileForUndo("it changed during the restore")
        made = write_stored_file_state(
            step.path, one.image, one.data, now=step.disk_file, keeps_names=one.writes_in_place
        )
        if inode is not None:
            self._written_inodes.add(inode)
        return made


def outcome_of_interrupted_restore(
    changes: tuple[RecordedFileChange, ...], places: Callable[[str], str], root: str
) -> RestoreOutcome:
    """Determines which files an interrupted restore had restored, and which it had not reached or are different
    by now."""
    done: list[RecordedFileChange] = []
    kept: list[FileWithoutStoredContent] = []
    alike = names_differing_in_case(change.name for change in changes)
    for change in changes:
        how = state_of_announced_change(change, places, root=root if change.name in alike else None)
        if how == "after":
            done.append(change)
        elif how == "before":
            kept.append(FileWithoutStoredContent(path=change.path, why=RESTORE_NOT_REACHED_REASON))
        else:
            kept.append(
                FileWithoutStoredContent(
                    path=change.path, why="its content is neither the old nor the restored one"
                )
            )
    return RestoreOutcome(changes=tuple(done), skipped_files=tuple(kept))


def state_of_announced_change(
    change: RecordedFileChange, places: Callable[[str], str], *, root: str | None
) -> Literal["before", "after", "neither"]:
    """Determines from the disk whether an announced file change has happened. With `root`, the name's spelling
    has to match, too."""
    try:
        is_there = root is None or name_spelled_as_on_disk(root, change.name) == change.name
        has_folder = any(
            image is not None and image.kind == "folder" for image in (change.before, change.after)
        )
        place = places(change.name)
        now = (
            read_disk_file_state(place, 1 << 62, reads=False, takes_folder=has_folder)
            if is_there
            else FileOnDisk()
        )
    except UnsupportedFileForUndo:
        return "neither"
    if is_same_stored_state(now.image, change.after):
        return "after"
    return "before" if is_same_stored_state(now.image, change.before) else "neither"


def outcome_of_interrupted_change(
    change: RecordedFileChange, places: Callable[[str], str]
) -> RecordedFileChange | FileWithoutStoredContent | None:
    """Determines the outcome of a tool's file change that was announced when bayou ended; None: it did not
    happen. The announcement does not know the mode that a new file gets."""
    try:
        now = read_disk_file_state(places(change.name), 1 << 62, reads=False).image
    except UnsupportedFileForUndo as problem:
        return FileWithoutStoredContent(path=change.path, why=str(problem))
    if now is not None and change.after is not None and now.hash == change.after.hash:
        return msgspec.structs.replace(change, after=now)
    if is_same_stored_state(now, change.before):
        return None
    return FileWithoutStoredContent(
        path=change.path, why="bayou ended while it was restored, and it was changed since"
    )
