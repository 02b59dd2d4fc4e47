"""The active branch as a session file of its own, to give away or to open elsewhere."""

import msgspec

from app.sessions.export.walk import ChangeEntry, unchanged
from app.sessions.fork import as_chain
from app.sessions.log import SessionLog
from app.values.codec import encode
from app.values.wire import now_iso


def export_jsonl(log: SessionLog, *, change: ChangeEntry = unchanged) -> bytes:
    """Same id, new timestamp, no parent; the path to the leaf, without other branches."""
    header = msgspec.structs.replace(log.header, timestamp=now_iso(), parent_session=None)
    return b"".join(encode(value) + b"\n" for value in (header, *map(change, as_chain(log.path_to()))))
