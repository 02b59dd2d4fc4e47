"""Stores whole texts of files as they were when lines were shown, to resolve anchors after a file has changed.

Compressed and bounded: the least recently seen file is dropped first, and of each file the oldest version."""

import hashlib
import zlib
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

import msgspec

MAX_FILE_SNAPSHOT_CHARS: Final = 1 << 20
_MAX_FILES_WITH_SNAPSHOTS: Final = 64
_MAX_SNAPSHOTS_PER_FILE: Final = 4
_MAX_PACKED_SNAPSHOT_BYTES: Final = 16 << 20


class ShownFileVersionText(msgspec.Struct, frozen=True, kw_only=True):
    """A version of a file, and the lines of it that the model saw."""

    lines: tuple[str, ...]
    shown: frozenset[int]
    """The numbers of the lines that the model saw, from 1."""


class _PackedSnapshot(msgspec.Struct, kw_only=True):
    digest: bytes
    data: bytes
    shown: set[int]


class ShownFileVersions:
    """The whole texts of files of which the model saw lines, for one session."""

    def __init__(self, max_packed: int = _MAX_PACKED_SNAPSHOT_BYTES) -> None:
        self._files: OrderedDict[str, list[_PackedSnapshot]] = OrderedDict()
        self._max_packed = max_packed
        self._size = 0

    def record(self, path: str, text: str, shown: Iterable[int]) -> None:
        """Records which lines of a file's text the model was shown. A known text gets more shown lines and becomes the
        newest."""
        if len(text) > MAX_FILE_SNAPSHOT_CHARS:
            return
        raw = text.encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(raw, digest_size=16).digest()
        versions = self._files.setdefault(path, [])
        self._files.move_to_end(path)
        known = next((one for one in versions if one.digest == digest), None)
        if known is not None:
            known.shown.update(shown)
            versions.remove(known)
            versions.append(known)
            return
        made = _PackedSnapshot(digest=digest, data=zlib.compress(raw, 1), shown=set(shown))
        versions.append(made)
        self._size += len(made.data)
        while len(versions) > _MAX_SNAPSHOTS_PER_FILE:
            self._size -= len(versions.pop(0).data)
        while len(self._files) > _MAX_FILES_WITH_SNAPSHOTS or (
            self._size > self._max_packed and len(self._files) > 1
        ):
            _, dropped = self._files.popitem(last=False)
            self._size -= sum(len(one.data) for one in dropped)

    def shown_versions_of(self, path: str) -> tuple[ShownFileVersionText, ...]:
        """Returns the recorded versions of a file's text, newest first."""
        return tuple(
            ShownFileVersionText(
                lines=tuple(zlib.decompress(one.data).decode("utf-8", "surrogatepass").split("\n")),
                shown=frozenset(one.shown),
            )
            for one in reversed(self._files.get(path, ()))
        )
