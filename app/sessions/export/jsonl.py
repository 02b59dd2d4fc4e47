"""Exports the active branch as a separate session file, to share it or to open it elsewhere."""

import msgspec

from app.sessions.export.entry_dispatch import TransformEntry, keep_entry_unchanged
from app.sessions.fork import relink_entries_as_chain
from app.sessions.session_log import SessionLog
from app.values.codec import encode
from app.values.wire import now_iso


def export_jsonl(log: SessionLog, *, change: TransformEntry = keep_entry_unchanged) -> bytes:
    """Returns the path to the leaf as a session file with the same id, a new timestamp and no parent
    session."""
    header = msgspec.structs.replace(log.header, timestamp=now_iso(), parent_session=None)
    return b"".join(
        encode(value) + b"\n" for value in (header, *map(change, relink_entries_as_chain(log.path_to())))
    )
