"""All sessions of a person: where they lie, which one is meant, lists, search, names.

One session is `log`; the database behind list and search is `index`; deletion is `trash`.
"""

import os
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from app.sessions.errors import NotASession, SessionError, SessionNotFound
from app.sessions.folders import header_of, session_files
from app.sessions.ids import folder_name, is_session_id, recency_key
from app.sessions.log import SessionLog
from tools.files.presence import exists, is_file

if TYPE_CHECKING:
    from app.sessions.index.listed import SessionHit, SessionSummary
    from app.sessions.index.usage import UsageReport

# The index, and with it the database, is imported when a list or a search is asked for: most starts need none.
# ruff: noqa: PLC0415

MAX_QUICK_ROWS = 60
"""As many rows as a screen shows at most."""
_INDEX_WAIT_SECONDS = 30.0
"""Seconds that another bayou may take to read everything."""


def session_folder(root: Path, cwd: Path) -> Path:
    """Where the sessions of a working directory lie."""
    return root / folder_name(cwd)


def latest(folder: Path, cwd: Path | None = None) -> Path | None:
    """The session of a folder that was written last; with `cwd`, only those begun there."""
    for path in map(Path, _newest_first(folder)):
        header = header_of(path)
        if header is not None and (cwd is None or is_same_folder(header.cwd, cwd)):
            return path
    return None


def _newest_first(folder: Path) -> list[str]:
    now = time.time()
    found = [(recency_key(entry.stat().st_mtime, now), entry.path) for entry in session_files(folder)]
    found.sort(reverse=True)
    return [path for _, path in found]


def is_same_folder(text: str, cwd: Path) -> bool:
    """Whether a header's folder is this one, by whatever name."""
    try:
        return text == str(cwd) or os.path.realpath(text) == os.path.realpath(cwd)
    except ValueError:  # no name that a folder could have
        return False


def find(id_or_path: str, root: Path, cwd: Path) -> Path:
    """The file that a person means: a path, an id, or the beginning of one; this folder's sessions come first.

    Raises `SessionNotFound`, or `SessionError` when several fit.
    """
    text = id_or_path.strip()
    named = Path(text).expanduser()
    named = named if named.is_absolute() else cwd / named
    is_path = text.endswith(".jsonl") or os.sep in text or "/" in text
    if is_path or (text and is_file(named)):
        if not exists(named):
            raise SessionNotFound(named, "there is no such session file", "See the list with --resume.")
        return named
    if not text or not is_session_id(text):
        raise SessionNotFound(None, f"{id_or_path!r} is no session id", "See the list with --resume.")
    return _by_id(text, root, cwd)


def _by_id(text: str, root: Path, cwd: Path) -> Path:
    files = [Path(entry.path) for entry in session_files(root)]
    ids = {path: path.stem.partition("_")[2] for path in files}
    if not any(found.startswith(text) for found in ids.values()):
        # Renamed and imported files: their header knows.
        headers = ((path, header_of(path)) for path in files)
        ids = {path: header.id for path, header in headers if header is not None}
    exact = [path for path, found in ids.items() if found == text]
    fitting = exact or [path for path, found in ids.items() if found.startswith(text)]
    here = [path for path in fitting if path.parent == session_folder(root, cwd)]
    fitting = here or fitting
    if not fitting:
        raise SessionNotFound(None, f"no session has the id {text!r}", "See the list with --resume.")
    if len(fitting) > 1:
        some = ", ".join(sorted(ids[path] for path in fitting)[:5])
        raise SessionError(None, f"{len(fitting)} sessions fit {text!r}: {some}", "Give more of the id.")
    return fitting[0]


def list_sessions(root: Path, cwd: Path | None = None) -> "list[SessionSummary]":
    """Newest first; with `cwd`, those begun there before all others."""
    from app.sessions.index.session_index import SessionIndex

    with closing(SessionIndex(root)) as index:
        summaries = index.sessions()
    if cwd is None:
        return summaries
    here = {text for text in {one.cwd for one in summaries} if is_same_folder(text, cwd)}
    return sorted(summaries, key=lambda summary: summary.cwd not in here)


def newest_sessions(root: Path, cwd: Path, *, most: int = MAX_QUICK_ROWS) -> "list[SessionSummary]":
    """The sessions of a folder that were written last, from their files alone: while the index is brought up to date,
    which takes as long as there are sessions. Of long ones the beginning is read, and their counts are not known (-1).
    """
    from app.sessions.index.listed import summary_of_file

    found = (summary_of_file(name) for name in _newest_first(session_folder(root, cwd))[:most])
    return [one for one in found if one is not None and is_same_folder(one.cwd, cwd)]


def search_now(root: Path, query: str, *, limit: int = 50) -> "tuple[list[SessionHit], int]":
    """Answers from what has been read so far, and how many sessions have not been; waits for nobody."""
    from app.sessions.index.session_index import SessionIndex

    with closing(SessionIndex(root)) as index:
        return index.search(query, limit=limit), index.unread()


def usage_in(root: Path, cache: Path) -> "UsageReport":
    """What all sessions used; another process that reads them is waited for."""
    import shutil

    from app.sessions.index.session_index import SessionIndex

    with closing(SessionIndex(root, patience=_INDEX_WAIT_SECONDS)) as index:
        found = index.usage()
    # It had a database of its own there; what is left of that nothing reads any more.
    shutil.rmtree(cache / "usage", ignore_errors=True)
    return found


class SessionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the list: a session, and how deep below the one it was forked from."""

    summary: "SessionSummary"
    depth: int


def rows_with_forks(summaries: "list[SessionSummary]") -> list[SessionRow]:
    """Forks under their parents; a thread stands where its newest session would."""
    by_path = {str(summary.path): summary for summary in summaries}
    below: dict[str, list[SessionSummary]] = {}
    tops: list[SessionSummary] = []
    for summary in summaries:
        parent = summary.parent_session
        if parent in by_path and parent is not None and not _is_ancestor(summary, by_path[parent], by_path):
            below.setdefault(parent, []).append(summary)
        else:
            tops.append(summary)
    order = {str(summary.path): place for place, summary in enumerate(summaries)}
    tops.sort(key=lambda top: min(order[str(one.summary.path)] for one in _rows_below(top, below)))
    return [row for top in tops for row in _rows_below(top, below)]


def _is_ancestor(
    one: "SessionSummary", other: "SessionSummary", by_path: "dict[str, SessionSummary]"
) -> bool:
    """Whether `one` is `other` or one of its ancestors: hand-made headers may go in circles."""
    seen: set[str] = set()
    walk: SessionSummary | None = other
    while walk is not None and str(walk.path) not in seen:
        if walk is one:
            return True
        seen.add(str(walk.path))
        walk = by_path.get(walk.parent_session or "")
    return False


def _rows_below(top: "SessionSummary", below: "dict[str, list[SessionSummary]]") -> list[SessionRow]:
    rows: list[SessionRow] = []
    waiting = [(top, 0)]
    while waiting:
        summary, level = waiting.pop()
        rows.append(SessionRow(summary=summary, depth=level))
        waiting.extend((child, level + 1) for child in reversed(below.get(str(summary.path), [])))
    return rows


def rename_session(path: Path, name: str | None) -> None:
    """For a session that is not open here. Raises a `SessionError`, among them `SessionLocked`."""
    with closing(SessionLog.open(path)) as log:
        if log.is_read_only:
            raise NotASession(path, "cannot be written", "Fork it and name the copy.")
        log.rename(name)
