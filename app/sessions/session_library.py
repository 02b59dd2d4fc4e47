"""Finds, lists, searches and renames the sessions of a user. `session_log` is one open session; `index` has the
database behind lists and searches; `trash` deletes sessions."""

import os
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from app.sessions.errors import NotASession, SessionError, SessionNotFound
from app.sessions.session_folders import read_session_header_or_none, session_files
from app.sessions.session_ids import is_session_id, recency_sort_key, session_folder_name
from app.sessions.session_log import SessionLog
from tools.files.path_existence import exists, is_file

if TYPE_CHECKING:
    from app.sessions.index.list_values import SessionSearchHit, SessionSummary
    from app.sessions.index.token_usage import TokenUsageReport

# The index, and with it SQLite, is imported by the functions that need it: most starts do not.
# ruff: noqa: PLC0415

MAX_QUICK_SESSION_ROWS = 60
"""The number of sessions that are listed at first, as many as fit on a screen."""
_SESSION_INDEX_WAIT_SECONDS = 30.0
"""The number of seconds to wait for another bayou process that is reading all sessions."""


def session_folder_of_project(root: Path, cwd: Path) -> Path:
    """Returns the folder for the session files of a working directory."""
    return root / session_folder_name(cwd)


def latest_session(folder: Path, cwd: Path | None = None) -> Path | None:
    """Returns the session file of a folder that was written last, leaving out those of helpers; with `cwd`, only
    sessions that began there."""
    for path in map(Path, _newest_first(folder)):
        header = read_session_header_or_none(path)
        if header is None or header.is_helper:
            continue
        if cwd is None or is_same_working_folder(header.cwd, cwd):
            return path
    return None


def _newest_first(folder: Path) -> list[str]:
    now = time.time()
    found = [(recency_sort_key(entry.stat().st_mtime, now), entry.path) for entry in session_files(folder)]
    found.sort(reverse=True)
    return [path for _, path in found]


def is_same_working_folder(text: str, cwd: Path) -> bool:
    """Whether the folder that a session header names is `cwd`, also by another path."""
    try:
        return text == str(cwd) or os.path.realpath(text) == os.path.realpath(cwd)
    except ValueError:  # no name that a folder could have
        return False


def find_session(id_or_path: str, root: Path, cwd: Path) -> Path:
    """Resolves a path, a session id or the beginning of an id to a session file; sessions of the current
    folder take precedence.

    Raises `SessionNotFound`, or `SessionError` when several match."""
    text = id_or_path.strip()
    named = Path(text).expanduser()
    named = named if named.is_absolute() else cwd / named
    is_path = text.endswith(".jsonl") or os.sep in text or "/" in text
    if is_path or (text and is_file(named)):
        if not exists(named):
            raise SessionNotFound(named, "no such session file", "See the list with --resume.")
        return named
    if not text or not is_session_id(text):
        raise SessionNotFound(None, f"{id_or_path!r} is not a session id", "See the list with --resume.")
    return _find_by_id(text, root, cwd)


def _find_by_id(text: str, root: Path, cwd: Path) -> Path:
    files = [Path(entry.path) for entry in session_files(root)]
    ids = {path: path.stem.partition("_")[2] for path in files}
    if not any(found.startswith(text) for found in ids.values()):
        # Renamed and imported files have their id in the header only.
        headers = ((path, read_session_header_or_none(path)) for path in files)
        ids = {path: header.id for path, header in headers if header is not None}
    exact = [path for path, found in ids.items() if found == text]
    fitting = exact or [path for path, found in ids.items() if found.startswith(text)]
    here = [path for path in fitting if path.parent == session_folder_of_project(root, cwd)]
    fitting = here or fitting
    if not fitting:
        raise SessionNotFound(None, f"no session id begins with {text!r}", "See the list with --resume.")
    if len(fitting) > 1:
        some = ", ".join(sorted(ids[path] for path in fitting)[:5])
        raise SessionError(
            None, f"{len(fitting)} sessions match {text!r}: {some}", "Give more characters of the id."
        )
    return fitting[0]


def list_sessions(root: Path, cwd: Path | None = None) -> "list[SessionSummary]":
    """Returns all sessions, newest first; with `cwd`, those that began there come first."""
    from app.sessions.index.session_index import SessionIndex

    with closing(SessionIndex(root)) as index:
        summaries = index.sessions()
    if cwd is None:
        return summaries
    here = {text for text in {one.cwd for one in summaries} if is_same_working_folder(text, cwd)}
    return sorted(summaries, key=lambda summary: summary.cwd not in here)


def newest_sessions(root: Path, cwd: Path, *, most: int = MAX_QUICK_SESSION_ROWS) -> "list[SessionSummary]":
    """Returns a folder's most recently written sessions from their files alone, to show while the index is
    refreshed. Of long files only the beginning is read; their counts are unknown (-1)."""
    from app.sessions.index.list_values import session_summary_of_file

    found = (
        session_summary_of_file(name) for name in _newest_first(session_folder_of_project(root, cwd))[:most]
    )
    return [one for one in found if one is not None and is_same_working_folder(one.cwd, cwd)]


def search_indexed_sessions(
    root: Path, query: str, *, limit: int = 50
) -> "tuple[list[SessionSearchHit], int]":
    """Returns hits among the session texts indexed so far, and how many sessions are not indexed yet; does not
    wait for indexing."""
    from app.sessions.index.session_index import SessionIndex

    with closing(SessionIndex(root)) as index:
        return index.search(query, limit=limit), index.count_unindexed()


def read_token_usage(root: Path, cache: Path) -> "TokenUsageReport":
    """Returns the token usage of all sessions; waits for another process that is reading them."""
    import shutil

    from app.sessions.index.session_index import SessionIndex

    with closing(SessionIndex(root, patience=_SESSION_INDEX_WAIT_SECONDS)) as index:
        found = index.usage()
    # Remove the separate usage database of earlier versions.
    shutil.rmtree(cache / "usage", ignore_errors=True)
    return found


class SessionListRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the session list: a session and its depth below the session it was forked from."""

    summary: "SessionSummary"
    depth: int


def arrange_sessions_by_fork(summaries: "list[SessionSummary]") -> list[SessionListRow]:
    """Returns the rows of the session list with forks below the sessions they come from; each family is placed
    by its newest session."""
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
    """Whether the session `one` is `other` or one of its ancestors; stops at cycles, which hand-made headers may
    form."""
    seen: set[str] = set()
    walk: SessionSummary | None = other
    while walk is not None and str(walk.path) not in seen:
        if walk is one:
            return True
        seen.add(str(walk.path))
        walk = by_path.get(walk.parent_session or "")
    return False


def _rows_below(top: "SessionSummary", below: "dict[str, list[SessionSummary]]") -> list[SessionListRow]:
    rows: list[SessionListRow] = []
    waiting = [(top, 0)]
    while waiting:
        summary, level = waiting.pop()
        rows.append(SessionListRow(summary=summary, depth=level))
        waiting.extend((child, level + 1) for child in reversed(below.get(str(summary.path), [])))
    return rows


def rename_session(path: Path, name: str | None) -> None:
    """Renames a session that is not open in this process. Raises a `SessionError`, such as
    `SessionLocked`."""
    with closing(SessionLog.open(path)) as log:
        if log.is_read_only:
            raise NotASession(path, "cannot be written", "Copy it with --fork and name the copy.")
        log.rename(name)
