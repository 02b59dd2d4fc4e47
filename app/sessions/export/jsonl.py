"""The active branch as a session file of its own, to give away or to open elsewhere."""

import msgspec

from app.sessions.export.walk import ChangeEntry, as_it_is
from app.sessions.fork import chained
from app.sessions.log import SessionLog
from app.values.codec import encode
from app.values.wire import now_iso


def export_jsonl(log: SessionLog, *, change: ChangeEntry = as_it_is) -> bytes:
    """Same id, new timestamp, no parent; the path to the leaf, without other branches."""
    header = msgspec.structs.replace(log.header, timestamp=now_iso(), parent_session=None)
    return b"".join(encode(value) + b"\n" for value in (header, *map(change, chained(log.path_to()))))
