"""Writes a session's lines to its file: creates the file late, holds lines while the disk is full, and follows
changes by other programs. `session_log` decides the content of lines; `session_file` handles bytes and the
lock."""

from collections.abc import Callable, Iterable
from pathlib import Path

from app.sessions.errors import SessionWriteError
from app.sessions.file.session_file import SessionFile, SyncPolicy, copy_session_to_other_disk
from app.values.entries import Entry
from tools.files.path_existence import exists


class SessionFileWriter:
    """Creates, writes and follows the file of one session, from the first conversation entry on."""

    def __init__(
        self,
        path: Path | None,
        file: SessionFile | None,
        *,
        sync: SyncPolicy,
        is_read_only: bool,
        needs_feed: bool,
        lines: Callable[[], Iterable[bytes]],
        take_in: Callable[[Entry], object],
        tell: Callable[[str], object],
    ) -> None:
        """Creates the writer. `lines` returns all lines of the session. `take_in` is called with entries that
        another program appended. `tell` is called with a sentence for the user."""
        self.path = path
        """The path of the file, which may not exist yet."""
        self.is_read_only = is_read_only
        self.is_stored = file is not None or is_read_only
        self.unwritten: SessionWriteError | None = None
        """The error because of which the last entries are only in memory; None if all are in the file."""
        self._file = file
        self._sync = sync
        self._needs_feed = needs_feed
        self._lines = lines
        self._on_foreign_entries = take_in
        self._report_problem = tell

    @property
    def has_file(self) -> bool:
        """Whether the session file is open for writing."""
        return self._file is not None

    def create_file(self, more: Iterable[bytes] = ()) -> None:
        """Creates the session file with all lines of the session, followed by `more`."""
        assert self.path is not None
        self._file = SessionFile.create(self.path, (*self._lines(), *more), self._sync)
        self.is_stored = True

    def write(self, line: Iterable[bytes], *, is_worth_a_file: bool) -> None:
        """Appends a line to the session file; the first line that `is_worth_a_file` creates the file. Raises
        `SessionWriteError`, with the file unchanged."""
        if self._file is not None:
            self._file.append(line, on_new_line=self._needs_feed)
            self._needs_feed = False
        elif self.path is not None and (is_worth_a_file or self.unwritten is not None):
            self.create_file(line)
        self._on_written()

    def hold_line(self, line: Iterable[bytes], problem: SessionWriteError) -> None:
        """Holds a line that the disk did not accept, to be written before the next line that it accepts."""
        if self.unwritten is None:
            self._report_problem(f"{problem} New messages are kept in memory only.")
        self.unwritten = problem
        if self._file is not None:
            self._file.hold_lines(b"".join(line))

    def write_held_lines(self) -> None:
        """Writes the held lines. Raises `SessionWriteError` while the disk still refuses them."""
        if self.unwritten is None or self.path is None:
            return
        if self._file is None:
            self.create_file()
        else:
            self.check_for_foreign_lines()
            self._file.append(on_new_line=self._needs_feed)
            self._needs_feed = False
        self._on_written()

    def _on_written(self) -> None:
        if self.unwritten is not None:
            self.unwritten = None
            self._report_problem(f"{self.path} can be written again; all messages were saved to it.")

    def check_for_foreign_lines(self) -> None:
        """Checks whether another program (pi has no lock) has appended to the session file, renamed or deleted it."""
        if self._file is None:
            return
        if not self._file.is_same_file_at_path():
            moved = self._file.new_path_after_rename()
            if moved is None:
                self._recreate_file(self._file)
                return
            self.path = moved
            self._report_problem(f"The session file was renamed; it continues as {moved}.")
        data = self._file.read_foreign_bytes()
        if not data:
            return
        from app.sessions.file.session_reader import decode_session_entry  # noqa: PLC0415  (an old session only)

        entries = [entry for line in data.split(b"\n") if (entry := decode_session_entry(line)) is not None]
        for entry in entries:
            self._on_foreign_entries(entry)
        self._needs_feed = not data.endswith(b"\n")
        self._report_problem(
            f"Another program added {len(entries)} entries to this session; /tree shows them."
        )

    def _recreate_file(self, old: SessionFile) -> None:
        """Writes the session in memory to a new file of the same name, after the old one was deleted or
        replaced."""
        assert self.path is not None
        if exists(self.path):
            raise SessionWriteError(
                self.path,
                "another program replaced this file with a different one",
                "Fork this session to continue.",
            )
        self.create_file()
        old.close()
        self._needs_feed = False
        self._report_problem(f"{self.path} had been deleted and was written again.")

    def end_turn(self) -> None:
        """Forces the turn's lines onto the disk, if the policy says so, so that they survive a power cut."""
        if self._file is not None:
            self._file.wait_until_on_disk()

    def close(self) -> None:
        """Releases the lock on the session file; nothing is written afterwards."""
        if self._file is None and self.unwritten is None:
            return
        try:
            self.write_held_lines()
        except SessionWriteError as problem:
            raise copy_session_to_other_disk(problem, self._lines()) from None
        finally:
            file, self._file, self.is_read_only = self._file, None, True
            self.unwritten = None
            if file is not None:
                file.finish()
