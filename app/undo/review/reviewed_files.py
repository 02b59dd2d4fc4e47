"""Changed files as a review shows them: their hunks, which of them can still be taken back, and the content of a
file when hunks are taken back or put back. Only reads."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from app.undo.change_lists import ChangedFileList, ChangedFileRow, FileBeforeAndAfter
from app.undo.change_records import (
    RestoredHunkData,
    StoredFileState,
    decode_file_text,
    is_same_stored_state,
    readable_file_name,
)
from app.undo.content_store import blob_hash
from app.undo.disk_files import FileOnDisk, absolute_path_of_name, read_disk_file_state
from app.undo.patches import MAX_PATCHED_TEXT_BYTES, FileSideOfPatch, make_file_patch
from app.undo.review.hunks import (
    ChangedText,
    TextHunk,
    hunk_key_of_texts,
    hunks_of_text_change,
    is_editable_text,
    new_text_of_hunk,
    text_without_hunks,
    with_line_endings_of,
)
from app.values.user_errors import UserError
from tools.edits.diffs import format_unified_hunks
from tools.repomap.index.file_kinds import classify_repository_file

HunkKind = Literal["lines", "file", "mode", "move"]
_DEPENDENCY_LOCK_FILES = frozenset(
    ("package-lock.json", "pnpm-lock.yaml", "npm-shrinkwrap.json", "go.sum", "bun.lockb")
)
_MAX_MOVED_FILE_CANDIDATES = 40
"""The maximum number of removed or new files whose lines are compared to find moves; more are compared by their
hash only."""
_MAX_MOVED_FILE_BYTES = 256 << 10
_MIN_MOVED_FILE_SIMILARITY = 0.6
_INSPECTED_FILE_START_BYTES = 8 << 10


class HunkLinesChanged(UserError):
    """Raised if the lines of a hunk have changed since, so that it cannot be taken back or edited."""


class ReviewedHunk(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a file's change that a reviewer keeps or takes back as a whole."""

    key: str
    kind: HunkKind
    """The kind of the hunk: `lines`; `file` for all of a new, removed or binary file; `mode`; `move` for the file's
    new name."""
    patch: str = ""
    """The hunk as a unified diff without the names of files; empty if no lines changed."""
    note: str = ""
    """A description of a change that no lines show: `moved from a.py`, `no text: 3 B → 4 B`."""
    first_line: int = 0
    last_line: int = 0
    added: int = 0
    removed: int = 0
    is_spacing: bool = False
    """Whether the hunk changes only blanks and blank lines."""
    text: TextHunk | None = None


class ReviewedFileTarget(msgspec.Struct, frozen=True, kw_only=True):
    """The state that a reviewed file will have: its name, image and content."""

    name: str
    image: StoredFileState | None
    data: bytes = b""


class ReviewedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A changed file with its hunks."""

    path: str
    name: str
    hunks: tuple[ReviewedHunk, ...]
    before: FileSideOfPatch | None
    after: FileSideOfPatch | None
    old_name: str = ""
    """The name of the file before a move; empty if it did not move."""
    taken_back_hunks: frozenset[str] = frozenset()
    """The hunks that were taken back."""
    folders: tuple[str, ...] = ()
    is_shared: bool = False
    missing_content_reason: str = ""
    """The reason why no hunk can be taken back, because a content is not stored; empty otherwise."""

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, self.old_name) if self.old_name else (self.name,)

    def target_without_hunks(self, taken: frozenset[str]) -> ReviewedFileTarget:
        """Returns the file without these hunks, as if only the session had changed it."""
        name = self.old_name if self._is_moved_back(taken) else self.name
        if any(hunk.kind == "file" for hunk in self.hunks):
            side = self.before if any(hunk.key in taken for hunk in self.hunks) else self.after
            return _file_goal(name, side)
        before, after = self.before, self.after
        assert before is not None and after is not None
        is_mode = any(hunk.kind == "mode" and hunk.key in taken for hunk in self.hunks)
        mode = before.image.mode if is_mode else after.image.mode
        texts = [hunk.text for hunk in self.hunks if hunk.text is not None and hunk.key in taken]
        data = after.data or b""
        if texts:
            data = text_without_hunks(data.decode("utf-8"), texts).encode("utf-8")
        image = msgspec.structs.replace(after.image, mode=mode, hash=blob_hash(data), size=len(data))
        return ReviewedFileTarget(name=name, image=image, data=data)

    def _is_moved_back(self, taken: frozenset[str]) -> bool:
        return any(hunk.kind == "move" and hunk.key in taken for hunk in self.hunks)

    def patches_with_context(self, context: int) -> dict[str, str]:
        """Returns the patches of the hunks of lines by their keys, each with up to `context` unchanged lines around."""
        texts = [hunk.text for hunk in self.hunks if hunk.text is not None]
        old = decode_file_text(self.before.data or b"") if texts and self.before is not None else ""
        patches = format_unified_hunks(old or "", [text.regions for text in texts], context=context)
        return {text.key: patch for text, patch in zip(texts, patches, strict=True)}

    def text_of(self, hunk: ReviewedHunk) -> str:
        """Returns the new lines of a hunk, for an editor; the whole text of a new file. Raises `UserError`."""
        data = self.after.data if self.after is not None and self.after.image.kind == "file" else None
        whole = decode_file_text(data) if data is not None else None
        if hunk.key in self.taken_back_hunks:
            raise UserError(f"{self.path}: this hunk is taken back. Press u to undo that.")
        if whole is None or hunk.kind not in ("lines", "file") or len(data or b"") > MAX_PATCHED_TEXT_BYTES:
            raise UserError(f"{self.path}: this change has no lines to edit.")
        text = new_text_of_hunk(whole, hunk.text) if hunk.text is not None else whole.removesuffix("\n")
        text = text.replace("\r\n", "\n").removesuffix("\r")
        if not is_editable_text(text):
            raise UserError(f"{self.path}: these lines have control characters, which cannot be edited here.")
        return text

    def content_with_hunk_text(self, hunk: ReviewedHunk, text: str) -> bytes:
        """Returns the new content of the file with a person's lines in place of a hunk's, and no hunk taken back."""
        whole = decode_file_text((self.after.data if self.after is not None else None) or b"") or ""
        if hunk.text is None:
            return with_line_endings_of(text, whole).encode("utf-8")
        known = [one.text for one in self.hunks if one.text is not None]
        return (
            ChangedText(known, frozenset(), whole, whole)
            .text_with_hunk_replaced(hunk.key, text)
            .encode("utf-8")
        )

    def restored_hunk_record(self, hunk: ReviewedHunk, *, put_back: bool) -> RestoredHunkData:
        return RestoredHunkData(
            key=hunk.key, path=self.path, first=hunk.first_line, last=hunk.last_line, put_back=put_back
        )


def _file_goal(name: str, side: FileSideOfPatch | None) -> ReviewedFileTarget:
    if side is None:
        return ReviewedFileTarget(name=name, image=None)
    return ReviewedFileTarget(name=name, image=side.image, data=side.data or b"")


class ReviewedFileOnDisk:
    """A reviewed file as it is on the disk now."""

    def __init__(self, file: ReviewedFile, root: Path, max_bytes: int) -> None:
        """Reads the file from the disk. Raises `UnsupportedFileForUndo`."""
        self.file = file
        self.expected = file.target_without_hunks(file.taken_back_hunks)
        self.disk = _read_from_disk(root, self.expected.name, max_bytes)
        self._changed_text: ChangedText | None = None
        self._conflict_reason = ""
        if is_same_stored_state(self.disk.image, self.expected.image):
            return
        texts = self._texts()
        if texts is None:
            self._conflict_reason = _change_reason(self.disk.image, self.expected.image)
        else:
            known = [hunk.text for hunk in file.hunks if hunk.text is not None]
            self._changed_text = ChangedText(known, file.taken_back_hunks, *texts)

    @property
    def is_unchanged(self) -> bool:
        return not self._conflict_reason and self._changed_text is None

    def _texts(self) -> tuple[str, str] | None:
        """Returns the text that the session left and the present text if both are texts; None for a hunk of the
        whole file."""
        now, then = self.disk.image, self.expected.image
        if now is None or then is None or now.kind != "file" or then.kind != "file":
            return None
        if (
            any(hunk.kind == "file" for hunk in self.file.hunks)
            or len(self.disk.data or b"") > MAX_PATCHED_TEXT_BYTES
        ):
            return None
        expected, present = decode_file_text(self.expected.data), decode_file_text(self.disk.data or b"")
        return None if expected is None or present is None else (expected, present)

    def hunk_conflict_reason(self, hunk: ReviewedHunk) -> str:
        """Returns why a hunk cannot be taken back or put back; empty if it can."""
        if self.file.missing_content_reason:
            return self.file.missing_content_reason
        if self._conflict_reason:
            return self._conflict_reason
        if self._changed_text is None:
            return ""
        now, then = self.disk.image, self.expected.image
        if hunk.kind == "mode" and now is not None and then is not None and now.mode != then.mode:
            return "you changed its mode since"
        if hunk.text is not None and not self._changed_text.is_hunk_unchanged(hunk.key):
            return "you changed these lines since"
        return ""

    def target_with_hunks_toggled(self, keys: frozenset[str]) -> ReviewedFileTarget:
        """Returns the present file with these hunks taken back, or put back where they were taken back.

        Raises `HunkLinesChanged`."""
        file = self.file
        for hunk in file.hunks:
            if hunk.key in keys and (why := self.hunk_conflict_reason(hunk)):
                raise HunkLinesChanged(f"{file.path}: {why}, so it was left unchanged.")
        goal = file.target_without_hunks(file.taken_back_hunks ^ keys)
        if self._changed_text is None:
            return goal
        now, then = self.disk.image, self.expected.image
        assert now is not None and then is not None and goal.image is not None
        texts = [hunk.key for hunk in file.hunks if hunk.text is not None and hunk.key in keys]
        data = self._changed_text.text_with_hunks_toggled(texts).encode("utf-8")
        mode = goal.image.mode if now.mode == then.mode else now.mode
        image = msgspec.structs.replace(goal.image, mode=mode, hash=blob_hash(data), size=len(data))
        return ReviewedFileTarget(name=goal.name, image=image, data=data)

    def target_with_hunk_edited(self, hunk: ReviewedHunk, text: str) -> ReviewedFileTarget:
        """Returns the present file with a person's lines in place of a hunk's. Raises `HunkLinesChanged`."""
        file, goal = self.file, self.expected
        if why := self.hunk_conflict_reason(hunk):
            raise HunkLinesChanged(f"{file.path}: {why}, so it was left unchanged.")
        then, now = decode_file_text(goal.data) or "", decode_file_text(self.disk.data or b"") or ""
        known = [one.text for one in file.hunks if one.text is not None]
        moved = self._changed_text or ChangedText(known, file.taken_back_hunks, then, now)
        if hunk.text is None:
            changed = with_line_endings_of(text, now)
        elif moved.can_replace_hunk(hunk.key):
            changed = moved.text_with_hunk_replaced(hunk.key, text)
        else:
            raise HunkLinesChanged(
                f"{file.path}: you changed lines between these since, so it was left unchanged."
            )
        data = changed.encode("utf-8")
        image = self.disk.image
        assert image is not None
        return ReviewedFileTarget(
            name=goal.name,
            image=msgspec.structs.replace(image, hash=blob_hash(data), size=len(data)),
            data=data,
        )


def _read_from_disk(root: Path, name: str, max_bytes: int) -> FileOnDisk:
    return read_disk_file_state(absolute_path_of_name(root, name), max_bytes, takes_folder=True)


def _change_reason(now: StoredFileState | None, then: StoredFileState | None) -> str:
    if now is None:
        return "you deleted it since"
    return "you created it since" if then is None else "you changed it since"


def build_reviewed_file(
    path: str, sides: FileBeforeAndAfter, origin: FileBeforeAndAfter | None = None
) -> ReviewedFile:
    """Builds the review of a changed file, with its hunks. `origin`: the removed file that it was moved from.
    Blocks."""
    file = _compare_sides(path, sides, origin, sides.after)
    if sides.is_latest and sides.taken_back_hunks != file.taken_back_hunks:
        # Hunks were taken back as parts of another comparison: what they left is compared.
        return msgspec.structs.replace(
            _compare_sides(path, sides, origin, sides.session_side), taken_back_hunks=frozenset()
        )
    return file


def _compare_sides(
    path: str, sides: FileBeforeAndAfter, origin: FileBeforeAndAfter | None, after: FileSideOfPatch | None
) -> ReviewedFile:
    before = origin.before if origin is not None else sides.before
    old_name = origin.name if origin is not None else ""
    hunks = _make_hunks(path, before, after, readable_file_name(old_name))
    lacks = next(
        (one.missing_reason for one in (before, after) if one is not None and _has_no_content(one)), ""
    )
    return ReviewedFile(
        path=path,
        name=sides.name,
        old_name=old_name,
        hunks=hunks,
        before=before,
        after=after,
        taken_back_hunks=sides.taken_back_hunks & {hunk.key for hunk in hunks},
        folders=tuple(dict.fromkeys((*(origin.folders if origin is not None else ()), *sides.folders))),
        is_shared=sides.is_shared,
        missing_content_reason=lacks,
    )


def _has_no_content(side: FileSideOfPatch) -> bool:
    return side.data is None and side.image.kind != "folder"


def _side_image(side: FileSideOfPatch | None) -> StoredFileState | None:
    return side.image if side is not None else None


def _make_hunks(
    path: str, before: FileSideOfPatch | None, after: FileSideOfPatch | None, old_path: str
) -> tuple[ReviewedHunk, ...]:
    texts = _two_texts(before, after)
    if texts is None and old_path and before is not None and after is not None:
        texts = ("", "")  # a moved file that is no text has the same content
    if texts is None:
        return (_file_hunk(path, before, after),)
    assert before is not None and after is not None
    found: list[ReviewedHunk] = []
    if old_path:
        key = hunk_key_of_texts(path, "move", old_path)
        found.append(ReviewedHunk(key=key, kind="move", note=f"moved from {old_path}"))
    if before.image.mode != after.image.mode:
        modes = f"{before.image.mode:o}", f"{after.image.mode:o}"
        note = f"mode {modes[0]} → {modes[1]}"
        found.append(ReviewedHunk(key=hunk_key_of_texts(path, "mode", *modes), kind="mode", note=note))
    return (*found, *(_line_hunk(hunk) for hunk in hunks_of_text_change(path, *texts)))


def _two_texts(before: FileSideOfPatch | None, after: FileSideOfPatch | None) -> tuple[str, str] | None:
    """Returns the old and the new text of a changed text file; None where a file is new, removed, or no text."""
    if before is None or after is None or before.image.kind != "file" or after.image.kind != "file":
        return None
    if (
        before.data is None
        or after.data is None
        or max(len(before.data), len(after.data)) > MAX_PATCHED_TEXT_BYTES
    ):
        return None
    old, new = decode_file_text(before.data), decode_file_text(after.data)
    return None if old is None or new is None else (old, new)


def _line_hunk(hunk: TextHunk) -> ReviewedHunk:
    return ReviewedHunk(
        key=hunk.key,
        kind="lines",
        patch=hunk.patch,
        first_line=hunk.first_line,
        last_line=hunk.last_line,
        added=hunk.added,
        removed=hunk.removed,
        is_spacing=hunk.is_spacing,
        text=hunk,
    )


def _file_hunk(path: str, before: FileSideOfPatch | None, after: FileSideOfPatch | None) -> ReviewedHunk:
    patch = make_file_patch(path, before, after)
    at = patch.text.find("\n@@ ")
    states = [repr(image.identity) if (image := _side_image(side)) else "" for side in (before, after)]
    sides = [side for side in (before, after) if side is not None]
    link = next((side for side in sides if side.image.kind == "link"), None)
    note = patch.incomplete_reason or (
        "a symbolic link" if link is not None else "" if at >= 0 else "an empty file"
    )
    return ReviewedHunk(
        key=hunk_key_of_texts(path, *states),
        kind="file",
        patch=patch.text[at + 1 :] if at >= 0 else "",
        note=note,
        added=patch.added,
        removed=patch.removed,
    )


class ReviewFileRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row in the list of a review: a changed file whose hunks are not computed yet."""

    difference: ChangedFileRow
    origin: str = ""
    """The path of the removed file that this file was moved from; empty if it was not moved."""
    fold_reason: str = ""
    """The reason why the file's hunks need no review: `lock file`, `generated`; empty if they do."""


class ReviewedChanges:
    """The changes under review by file and hunk; each file is read when it is first asked for."""

    def __init__(self, differences: ChangedFileList) -> None:
        """Lists the changed files and pairs moved ones. Blocks."""
        self.differences = differences
        self._sides: dict[str, FileBeforeAndAfter | None] = {}
        self._files: dict[str, ReviewedFile] = {}
        origins = self._moved_paths()
        gone = set(origins.values())
        self.files = tuple(
            self._reviewed_file(one, origins.get(one.path, ""))
            for one in differences.files
            if one.path not in gone
        )

    def file(self, path: str) -> ReviewedFile | None:
        """Returns a changed file with its hunks; None where its content is not known. Blocks."""
        known = self._files.get(path)
        if known is not None:
            return known
        listed = next((one for one in self.files if one.difference.path == path), None)
        sides = self._sides_of(path) if listed is not None else None
        if listed is None or sides is None:
            return None
        origin = self._sides_of(listed.origin) if listed.origin else None
        file = self._files[path] = build_reviewed_file(path, sides, origin)
        return file

    def note_taken_back(self, path: str, taken: frozenset[str]) -> None:
        """Notes which hunks of a file are taken back now."""
        self._files[path] = msgspec.structs.replace(self._files[path], taken_back_hunks=taken)

    def _sides_of(self, path: str) -> FileBeforeAndAfter | None:
        if path not in self._sides:
            self._sides[path] = self.differences.sides(path)
        return self._sides[path]

    def _reviewed_file(self, difference: ChangedFileRow, origin: str) -> ReviewFileRow:
        if origin:
            difference = msgspec.structs.replace(difference, deed="moved", added=0)
        return ReviewFileRow(difference=difference, origin=origin, fold_reason=_fold_reason(difference.path))

    def _moved_paths(self) -> dict[str, str]:
        """Returns the new paths of moved files with their old paths: files of the same content, or of mostly the
        same lines."""
        gone = [one.path for one in self.differences.files if one.deed == "removed"]
        new = [one.path for one in self.differences.files if one.deed.startswith("new")]
        if not gone or not new or max(len(gone), len(new)) > _MAX_MOVED_FILE_CANDIDATES:
            return {}
        found: dict[str, str] = {}
        left = {path: side for path in gone if (side := self._content(path, is_old=True)) is not None}
        for path in new:
            side = self._content(path, is_old=False)
            scores = {old: _similarity(other, side) for old, other in left.items()} if side else {}
            best = max(scores, key=lambda old: scores[old], default=None)
            if best is not None and scores[best] >= _MIN_MOVED_FILE_SIMILARITY:
                found[path] = best
                del left[best]
        return found

    def _content(self, path: str, *, is_old: bool) -> bytes | None:
        sides = self._sides_of(path)
        side = None if sides is None else sides.before if is_old else sides.after
        if (
            side is None
            or side.image.kind != "file"
            or not side.data
            or len(side.data) > _MAX_MOVED_FILE_BYTES
        ):
            return None
        return side.data


def _similarity(old: bytes, new: bytes) -> float:
    """Returns the share of lines that two files have in common, weighed by their length."""
    if old == new:
        return 1.0
    if decode_file_text(old) is None or decode_file_text(new) is None:
        return 0.0
    if not 0.5 < len(old) / len(new) < 2:
        return 0.0
    lines, others = Counter(old.split(b"\n")), Counter(new.split(b"\n"))
    common = sum(len(line) * count for line, count in (lines & others).items())
    return common / max(len(old), len(new))


def _fold_reason(path: str) -> str:
    name = path.rpartition("/")[2]
    if name in _DEPENDENCY_LOCK_FILES or name.endswith(".lock"):
        return "lock file"
    return kind if (kind := classify_repository_file(path, None, b"")) in ("generated", "vendored") else ""


def fold_reason_of_content(file: ReviewedFile) -> str:
    """Returns why a file's change needs no review, judged by the file's first lines."""
    sides: Sequence[FileSideOfPatch | None] = (file.after, file.before)
    data = next((side.data for side in sides if side is not None and side.data), b"")
    return (
        "generated"
        if classify_repository_file("", None, data[:_INSPECTED_FILE_START_BYTES]) == "generated"
        else ""
    )
