"""Values that session lists and searches show, and the summary that one session file gives by itself."""

from pathlib import Path

import msgspec

from app.sessions.context_projection import unix_milliseconds
from app.sessions.errors import SessionError
from app.sessions.file.session_reader import read_session_header
from app.sessions.index.session_digest import SessionDigest
from app.sessions.index.session_line import decode_session_line

_MAX_WHOLE_BYTES, _HEAD_BYTES = 256 * 1024, 64 * 1024
"""The size in bytes up to which a file is read whole for a quick list, and the part read of a longer file."""


class SessionSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The values that a list shows of a session: name, folder, times, counts and cost."""

    path: Path
    id: str
    cwd: str
    name: str | None
    first_prompt: str | None
    parent_session: str | None
    created: int
    modified: int
    """The time of the last change in Unix milliseconds: that of the newest message, else the header's, else the
    file's."""
    message_count: int
    cost: float
    size: int

    @property
    def title(self) -> str:
        return self.name or self.first_prompt or "(no messages)"


class SessionSearchHit(msgspec.Struct, frozen=True, kw_only=True):
    r"""A text that matches a search; `excerpt` has the matches between \\x01 and \\x02."""

    session: SessionSummary
    entry_id: str
    role: str
    timestamp: str
    excerpt: str


def session_summary_of_file(name: str) -> SessionSummary | None:
    """Makes a session's summary from its file, or from the beginning of a long file; None when the file is not a
    session."""
    path, digest = Path(name), SessionDigest()
    try:
        header, offset = read_session_header(path)
        found = path.stat()
        is_short = found.st_size <= _MAX_WHOLE_BYTES
        with path.open("rb") as file:
            file.seek(offset)
            for line in file.read(-1 if is_short else _HEAD_BYTES).splitlines(keepends=True):
                read = decode_session_line(line)[0] if line.endswith(b"\n") else None
                if read is not None:
                    digest.add(read, line)
    except (SessionError, OSError):
        return None
    return SessionSummary(
        path=path,
        id=header.id,
        cwd=header.cwd,
        name=digest.name,
        first_prompt=digest.title,
        parent_session=header.parent_session,
        created=unix_milliseconds(header.timestamp),
        modified=(digest.modified if is_short else 0) or found.st_mtime_ns // 1_000_000,
        message_count=digest.messages if is_short else -1,
        cost=digest.cost if is_short else 0.0,
        size=found.st_size,
    )
