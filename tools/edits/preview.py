"""What an edit would make of a file, asked before it runs. Nothing is written, and nothing of it is promised."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tools.base import ToolError
from tools.edits.anchored import anchored, anchored_edit
from tools.edits.matching import Document
from tools.edits.named import parts_of
from tools.edits.patching import PatchedFile, patched, read_patch
from tools.edits.replacing import Edit, Placed, replaced
from tools.edits.shown import ShownLines
from tools.edits.texts import FileText, in_order, spliced
from tools.files.encoding import UTF8
from tools.files.snapshots import Snapshot
from tools.results import Json


def edits_of(arguments: Mapping[str, Any], path: str | None = None) -> tuple[Edit, ...]:
    """Those whose texts are whole; with `path` only those of that file."""
    found: list[Edit] = []
    for part in parts_of(arguments, "edits"):
        old: Json = part.get("oldText")
        new: Json = part.get("newText")
        own: Json = part.get("path") or arguments.get("path")
        if isinstance(old, str) and isinstance(new, str) and path in (None, own):
            found.append(Edit(old_text=old, new_text=new, replaces_all=bool(part.get("all"))))
    return tuple(found)


def edited_text(arguments: Mapping[str, Any], text: str, path: str) -> str | None:
    """None: it would be refused."""
    own = arguments.get("path")
    edits = edits_of(arguments, own if isinstance(own, str) else None)
    return _changed(text, path, lambda target: replaced(target, edits, path, _shown(text)))


def anchored_text(changes: Sequence[Mapping[str, Any]], text: str, path: str) -> str | None:
    """Of changes by anchors of one file, as they would fall into it as it is."""
    read = [anchored_edit(change) for change in changes]
    edits = [edit for edit in read if edit is not None]
    if len(edits) < len(read):
        return None
    rows = tuple(text.split("\n"))
    whole = Snapshot(lines=rows, shown=frozenset(range(1, len(rows) + 1)))
    return _changed(text, path, lambda target: anchored(target, edits, path, (whole,)))


def patched_files(text: str) -> tuple[PatchedFile, ...]:
    """Nothing where it is no patch that can be read."""
    try:
        return read_patch(text)
    except ToolError:
        return ()


def patched_text(patch: PatchedFile, text: str) -> str | None:
    if patch.kind == "add":
        return "".join(f"{line}\n" for line in patch.lines)
    if patch.kind == "remove":
        return ""
    return _changed(text, patch.path, lambda target: patched(target, patch.hunks, patch.path, _shown(text)))


def _changed(text: str, path: str, place: Callable[[FileText], Placed]) -> str | None:
    target = FileText(text=text, raw=text, encoding=UTF8, endings="lf")
    try:
        return spliced(text, in_order(Document(text), place(target).found, path))
    except ToolError:
        return None


def _shown(text: str) -> ShownLines:
    return ShownLines(lines=dict(enumerate(text.split("\n"), 1)))
