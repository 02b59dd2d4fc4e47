"""Exports the active branch as a separate session file, to share it or to open it elsewhere."""

import msgspec

from app.sessions.export.walk import TransformEntry, unchanged_entry
from app.sessions.fork import relink_as_chain
from app.sessions.session_log import SessionLog
from app.values.codec import encode
from app.values.wire import now_iso


def export_jsonl(log: SessionLog, *, change: TransformEntry = unchanged_entry) -> bytes:
    """Returns the path to the leaf as a session file with the same id, a new timestamp and no parent
    session."""
    header = msgspec.structs.replace(log.header, timestamp=now_iso(), parent_session=None)
    return b"".join(encode(value) + b"\n" for value in (header, *map(change, relink_as_chain(log.path_to()))))
