r"""Reads a session file: header, entries and unreadable lines. Changes nothing on disk. Lines end at `\n` only;
other Unicode separators are part of the text. Versions 1 and 2 are migrated in memory; `open_session` writes
the result back."""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from app.sessions.errors import (
    NotASession,
    SessionNotFound,
    SessionTooNew,
    SessionUnreadable,
    system_error_text,
)
from app.sessions.session_ids import is_session_id
from app.values.codec import decode, decode_json
from app.values.entries import (
    SESSION_FORMAT_VERSION,
    CompactionEntry,
    Entry,
    MessageEntry,
    SessionHeader,
    UnknownEntry,
)
from app.values.wire import from_wire, now_iso, unused_id
from tools.lazy_patterns import lazy_regex
from tools.memory_reduction import pause_garbage_collection

MAX_SESSION_HEADER_BYTES = 1024 * 1024
"""The number of bytes in which the header must be; a file without one there is not a session."""

_SESSION_READ_CHUNK_BYTES = 256 * 1024
"""The size of one read in bytes, small enough for the processor's cache."""

ReceiveEntries = Callable[[list[Entry]], None]

_decoder = msgspec.json.Decoder(Entry)
_set_frozen_field = msgspec.structs.force_setattr
_UTF8_BOM = b"\xef\xbb\xbf"
_ID_AND_PARENT_PATTERN = lazy_regex(rb'"id":"([^"\\]{1,64})","parentId":(null|"[^"\\]{1,64}")')


class UnreadableSessionLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a session file that is not an entry, and its position in the file."""

    offset: int
    data: bytes


class SessionFileContents(msgspec.Struct, kw_only=True):
    """The content of a session file: header, entries and unreadable lines."""

    header: SessionHeader
    entries: list[Entry]
    bad_lines: list[UnreadableSessionLine] = []
    links: dict[str, str | None] = {}
    """The parent ids of unreadable entries by their ids, where both could be found."""
    has_torn_line: UnreadableSessionLine | None = None
    """The text after the last line feed, if it is not an entry; None otherwise."""
    ends_with_line_feed: bool = True
    size: int = 0
    version: int = SESSION_FORMAT_VERSION
    has_mark: bool = False
    """Whether the file begins with a byte order mark; pi refuses such files."""


def read_session(
    path: Path, *, allow_newer: bool = False, each: ReceiveEntries | None = None
) -> SessionFileContents:
    """Reads a whole session file; an empty file is not a session. Raises `SessionNotFound`,
    `SessionUnreadable`, `NotASession`, `SessionTooNew`.

    `each` receives the entries in batches while they are still in the processor's cache."""
    require_regular_file(path)
    try:
        with path.open("rb", buffering=1 << 20) as file, pause_garbage_collection():
            return _read_contents(file, path, allow_newer, each)
    except OSError as problem:
        raise _unreadable_error(path, problem) from None


def read_session_header(path: Path) -> tuple[SessionHeader, int]:
    """Returns a session file's header in the present format, and the offset of the line behind it. Raises the
    errors of `read_session`."""
    require_regular_file(path)
    try:
        with path.open("rb") as file:
            data = _find_header(file, path)[0]
            return _decode_header(data, path), file.tell()
    except OSError as problem:
        raise _unreadable_error(path, problem) from None


def read_session_without_header(path: Path) -> SessionFileContents:
    """Reads the entries of a session file whose header is lost. Raises `NotASession` when nothing can be read."""
    require_regular_file(path)
    header = SessionHeader(id=path.stem.partition("_")[2] or path.stem, cwd="")
    reading = SessionFileContents(header=header, entries=[])
    try:
        with path.open("rb", buffering=1 << 20) as file:
            _read_lines(file, reading)
    except OSError as problem:
        raise _unreadable_error(path, problem) from None
    if all(isinstance(entry, UnknownEntry) for entry in reading.entries):
        raise NotASession(path, "is not a session file", "It contains no readable session.")
    return reading


def require_regular_file(path: Path) -> int:
    """Returns the size of a regular file. Raises the errors of `read_session` for anything else."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise SessionNotFound(path, "no such session file", "See the list with --resume.") from None
    except OSError as problem:
        raise _unreadable_error(path, problem) from None
    except ValueError:
        raise SessionNotFound(None, "is not a file name", "See the list with --resume.") from None
    if stat.S_ISDIR(found.st_mode):
        raise NotASession(path, "is a folder, not a session file", "Name a .jsonl file in it.")
    if not stat.S_ISREG(found.st_mode):
        raise NotASession(path, "is not a regular file", "Name a .jsonl session file.")
    return found.st_size


def _unreadable_error(path: Path, problem: OSError) -> SessionUnreadable:
    return SessionUnreadable(path, f"cannot be read: {system_error_text(problem)}", "Check its permissions.")


def _read_contents(
    file: BinaryIO, path: Path, allow_newer: bool, each: ReceiveEntries | None
) -> SessionFileContents:
    header_data, before, has_mark = _find_header(file, path)
    version = header_data.get("version", 1)
    if not isinstance(version, int) or version > SESSION_FORMAT_VERSION:
        if not allow_newer:
            raise SessionTooNew(
                path,
                f"has version {version} of the session format, but this bayou supports up to "
                f"{SESSION_FORMAT_VERSION}",
                "Update bayou, or open it read-only.",
            )
        version = SESSION_FORMAT_VERSION
    header = _decode_header(header_data, path)
    if not is_session_id(header.id):  # files are named by it
        raise NotASession(path, "has a first line whose session id is not valid", _FORK_TO_REPAIR_HINT)
    reading = SessionFileContents(
        header=header, entries=[], bad_lines=before, version=version, has_mark=has_mark
    )
    reading.size = file.tell()
    file.seek(-1, os.SEEK_CUR)
    reading.ends_with_line_feed = file.read(1) == b"\n"
    if version < SESSION_FORMAT_VERSION:
        _read_old(file, reading, header_data)
        if each is not None:
            each(reading.entries)
    else:
        _read_lines(file, reading, each)
    return reading


def _decode_header(data: dict[str, Any], path: Path) -> SessionHeader:
    try:
        return from_wire({**data, "version": SESSION_FORMAT_VERSION}, SessionHeader)
    except msgspec.ValidationError as problem:
        raise NotASession(path, f"has a damaged first line ({problem})", _FORK_TO_REPAIR_HINT) from None


_FORK_TO_REPAIR_HINT = (
    "It was not changed. If it is a session, `bayou --fork FILE` recovers the readable part."
)


def _find_header(file: BinaryIO, path: Path) -> tuple[dict[str, Any], list[UnreadableSessionLine], bool]:
    """Finds the header of a session file: as in pi, the first line that is JSON has to be one."""
    bad: list[UnreadableSessionLine] = []
    has_mark = False
    while file.tell() < MAX_SESSION_HEADER_BYTES:
        offset = file.tell()
        line = file.readline(MAX_SESSION_HEADER_BYTES)
        if not line:
            break
        if offset == 0 and line.startswith(_UTF8_BOM):
            line, has_mark = line[len(_UTF8_BOM) :], True
        text = line.strip(b"\0 \t\r\n")
        if not text:
            continue
        try:
            data = decode_json(text)
        except msgspec.DecodeError:
            bad.append(UnreadableSessionLine(offset=offset, data=line))
            continue
        if isinstance(data, dict) and data.get("type") == "session" and isinstance(data.get("id"), str):
            return data, bad, has_mark
        break
    raise NotASession(path, "is not a session file, or its first line is damaged", _FORK_TO_REPAIR_HINT)


def _read_lines(file: BinaryIO, reading: SessionFileContents, each: ReceiveEntries | None = None) -> None:
    """Decodes the lines of a session file in batches; decodes a batch line by line only when one of its lines is
    not an entry."""
    line = b""
    while lines := file.readlines(_SESSION_READ_CHUNK_BYTES):
        line = lines[-1]
        try:
            found = list(map(_decoder.decode, lines))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            before = len(reading.entries)
            _read_lines_one_by_one(lines, reading)
            if each is not None:
                each(reading.entries[before:])
            continue
        for entry in found:
            kind = type(entry)
            if kind is MessageEntry:
                _set_frozen_field(entry.message, "id", entry.id)
            elif kind is CompactionEntry:
                with_message_id_of_entry(entry)
        reading.entries += found
        if each is not None:
            each(found)
        reading.size += sum(map(len, lines))
    reading.ends_with_line_feed = line.endswith(b"\n") if line else reading.ends_with_line_feed


def _read_lines_one_by_one(lines: list[bytes], reading: SessionFileContents) -> None:
    for line in lines:
        entry = decode_session_entry(line)
        if entry is not None:
            reading.entries.append(entry)
        elif not is_blank_line(line) and not is_session_header_line(line):
            _record_bad_line(reading, UnreadableSessionLine(offset=reading.size, data=line))
        reading.size += len(line)


def _record_bad_line(reading: SessionFileContents, bad: UnreadableSessionLine) -> None:
    if not bad.data.endswith(b"\n"):
        reading.has_torn_line = bad
        return
    reading.bad_lines.append(bad)
    found = _ID_AND_PARENT_PATTERN.search(bad.data[:1024])
    if found:
        parent = found[2].decode("utf-8", "replace")
        reading.links[found[1].decode("utf-8", "replace")] = None if parent == "null" else parent.strip('"')


def decode_session_entry(line: bytes) -> Entry | None:
    """Decodes the session entry of one line; None when the line is blank, damaged, or a header."""
    try:
        entry = decode(line, Entry)
    except msgspec.DecodeError:
        sound = line.decode("utf-8", "replace").encode()
        if sound != line:  # an invalid byte costs one character, not the whole line
            return decode_session_entry(sound)
        if b"\0" not in line:
            return None
        text = line.strip(b"\0 \t\r\n")  # a power cut leaves zeros where a block was never written
        return decode_session_entry(text) if text and b"\0" not in text else None
    return with_message_id_of_entry(entry)


def with_message_id_of_entry(entry: Entry) -> Entry | None:
    """Gives the message of an entry the entry's id; returns None for a value that is not an entry."""
    if isinstance(entry, MessageEntry):
        _set_frozen_field(entry.message, "id", entry.id)
    elif isinstance(entry, CompactionEntry) and entry.system_message is not None:
        _set_frozen_field(entry.system_message, "id", f"{entry.id}:system")
    elif isinstance(entry, UnknownEntry) and (entry.raw.get("type") == "session" or "type" not in entry.raw):
        return None
    return entry


def is_blank_line(line: bytes) -> bool:
    return not line.strip(b"\0 \t\r\n")


def is_session_header_line(line: bytes) -> bool:
    """Whether a session line is a second header, which two programs that created the file at once may leave; it
    adds nothing."""
    if b'"session"' not in line[:4096]:
        return False
    try:
        data = decode_json(line)
    except msgspec.DecodeError:
        return False
    return isinstance(data, dict) and data.get("type") == "session"


def _read_old(file: BinaryIO, reading: SessionFileContents, header: dict[str, Any]) -> None:
    """Reads a session file of format version 1 or 2: decodes plain data, migrates it, then converts it to entries."""
    lines: list[dict[str, Any]] = []
    raw = b""
    for raw in file:
        try:
            data = decode_json(raw)
        except msgspec.DecodeError:
            data = None
        if isinstance(data, dict):
            lines.append(data)
        elif not is_blank_line(raw):
            _record_bad_line(reading, UnreadableSessionLine(offset=reading.size, data=raw))
        reading.size += len(raw)
    reading.ends_with_line_feed = raw.endswith(b"\n") if raw else reading.ends_with_line_feed
    found = (
        with_message_id_of_entry(from_wire(data, Entry))
        for data in migrate_session_lines(lines, header, reading.version)
    )
    reading.entries.extend(entry for entry in found if entry is not None)


def migrate_session_lines(
    lines: list[dict[str, Any]], header: dict[str, Any], version: int
) -> list[dict[str, Any]]:
    """Migrates the `lines` of an old session file (without the header, in file order) to the present format and
    updates `header` in place."""
    if version < 2:
        lines = _migrate_to_version_2(lines, header)
    if version < 3:
        lines = [_migrate_to_version_3(line) for line in lines]
    return lines


def _migrate_to_version_2(lines: list[dict[str, Any]], header: dict[str, Any]) -> list[dict[str, Any]]:
    """Turns the list of session lines into a chain: each line gets an id and its predecessor as parent."""
    taken: set[str] = set()
    chained: list[dict[str, Any]] = []
    previous: str | None = None
    for line in lines:
        entry_id = unused_id(taken)
        taken.add(entry_id)
        rest = {
            key: value for key, value in line.items() if key not in ("type", "id", "parentId", "timestamp")
        }
        chained.append(
            {
                "type": line.get("type"),
                "id": entry_id,
                "parentId": previous,
                "timestamp": line.get("timestamp") or header.get("timestamp") or now_iso(),
                **rest,
            }
        )
        previous = entry_id
    for line in chained:
        if line["type"] == "compaction" and "firstKeptEntryIndex" in line:
            line["firstKeptEntryId"] = _id_at(chained, line.pop("firstKeptEntryIndex"), line["id"])
    return chained


def _id_at(chained: list[dict[str, Any]], index: Any, default: str) -> str:
    """Returns the id of the session line at an index in the old format, which counted lines including the header."""
    if isinstance(index, int) and 1 <= index <= len(chained):
        return chained[index - 1]["id"]
    return default


def _migrate_to_version_3(line: dict[str, Any]) -> dict[str, Any]:
    message = line.get("message")
    if isinstance(message, dict) and message.get("role") == "hookMessage":
        return {**line, "message": {**message, "role": "custom"}}
    return line
