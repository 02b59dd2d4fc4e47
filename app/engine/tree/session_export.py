"""Exports a session as HTML, Markdown or JSONL, chosen by the file's ending."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from app.engine.secrets.session_mask import SessionSecretMask
from app.sessions.session_log import SessionLog
from app.values.entries import Entry
from app.values.json_texts import replace_texts_in_json
from app.values.wire import from_wire, to_wire

if TYPE_CHECKING:
    from app.sessions.export.entry_dispatch import TransformEntry
    from app.sessions.export.html_blocks import DrawCard

_FIELDS_NEVER_MASKED = frozenset(
    ("id", "parentId", "timestamp", "data", "textSignature", "thinkingSignature", "thoughtSignature")
)
"""The fields without readable text, which are not masked: pictures, and data of providers and of the tree."""


def make_entry_masker(masking: SessionSecretMask, folder: Path) -> "TransformEntry":
    """Returns a function that masks the secrets of a session entry, also of entries by older or other programs."""
    masking.known_secrets.search_files(folder if folder.is_dir() else None)

    def masked(entry: Entry) -> Entry:
        wire = to_wire(entry)
        changed = replace_texts_in_json(
            wire, lambda text: masking.masked_text(text, "export"), but=_FIELDS_NEVER_MASKED
        )
        return entry if changed == wire else from_wire(changed, Entry)

    return masked


def export_session(
    log: SessionLog,
    target: Path | None = None,
    *,
    change: "TransformEntry",
    draw: "DrawCard | None" = None,
    folder: Path | None = None,
) -> Path:
    """Exports a session and returns the path of the written file. `change` transforms each entry, to mask its
    secrets. `draw` draws tool calls; by default the built-in tools do. Without a target, writes an HTML page in
    `folder`. Raises `OSError`."""
    if target is None:
        stem = log.path.stem if log.path else log.session_id
        target = (folder or Path.cwd()) / f"bayou-session-{stem}.html"
    target.parent.mkdir(parents=True, exist_ok=True)
    _write_private_file(target, _render_export(log, target.suffix.lower(), change, draw))
    return target


def _write_private_file(target: Path, data: bytes) -> None:
    """Writes an exported file that only the user can read; the user can change its mode to share it."""
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def _render_export(log: SessionLog, suffix: str, change: "TransformEntry", draw: "DrawCard | None") -> bytes:
    # Only the modules of the requested format are imported.
    if suffix == ".jsonl":
        from app.sessions.export.jsonl import export_jsonl  # noqa: PLC0415

        return export_jsonl(log, change=change)
    if suffix in (".md", ".markdown"):
        from app.sessions.export.markdown import export_markdown  # noqa: PLC0415

        return export_markdown(log, change=change).encode()
    from app.sessions.export.html import export_html  # noqa: PLC0415  (as above)

    return export_html(log, change=change, draw=draw).encode()
