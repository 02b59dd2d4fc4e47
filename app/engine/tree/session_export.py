"""Writing a session for people and other programs: HTML, Markdown or JSONL, by the file's ending."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from app.engine.secrets.session_mask import SessionMask
from app.sessions.log import SessionLog
from app.values.entries import Entry
from app.values.json_texts import with_texts
from app.values.wire import from_wire, to_wire

if TYPE_CHECKING:
    from app.sessions.export.html_blocks import DrawCard
    from app.sessions.export.walk import ChangeEntry

_UNMASKED_FIELDS = frozenset(
    ("id", "parentId", "timestamp", "data", "textSignature", "thinkingSignature", "thoughtSignature")
)
"""Pictures, and what a provider or the tree goes by: nothing that anybody wrote."""


def masked_entries(masking: SessionMask, folder: Path) -> "ChangeEntry":
    """With the secrets of each entry masked, those too that an older or another program wrote down."""
    masking.known.look(folder if folder.is_dir() else None)

    def masked(entry: Entry) -> Entry:
        wire = to_wire(entry)
        changed = with_texts(wire, lambda text: masking.text(text, "export"), but=_UNMASKED_FIELDS)
        return entry if changed == wire else from_wire(changed, Entry)

    return masked


def export_session(
    log: SessionLog,
    target: Path | None = None,
    *,
    change: "ChangeEntry",
    draw: "DrawCard | None" = None,
    folder: Path | None = None,
) -> Path:
    """`change`: what becomes of each entry, its secrets above all. `draw`: how the session's tools show their calls;
    without a session that is open, those that come with bayou. Returns where it was written; without a target,
    an HTML page in `folder`. Raises `OSError`."""
    if target is None:
        stem = log.path.stem if log.path else log.session_id
        target = (folder or Path.cwd()) / f"bayou-session-{stem}.html"
    target.parent.mkdir(parents=True, exist_ok=True)
    _write(target, _rendered(log, target.suffix.lower(), change, draw))
    return target


def _write(target: Path, data: bytes) -> None:
    """A conversation is for its person alone; who wants to share it says so by the file's mode."""
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def _rendered(log: SessionLog, suffix: str, change: "ChangeEntry", draw: "DrawCard | None") -> bytes:
    # Each form has parts of its own; only the one that is asked for is loaded.
    if suffix == ".jsonl":
        from app.sessions.export.jsonl import export_jsonl  # noqa: PLC0415

        return export_jsonl(log, change=change)
    if suffix in (".md", ".markdown"):
        from app.sessions.export.markdown import export_markdown  # noqa: PLC0415

        return export_markdown(log, change=change).encode()
    from app.sessions.export.html import export_html  # noqa: PLC0415  (as above)

    return export_html(log, change=change, draw=draw).encode()
