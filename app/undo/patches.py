"""Makes patches that git and `patch` accept from two states of a file. Pure."""

import msgspec

from app.undo.change_records import (
    StoredFileState,
    decode_file_text,
    is_same_stored_state,
    readable_file_name,
)
from tools.edits.diffs import make_diff_of_texts

MAX_PATCHED_TEXT_BYTES = 1 << 20
"""The maximum size in bytes of a file whose lines are compared."""
_CUT_PATCH_NOTICE = "\n\\ The rest of the diff is too long to keep\n"


class FileSideOfPatch(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a file before or after a change; without content if it is not known."""

    image: StoredFileState
    data: bytes | None = None
    missing_reason: str = ""
    """The reason why the content is not known; empty if it is."""


class FilePatch(msgspec.Struct, frozen=True, kw_only=True):
    """The patch of one file with its line counts."""

    text: str = ""
    """The patch in git's format; empty when there is none."""
    incomplete_reason: str = ""
    """The reason why the patch is empty or incomplete; empty if it is complete."""
    is_whole: bool = False
    """Whether applying the patch gives the whole difference."""
    added: int = 0
    removed: int = 0

    @property
    def first_line(self) -> int:
        """The first changed line in the new file."""
        at = self.text.find("\n@@ ")
        if at < 0:
            return 1
        head, _, body = self.text[at + 1 :].partition("\n")
        line = int(head.split("+", 1)[1].split(" ", 1)[0].split(",")[0] or 1)
        for text in body.split("\n"):
            if not text.startswith(" "):
                break
            line += 1
        return max(1, line)


def make_file_patch(path: str, before: FileSideOfPatch | None, after: FileSideOfPatch | None) -> FilePatch:
    """Returns the patch between two states of a file. `path` is relative to the folder where the patch will be
    applied."""
    if before is not None and after is not None and before.image.kind != after.image.kind:
        gone, came = make_file_patch(path, before, None), make_file_patch(path, None, after)
        why = gone.incomplete_reason or came.incomplete_reason
        return FilePatch(
            text="" if why else gone.text + came.text,
            incomplete_reason=why,
            is_whole=not why,
            added=came.added,
            removed=gone.removed,
        )
    for side in (before, after):
        if side is not None and side.data is None:
            return FilePatch(incomplete_reason=side.missing_reason or "its content is not known")
    head = _patch_header(path, before, after)
    texts = [_text_of_side(side) for side in (before, after)]
    if any(text is None for text in texts):
        return FilePatch(incomplete_reason=_no_text_reason(before, after))
    old, new = texts
    assert old is not None and new is not None
    if old == new:
        return FilePatch(
            text=head if not is_same_stored_state(_side_image(before), _side_image(after)) else "",
            is_whole=True,
        )
    diff = make_diff_of_texts("", old, new)  # the names are above, as git writes them
    hunks = diff.patch.partition("\n")[2].partition("\n")[2]
    is_cut = diff.patch.endswith(_CUT_PATCH_NOTICE)
    names = [
        f"--- {_quote_name('a/' + path) if before else '/dev/null'}\n",
        f"+++ {_quote_name('b/' + path) if after else '/dev/null'}\n",
    ]
    return FilePatch(
        text=head + "".join(names) + hunks,
        incomplete_reason="it is too long to be shown whole" if is_cut else "",
        is_whole=not is_cut,
        added=diff.added,
        removed=diff.removed,
    )


def _patch_header(path: str, before: FileSideOfPatch | None, after: FileSideOfPatch | None) -> str:
    lines = [f"diff --git {_quote_name('a/' + path)} {_quote_name('b/' + path)}\n"]
    if before is None and after is not None:
        lines.append(f"new file mode {_git_mode(after.image)}\n")
    elif after is None and before is not None:
        lines.append(f"deleted file mode {_git_mode(before.image)}\n")
    elif before is not None and after is not None and _git_mode(before.image) != _git_mode(after.image):
        lines += [f"old mode {_git_mode(before.image)}\n", f"new mode {_git_mode(after.image)}\n"]
    return "".join(lines)


def _git_mode(image: StoredFileState) -> str:
    """Returns a file's mode as git writes it; git knows only whether a file is executable."""
    if image.kind == "link":
        return "120000"
    return "100755" if image.mode & 0o100 else "100644"


def _side_image(side: FileSideOfPatch | None) -> StoredFileState | None:
    return side.image if side is not None else None


def _text_of_side(side: FileSideOfPatch | None) -> str | None:
    if side is None:
        return ""
    data = side.data or b""
    return None if len(data) > MAX_PATCHED_TEXT_BYTES else decode_file_text(data)


def _no_text_reason(before: FileSideOfPatch | None, after: FileSideOfPatch | None) -> str:
    sizes = [len(side.data or b"") for side in (before, after) if side is not None]
    if max(sizes) > MAX_PATCHED_TEXT_BYTES:
        return f"larger than {MAX_PATCHED_TEXT_BYTES >> 20} MB"
    return "no text: " + " → ".join(_size_text(size) for size in sizes)


def _size_text(size: int) -> str:
    return f"{size:,} B" if size < 1000 else f"{size / 1000:,.1f} kB"


_ESCAPES_IN_PATCH_PATHS = {
    "\t": "\\t",
    "\n": "\\n",
    "\r": "\\r",
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\v": "\\v",
}


def _quote_name(name: str) -> str:
    """Quotes a file name as git does when it has special characters."""
    raw = name.encode("utf-8", "surrogateescape")
    is_plain = (
        not any(byte < 0x20 or byte == 0x7F or chr(byte) in '"\\' for byte in raw)
        and readable_file_name(name) == name
    )
    if is_plain:
        return name
    out = []
    for byte in raw:
        character = chr(byte)
        if character in _ESCAPES_IN_PATCH_PATHS:
            out.append(_ESCAPES_IN_PATCH_PATHS[character])
        elif 0x20 <= byte < 0x7F:
            out.append(character)
        else:
            out.append(f"\\{byte:03o}")
    return '"' + "".join(out) + '"'
