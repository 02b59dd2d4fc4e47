"""`auth.json`: the stored keys and sign-ins. Written with mode 0600, as a whole and under a lock; a broken
file is never overwritten."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from app.providers.json_files import line_and_column_of_json_path, read_json_object
from app.values.codec import decode_json, encode_json
from app.values.user_errors import FileError
from tools.files.atomic_replacement import replace_file_atomically
from tools.files.watched_files import ReloadedFile

AUTH_FILE_LOCK_TIMEOUT_SECONDS = 60.0
AuthEntry = dict[str, Any]


class AuthFile:
    """Reads and changes `auth.json`. Reads are cheap and see the writes of other processes; changes happen
    under `locked_entries`."""

    def __init__(self, agent_dir: Path) -> None:
        self.path = agent_dir / "auth.json"
        self.read_error: str | None = None
        self.permission_notice: str | None = None
        """A notice that other users could read the file until its mode was restricted; None if they could not."""
        self.entries = ReloadedFile(self.path, self._read_entries)
        """The stored credentials by provider; none when the file is missing or broken (`fault` says why)."""

    @contextmanager
    def locked_entries(self) -> Iterator[dict[str, AuthEntry]]:
        """Holds a lock across processes and writes the yielded entries at its end, if they have changed.
        Raises `FileError`."""
        from filelock import FileLock, Timeout  # noqa: PLC0415  (only changes need it)

        self.path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(str(self.path) + ".lock", timeout=AUTH_FILE_LOCK_TIMEOUT_SECONDS, mode=0o600)
        try:
            lock.acquire()
        except Timeout:
            raise FileError(
                self.path, "is locked by another process; close that process and try again"
            ) from None
        try:
            self.entries.mark_changed()
            before = self.entries.current()
            if self.read_error is not None:
                raise FileError(
                    self.path, f"is damaged and was not changed; fix or delete it. {self.read_error}"
                )
            entries = decode_json(encode_json(before))
            yield entries
            if entries != before:
                self._write_entries(entries)
        finally:
            lock.release()

    def _write_entries(self, entries: dict[str, AuthEntry]) -> None:
        text = msgspec.json.format(encode_json(entries), indent=2) + b"\n"
        try:
            replace_file_atomically(self.path, text, mode=0o600)
        except OSError as problem:
            raise FileError(self.path, f"cannot be written: {problem.strerror or problem}") from None
        self.entries.mark_changed()

    def _restrict_permissions(self) -> None:
        """Removes the access of other users, which a copied or hand-made file may have."""
        try:
            mode = self.path.stat().st_mode & 0o777
            if not mode & 0o077 or os.name != "posix":
                return
            self.path.chmod(mode & 0o700)
        except FileNotFoundError:
            return
        except OSError as problem:
            why = problem.strerror
            self.permission_notice = (
                f"{self.path} can be read by others, which could not be changed ({why}). Use chmod 600."
            )
            return
        self.permission_notice = (
            f"{self.path} could be read by others (mode {mode:03o}); now only you can. "
            "If this machine has other users, replace the keys in it."
        )

    def _read_entries(self) -> dict[str, AuthEntry]:
        self._restrict_permissions()
        try:
            data, text = read_json_object(self.path)
        except FileError as problem:
            self.read_error = str(problem)
            return {}
        entries: dict[str, AuthEntry] = {}
        fault: str | None = None  # set at the end, because a writing thread checks it meanwhile
        for provider, entry in data.items():
            wrong = _auth_entry_problem(entry)
            if wrong is None:
                entries[provider] = entry
            else:
                fault = str(
                    FileError(
                        self.path, f"{provider}: {wrong}", *line_and_column_of_json_path(text, (provider,))
                    )
                )
        self.read_error = fault
        return entries


def _auth_entry_problem(entry: Any) -> str | None:
    if not isinstance(entry, dict):
        return "an object is needed here"
    if entry.get("type") == "api_key":
        return None if isinstance(entry.get("key"), str) else "an API key needs a text `key`"
    if entry.get("type") == "oauth":
        return None if isinstance(entry.get("access"), str) else "a sign-in needs a text `access`"
    return "`type` must be `api_key` or `oauth`"
