"""Creates sessions from others: a fork before a message, a clone of the active path, a copy for another
project."""

import os
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import msgspec

from app.sessions.entry_signatures import EntrySignatures
from app.sessions.entry_tree import is_leaf_mark_entry
from app.sessions.errors import NotASession, SessionError
from app.sessions.file.session_file import SessionFile, SyncPolicy, sync_timing_at_turn_end
from app.sessions.file.session_reader import read_session, read_session_without_header
from app.sessions.session_ids import is_session_id, new_session_id, session_file_name
from app.sessions.session_log import SessionLog
from app.values.codec import encode_line_in_pieces
from app.values.entries import (
    CompactionEntry,
    Entry,
    LabelEntry,
    SessionHeader,
    UnknownEntry,
)
from app.values.wire import now_iso, unused_id


def fork_session_before(
    log: SessionLog,
    entry_id: str,
    folder: Path,
    *,
    cwd: Path | None = None,
    fsync: SyncPolicy = sync_timing_at_turn_end,
    signatures: EntrySignatures | None = None,
) -> SessionLog:
    """Returns a new session with all entries above `entry_id`. `log.navigation` gives the text of that
    entry for the editor."""
    above = log.parent(entry_id)
    return _new_session_from_path(
        log, [] if above is None else log.path_to(above), folder, cwd or log.cwd, fsync, signatures
    )


def clone_session_path(
    log: SessionLog,
    folder: Path,
    *,
    leaf_id: str | None = None,
    cwd: Path | None = None,
    fsync: SyncPolicy = sync_timing_at_turn_end,
    signatures: EntrySignatures | None = None,
) -> SessionLog:
    """Returns a new session with the entries on the path to the leaf, or to `leaf_id`."""
    return _new_session_from_path(log, log.path_to(leaf_id), folder, cwd or log.cwd, fsync, signatures)


def _new_session_from_path(
    log: SessionLog,
    path: Sequence[Entry],
    folder: Path,
    cwd: Path,
    fsync: SyncPolicy,
    signatures: EntrySignatures | None,
) -> SessionLog:
    header = SessionHeader(
        id=new_session_id(),
        cwd=str(cwd),
        parent_session=str(log.path)
        if log.path is not None and log.is_on_disk
        else log.header.parent_session,
    )
    place = folder / session_file_name(header.timestamp, header.id)
    entries = relink_entries_as_chain(path)
    if signatures is not None:
        entries = signatures.carry_over(entries, log.header, header)
    entries += _labels_of(entries, log.entries)
    return SessionLog.with_entries(header, place if log.path is not None else None, entries, fsync=fsync)


def relink_entries_as_chain(path: Sequence[Entry]) -> list[Entry]:
    """Returns the entries of a path without labels and leaf marks, each entry a child of the one before; ids and
    times stay."""
    kept: list[Entry] = []
    moved: dict[str, str] = {}
    dropped: list[str] = []
    for entry in path:
        if isinstance(entry, LabelEntry) or is_leaf_mark_entry(entry):
            dropped.append(entry.id)
            continue
        moved.update(dict.fromkeys(dropped, entry.id))
        dropped.clear()
        if isinstance(entry, CompactionEntry) and entry.first_kept_entry_id in moved:
            entry = msgspec.structs.replace(entry, first_kept_entry_id=moved[entry.first_kept_entry_id])
        kept.append(entry_with_parent(entry, kept[-1].id if kept else None))
    return kept


def entry_with_parent(entry: Entry, parent_id: str | None) -> Entry:
    """Returns a copy of the session entry with another parent."""
    if isinstance(entry, UnknownEntry):
        return (
            entry
            if entry.raw.get("parentId") == parent_id
            else UnknownEntry(raw={**entry.raw, "parentId": parent_id})
        )
    return entry if entry.parent_id == parent_id else msgspec.structs.replace(entry, parent_id=parent_id)


def _labels_of(kept: list[Entry], everything: Sequence[Entry]) -> list[Entry]:
    """Returns the labels of the remaining entries as label entries, to be appended."""
    ids = {entry.id for entry in kept}
    last: dict[str, LabelEntry] = {}
    for entry in everything:
        if isinstance(entry, LabelEntry) and entry.target_id in ids:
            last.pop(entry.target_id, None)
            if entry.label:
                last[entry.target_id] = entry
    labels: list[Entry] = []
    for label in last.values():
        parent = labels[-1].id if labels else kept[-1].id
        fresh = unused_id(ids)
        ids.add(fresh)
        labels.append(msgspec.structs.replace(label, id=fresh, parent_id=parent))
    return labels


def copy_session(
    source: Path,
    folder: Path,
    cwd: Path,
    *,
    session_id: str | None = None,
    signatures: EntrySignatures | None = None,
) -> Path:
    """Copies a whole session, with every branch, as a new session of `cwd`: a session moves to another
    project this way.

    Older versions are migrated, and of a file with a damaged header everything readable is saved. The
    source is only read."""
    if session_id is not None and not is_session_id(session_id):
        raise SessionError(
            None, f"{session_id!r} is not a valid session id", "Use letters, digits, dots and dashes."
        )
    source = Path(os.path.realpath(source))
    try:
        reading = read_session(source)
    except NotASession:
        reading = read_session_without_header(source)
    header = SessionHeader(
        id=session_id or new_session_id(), timestamp=now_iso(), cwd=str(cwd), parent_session=str(source)
    )
    entries = reading.entries
    if signatures is not None:
        entries = signatures.carry_over(entries, reading.header, header)
    path = folder / session_file_name(header.timestamp, header.id)
    lines = chain.from_iterable(map(encode_line_in_pieces, (header, *entries)))
    SessionFile.create(path, lines, sync_timing_at_turn_end).finish()
    return path
