"""What changed in files, file by file, to be looked at: by a session, by one prompt of it, against a commit.

What a session did is told by its entries and the contents that are held for them; nothing is guessed from arguments,
and the disk is asked only whether a file is still what the session left. Blocks.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from app.sessions.log import SessionLog
from app.undo.blobs import MissingContent
from app.undo.disk import UnsupportedFile, look, place_of
from app.undo.history import Turn, changes_of, settled, turns_of
from app.undo.images import Change, FileImage, UnheldFile, display_path, is_same
from app.undo.patches import FilePatch, PatchSide, patch_of
from app.undo.plan import HeldContents, words_of
from app.undo.recording import Recorder
from app.values.entries import Entry
from app.values.unable import Unable

_MAX_COMPARED = 300
"""Of more files, those that several calls changed have the lines of all of them counted; none is looked at."""


class FileDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a list."""

    path: str
    deed: str
    """`new`, `removed`, `changed`, `mode 644 → 755`."""
    added: int = 0
    removed: int = 0
    by: str = ""
    """`write, 2 × edit`."""
    why: str = ""
    """What is to be known of it: somebody changed it in between, nothing of it is held."""
    place: str = ""
    """Where it is on the disk; nothing where it cannot be opened."""


class Differences(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    """`Changed by “rename the parser”`."""
    files: tuple[FileDifference, ...]
    patch: Callable[[str], FilePatch]
    """Of one of them. Blocks."""
    source: Callable[[str], bytes | None] = lambda path: None
    """What the new side of a file holds, where that is not the file as it is on the disk. Blocks."""
    is_since: bool = False
    """From where another branch parted on; else what one commit, prompt or session did."""
    note: str = ""
    """Where among others this stands: `prompt 2 of 5`."""
    older: str | None = None
    """The prompt before this one that changed files, and the one behind it."""
    newer: str | None = None

    @property
    def added(self) -> int:
        return sum(file.added for file in self.files)

    @property
    def removed(self) -> int:
        return sum(file.removed for file in self.files)

    def patches(self) -> tuple[str, tuple[str, ...]]:
        """All of them in one, and the files of which not everything is in it, with the reason. Blocks."""
        texts: list[str] = []
        lacking: list[str] = []
        for file in self.files:
            one = self.patch(file.path)
            texts.append(one.text)
            if not one.is_whole:
                lacking.append(f"{file.path} ({one.why or file.why})")
        return "".join(texts), tuple(lacking)


class NoSuchPrompt(Unable):
    """It changed no files, or there is none."""


class _FileChanges(msgspec.Struct, kw_only=True):
    """What became of one file over a stretch of a branch."""

    name: str
    before: FileImage | None
    after: FileImage | None
    changes: list[Change]
    by: list[str]
    has_gap: bool = False
    """Somebody else changed it in between."""


class DifferenceBuilder:
    """Of one session."""

    def __init__(self, log: SessionLog, recorder: Recorder) -> None:
        self._log = log
        self._recorder = recorder

    def of_session(self) -> Differences:
        """From before everything to what the branch left; what was put back is not a change any more."""
        return self._told("Changed by this session", self._path(), is_now=True)

    def of_prompt(self, prompt_id: str | None = None) -> Differences:
        """What this prompt did, or the last one that changed any files."""
        turns = turns_of(self._path())
        at = _place_among(turns, prompt_id)
        if at is None:
            if prompt_id is not None:
                raise NoSuchPrompt(f"The prompt {prompt_id} changed no files on this branch.")
            return Differences(title="Changed by the last prompt", files=(), patch=lambda path: FilePatch())
        turn = turns[at]
        title = f"Changed by “{turn.title}”" if turn.title else "Changed before the first prompt"
        told = self._told(title, turn.entries, is_now=False)
        return msgspec.structs.replace(
            told,
            note=f"prompt {at + 1} of {len(turns)}",
            older=turns[at - 1].prompt_id if at else None,
            newer=turns[at + 1].prompt_id if at + 1 < len(turns) else None,
        )

    def _path(self) -> Sequence[Entry]:
        leaf_id = self._log.leaf_id
        return [] if leaf_id is None else settled(self._log.path_to(leaf_id), self._log.children)

    def _told(self, title: str, entries: Sequence[Entry], *, is_now: bool) -> Differences:
        """`is_now`: the files are still what these entries left, unless somebody changed them since."""
        contents = self._recorder.contents
        stories, unheld = _changes_by_file(entries, contents)
        unknown = {one.path: f"not all that was done to it is known: {one.why}" for one in unheld}
        is_short = len(stories) <= _MAX_COMPARED
        real: dict[str, str] = {}
        files: list[FileDifference] = []
        by_path: dict[str, _FileChanges] = {}
        for story in stories:
            path = display_path(story.name)
            by_path[path] = story
            added, removed = self._lines(story) if is_short else _line_totals(story)
            place, is_other = self._place(story, real, looks=is_now and is_short)
            is_other = unknown.get(path, is_other)
            files.append(
                FileDifference(
                    path=path,
                    deed=deed_of(story.before, story.after),
                    added=added,
                    removed=removed,
                    by=words_of(story.by),
                    why="somebody changed it in between" if story.has_gap else is_other,
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
            return FilePatch() if story is None else _patch(story, contents)

        return Differences(title=title, files=tuple(files), patch=patch)

    def _lines(self, story: _FileChanges) -> tuple[int, int]:
        """As they were counted when it happened, if that was once."""
        if len(story.changes) == 1:
            return _line_totals(story)
        patch = _patch(story, self._recorder.contents)
        return patch.added, patch.removed

    def _place(self, story: _FileChanges, real: dict[str, str], *, looks: bool) -> tuple[str, str]:
        """Where it is, and whether it is something else by now."""
        try:
            place = place_of(self._recorder.root, story.name, real)
            if not looks:
                return place, ""
            now = look(place, self._recorder.contents.max_bytes, reads=False).image
        except UnsupportedFile as problem:
            return "", str(problem)
        return place, "" if is_same(now, story.after) else "you changed it since"


def _place_among(turns: Sequence[Turn], prompt_id: str | None) -> int | None:
    if prompt_id is None:
        return len(turns) - 1 if turns else None
    return next((at for at, turn in enumerate(turns) if turn.prompt_id == prompt_id), None)


def _changes_by_file(
    entries: Iterable[Entry], contents: HeldContents
) -> tuple[list[_FileChanges], tuple[UnheldFile, ...]]:
    stories: dict[str, _FileChanges] = {}
    unheld: dict[tuple[str, str], UnheldFile] = {}
    for entry in entries:
        changes, uncovered, label = changes_of(entry, contents.store.get)
        unheld.update(((one.path, one.why), one) for one in uncovered)
        for change in changes:
            _extend_changes(stories, change, label)
    told = [story for story in stories.values() if not is_same(story.before, story.after)]
    return sorted(told, key=lambda story: story.name), tuple(unheld.values())


def _extend_changes(stories: dict[str, _FileChanges], change: Change, label: str) -> None:
    story = stories.get(change.name)
    if story is None:
        story = stories[change.name] = _FileChanges(
            name=change.name, before=change.before, after=change.before, changes=[], by=[]
        )
    story.has_gap = story.has_gap or not is_same(story.after, change.before)
    story.after = change.after
    story.changes.append(change)
    if label != "restored":
        story.by.append(label)


def _line_totals(story: _FileChanges) -> tuple[int, int]:
    return sum(change.added for change in story.changes), sum(change.removed for change in story.changes)


def _patch(story: _FileChanges, contents: HeldContents) -> FilePatch:
    return patch_of(
        display_path(story.name), _patch_side(story.before, contents), _patch_side(story.after, contents)
    )


def _patch_side(image: FileImage | None, contents: HeldContents) -> PatchSide | None:
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
    return "changed" if after.kind == "file" else "leads elsewhere"
