"""Lists changed files with their diffs: by a session, by one prompt, or against a commit.

A session's changes come from its entries and the stored contents, never from tool arguments. The disk
is only checked for files that have changed since. Blocks."""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from app.sessions.session_log import SessionLog
from app.undo.change_recorder import ChangeRecorder
from app.undo.change_records import (
    Change,
    FileImage,
    RestoredHunk,
    UnheldFile,
    display_path,
    is_same,
    restored_of,
)
from app.undo.content_store import MissingContent
from app.undo.disk_files import UnsupportedFile, place_of, read_disk_state
from app.undo.file_history import (
    ChangingPrompt,
    changes_of,
    changing_prompts,
    title_at,
    with_tool_results,
)
from app.undo.patches import FilePatch, PatchSide, patch_of
from app.undo.restore_plan import HeldContents, change_sources_text
from app.values.entries import Entry, MessageEntry
from app.values.messages import UserMessage
from app.values.user_errors import UserError

_MAX_COMPARED = 300
"""For more files, line counts are the sums of the single changes, and the disk is not checked."""


class FileDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One changed file of a list."""

    path: str
    deed: str
    """`new`, `removed`, `changed`, `mode 644 → 755`."""
    added: int = 0
    removed: int = 0
    by: str = ""
    """`write, 2 × edit`."""
    why: str = ""
    """A remark: changed by others in between, or content not stored."""
    place: str = ""
    """The absolute path; empty when the file cannot be opened."""


class FileSides(msgspec.Struct, frozen=True, kw_only=True):
    """A file before and after a change, for a review of its hunks."""

    name: str
    """The name as the operating system takes it, relative to the session's folder or absolute."""
    before: PatchSide | None
    after: PatchSide | None
    taken: frozenset[str] = frozenset()
    """The hunks that a person took back since."""
    left: PatchSide | None = None
    """The file as the session left it; like `after`, but without the hunks that were taken back."""
    is_latest: bool = False
    """Whether `left` is known, since the comparison reaches to the session's last change."""
    folders: tuple[str, ...] = ()
    """The folders that were created or removed with the file."""
    is_shared: bool = False


class Differences(msgspec.Struct, frozen=True, kw_only=True):
    """A list of changed files, from which patches are made on demand."""

    title: str
    """`Changed by “rename the parser”`."""
    files: tuple[FileDifference, ...]
    patch: Callable[[str], FilePatch]
    """Returns the patch of one file. Blocks."""
    sides: Callable[[str], FileSides | None] = lambda path: None
    """Returns a file before and after; None where its content is not known. Blocks."""
    source: Callable[[str], bytes | None] = lambda path: None
    """Returns the new content of a file where it is not the file on disk. Blocks."""
    is_since: bool = False
    """Whether the list shows all changes since the merge base, not those of one commit, prompt or
    session."""
    note: str = ""
    """The position of this list among others: `prompt 2 of 5`."""
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
        """Returns all patches as one text, and the incomplete files with the reason. Blocks."""
        texts: list[str] = []
        lacking: list[str] = []
        for file in self.files:
            one = self.patch(file.path)
            texts.append(one.text)
            if not one.is_whole:
                lacking.append(f"{file.path} ({one.why or file.why})")
        return "".join(texts), tuple(lacking)


class NoSuchPrompt(UserError):
    """The prompt does not exist on this branch or changed no files."""


class _FileChanges(msgspec.Struct, kw_only=True):
    """The changes of one file over a stretch of a branch."""

    name: str
    before: FileImage | None
    after: FileImage | None
    """After the last call, even if a person took hunks of it back since."""
    left: FileImage | None
    """The state in which the session left the file."""
    changes: list[Change]
    by: list[str]
    taken: set[str] = msgspec.field(default_factory=set[str])
    has_gap: bool = False
    """Something outside the session changed the file between two changes."""


class DifferenceBuilder:
    """Builds the lists of changed files of one session."""

    def __init__(self, log: SessionLog, recorder: ChangeRecorder) -> None:
        self._log = log
        self._recorder = recorder

    def of_session(self) -> Differences:
        """Returns the changes from the root to the leaf; changes that were taken back are left out."""
        return self._build("Changed by this session", self._path(), is_now=True)

    def of_prompt(self, prompt_id: str | None = None) -> Differences:
        """Returns the changes of a prompt, by default of the last one that changed files."""
        turns = changing_prompts(self._path())
        at = _turn_index(turns, prompt_id)
        if at is None:
            if prompt_id is not None:
                raise NoSuchPrompt(f"The prompt {prompt_id} changed no files on this branch.")
            return Differences(title="Changed by the last prompt", files=(), patch=lambda path: FilePatch())
        turn = turns[at]
        title = f"Changed by “{turn.title}”" if turn.title else "Changed before the first prompt"
        told = self._build(title, self._with_hunks_taken(turn.entries), is_now=False)
        return msgspec.structs.replace(
            told,
            note=f"prompt {at + 1} of {len(turns)}",
            older=turns[at - 1].prompt_id if at else None,
            newer=turns[at + 1].prompt_id if at + 1 < len(turns) else None,
        )

    def since(self, entry_id: str) -> Differences:
        """Returns the changes after an entry of this branch, or from a prompt on."""
        path = self._path()
        at = next((at for at, entry in enumerate(path) if entry.id == entry_id), None)
        if at is None:
            raise NoSuchPrompt(f"The entry {entry_id} is not on this branch.")
        entry = path[at]
        is_prompt = isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage)
        title = title_at(path[: at + 1])
        words = f"Changed since “{title}”" if title else "Changed since the beginning"
        return self._build(words, path[at if is_prompt else at + 1 :], is_now=True)

    def _entry(self, entry_id: str) -> Entry | None:
        return self._log.entry(entry_id) if entry_id in self._log else None

    def _path(self) -> Sequence[Entry]:
        leaf_id = self._log.leaf_id
        return [] if leaf_id is None else with_tool_results(self._log.path_to(leaf_id), self._log.children)

    def _with_hunks_taken(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Returns the entries of a prompt with those by which hunks of its changes were taken back since."""
        path = self._path()
        at = next(at for at, entry in enumerate(path) if entry.id == entries[-1].id)
        restores = [entry for entry in path[at + 1 :] if restored_of(entry) is not None]
        return [*entries, *(one for one in restores if _hunks_in(one, self._entry))]

    def _build(self, title: str, entries: Sequence[Entry], *, is_now: bool) -> Differences:
        """Lists the changes of these entries. `is_now`: they end at the leaf, so a file on disk that
        differs was changed since."""
        contents = self._recorder.contents
        stories, unheld = _changes_by_file(entries, contents, self._entry)
        unknown = {one.path: f"some of its changes are not recorded: {one.why}" for one in unheld}
        is_short = len(stories) <= _MAX_COMPARED
        real: dict[str, str] = {}
        files: list[FileDifference] = []
        by_path: dict[str, _FileChanges] = {}
        for story in stories:
            path = display_path(story.name)
            by_path[path] = story
            added, removed = self._lines(story, is_now=is_now) if is_short else _line_totals(story)
            place, is_other = self._place(story, real, looks=is_now and is_short)
            is_other = unknown.get(path, is_other)
            files.append(
                FileDifference(
                    path=path,
                    deed=deed_of(story.before, story.after),
                    added=added,
                    removed=removed,
                    by=change_sources_text(story.by),
                    why="it was changed outside the session in between" if story.has_gap else is_other,
                    place=place,
                )
            )
        files += [
            FileDifference(path=one.path, deed="not held", why=one.why)
            for one in unheld
            if one.path not in by_path
        ]

        def patch(path: str) -> FilePatch:
            story = by_path.get(path)
            return FilePatch() if story is None else _patch(story, contents, is_now=is_now)

        def sides(path: str) -> FileSides | None:
            story = by_path.get(path)
            return None if story is None else _sides(story, contents, is_now=is_now)

        return Differences(title=title, files=tuple(files), patch=patch, sides=sides)

    def _lines(self, story: _FileChanges, *, is_now: bool) -> tuple[int, int]:
        """Returns added and removed lines: as recorded for a single change, otherwise from the combined
        diff."""
        if len(story.changes) == 1 and is_same(story.left, story.after):
            return _line_totals(story)
        patch = _patch(story, self._recorder.contents, is_now=is_now)
        return patch.added, patch.removed

    def _place(self, story: _FileChanges, real: dict[str, str], *, looks: bool) -> tuple[str, str]:
        """Returns the file's absolute path and, if it was changed since, a remark."""
        try:
            place = place_of(self._recorder.root, story.name, real)
            if not looks:
                return place, ""
            now = read_disk_state(place, self._recorder.contents.max_bytes, reads=False).image
        except UnsupportedFile as problem:
            return "", str(problem)
        return place, "" if is_same(now, story.left) else "you changed it since"


def _turn_index(turns: Sequence[ChangingPrompt], prompt_id: str | None) -> int | None:
    if prompt_id is None:
        return len(turns) - 1 if turns else None
    return next((at for at, turn in enumerate(turns) if turn.prompt_id == prompt_id), None)


def _changes_by_file(
    entries: Iterable[Entry], contents: HeldContents, entry_of: Callable[[str], Entry | None]
) -> tuple[list[_FileChanges], tuple[UnheldFile, ...]]:
    stories: dict[str, _FileChanges] = {}
    unheld: dict[tuple[str, str], UnheldFile] = {}
    for entry in entries:
        changes, uncovered, label = changes_of(entry, contents.store.get)
        unheld.update(((one.path, one.why), one) for one in uncovered)
        hunks = _hunks_in(entry, entry_of)
        for change in changes:
            if hunks:
                _take_hunks(stories, change, hunks)
            else:
                _extend_changes(stories, change, label)
    told = [story for story in stories.values() if not is_same(story.before, story.after)]
    return sorted(told, key=lambda story: story.name), tuple(unheld.values())


def _hunks_in(entry: Entry, entry_of: Callable[[str], Entry | None]) -> tuple[RestoredHunk, ...]:
    """Returns the hunks that a restore took or put back; those of the restore that it takes back, turned
    around."""
    restored = restored_of(entry)
    if restored is None or restored.hunks or restored.undoes is None:
        return () if restored is None else restored.hunks
    other = entry_of(restored.undoes)
    undone = None if other is None else restored_of(other)
    turned = () if undone is None else undone.hunks
    return tuple(msgspec.structs.replace(hunk, put_back=not hunk.put_back) for hunk in turned)


def _take_hunks(stories: dict[str, _FileChanges], change: Change, hunks: tuple[RestoredHunk, ...]) -> None:
    """Notes which hunks of a file are taken back; the change that they are part of stays listed."""
    story = stories.get(change.name)
    if story is None:
        return
    if any(hunk.put_back and hunk.key not in story.taken for hunk in hunks):
        _extend_changes(stories, change, "restored")  # it was taken back before an undo and a redo
        return
    story.left = change.after
    for hunk in hunks:
        if hunk.put_back:
            story.taken.discard(hunk.key)
        else:
            story.taken.add(hunk.key)


def _extend_changes(stories: dict[str, _FileChanges], change: Change, label: str) -> None:
    story = stories.get(change.name)
    if story is None:
        story = stories[change.name] = _FileChanges(
            name=change.name,
            before=change.before,
            after=change.before,
            left=change.before,
            changes=[],
            by=[],
        )
    story.has_gap = story.has_gap or not is_same(story.left, change.before)
    story.after = story.left = change.after
    story.taken.clear()
    story.changes.append(change)
    if label != "restored":
        story.by.append(label)


def _sides(story: _FileChanges, contents: HeldContents, *, is_now: bool) -> FileSides:
    after = _side_of(story.after, contents)
    return FileSides(
        name=story.name,
        before=_side_of(story.before, contents),
        after=after,
        taken=frozenset(story.taken),
        left=after if is_same(story.left, story.after) else _side_of(story.left, contents),
        is_latest=is_now,
        folders=tuple(dict.fromkeys(folder for change in story.changes for folder in change.folders)),
        is_shared=all(change.is_shared for change in story.changes),
    )


def _line_totals(story: _FileChanges) -> tuple[int, int]:
    return sum(change.added for change in story.changes), sum(change.removed for change in story.changes)


def _patch(story: _FileChanges, contents: HeldContents, *, is_now: bool) -> FilePatch:
    """Returns the patch; with `is_now` without the hunks that were taken back."""
    after = story.left if is_now else story.after
    return patch_of(display_path(story.name), _side_of(story.before, contents), _side_of(after, contents))


def _side_of(image: FileImage | None, contents: HeldContents) -> PatchSide | None:
    if image is None:
        return None
    if image.kind == "folder":
        return PatchSide(image=image, why="an empty folder")
    try:
        return PatchSide(image=image, data=contents.store.get(image.hash))
    except MissingContent as problem:
        return PatchSide(image=image, why=str(problem))


def deed_of(before: FileImage | None, after: FileImage | None) -> str:
    if before is None:
        return "new" if after is None or after.kind == "file" else f"a new {after.kind}"
    if after is None:
        return "removed"
    if before.kind != after.kind:
        return f"now a {after.kind}"
    if before.hash == after.hash:
        return f"mode {before.mode:o} → {after.mode:o}"
    return "changed" if after.kind == "file" else "points elsewhere"
