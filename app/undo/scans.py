"""What a folder is like at one moment, as far as it can be held, and what differs between two.

A scan lists the names that differ from the state when its scanner was opened: with git the names that are not clean,
without git all of them. `ContentHolder` reads names and keeps their contents within limits; an unchanged file is not
read again.
"""

import os
import stat as stat_module
import time
from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from app.undo.blobs import BlobStore, MissingContent
from app.undo.disk import (
    Folders,
    Signature,
    UnsupportedFile,
    is_below_link,
    look,
    names_differing_in_case,
    signature_at,
    signature_of,
)
from app.undo.images import Change, FileImage, UnheldFile, decode_text, display_path, is_same, path_fields
from tools.edits.diffs import diff_texts

YOUNG_SECONDS = 0.05
"""A file that was touched so shortly before it was looked at may be touched again without looking different."""
_MAX_DIFF_BYTES = 1 << 20


class ScannedName(msgspec.Struct, frozen=True, kw_only=True):
    """One listed name."""

    signature: Signature | None = None
    """None: it is not there."""
    image: FileImage | None = None
    why: str = ""
    """Why its content is not held."""
    is_clean_before: bool = False
    """It was as git has it when the scanner was opened."""
    is_folder: bool = False
    """A folder of which nothing is held."""
    is_young: bool = False


class Scan(msgspec.Struct, frozen=True, kw_only=True):
    seen: dict[str, ScannedName]
    uncovered: tuple[UnheldFile, ...] = ()
    """What no scan of this folder can hold."""
    folders: Folders | None = None
    """None: there are too many to look at all."""


class FolderScanner(Protocol):
    """How a folder is scanned. Names are relative to the session's folder, or absolute."""

    async def scan(self) -> Scan:
        """Everything listed is held or says why not."""
        ...

    async def originals(self, names: list[str]) -> dict[str, FileImage | str]:
        """What these were when the scanner was opened, or why that is not known."""
        ...

    async def present(self, names: list[str]) -> dict[str, ScannedName]:
        """What these are now."""
        ...

    async def unheld(self, names: list[str], *, ignored: bool) -> dict[str, str]:
        """Which of the unlisted files at or below these names could not be given back, and why."""
        ...

    def name_at(self, place: str) -> str | None:
        """The name of an absolute path; None: it is outside. The top itself is the empty name."""
        ...

    def place(self, name: str) -> str:
        """Its absolute path."""
        ...

    def text(self, image: FileImage | None) -> str | None:
        """Its content, where that is held and text."""
        ...

    def moved_head(self) -> tuple[str, str] | None:
        """Where the repository's head was and is, if it moved since."""
        ...

    async def close(self) -> None: ...


class ScanDifference(msgspec.Struct, frozen=True, kw_only=True):
    changes: tuple[Change, ...] = ()
    uncovered: tuple[UnheldFile, ...] = ()


async def compare_scans(old: Scan, new: Scan, scanner: FolderScanner) -> ScanDifference:
    """What happened between two scans of one scanner."""
    old, new = _with_empty_folders(old, new, scanner), _with_empty_folders(new, old, scanner)
    touched = [
        name for name in {**old.seen, **new.seen} if not _is_untouched(old.seen.get(name), new.seen.get(name))
    ]
    hidden = {name: "it was ignored before" for name, seen in old.seen.items() if seen.is_folder}
    for place in old.folders.unread if old.folders is not None else ():
        hidden[f"{scanner.name_at(place)}/"] = "its folder could not be read before"
    back_to_clean = await scanner.present([name for name in touched if name not in new.seen])
    back_to_clean.update((name, ScannedName()) for name in _names_respelled(back_to_clean, new))
    was_clean = await scanner.originals(
        [name for name in touched if name not in old.seen and new.seen[name].is_clean_before]
    )
    changes: list[Change] = []
    uncovered: list[UnheldFile] = list(new.uncovered)
    for name in sorted(touched):
        before, after = old.seen.get(name), new.seen.get(name) or back_to_clean[name]
        why = _why(name, before, after, hidden)
        original = was_clean.get(name)
        if isinstance(original, str):
            why = original
        if why:
            uncovered.append(UnheldFile(path=display_path(name), why=why))
            continue
        was = original if isinstance(original, FileImage) else before.image if before is not None else None
        if original is not None and after.image is not None and isinstance(original, FileImage):
            was = _with_mode_bits(original, after.image)
        if not is_same(was, after.image):
            folders = _folders_with(scanner.place(name), was, after.image, old.folders, new.folders)
            changes.append(_change(name, was, after.image, scanner, folders))
    return ScanDifference(changes=tuple(changes), uncovered=tuple(uncovered))


async def unheld(scan: Scan, scanner: FolderScanner, names: list[str], *, ignored: bool) -> dict[str, str]:
    """What could not be put back if everything at or below these names were lost, and why."""
    found = {
        name: seen.why or "what is in it is not held"
        for name, seen in scan.seen.items()
        if (seen.why or (seen.is_folder and ignored))
        and any(_overlaps(name.rstrip("/"), one) for one in names)
    }
    return found | await scanner.unheld(names, ignored=ignored)


def _overlaps(one: str, other: str) -> bool:
    """Whether one of two names is the other, or lies below it."""
    return one == other or not other or one.startswith(f"{other}/") or other.startswith(f"{one}/")


def _names_respelled(back: dict[str, ScannedName], new: Scan) -> list[str]:
    """Names that only seem to be there still: where case folds, the file has the other spelling now."""
    alike = names_differing_in_case((*back, *new.seen)) if back else frozenset[str]()
    spelled = {name.casefold(): seen for name, seen in new.seen.items() if name in alike}
    return [
        name
        for name, seen in back.items()
        if name in alike
        and seen.signature is not None
        and (other := spelled.get(name.casefold())) is not None
        and other.signature is not None
        and other.signature[0] == seen.signature[0]
    ]


def _is_untouched(before: ScannedName | None, after: ScannedName | None) -> bool:
    return (
        before is not None
        and after is not None
        and before.signature == after.signature
        and not before.is_young
    )


def _why(name: str, before: ScannedName | None, after: ScannedName, hidden: dict[str, str]) -> str:
    """Why nothing can be said of this one, or nothing."""
    if before is not None and before.why:
        return before.why
    if after.why:
        return after.why
    if after.is_folder or (before is not None and before.is_folder):
        return "what is in it is not held"
    if before is None and not after.is_clean_before and after.signature is not None:
        return next((why for folder, why in hidden.items() if name.startswith(folder)), "")
    return ""


def _with_mode_bits(original: FileImage, now: FileImage) -> FileImage:
    """Git knows only whether a file is executable; the other bits are those that it has now."""
    if original.kind == "link" or now.kind == "link":
        return original
    is_executable = bool(original.mode & 0o100)
    if is_executable == bool(now.mode & 0o100):
        return msgspec.structs.replace(original, mode=now.mode)
    readable = now.mode & 0o444
    mode = now.mode | readable >> 2 if is_executable else now.mode & ~0o111
    return msgspec.structs.replace(original, mode=mode)


def _with_empty_folders(scan: Scan, other: Scan, scanner: FolderScanner) -> Scan:
    """With the folders that are empty in it and were not there in the other one, as names like those of files."""
    if scan.folders is None or other.folders is None:
        return scan
    seen = dict(scan.seen)
    for place in scan.folders.empty - other.folders.all:
        name = scanner.name_at(place)
        if not name:
            continue
        before = seen.get(name)
        is_clean = before.is_clean_before if before is not None else False
        signature = (0, 0, 0, 0, stat_module.S_IFDIR)
        seen[name] = ScannedName(
            signature=signature, image=FileImage(kind="folder", mode=0o755), is_clean_before=is_clean
        )
    return msgspec.structs.replace(scan, seen=seen)


def _folders_with(
    place: str, before: FileImage | None, after: FileImage | None, old: Folders | None, new: Folders | None
) -> tuple[str, ...]:
    """The folders above it that were made for it or went with it, outermost first."""
    if old is None or new is None or (before is not None and after is not None):
        return ()
    fresh = new.all - old.all if before is None else old.all - new.all
    found: list[str] = []
    folder = place.rpartition("/")[0]
    while folder in fresh:
        found.insert(0, folder)
        folder = folder.rpartition("/")[0]
    return tuple(one for one in found if display_path(one) == one)


def _change(
    name: str,
    before: FileImage | None,
    after: FileImage | None,
    scanner: FolderScanner,
    folders: tuple[str, ...],
) -> Change:
    added = removed = 0
    sizes = [image.size for image in (before, after) if image is not None]
    if max(sizes, default=0) <= _MAX_DIFF_BYTES:
        old = scanner.text(before) if before is not None else ""
        new = scanner.text(after) if after is not None else ""
        if old is not None and new is not None and old != new:
            diff = diff_texts(name, old, new)
            added, removed = diff.added, diff.removed
    return Change(
        **path_fields(name),
        before=before,
        after=after,
        by="command",
        added=added,
        removed=removed,
        folders=folders,
    )


PutContent = Callable[[bytes, str | None], str]
"""Keeps a content for this session; raises `OSError`."""


class ScanLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Of one scan."""

    file_bytes: int
    all_bytes: int
    files: int


class ContentHolder:
    """Of one session. Blocks; used from one thread at a time."""

    def __init__(self, store: BlobStore, put: PutContent) -> None:
        self._store = store
        self._put = put
        self._known: dict[str, tuple[Signature, FileImage]] = {}

    def hold(
        self, places: Iterable[tuple[str, str]], limits: ScanLimits, *, was_clean: frozenset[str]
    ) -> dict[str, ScannedName]:
        """`places`: names with their absolute paths."""
        found: dict[str, ScannedName] = {}
        links: dict[str, bool] = {}
        now, files, total = time.time(), 0, 0
        for name, place in places:
            is_clean = name in was_clean
            try:
                stat = os.lstat(place)
            except OSError:
                self._known.pop(name, None)
                found[name] = ScannedName(is_clean_before=is_clean)
                continue
            if is_below_link(os.path.dirname(place), links):  # noqa: PTH120  (bytes of the name as they are)
                self._known.pop(name, None)
                found[name] = ScannedName(is_clean_before=is_clean)  # what is found there is another file
                continue
            if stat_module.S_ISDIR(stat.st_mode) and not name.endswith("/"):
                self._known.pop(name, None)
                found[name] = ScannedName(
                    is_clean_before=is_clean
                )  # the file is gone; what is in the folder is listed
                continue
            if stat_module.S_ISDIR(stat.st_mode):
                found[name] = ScannedName(signature=_of_folder(place, stat), is_folder=True)
                continue
            signature = signature_of(stat)
            is_young = now - stat.st_ctime < YOUNG_SECONDS
            known = self._known.get(name)
            if known is not None and known[0] == signature and not is_young:
                found[name] = ScannedName(signature=signature, image=known[1], is_clean_before=is_clean)
                continue
            files, total = files + 1, total + stat.st_size
            why = _limit_text(stat.st_size, files, total, limits)
            seen = ScannedName(signature=signature, why=why, is_clean_before=is_clean)
            found[name] = seen if why else self._kept(name, place, limits, is_clean, is_young)
        return found

    def _kept(self, name: str, place: str, limits: ScanLimits, is_clean: bool, is_young: bool) -> ScannedName:
        try:
            looked = look(place, limits.file_bytes)
        except UnsupportedFile as problem:
            return ScannedName(signature=signature_at(place), why=str(problem), is_clean_before=is_clean)
        if looked.image is None or looked.data is None or looked.signature is None:
            return ScannedName(is_clean_before=is_clean)
        try:
            self.put(looked.data, looked.image.hash)
        except OSError as problem:
            why = f"it could not be kept: {problem.strerror}"
            return ScannedName(signature=looked.signature, why=why, is_clean_before=is_clean)
        self._known[name] = looked.signature, looked.image
        return ScannedName(
            signature=looked.signature, image=looked.image, is_clean_before=is_clean, is_young=is_young
        )

    def put(self, data: bytes, name: str | None = None) -> str:
        """Raises `OSError`."""
        return self._put(data, name)

    def text(self, image: FileImage | None) -> str | None:
        if image is None or image.kind == "link":
            return None
        try:
            return decode_text(self._store.get(image.hash))
        except MissingContent:
            return None

    def forget(self) -> None:
        self._known.clear()


def _limit_text(size: int, files: int, total: int, limits: ScanLimits) -> str:
    if size > limits.file_bytes:
        return f"larger than {limits.file_bytes >> 20} MB"
    if files > limits.files:
        return f"more than {limits.files:,} files"
    if total > limits.all_bytes:
        return f"more than {limits.all_bytes >> 20} MB in all"
    return ""


def _of_folder(place: str, stat: os.stat_result) -> Signature:
    """Of a folder that is not held: another one when something was made, removed or renamed in it or right below."""
    newest, count = stat.st_mtime_ns, 0
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                count += 1
                if count > 500:
                    break
                newest = max(newest, entry.stat(follow_symlinks=False).st_mtime_ns)
    except OSError:
        pass
    return stat.st_ino, count, newest, 0, stat.st_mode
