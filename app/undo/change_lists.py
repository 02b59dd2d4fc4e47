"""Lists changed files with their diffs: by a session, by one prompt, or against a commit.

A session's changes come from its entries and the stored contents, never from tool arguments. The disk
is only checked for files that have changed since. Blocks."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeGuard

import msgspec

from app.sessions.session_log import SessionLog
from app.undo.change_recorder import FileChangeRecorder
from app.undo.change_records import (
    FileWithoutStoredContent,
    RecordedFileChange,
    RestoredHunkData,
    StoredFileState,
    decode_file_text,
    file_restore_data_of_entry,
    is_same_stored_state,
    readable_file_name,
)
from app.undo.content_store import StoredContentMissing, blob_hash
from app.undo.disk_files import UnsupportedFileForUndo, absolute_path_of_name, read_disk_file_state
from app.undo.file_history import (
    PromptWithFileChanges,
    load_changes_of_entry,
    path_with_file_entries,
    prompt_title_at,
    prompts_with_file_changes,
)
from app.undo.patches import MAX_PATCHED_TEXT_BYTES, FilePatch, FileSideOfPatch, make_file_patch
from app.undo.restore_plan import ContentStoreWithLimit, text_of_calls_that_changed
from app.undo.review.hunks import ChangedText, hunks_of_text_change, text_without_hunks
from app.values.entries import Entry, MessageEntry
from app.values.messages import UserMessage
from app.values.user_errors import UserError

_MAX_COMPARED_FILES = 300
"""The maximum number of files for which line counts are computed and the disk is checked; of more files, line
counts are the sums of the single changes."""


class ChangedFileRow(msgspec.Struct, frozen=True, kw_only=True):
    """One changed file in a list of file changes."""

    path: str
    deed: str
    """The kind of the change: `new`, `removed`, `changed`, `mode 644 → 755`."""
    added: int = 0
    removed: int = 0
    changed_by: str = ""
    """The tools that changed the file, as text: `write, 2 × edit`."""
    why: str = ""
    """A remark on the file: other programs changed it in between, or its content is not stored."""
    absolute_path: str = ""
    """The absolute path of the file; empty when it cannot be opened."""


class FileBeforeAndAfter(msgspec.Struct, frozen=True, kw_only=True):
    """A file before and after a change, for a review of its hunks."""

    name: str
    """The file's name as the operating system takes it, relative to the session's folder or absolute."""
    before: FileSideOfPatch | None
    after: FileSideOfPatch | None
    taken_back_hunks: frozenset[str] = frozenset()
    """The hunks of the change that a person has taken back since."""
    session_side: FileSideOfPatch | None = None
    """The file as the session left it; like `after`, but without the hunks that were taken back."""
    is_latest: bool = False
    """Whether `session_side` is the latest state, because the comparison reaches to the session's last change."""
    folders: tuple[str, ...] = ()
    """The folders that were created or removed with the file."""
    is_shared: bool = False


class ChangedFileList(msgspec.Struct, frozen=True, kw_only=True):
    """A list of changed files, whose patches are made on demand."""

    title: str
    """The title of the list, such as `Changed by “rename the parser”`."""
    files: tuple[ChangedFileRow, ...]
    patch: Callable[[str], FilePatch]
    """A function that returns the patch of one file. Blocks."""
    sides: Callable[[str], FileBeforeAndAfter | None] = lambda path: None
    """A function that returns a file before and after; None if its content is not known. Blocks."""
    source: Callable[[str], bytes | None] = lambda path: None
    """A function that returns the new content of a file where it is not the file on disk. Blocks."""
    is_since_merge_base: bool = False
    """Whether the list shows all changes since the merge base, not those of one commit, prompt or
    session."""
    note: str = ""
    """The position of this list among the session's prompts, such as `prompt 2 of 5`."""
    older: str | None = None
    """The id of the previous prompt that changed files; `newer` is the next one."""
    newer: str | None = None

    @property
    def added(self) -> int:
        return sum(file.added for file in self.files)

    @property
    def removed(self) -> int:
        return sum(file.removed for file in self.files)

    def patches(self) -> tuple[str, tuple[str, ...]]:
        """Returns all patches of the changed files as one text, and the incomplete files with the reason. Blocks."""
        texts: list[str] = []
        lacking: list[str] = []
        for file in self.files:
            one = self.patch(file.path)
            texts.append(one.text)
            if not one.is_whole:
                lacking.append(f"{file.path} ({one.incomplete_reason or file.why})")
        return "".join(texts), tuple(lacking)


class PromptWithoutFileChanges(UserError):
    """Raised if the prompt does not exist on this branch or changed no files."""


class _LaterChange(msgspec.Struct, frozen=True):
    """A later change of a file of which hunks had been taken back before."""

    taken_back_hunks: frozenset[str]
    before: StoredFileState
    after: StoredFileState


class _FileChanges(msgspec.Struct, kw_only=True):
    """The changes of one file along a part of a session branch."""

    name: str
    before: StoredFileState | None
    after: StoredFileState | None
    """The file after the last call before hunks were taken back, without what a person took back."""
    session_image: StoredFileState | None
    """The state in which the session left the file."""
    changes: list[RecordedFileChange]
    changed_by: list[str]
    taken_back_hunks: set[str] = msgspec.field(default_factory=set[str])
    later_changes: list[_LaterChange] = msgspec.field(default_factory=list[_LaterChange])
    """The changes since hunks were first taken back, which `after` does not have."""
    has_gap: bool = False
    """Whether a program outside the session changed the file between two of its changes."""


class ChangedFileListBuilder:
    """Builds the lists of files that one session changed."""

    def __init__(self, log: SessionLog, recorder: FileChangeRecorder) -> None:
        self._log = log
        self._recorder = recorder

    def session_differences(self) -> ChangedFileList:
        """Returns the file changes from the root to the leaf; changes that were taken back are left out."""
        return self._differences_of("Changed by this session", self._leaf_path(), is_now=True)

    def prompt_differences(self, prompt_id: str | None = None) -> ChangedFileList:
        """Returns the file changes of a prompt, by default of the last one that changed files."""
        turns = prompts_with_file_changes(self._leaf_path())
        at = _turn_index(turns, prompt_id)
        if at is None:
            if prompt_id is not None:
                raise PromptWithoutFileChanges(f"The prompt {prompt_id} changed no files on this branch.")
            return ChangedFileList(
                title="Changed by the last prompt", files=(), patch=lambda path: FilePatch()
            )
        turn = turns[at]
        title = f"Changed by “{turn.title}”" if turn.title else "Changed before the first prompt"
        told = self._differences_of(title, self._with_hunks_taken(turn.entries), is_now=False)
        return msgspec.structs.replace(
            told,
            note=f"prompt {at + 1} of {len(turns)}",
            older=turns[at - 1].prompt_id if at else None,
            newer=turns[at + 1].prompt_id if at + 1 < len(turns) else None,
        )

    def differences_since(self, entry_id: str) -> ChangedFileList:
        """Returns the file changes after an entry of this branch, or from a prompt on."""
        path = self._leaf_path()
        at = next((at for at, entry in enumerate(path) if entry.id == entry_id), None)
        if at is None:
            raise PromptWithoutFileChanges(f"The entry {entry_id} is not on this branch.")
        entry = path[at]
        is_prompt = isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage)
        title = prompt_title_at(path[: at + 1])
        words = f"Changed since “{title}”" if title else "Changed since the beginning"
        return self._differences_of(words, path[at if is_prompt else at + 1 :], is_now=True)

    def _entry(self, entry_id: str) -> Entry | None:
        return self._log.entry(entry_id) if entry_id in self._log else None

    def _leaf_path(self) -> Sequence[Entry]:
        leaf_id = self._log.leaf_id
        return (
            [] if leaf_id is None else path_with_file_entries(self._log.path_to(leaf_id), self._log.children)
        )

    def _with_hunks_taken(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Returns the entries of a prompt together with later entries that took back hunks of its changes."""
        path = self._leaf_path()
        at = next(at for at, entry in enumerate(path) if entry.id == entries[-1].id)
        restores = [entry for entry in path[at + 1 :] if file_restore_data_of_entry(entry) is not None]
        return [*entries, *(one for one in restores if _restored_hunks(one, self._entry))]

    def _differences_of(self, title: str, entries: Sequence[Entry], *, is_now: bool) -> ChangedFileList:
        """Lists the file changes of these entries. `is_now`: they end at the leaf, so a file on disk that
        differs was changed since."""
        contents = self._recorder.contents
        stories, unheld = _changes_by_file(entries, contents, self._entry)
        unknown = {one.path: f"some of its changes are not recorded: {one.why}" for one in unheld}
        is_short = len(stories) <= _MAX_COMPARED_FILES
        real: dict[str, str] = {}
        files: list[ChangedFileRow] = []
        by_path: dict[str, _FileChanges] = {}
        for story in stories:
            path = readable_file_name(story.name)
            by_path[path] = story
            added, removed = (
                self._changed_line_counts(story, is_now=is_now) if is_short else _sum_line_counts(story)
            )
            place, is_other = self._absolute_path_and_remark(story, real, looks=is_now and is_short)
            is_other = unknown.get(path, is_other)
            files.append(
                ChangedFileRow(
                    path=path,
                    deed=file_change_label(story.before, story.after),
                    added=added,
                    removed=removed,
                    changed_by=text_of_calls_that_changed(story.changed_by),
                    why="it was changed outside the session in between" if story.has_gap else is_other,
                    absolute_path=place,
                )
            )
        files += [
            ChangedFileRow(path=one.path, deed="unknown", why=one.why)
            for one in unheld
            if one.path not in by_path
        ]

        def patch(path: str) -> FilePatch:
            story = by_path.get(path)
            return FilePatch() if story is None else _patch_of_changes(story, contents, is_now=is_now)

        def sides(path: str) -> FileBeforeAndAfter | None:
            story = by_path.get(path)
            return None if story is None else _file_sides(story, contents, is_now=is_now)

        return ChangedFileList(title=title, files=tuple(files), patch=patch, sides=sides)

    def _changed_line_counts(self, story: _FileChanges, *, is_now: bool) -> tuple[int, int]:
        """Returns the numbers of added and removed lines of a file: as recorded for a single change, otherwise
        from the combined diff."""
        if len(story.changes) == 1 and is_same_stored_state(story.session_image, story.after):
            return _sum_line_counts(story)
        patch = _patch_of_changes(story, self._recorder.contents, is_now=is_now)
        return patch.added, patch.removed

    def _absolute_path_and_remark(
        self, story: _FileChanges, real: dict[str, str], *, looks: bool
    ) -> tuple[str, str]:
        """Returns a changed file's absolute path and, if the file was changed since, a remark."""
        try:
            place = absolute_path_of_name(self._recorder.root, story.name, real)
            if not looks:
                return place, ""
            now = read_disk_file_state(place, self._recorder.contents.max_file_bytes, reads=False).image
        except UnsupportedFileForUndo as problem:
            return "", str(problem)
        return place, "" if is_same_stored_state(now, story.session_image) else "you changed it since"


def _turn_index(turns: Sequence[PromptWithFileChanges], prompt_id: str | None) -> int | None:
    if prompt_id is None:
        return len(turns) - 1 if turns else None
    return next((at for at, turn in enumerate(turns) if turn.prompt_id == prompt_id), None)


def _changes_by_file(
    entries: Iterable[Entry], contents: ContentStoreWithLimit, entry_of: Callable[[str], Entry | None]
) -> tuple[list[_FileChanges], tuple[FileWithoutStoredContent, ...]]:
    stories: dict[str, _FileChanges] = {}
    unheld: dict[tuple[str, str], FileWithoutStoredContent] = {}
    for entry in entries:
        changes, uncovered, label = load_changes_of_entry(entry, contents.store.get)
        unheld.update(((one.path, one.why), one) for one in uncovered)
        hunks = _restored_hunks(entry, entry_of)
        for change in changes:
            if hunks:
                _note_taken_hunks(stories, change, hunks)
            else:
                _add_change(stories, change, label)
    told = [story for story in stories.values() if not is_same_stored_state(story.before, story.after)]
    return sorted(told, key=lambda story: story.name), tuple(unheld.values())


def _restored_hunks(entry: Entry, entry_of: Callable[[str], Entry | None]) -> tuple[RestoredHunkData, ...]:
    """Returns the hunks that a restore took or put back; for a restore that undoes another one, that one's hunks
    turned around."""
    restored = file_restore_data_of_entry(entry)
    if restored is None or restored.hunks or restored.undoes is None:
        return () if restored is None else restored.hunks
    other = entry_of(restored.undoes)
    undone = None if other is None else file_restore_data_of_entry(other)
    turned = () if undone is None else undone.hunks
    return tuple(msgspec.structs.replace(hunk, put_back=not hunk.put_back) for hunk in turned)


def _note_taken_hunks(
    stories: dict[str, _FileChanges], change: RecordedFileChange, hunks: tuple[RestoredHunkData, ...]
) -> None:
    """Notes which hunks of a file are taken back; the change that contains them stays listed."""
    story = stories.get(change.name)
    if story is None:
        return
    if any(hunk.edited for hunk in hunks) and is_same_stored_state(story.session_image, change.before):
        _add_change(stories, change, "you")
        return
    if any(hunk.put_back and hunk.key not in story.taken_back_hunks for hunk in hunks):
        _add_change(stories, change, "restored")  # it was taken back before an undo and a redo
        return
    story.session_image = change.after
    for hunk in hunks:
        if hunk.put_back:
            story.taken_back_hunks.discard(hunk.key)
        elif not hunk.edited:
            story.taken_back_hunks.add(hunk.key)


def _add_change(stories: dict[str, _FileChanges], change: RecordedFileChange, label: str) -> None:
    story = stories.get(change.name)
    if story is None:
        story = stories[change.name] = _FileChanges(
            name=change.name,
            before=change.before,
            after=change.before,
            session_image=change.before,
            changes=[],
            changed_by=[],
        )
    story.has_gap = story.has_gap or not is_same_stored_state(story.session_image, change.before)
    before, after = change.before, change.after
    if story.taken_back_hunks and _is_file(story.after) and _is_file(before) and _is_file(after):
        story.later_changes.append(_LaterChange(frozenset(story.taken_back_hunks), before, after))
    else:
        story.after = after
        story.taken_back_hunks.clear()
        story.later_changes.clear()
    story.session_image = after
    story.changes.append(change)
    if label != "restored":
        story.changed_by.append(label)


def _is_file(image: StoredFileState | None) -> TypeGuard[StoredFileState]:
    return image is not None and image.kind == "file"


def _file_sides(story: _FileChanges, contents: ContentStoreWithLimit, *, is_now: bool) -> FileBeforeAndAfter:
    before, after = _patch_side(story.before, contents), _patch_side(story.after, contents)
    taken = frozenset(story.taken_back_hunks)
    if story.later_changes:
        after, taken = _with_taken_hunks(story, before, after, contents)
    return FileBeforeAndAfter(
        name=story.name,
        before=before,
        after=after,
        taken_back_hunks=taken,
        session_side=after
        if not story.later_changes and is_same_stored_state(story.session_image, story.after)
        else _patch_side(story.session_image, contents),
        is_latest=is_now,
        folders=tuple(dict.fromkeys(folder for change in story.changes for folder in change.folders)),
        is_shared=all(change.is_shared for change in story.changes),
    )


def _with_taken_hunks(
    story: _FileChanges,
    before: FileSideOfPatch | None,
    after: FileSideOfPatch | None,
    contents: ContentStoreWithLimit,
) -> tuple[FileSideOfPatch | None, frozenset[str]]:
    """Returns the file as the session left it with the hunks in it that were taken back earlier, and those hunks.

    A hunk is left out if its lines were changed since."""
    path = readable_file_name(story.name)
    old, whole = _text_of(before), _text_of(after)
    session_side = _patch_side(story.session_image, contents)
    lost = set[str]()
    for later in story.later_changes:
        left, now = (_text_of(_patch_side(image, contents)) for image in (later.before, later.after))
        if old is None or whole is None or left is None or now is None:
            return session_side, frozenset()
        known = hunks_of_text_change(path, old, whole)
        taken = later.taken_back_hunks & {hunk.key for hunk in known}
        merged = ChangedText(known, taken, left, now)
        found = frozenset(key for key in taken if merged.is_hunk_unchanged(key))
        while True:
            kept, whole = found, merged.text_with_hunks_toggled(found)
            found = kept & {hunk.key for hunk in hunks_of_text_change(path, old, whole)}
            if found == kept:
                break  # none has become part of a larger hunk
        lost |= later.taken_back_hunks - kept
    if old is None or whole is None or story.session_image is None:
        return session_side, frozenset()
    taken_hunks = [
        hunk
        for hunk in hunks_of_text_change(path, old, whole)
        if hunk.key in story.taken_back_hunks and hunk.key not in lost
    ]
    if text_without_hunks(whole, taken_hunks) != _text_of(session_side):
        return session_side, frozenset()
    data = whole.encode("utf-8")
    image = msgspec.structs.replace(story.session_image, hash=blob_hash(data), size=len(data))
    return FileSideOfPatch(image=image, data=data), frozenset(hunk.key for hunk in taken_hunks)


def _text_of(side: FileSideOfPatch | None) -> str | None:
    if side is None or side.data is None or len(side.data) > MAX_PATCHED_TEXT_BYTES:
        return None
    return decode_file_text(side.data)


def _sum_line_counts(story: _FileChanges) -> tuple[int, int]:
    return sum(change.added for change in story.changes), sum(change.removed for change in story.changes)


def _patch_of_changes(story: _FileChanges, contents: ContentStoreWithLimit, *, is_now: bool) -> FilePatch:
    """Returns the patch of a file's changes; with `is_now` without the hunks that were taken back."""
    after = story.session_image if is_now else story.after
    return make_file_patch(
        readable_file_name(story.name), _patch_side(story.before, contents), _patch_side(after, contents)
    )


def _patch_side(image: StoredFileState | None, contents: ContentStoreWithLimit) -> FileSideOfPatch | None:
    if image is None:
        return None
    if image.kind == "folder":
        return FileSideOfPatch(image=image, missing_reason="an empty folder")
    try:
        return FileSideOfPatch(image=image, data=contents.store.get(image.hash))
    except StoredContentMissing as problem:
        return FileSideOfPatch(image=image, missing_reason=str(problem))


def file_change_label(before: StoredFileState | None, after: StoredFileState | None) -> str:
    if before is None:
        return "new" if after is None or after.kind == "file" else f"a new {after.kind}"
    if after is None:
        return "removed"
    if before.kind != after.kind:
        return f"now a {after.kind}"
    if before.hash == after.hash:
        return f"mode {before.mode:o} → {after.mode:o}"
    return "changed" if after.kind == "file" else "link target changed"
