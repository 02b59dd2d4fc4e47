"""Caches file maps: some in memory, more of them compressed in a folder, both bounded."""

import contextlib
import hashlib
import os
import threading
import zlib
from collections import OrderedDict
from functools import lru_cache
from pathlib import Path

import msgspec

from tools.filemap.file_map import FileMap
from tools.filemap.source_text import SourceText

FILE_MAP_CACHE_VERSION = 28
"""The version of the format of maps, part of every cache key: increase it when the content of maps changes."""
_MAX_FILE_MAPS_IN_MEMORY = 64
_MAX_MAP_SYMBOLS_IN_MEMORY = 200_000
_MAX_CACHED_MAP_FILES = 512
_MAX_CACHE_FOLDER_BYTES = 32 * 1024 * 1024
_MAX_CACHED_MAP_BYTES = 4 * 1024 * 1024
_CACHED_FILE_MAP_SUFFIX = ".map"


class FileMapCache:
    """A cache of file maps in memory and, given a folder, on disk; errors of the folder are ignored. May be used by
    several threads."""

    def __init__(self, folder: Path | None = None, *, files: int = _MAX_CACHED_MAP_FILES) -> None:
        self._folder, self._files = folder, files
        self._lock = threading.Lock()
        self._in_memory: OrderedDict[str, FileMap] = OrderedDict()
        self._symbol_count = 0

    def get(self, path: Path, text: SourceText) -> FileMap | None:
        key = _map_cache_key(path, text)
        with self._lock:
            known = self._in_memory.get(key)
            if known is not None:
                self._in_memory.move_to_end(key)
                return known
        known = self._read_from_disk(key)
        if known is not None:
            self._keep_in_memory(key, known)
        return known

    def put(self, path: Path, text: SourceText, made: FileMap) -> None:
        key = _map_cache_key(path, text)
        self._keep_in_memory(key, made)
        self._write_to_disk(key, made)

    def _keep_in_memory(self, key: str, made: FileMap) -> None:
        with self._lock:
            before = self._in_memory.pop(key, None)
            self._symbol_count += len(made.symbols) - (len(before.symbols) if before is not None else 0)
            self._in_memory[key] = made
            while len(self._in_memory) > 1 and (
                len(self._in_memory) > _MAX_FILE_MAPS_IN_MEMORY
                or self._symbol_count > _MAX_MAP_SYMBOLS_IN_MEMORY
            ):
                _, oldest = self._in_memory.popitem(last=False)
                self._symbol_count -= len(oldest.symbols)

    def _read_from_disk(self, key: str) -> FileMap | None:
        if self._folder is None:
            return None
        file = self._folder / (key + _CACHED_FILE_MAP_SUFFIX)
        try:
            packed = file.read_bytes()
        except OSError:
            return None
        try:
            known = msgspec.msgpack.decode(zlib.decompress(packed), type=FileMap)
        except (zlib.error, msgspec.MsgspecError, ValueError):
            _remove_ignoring_errors(file)
            return None
        with contextlib.suppress(OSError):
            os.utime(file)
        return known

    def _write_to_disk(self, key: str, made: FileMap) -> None:
        if self._folder is None:
            return
        packed = zlib.compress(msgspec.msgpack.encode(made), 1)
        if len(packed) > _MAX_CACHED_MAP_BYTES:
            return
        unfinished = self._folder / f"{key}.{os.getpid()}.{threading.get_ident()}.new"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            unfinished.write_bytes(packed)
            unfinished.replace(self._folder / (key + _CACHED_FILE_MAP_SUFFIX))
        except OSError:
            _remove_ignoring_errors(unfinished)
            return
        self._evict_from_disk()

    def _evict_from_disk(self) -> None:
        """Removes the least recently used cached maps until both limits of the folder hold."""
        if self._folder is None:
            return
        found: list[tuple[int, int, str]] = []
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    if entry.name.endswith((_CACHED_FILE_MAP_SUFFIX, ".new")):
                        state = entry.stat()
                        found.append((state.st_mtime_ns, state.st_size, entry.path))
        except OSError:
            return
        found.sort()
        size = sum(each[1] for each in found)
        while found and (len(found) > self._files or size > _MAX_CACHE_FOLDER_BYTES):
            _, taken, path = found.pop(0)
            _remove_ignoring_errors(Path(path))
            size -= taken


@lru_cache(maxsize=4)
def shared_file_map_cache(folder: Path) -> FileMapCache:
    """Returns the process's shared map cache for that folder."""
    return FileMapCache(folder)


def _map_cache_key(path: Path, text: SourceText) -> str:
    whole = (
        f"{FILE_MAP_CACHE_VERSION}\0{path.absolute()}\0{text.modified_ns}\0{text.total_bytes}\0{text.digest}"
    )
    return hashlib.blake2b(whole.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def _remove_ignoring_errors(file: Path) -> None:
    with contextlib.suppress(OSError):
        file.unlink()
