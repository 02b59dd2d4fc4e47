"""Looking at names of a folder and keeping what they hold, within limits. Unchanged files are not read again."""

import os
import stat as stat_module
import time
from collections.abc import Callable, Iterable

import msgspec

from app.undo.blobs import BlobStore, Missing
from app.undo.disk import LeftAlone, Signature, look, signature_at, signature_of
from app.undo.images import FileImage, text_in
from app.undo.scans import YOUNG_SECONDS, Seen

Put = Callable[[bytes, str | None], str]
"""Keeps a content for this session; raises `OSError`."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Of one scan."""

    file_bytes: int
    all_bytes: int
    files: int


class Holder:
    """Of one session. Blocks; used from one thread at a time."""

    def __init__(self, store: BlobStore, put: Put) -> None:
        self._store = store
        self._put = put
        self._known: dict[str, tuple[Signature, FileImage]] = {}

    def hold(
        self, places: Iterable[tuple[str, str]], limits: Limits, *, was_clean: frozenset[str]
    ) -> dict[str, Seen]:
        """`places`: names with their absolute paths."""
        found: dict[str, Seen] = {}
        now, files, total = time.time(), 0, 0
        for name, place in places:
            is_clean = name in was_clean
            try:
                stat = os.lstat(place)
            except OSError:
                self._known.pop(name, None)
                found[name] = Seen(is_clean_before=is_clean)
                continue
            if stat_module.S_ISDIR(stat.st_mode) and not name.endswith("/"):
                self._known.pop(name, None)
                found[name] = Seen(
                    is_clean_before=is_clean
                )  # the file is gone; what is in the folder is listed
                continue
            if stat_module.S_ISDIR(stat.st_mode):
                found[name] = Seen(signature=_of_folder(place, stat), is_folder=True)
                continue
            signature = signature_of(stat)
            is_young = now - stat.st_ctime < YOUNG_SECONDS
            known = self._known.get(name)
            if known is not None and known[0] == signature and not is_young:
                found[name] = Seen(signature=signature, image=known[1], is_clean_before=is_clean)
                continue
            files, total = files + 1, total + stat.st_size
            why = _too_much(stat.st_size, files, total, limits)
            seen = Seen(signature=signature, why=why, is_clean_before=is_clean)
            found[name] = seen if why else self._kept(name, place, limits, is_clean, is_young)
        return found

    def _kept(self, name: str, place: str, limits: Limits, is_clean: bool, is_young: bool) -> Seen:
        try:
            looked = look(place, limits.file_bytes)
        except LeftAlone as problem:
            return Seen(signature=signature_at(place), why=str(problem), is_clean_before=is_clean)
        if looked.image is None or looked.data is None or looked.signature is None:
            return Seen(is_clean_before=is_clean)
        try:
            self.put(looked.data, looked.image.hash)
        except OSError as problem:
            why = f"it could not be kept: {problem.strerror}"
            return Seen(signature=looked.signature, why=why, is_clean_before=is_clean)
        self._known[name] = looked.signature, looked.image
        return Seen(
            signature=looked.signature, image=looked.image, is_clean_before=is_clean, is_young=is_young
        )

    def put(self, data: bytes, name: str | None = None) -> str:
        """Raises `OSError`."""
        return self._put(data, name)

    def text(self, image: FileImage | None) -> str | None:
        if image is None or image.kind == "link":
            return None
        try:
            return text_in(self._store.get(image.hash))
        except Missing:
            return None

    def forget(self) -> None:
        self._known.clear()


def _too_much(size: int, files: int, total: int, limits: Limits) -> str:
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
