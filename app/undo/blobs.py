"""Contents of files by their hash, one store for all sessions: equal content is there once.

A blob is written beside its place and renamed, so that it is whole or not there; what is read is compared with its
name. Who needs what is `needed`'s business, what goes is `collecting`'s.
"""

import hashlib
import os
import zlib
from pathlib import Path

from app.values.unable import Unable
from tools.files.replacing import swap_in

_PLAIN_UP_TO = 1024
"""Smaller ones are not worth compressing."""
_PACKED = ".z"
_HEX = frozenset("0123456789abcdef")


class Missing(Unable):
    """The store does not hold this content, or not any more."""


class Damaged(Missing):
    """It holds something else under this name."""


def hash_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class BlobStore:
    """Any thread may use it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, data: bytes, name: str | None = None) -> str:
        """Keeps `data` (whose hash is `name`) and returns its name. Raises `OSError` with nothing half there."""
        name = name or hash_of(data)
        place = self._place(name)
        if self._renew(place):
            return name
        is_packed = len(data) > _PLAIN_UP_TO
        written = zlib.compress(data, 1) if is_packed else data
        file = place + _PACKED if is_packed else place
        try:
            swap_in(file, written, mode=0o600)
        except FileNotFoundError:
            Path(place).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            swap_in(file, written, mode=0o600)
        return name

    def has(self, name: str) -> bool:
        place = self._place(name)
        return os.access(place + _PACKED, os.R_OK) or os.access(place, os.R_OK)

    def get(self, name: str) -> bytes:
        """Raises `Missing`, or `Damaged` when what is there is not what was put."""
        place = self._place(name)
        for path, is_packed in ((place + _PACKED, True), (place, False)):
            try:
                data = Path(path).read_bytes()
            except FileNotFoundError:
                continue
            except OSError as problem:
                raise Missing(f"its kept content cannot be read: {problem.strerror}") from None
            try:
                data = zlib.decompress(data) if is_packed else data
            except zlib.error:
                raise Damaged("its kept content is damaged") from None
            if hash_of(data) != name:
                raise Damaged("its kept content is damaged")
            return data
        raise Missing("its content is not kept any more")

    def blobs(self) -> "list[os.DirEntry[str]]":
        """Everything that is there, half-written files of a crash too."""
        found: list[os.DirEntry[str]] = []
        for number in range(256):
            try:
                with os.scandir(self.folder / f"{number:02x}") as entries:
                    found += entries
            except OSError:
                continue
        return found

    def _renew(self, place: str) -> bool:
        """Whether it is there; it counts as new then, so that nobody collects it before it is asked for."""
        for path in (place + _PACKED, place):
            try:
                os.utime(path)
            except OSError:
                continue
            return True
        return False

    def _place(self, name: str) -> str:
        if len(name) != 64 or not _HEX.issuperset(name):
            raise Missing("its record is damaged")
        return f"{self.folder}/{name[:2]}/{name}"


def name_in(file: str) -> str | None:
    """The blob's name by that of its file; None for half-written ones."""
    name = file.removesuffix(_PACKED)
    return name if len(name) == 64 and _HEX.issuperset(name) else None
