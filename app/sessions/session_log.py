"""An open session: the tree of entries in memory, in step with its file. An entry is written to the file, once
there is one, before any event reports it. `open_session` opens and repairs files, `session_file_writer` and
`session_file` write them, `context_projection` computes what the model reads."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from app.sessions.context_projection import ProjectedContext, project_context
from app.sessions.entry_tree import (
    LEAF_ENTRY_TYPE,
    POSITION_ABOVE_ROOTS,
    SessionSubtreeStats,
    SessionTree,
    TreeNavigationTarget,
    is_leaf_mark_entry,
    one_line_session_name,
)
from app.sessions.errors import SessionError, SessionReadOnly, SessionWriteError
from app.sessions.file.session_file import SessionFile, SyncPolicy, sync_timing_at_turn_end
from app.sessions.file.session_file_writer import SessionFileWriter
from app.sessions.session_ids import is_session_id, new_session_id, session_file_name
from app.sessions.session_stats import CountsOfFirstEntries, SessionCounts
from app.values.codec import encode_line_in_pieces
from app.values.entries import (
    CompactionEntry,
    CustomEntry,
    Entry,
    LabelEntry,
    MessageEntry,
    SessionHeader,
    SessionInfoEntry,
    UnknownEntry,
)
from app.values.messages import AssistantMessage, UserMessage
from app.values.wire import now_iso, unused_id
from tools.files.path_existence import is_dir


class SessionLog:
    """An open session with its entries and its file. Created by `create`, `in_memory` or `open`; `close`
    releases the file's lock."""

    def __init__(
        self,
        header: SessionHeader,
        path: Path | None,
        *,
        tree: SessionTree | None = None,
        stats: SessionCounts | None = None,
        file: SessionFile | None = None,
        sync: SyncPolicy = sync_timing_at_turn_end,
        is_read_only: bool = False,
        problems: list[str] | None = None,
        needs_feed: bool = False,
    ) -> None:
        self.header = header
        self.problems: list[str] = problems if problems is not None else []
        """Sentences for the user on what was repaired, quarantined, or is wrong with the session."""
        self._tree = tree if tree is not None else SessionTree()
        self.counted = (
            CountsOfFirstEntries()
            if stats is None
            else CountsOfFirstEntries(stats=stats, entries=len(self._tree))
        )
        """The counts of the entries that were read when the file was opened."""
        self._file_writer = SessionFileWriter(
            path,
            file,
            sync=sync,
            is_read_only=is_read_only,
            needs_feed=needs_feed,
            lines=self._encoded_lines,
            take_in=self._tree.add,
            tell=self.problems.append,
        )
        self._leaf = self._last_leaf_position()

    @classmethod
    def create(
        cls,
        folder: Path,
        cwd: Path,
        *,
        session_id: str | None = None,
        parent_session: str | None = None,
        is_helper: bool = False,
        name: str = "",
        fsync: SyncPolicy = sync_timing_at_turn_end,
    ) -> "SessionLog":
        """Creates a session in `folder`; `name` is its file name, by default made of time and id.

        The file appears on disk with the first message of the user or a model."""
        if session_id is not None and not is_session_id(session_id):
            raise SessionError(
                None,
                f"{session_id!r} is not a valid session id",
                "Use letters, digits, dots, dashes and underscores, with a letter or digit at both ends.",
            )
        timestamp = now_iso()
        header = SessionHeader(
            id=session_id or new_session_id(),
            timestamp=timestamp,
            cwd=str(cwd),
            parent_session=parent_session,
            is_helper=is_helper or None,
        )
        return cls(header, folder / (name or session_file_name(timestamp, header.id)), sync=fsync)

    @classmethod
    def in_memory(cls, cwd: Path) -> "SessionLog":
        """Creates a session that is never written to a file."""
        return cls(SessionHeader(id=new_session_id(), cwd=str(cwd)), None)

    @classmethod
    def with_entries(
        cls,
        header: SessionHeader,
        path: Path | None,
        entries: list[Entry],
        *,
        fsync: SyncPolicy = sync_timing_at_turn_end,
    ) -> "SessionLog":
        """Creates a session that begins with the given entries; written at once when they contain
        conversation."""
        log = cls(header, path, tree=SessionTree(entries), sync=fsync)
        if path is not None and any(map(_is_conversation, entries)):
            log._file_writer.create_file()
        return log

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        read_only: bool = False,
        fsync: SyncPolicy = sync_timing_at_turn_end,
        cwd: Path | None = None,
    ) -> "SessionLog":
        """Opens an existing session file in place. Raises a `SessionError` that names the file and the next
        step. An empty file becomes a new session in `cwd` (default: the process's), as in pi; `problems` says
        so."""
        from app.sessions.file.open_session import open_session  # noqa: PLC0415  (what reads is large; a new session needs none)

        opened = open_session(path, read_only=read_only, sync=fsync, cwd=cwd or Path.cwd())
        log = cls(
            opened.header,
            opened.path,
            tree=opened.tree,
            stats=opened.stats,
            file=opened.file,
            sync=fsync,
            is_read_only=opened.file is None,
            problems=opened.problems,
            needs_feed=opened.needs_line_feed,
        )
        if log._tree.duplicates:
            log.problems.append(
                f"{len(log._tree.duplicates)} entries have the id of an earlier entry; all are kept."
            )
        return log

    # Properties

    @property
    def session_id(self) -> str:
        return self.header.id

    @property
    def cwd(self) -> Path:
        return Path(self.header.cwd)

    @property
    def is_cwd_gone(self) -> bool:
        """Whether the session's folder cannot be used as a working directory any more."""
        return bool(self.cwd_problem)

    @property
    def cwd_problem(self) -> str:
        """The problem with the session's folder as the end of a sentence; empty when the folder is usable."""
        if not is_dir(self.cwd):
            return "does not exist any more"
        return "" if os.access(self.cwd, os.R_OK | os.X_OK) else "cannot be opened"

    @property
    def leaf_id(self) -> str | None:
        """The id of the entry that will be the parent of the next one; None: the next entry becomes a root."""
        return _entry_id_at(self._tree, self._leaf)

    @property
    def name(self) -> str | None:
        return self._tree.name

    @property
    def entries(self) -> list[Entry]:
        """All entries of the session in file order."""
        return self._tree.entries

    @property
    def path(self) -> Path | None:
        """The path of the session file, which may not exist yet."""
        return self._file_writer.path

    @property
    def is_on_disk(self) -> bool:
        return self._file_writer.is_stored

    @property
    def is_read_only(self) -> bool:
        return self._file_writer.is_read_only

    @property
    def unwritten_error(self) -> SessionWriteError | None:
        """The error because of which the session's last entries are in memory only."""
        return self._file_writer.unwritten

    @property
    def labels(self) -> dict[str, str]:
        return dict(self._tree.labels)

    # The tree

    def __contains__(self, entry_id: str) -> bool:
        return entry_id in self._tree

    def entry(self, entry_id: str) -> Entry:
        """Returns a session entry by its id. Raises `SessionError` when there is none."""
        return self._tree.entries[self._position_of(entry_id)]

    def path_to(self, entry_id: str | None = None) -> Sequence[Entry]:
        """Returns the session entries from the root to an entry, by default to the leaf."""
        return self._tree.path_entries(self._leaf if entry_id is None else self._position_of(entry_id))

    def entries_to_root(self, *, without_messages: bool = False) -> Iterator[Entry]:
        """Yields session entries from the leaf to the root, lazily. `without_messages` skips messages quickly,
        which leaves settings and other state."""
        return (
            self._tree.state_entries_to_root(self._leaf)
            if without_messages
            else self._tree.entries_to_root(self._leaf)
        )

    def path_since_compaction(self) -> list[Entry]:
        """Returns the end of the path to the leaf that the context needs: from the first entry that the last
        compaction kept."""
        return self._tree.path_since_compaction(self._leaf)

    def children(self, entry_id: str | None) -> list[Entry]:
        """Returns the direct children of a session entry; the roots for None."""
        position = self._position_of(entry_id)
        return [self._tree.entries[child] for child in self._tree.children(position)]

    def parent(self, entry_id: str) -> str | None:
        """Returns the id of a session entry's parent; None for a root or an orphan."""
        return _entry_id_at(self._tree, self._tree.parent_position(self._position_of(entry_id)))

    def common_ancestor(self, one: str | None, other: str | None) -> str | None:
        """Returns the lowest session entry at or above both entries; None if they have no common ancestor."""
        return _entry_id_at(
            self._tree, self._tree.common_ancestor(self._position_of(one), self._position_of(other))
        )

    def subtree(self, entry_id: str | None) -> list[Entry]:
        """Returns a session entry and its descendants, parents first; all entries for None."""
        return list(self._tree.subtree(self._position_of(entry_id)))

    def stats(self, entry_id: str | None = None) -> SessionSubtreeStats:
        """Returns counts and cost of a session entry and its descendants; of the whole session by default."""
        return self._tree.stats(self._position_of(entry_id))

    def navigation(self, entry_id: str) -> TreeNavigationTarget:
        """Returns the new leaf when the user goes to a session entry, and the text that returns to the editor."""
        return self._tree.navigation(self._position_of(entry_id))

    def label(self, entry_id: str) -> str | None:
        return self._tree.labels.get(entry_id)

    def project_context(self, leaf_id: str | None = None) -> ProjectedContext:
        """Returns the messages that the model reads at a session entry, by default at the leaf."""
        return project_context(self.path_to(leaf_id))

    def take_problems(self) -> tuple[str, ...]:
        """Returns and clears the session's problems that are not shown to the user yet."""
        told = tuple(self.problems)
        self.problems.clear()
        return told

    def require_usable_cwd(self, here: Path) -> None:
        """Closes the log and raises `SessionError` when the session's folder is unusable, for modes that
        cannot ask the user."""
        if self.is_on_disk and (problem := self.cwd_problem):
            self.close()
            raise SessionError(
                self.path,
                f"the session's folder, {self.cwd}, {problem}; the current folder is {here}",
                f"Create that folder again, or continue with a copy here: --fork {self.session_id}.",
            )

    # Changes

    def append(self, entry: Entry) -> Entry:
        """Adds an entry to the session below the leaf, makes it the leaf, and returns it once the file has it.
        Raises `SessionWriteError` with memory and file unchanged."""
        return self._append(entry, self.leaf_id)

    def append_or_hold_entry(self, entry: Entry) -> Entry:
        """Appends an entry that must not be lost: if the disk refuses it, it stays in memory and is
        written before the next entry that the disk accepts. Raises `SessionReadOnly` only."""
        try:
            return self.append(entry)
        except SessionReadOnly:
            raise
        except SessionWriteError as problem:
            placed = _with_unique_id(entry, self.leaf_id, self._tree)
            self._file_writer.hold_line(encode_line_in_pieces(placed), problem)
            self._leaf = self._tree.add(placed)
            return placed

    def write_held_entries(self) -> None:
        """Writes the session entries that are in memory only. Raises `SessionWriteError` while the disk refuses
        them."""
        self._file_writer.write_held_lines()

    def move_leaf(self, entry_id: str | None) -> None:
        """Makes a session entry the leaf, or goes before all entries; recorded, so that a resumed session starts
        there."""
        position = self._position_of(entry_id)
        if position == self._leaf:
            return
        if self._file_writer.has_file:
            target = _entry_id_at(self._tree, position)
            self._append(
                CustomEntry(parent_id=None, custom_type=LEAF_ENTRY_TYPE, data={"entryId": target}), target
            )
        self._leaf = position

    def set_label(self, entry_id: str, label: str | None) -> Entry:
        """Sets the label of a session entry; None removes it."""
        self._position_of(entry_id)
        return self.append(
            LabelEntry(parent_id=None, target_id=entry_id, label=(label or "").strip() or None)
        )

    def rename(self, name: str | None) -> Entry:
        """Renames the session; line feeds become spaces, and an empty name removes the name."""
        return self.append(SessionInfoEntry(parent_id=None, name=one_line_session_name(name or "")))

    def end_turn(self) -> None:
        """Forces the turn's entries onto the disk, if the policy says so, so that they survive a power
        cut."""
        self._file_writer.end_turn()

    def close(self) -> None:
        """Releases the lock on the session file. The log can still be read."""
        self._file_writer.close()

    # Internals

    def _position_of(self, entry_id: str | None) -> int:
        """Returns the position of a session entry in the tree; for None, the position above every root."""
        position = POSITION_ABOVE_ROOTS if entry_id is None else self._tree.position_of_id(entry_id)
        if position is None:
            raise SessionError(self.path, f"has no entry {entry_id!r}", "Choose one from /tree.")
        return position

    def _last_leaf_position(self) -> int:
        """Returns the position of the last entry in the file, or the position that the last leaf mark records."""
        for position in range(len(self._tree) - 1, -1, -1):
            entry = self._tree.entries[position]
            if is_leaf_mark_entry(entry):
                return self._tree.parent_position(position)
            if entry.id:
                return position
        return POSITION_ABOVE_ROOTS

    def _append(self, entry: Entry, parent_id: str | None) -> Entry:
        if self.is_read_only:
            raise SessionReadOnly(self.path)
        self._file_writer.check_for_foreign_lines()
        placed = _with_unique_id(entry, parent_id, self._tree)
        self._file_writer.write(encode_line_in_pieces(placed), is_worth_a_file=_is_conversation(placed))
        self._leaf = self._tree.add(placed)
        return placed

    def _encoded_lines(self) -> Iterator[bytes]:
        for value in (self.header, *self._tree.entries):
            yield from encode_line_in_pieces(value)


def _entry_id_at(tree: SessionTree, position: int) -> str | None:
    return None if position == POSITION_ABOVE_ROOTS else tree.entries[position].id


def _with_unique_id(entry: Entry, parent_id: str | None, tree: SessionTree) -> Entry:
    """Returns the session entry with a parent and with an id that no other entry has."""
    entry_id = entry.id if entry.id and entry.id not in tree else unused_id(tree)
    if isinstance(entry, UnknownEntry):
        return UnknownEntry(raw={**entry.raw, "id": entry_id, "parentId": parent_id})
    if isinstance(entry, MessageEntry) and entry.message.id != entry_id:
        message = msgspec.structs.replace(entry.message, id=entry_id)
        entry = msgspec.structs.replace(entry, message=message)
    if isinstance(entry, CompactionEntry) and entry.system_message is not None:
        system = msgspec.structs.replace(entry.system_message, id=f"{entry_id}:system")
        entry = msgspec.structs.replace(entry, system_message=system)
    if entry.id == entry_id and entry.parent_id == parent_id:
        return entry
    return msgspec.structs.replace(entry, id=entry_id, parent_id=parent_id)


def _is_conversation(entry: Entry) -> bool:
    return isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage | AssistantMessage)
