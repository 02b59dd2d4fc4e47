"""What an edit would make of a file, asked before it runs. Nothing is written, and nothing of it is promised."""

from collections.abc import Mapping
from typing import Any

from tools.base import ToolError
from tools.edits.matching import Document
from tools.edits.named import parts_of
from tools.edits.replacing import Edit, replaced
from tools.edits.shown import ShownLines
from tools.edits.texts import FileText, in_order, spliced
from tools.files.encoding import UTF8
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
    target = FileText(text=text, raw=text, encoding=UTF8, endings="lf")
    shown = ShownLines(lines=dict(enumerate(text.split("\n"), 1)))
    try:
        own = arguments.get("path")
        placed = replaced(target, edits_of(arguments, own if isinstance(own, str) else None), path, shown)
        return spliced(text, in_order(Document(text), placed.found, path))
    except ToolError:
        return None
