"""The patch dialect: files added, removed, moved, and changed in hunks that are found by their context. Pure.

Line numbers are ignored. A context that fits twice is an error that names the lines."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

import msgspec

from tools.edits.dialects.missing_old_text import explain_missing_old_text
from tools.edits.dialects.old_text_matching import (
    AmbiguousOldText,
    LinesNotShown,
    OldTextMatchStrategy,
    SearchableText,
    TextEdit,
    find_old_text_with_lookalikes,
    find_old_text_with_other_indentation,
    find_strict_old_text_match,
)
from tools.edits.dialects.old_text_replacement import LocatedEdits, OldTextNotFoundError
from tools.edits.editable_text import EditableText
from tools.edits.files_named_by_edits import PATCH_MOVE_HEADER
from tools.edits.shown_lines import LinesShownToModel
from tools.text_sanitizing import one_line
from tools.tool_definition import ToolError

_PATCH_BEGIN_MARK: Final = "*** Begin Patch"
_PATCH_END_MARK: Final = "*** End Patch"
_END_OF_FILE_MARK: Final = "*** End of File"
_PATCH_FILE_HEADERS: Final[Mapping[str, Literal["add", "remove", "update"]]] = {
    "*** Add File:": "add",
    "*** Delete File:": "remove",
    "*** Update File:": "update",
}


class PatchHunk(msgspec.Struct, frozen=True, kw_only=True):
    head_lines: tuple[str, ...] = ()
    """The lines given before a hunk that precede it in the file."""
    old_lines: tuple[str, ...] = ()
    new_lines: tuple[str, ...] = ()
    is_at_file_end: bool = False


class PatchedFile(msgspec.Struct, frozen=True, kw_only=True):
    kind: Literal["add", "remove", "update"]
    path: str
    move_to: str | None = None
    hunks: tuple[PatchHunk, ...] = ()
    new_file_lines: tuple[str, ...] = ()
    """The lines of a file that the patch creates."""


def is_patch_text(text: str) -> bool:
    return text.lstrip().startswith((_PATCH_BEGIN_MARK, *_PATCH_FILE_HEADERS))


def parse_patch(text: str) -> tuple[PatchedFile, ...]:
    """Parses a patch. Raises `ToolError` with the line that cannot be parsed."""
    lines = text.replace("\r\n", "\n").strip("\n").split("\n")
    files: list[PatchedFile] = []
    number = 0
    while number < len(lines):
        line = lines[number]
        if not line.strip() or line.startswith((_PATCH_BEGIN_MARK, _PATCH_END_MARK)):
            number += 1
            continue
        kind = next((prefix for prefix in _PATCH_FILE_HEADERS if line.startswith(prefix)), None)
        if kind is None:
            raise ToolError(
                f'Line {number + 1} of the patch is "{one_line(line[:80])}": expected "*** Add File: PATH", '
                '"*** Update File: PATH" or "*** Delete File: PATH". Nothing was changed.'
            )
        end = number + 1
        while end < len(lines) and not lines[end].startswith((*_PATCH_FILE_HEADERS, _PATCH_END_MARK)):
            end += 1
        files.append(
            _parse_patched_file(
                _PATCH_FILE_HEADERS[kind],
                line.removeprefix(kind).strip(),
                lines[number + 1 : end],
                number + 2,
            )
        )
        number = end
    if not files:
        raise ToolError('The patch names no file. Begin with "*** Begin Patch" and "*** Update File: PATH".')
    return tuple(files)


def _parse_patched_file(
    kind: Literal["add", "remove", "update"], path: str, body: list[str], number: int
) -> PatchedFile:
    if not path:
        raise ToolError(f"Line {number - 1} of the patch names no file. Nothing was changed.")
    if kind == "remove":
        return PatchedFile(kind=kind, path=path)
    if kind == "add":
        wrong = next((index for index, line in enumerate(body) if line and not line.startswith("+")), None)
        if wrong is not None:
            raise ToolError(
                f'Line {number + wrong} of the patch: each line of a new file begins with "+". Nothing was changed.'
            )
        return PatchedFile(
            kind=kind, path=path, new_file_lines=tuple(line[1:] for line in body if line.startswith("+"))
        )
    move_to = None
    if body and body[0].startswith(PATCH_MOVE_HEADER):
        move_to = body.pop(0).removeprefix(PATCH_MOVE_HEADER).strip() or None
        number += 1
    return PatchedFile(kind=kind, path=path, move_to=move_to, hunks=_parse_hunks(body, number))


def _parse_hunks(body: Sequence[str], number: int) -> tuple[PatchHunk, ...]:
    hunks: list[PatchHunk] = []
    heads: list[str] = []
    before: list[str] = []
    after: list[str] = []
    is_at_end = False

    def close() -> None:
        nonlocal is_at_end
        while before and after and not before[-1] and not after[-1]:
            before.pop()
            after.pop()
        if before or after:
            hunks.append(
                PatchHunk(
                    head_lines=tuple(heads),
                    old_lines=tuple(before),
                    new_lines=tuple(after),
                    is_at_file_end=is_at_end,
                )
            )
            heads.clear()
        before.clear()
        after.clear()
        is_at_end = False

    for index, line in enumerate(body):
        if line.startswith("@@"):
            close()
            head = line.removeprefix("@@").strip()
            if head and not head.endswith("@@"):
                heads.append(head)
        elif line.startswith(_END_OF_FILE_MARK):
            is_at_end = True
        elif line[:1] in ("-", " ", "+", ""):
            if line[:1] != "+":
                before.append(line[1:])
            if line[:1] != "-":
                after.append(line[1:])
        elif not line.startswith("\\"):
            raise ToolError(
                f'Line {number + index} of the patch is "{one_line(line[:80])}": lines of a hunk begin with a space, '
                '"+" or "-". Nothing was changed.'
            )
    close()
    return tuple(hunks)


# Placing hunks


def locate_patch_hunks(
    target: EditableText, hunks: Sequence[PatchHunk], path: str, shown: LinesShownToModel
) -> LocatedEdits:
    """Finds the places of a patch's hunks in a file by their context. Raises `ToolError` if a context is missing or
    ambiguous."""
    found: list[tuple[TextEdit, ...]] = []
    strategies: list[OldTextMatchStrategy] = []
    notes: list[str] = []
    behind = 0
    for number, hunk in enumerate(hunks, 1):
        which = f"Hunk {number} of {len(hunks)}: " if len(hunks) > 1 else ""
        span = _place_hunk(target.text, hunk, path, which, shown, behind)
        behind = max(behind, span.end)
        found.append((span,))
        strategies.append(span.strategy)
        if target.text and not (hunk.old_lines or hunk.head_lines or hunk.is_at_file_end):
            notes.append(
                f"{which}It only adds lines and names no place: they are at the end of {one_line(path)}. "
                "Lines of context, or the line above behind @@, say another."
            )
    return LocatedEdits(spans_by_edit=tuple(found), strategies=tuple(strategies), notes=tuple(notes))


def _place_hunk(
    text: str, hunk: PatchHunk, path: str, which: str, shown: LinesShownToModel, behind: int
) -> TextEdit:
    start = find_position_after_hunk_heads(text, hunk.head_lines, path, which)
    if not hunk.old_lines:
        return _make_insertion_span(text, hunk, start)
    old = "".join(f"{line}\n" for line in hunk.old_lines)
    new = "".join(f"{line}\n" for line in hunk.new_lines)
    is_open = not text.endswith("\n")
    text = f"{text}\n" if is_open else text
    regions = [start]
    if hunk.is_at_file_end:
        last = text.removesuffix("\n").split("\n")[-len(hunk.old_lines) :]
        regions.insert(0, max(start, len(text) - sum(map(len, last)) - len(last)))
    ambiguous: AmbiguousOldText | None = None
    for region in (*regions, *([behind] if behind > start else [])):
        try:
            span = _find_hunk_in_region(text, region, old, new, shown)
        except AmbiguousOldText as problem:
            ambiguous = ambiguous or _shift_ambiguous_lines(problem, text, region)
            continue
        except LinesNotShown:
            continue
        if span is not None:
            return _drop_missing_line_feed(span, len(text), is_open=is_open)
    if ambiguous is not None:
        lines = ", ".join(map(str, ambiguous.line_numbers[:10]))
        raise ToolError(
            f"{which}its context occurs {ambiguous.match_count} times in {one_line(path)}, at lines {lines}. "
            'Give more lines of it, or the line above after "@@ ". Nothing was changed.'
        )
    raise OldTextNotFoundError(
        f"{which}its context was not found in {one_line(path)}. Nothing was changed.\n"
        + explain_missing_old_text(text.split("\n"), old, shown.lines)
    )


def _find_hunk_in_region(
    text: str, region: int, old: str, new: str, shown: LinesShownToModel
) -> TextEdit | None:
    """Finds the old lines of a hunk behind the position `region`, which is the start of a line."""
    part = SearchableText(text[region:])

    def indented(document: SearchableText, old: str, new: str) -> TextEdit | None:
        return find_old_text_with_other_indentation(document, old, new, shown.contains_lines)

    steps: tuple[Callable[[SearchableText, str, str], TextEdit | None], ...] = (
        find_strict_old_text_match,
        find_old_text_with_lookalikes,
        indented,
    )
    for step in steps:
        span = step(part, old, new)
        if span is not None and (span.start == 0 or part.text[span.start - 1] == "\n"):
            return msgspec.structs.replace(span, start=span.start + region, end=span.end + region)
    return None


def _shift_ambiguous_lines(problem: AmbiguousOldText, text: str, region: int) -> AmbiguousOldText:
    above = text.count("\n", 0, region)
    return AmbiguousOldText(
        problem.strategy, [line + above for line in problem.line_numbers], problem.match_count
    )


def _drop_missing_line_feed(span: TextEdit, length: int, *, is_open: bool) -> TextEdit:
    """Returns the match of a hunk without its final line feed, if the hunk matched at the end of a file that lacks
    one; otherwise returns it unchanged."""
    if not is_open or span.end < length:
        return span
    return msgspec.structs.replace(span, end=length - 1, new_text=span.new_text.removesuffix("\n"))


def find_position_after_hunk_heads(text: str, heads: Sequence[str], path: str, which: str) -> int:
    at = 0
    for head in heads:
        places = [
            match
            for match in _line_ranges_after(text, at)
            if text[match[0] : match[1]].strip() == head or head in text[match[0] : match[1]]
        ]
        exact = [match for match in places if text[match[0] : match[1]].strip() == head] or places
        if not exact:
            raise OldTextNotFoundError(
                f'{which}the line "{one_line(head[:80])}" after "@@" is not in {one_line(path)}. Nothing was changed.'
            )
        at = min(len(text), exact[0][1] + 1)
    return at


def _line_ranges_after(text: str, at: int) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        out.append((at, end))
        at = end + 1
    return out


def _make_insertion_span(text: str, hunk: PatchHunk, at: int) -> TextEdit:
    """Returns the insertion of a hunk that only adds lines: after its head lines, or at the end of the file if it
    has none."""
    new = "".join(f"{line}\n" for line in hunk.new_lines)
    place = at if hunk.head_lines else len(text)
    if place == len(text) and text and not text.endswith("\n"):
        new = f"\n{new.removesuffix(chr(10))}"
    return TextEdit(start=place, end=place, new_text=new, strategy="exact")
