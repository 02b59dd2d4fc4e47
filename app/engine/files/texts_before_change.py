"""The contents of files before the agent changed them, kept for diagnostics."""

import os
import threading
from collections.abc import Callable

from tools.diagnostics.code_problems import FileChangeTexts
from tools.files.file_changes import PendingFileChange, hash_file_content
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import FileChange

MAX_REMEMBERED_FILE_BYTES = 1 << 20
"""The maximum size of a file whose content is kept, in bytes."""
_MAX_REMEMBERED_TOTAL_BYTES = 32 << 20
_MAX_REMEMBERED_FILES = 400


class FileTextsBeforeChange:
    """The contents that files had before the agent changed them, since the last check of one session."""

    def __init__(
        self,
        workspace: SessionWorkspace,
        *,
        is_wanted: Callable[[], bool],
        kept: Callable[[str], bytes | None],
        heard: Callable[[], None],
    ) -> None:
        """Creates it empty. `kept` returns a content by its hash, if undo has stored it. `heard` is called with
        every change."""
        self._workspace = workspace
        self._is_enabled = is_wanted
        self._stored_content = kept
        self._on_change = heard
        self._content_before: dict[str, bytes | None] = {}
        self._hash_before: dict[str, str] = {}
        """The hash of each file's content before a command changed it, by path; the content is loaded later."""
        self._size = 0
        self.change_count = 0
        """The number of file changes received so far."""
        self._lock = threading.Lock()
        workspace.mutations.subscribe_before_changes(self._before_write)
        workspace.mutations.subscribe(self._after_write)

    def forget_texts(self) -> None:
        with self._lock:
            self._content_before.clear()
            self._hash_before.clear()
            self._size = 0

    def _before_write(self, intent: PendingFileChange) -> None:
        data = intent.before.data if intent.before is not None else None
        self.change_count += 1
        self._on_change()
        if self._is_enabled() and len(data or b"") <= MAX_REMEMBERED_FILE_BYTES:
            self._store_text(os.path.realpath(intent.real_path), data)

    def _after_write(self, change: FileChange) -> None:
        if not self._is_enabled():
            return
        self.change_count += 1
        self._on_change()
        path = os.path.realpath(change.path)
        if change.by == "restore":  # the user's restore makes the earlier content irrelevant
            with self._lock:
                self._hash_before.pop(path, None)
                self._size -= len(self._content_before.pop(path, None) or b"")
        elif change.by == "command":
            if change.before_hash is None:
                self._store_text(path, None)
            else:
                with self._lock:
                    if path not in self._content_before and len(self._hash_before) < _MAX_REMEMBERED_FILES:
                        self._hash_before.setdefault(path, change.before_hash)

    def _store_text(self, path: str, data: bytes | None) -> None:
        with self._lock:
            is_known = path in self._content_before or path in self._hash_before
            room = (
                self._size + len(data or b"") <= _MAX_REMEMBERED_TOTAL_BYTES
                and len(self._content_before) < _MAX_REMEMBERED_FILES
            )
            if not is_known and room:
                self._content_before[path] = data
                self._size += len(data or b"")

    def changed_files(self) -> list[FileChangeTexts]:
        """Returns the files that differ from their content before the agent's changes. For a thread."""
        with self._lock:
            before = dict(self._content_before)
            hashes = dict(self._hash_before)
        for path, hash in hashes.items():
            data = self._stored_content(hash)
            if data is not None and len(data) <= MAX_REMEMBERED_FILE_BYTES:
                before.setdefault(path, data)
        found: list[FileChangeTexts] = []
        for path, data in before.items():
            try:
                after = self._current_text(path)
            except OSError:
                continue
            if after != data and len(after or b"") <= MAX_REMEMBERED_FILE_BYTES:
                found.append(FileChangeTexts(path=path, old_content=data, new_content=after))
        return found

    def _current_text(self, path: str) -> bytes | None:
        try:
            with self._workspace.files.open(path) as file:
                return file.read(MAX_REMEMBERED_FILE_BYTES + 1)
        except FileNotFoundError:
            return None


def current_file_hashes(changed: list[FileChangeTexts]) -> dict[str, str]:
    """Returns the current hashes of the files, to detect later changes."""
    return {
        one.path: hash_file_content(one.new_content) if one.new_content is not None else "" for one in changed
    }
