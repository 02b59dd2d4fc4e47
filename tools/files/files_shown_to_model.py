"""Records what the model last saw of each file, by line, and its recent edits, to detect stale edits and overwrites."""

from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping

import msgspec

from tools.files.shown_file_versions import ShownFileVersions

ShownFileVersion = tuple[int, int, int, int]

_MAX_SHOWN_FILES = 64
_MAX_SHOWN_LINES_PER_FILE = 20_000
_MAX_REMEMBERED_EDITS = 32
_MAX_REMEMBERED_EDIT_CHARS = 4_000
"""The maximum length of an edit that is remembered, to recognise it when the model repeats it."""


class FileShownToModel(msgspec.Struct, kw_only=True):
    """The lines of a file that the model has seen, with the version of the file."""

    version: ShownFileVersion
    lines: dict[int, str] = {}
    """The lines of the file that the model has seen, by number from 1, without line endings."""


class FilesShownToModel:
    """Records what the model has seen of each file; the least recently seen file is dropped first."""

    def __init__(self, max_paths: int = _MAX_SHOWN_FILES) -> None:
        self._files: OrderedDict[str, FileShownToModel] = OrderedDict()
        self._edits: OrderedDict[str, deque[tuple[str, str]]] = OrderedDict()
        self._max_paths = max_paths
        self.snapshots = ShownFileVersions()

    def record_applied_edits(self, path: str, edits: Iterable[tuple[str, str]]) -> None:
        """Records the old and new texts of edits that were applied to a file."""
        kept = self._edits.setdefault(path, deque(maxlen=_MAX_REMEMBERED_EDITS))
        kept.extend((old, new) for old, new in edits if len(old) + len(new) <= _MAX_REMEMBERED_EDIT_CHARS)
        self._edits.move_to_end(path)
        while len(self._edits) > self._max_paths:
            self._edits.popitem(last=False)

    def recent_edits(self, path: str) -> frozenset[tuple[str, str]]:
        """Returns the recent edits of a file."""
        return frozenset(self._edits.get(path, ()))

    def record_lines(self, path: str, version: ShownFileVersion, lines: Iterable[tuple[int, str]]) -> None:
        """Records lines of a file that the model was just shown. If one contradicts the record, the older lines are
        dropped."""
        new = dict(lines)
        known = self._files.get(path)
        if known is None or any(known.lines.get(number, text) != text for number, text in new.items()):
            known = FileShownToModel(version=version)
        known.version = version
        if len(known.lines) + len(new) > _MAX_SHOWN_LINES_PER_FILE:
            known.lines.clear()
            new = dict(list(new.items())[:_MAX_SHOWN_LINES_PER_FILE])
        known.lines.update(new)
        self._files[path] = known
        self._files.move_to_end(path)
        while len(self._files) > self._max_paths:
            self._files.popitem(last=False)

    def record_whole_text(self, path: str, version: ShownFileVersion, text: str) -> None:
        """Records that the model knows the whole text of a file, because it wrote or changed the file."""
        self._files.pop(path, None)
        lines = text.split("\n", _MAX_SHOWN_LINES_PER_FILE)[:_MAX_SHOWN_LINES_PER_FILE]
        self.record_lines(path, version, enumerate((line.removesuffix("\r") for line in lines), start=1))

    def paths(self) -> list[str]:
        """Returns the paths of the files that the model has seen, the most recent last."""
        return list(self._files)

    def forget(self, path: str) -> None:
        self._files.pop(path, None)

    def mark_as_recently_seen(self, path: str) -> FileShownToModel | None:
        return self._files.get(path)

    def lines(self, path: str) -> Mapping[int, str]:
        known = self._files.get(path)
        return known.lines if known else {}

    def lines_changed_since_shown(self, path: str, current: list[str]) -> list[int]:
        """Returns the numbers of the lines of a file that differ from what the model saw."""
        return sorted(
            number
            for number, text in self.lines(path).items()
            if number > len(current) or current[number - 1].removesuffix("\r") != text
        )
