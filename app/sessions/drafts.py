"""The draft of a session: the editor's text, its attachments and the queued messages.

A draft is saved beside the session file from the first key on, also before the session has a file."""

import os
import sys
from pathlib import Path

import msgspec

from app.sessions.file.atomic_replace import replace_sidecar_file_atomically
from app.sessions.session_ids import session_sidecar_path
from app.values.codec import decode, encode
from app.values.content import Image
from app.values.wire import Wire, now_ms
from tools.files.regular_files import read_regular_file


class DraftAttachment(Wire, frozen=True, kw_only=True):
    """An attachment of a draft: a file by its path, or a pasted image."""

    name: str
    path: str | None = None
    image: Image | None = None


class DraftQueuedMessage(Wire, frozen=True, kw_only=True):
    """A queued message of a draft."""

    text: str
    images: tuple[Image, ...] = ()
    deliver_as: str = "steer"


class SavedDraft(Wire, frozen=True, kw_only=True):
    """A draft as its file beside the session stores it."""

    text: str = ""
    attachments: tuple[DraftAttachment, ...] = ()
    waiting: tuple[DraftQueuedMessage, ...] = ()
    cwd: str = ""
    saved: int = 0
    """The time at which the draft was saved, in Unix milliseconds."""
    process: int = 0
    """The id of the process that wrote the draft."""

    @property
    def is_empty(self) -> bool:
        return not (self.text or self.attachments or self.waiting)


class DraftFile:
    """The sidecar file that holds a session's draft. With `path` None (a session in memory) nothing is
    saved."""

    def __init__(self, session: Path | None) -> None:
        self.path = session_sidecar_path(session, "draft") if session is not None else None
        self._saved: SavedDraft | None = None

    def save(self, draft: SavedDraft) -> None:
        """Writes the draft if it differs from the last one written. Raises `SessionWriteError`."""
        plain = msgspec.structs.replace(draft, saved=0)
        if self.path is None or plain == self._saved:
            return
        if draft.is_empty:
            self.discard()
        else:
            replace_sidecar_file_atomically(
                self.path, encode(msgspec.structs.replace(draft, saved=now_ms(), process=os.getpid()))
            )
        self._saved = plain

    def load(self) -> SavedDraft | None:
        """Returns the draft that the previous process saved; None when there is none or the file cannot be read."""
        return read_draft(self.path) if self.path is not None else None

    def discard(self) -> None:
        """Deletes the draft's file, after its texts were sent or the user discarded them."""
        self._saved = None
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def read_draft(path: Path) -> SavedDraft | None:
    """Reads a draft's file; None when it is missing, damaged or empty."""
    try:
        draft: SavedDraft = decode(read_regular_file(path), SavedDraft)
    except (OSError, msgspec.DecodeError):
        return None
    return None if draft.is_empty else draft


def abandoned_drafts(folder: Path) -> list[tuple[Path, SavedDraft]]:
    """Returns the drafts, newest first, whose session never got a file and whose process has ended.

    The next start offers them."""
    found: list[tuple[Path, SavedDraft]] = []
    for path in folder.glob("*.jsonl.draft"):
        if path.with_suffix("").exists():
            continue
        draft = read_draft(path)
        if draft is not None and not _is_process_running(draft.process):
            found.append((path, draft))
    return sorted(found, key=lambda pair: pair[1].saved, reverse=True)


def _is_process_running(process: int) -> bool:
    if process <= 0 or process == os.getpid() or sys.platform == "win32":
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
