"""A file's text as edits see it, and back to bytes with everything kept that an edit does not change:
encoding, byte order mark, each line's ending."""

import itertools
from typing import Literal

import msgspec

from tools.base import ToolError
from tools.edits.diffs import Diff, diff_spans
from tools.edits.matching import Ambiguous, Document, Span, Strategy, find_span
from tools.edits.nearmiss import explain_miss
from tools.files.encoding import UTF8, Encoding, detect
from tools.text import one_line

_SHOWN_LINES = 10


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    old_text: str
    new_text: str
    replaces_all: bool = False
    """Wherever it is, and not in one place."""


class FileText(msgspec.Struct, frozen=True, kw_only=True):
    """A decoded file with line feeds only."""

    text: str
    raw: str
    encoding: Encoding
    endings: Literal["lf", "crlf", "cr", "mixed"]


class Edited(msgspec.Struct, frozen=True, kw_only=True):
    data: bytes
    text: str
    diff: Diff
    strategies: tuple[Strategy, ...]
    count: int
    """Places that were replaced."""
    is_as_stored: bool = True
    """False: `text` is what `read` makes of the file."""


def read_text(data: bytes, path: str) -> FileText:
    encoding = detect(data[: 256 * 1024], is_whole=len(data) <= 256 * 1024)
    if encoding is None:
        raise ToolError(
            f"{one_line(path)} is a binary file. Only text can be edited; use bash for anything else."
        )
    try:
        raw = encoding.decode(data)
    except UnicodeDecodeError:
        encoding = UTF8
        raw = encoding.decode(data)
    if "\r" not in raw:
        return FileText(text=raw, raw=raw, encoding=encoding, endings="lf")
    if "\n" not in raw:
        return FileText(text=raw.replace("\r", "\n"), raw=raw, encoding=encoding, endings="cr")
    crlf = raw.count("\r\n")
    endings = "crlf" if crlf == raw.count("\n") else "mixed" if crlf else "lf"
    return FileText(text=raw.replace("\r\n", "\n"), raw=raw, encoding=encoding, endings=endings)


def apply_edits(data: bytes, edits: tuple[Edit, ...], path: str, seen: dict[int, str]) -> Edited:
    """All edits, each matched against the file as it is. Raises `ToolError`, and then none of them counts."""
    file = read_text(data, path)
    document = Document(file.text)
    found = located(document, file, edits, path, seen)
    ordered = in_order(document, found, path)
    text = spliced(file.text, ordered)
    try:
        new_data = file.encoding.encode(_with_endings(file, ordered))
    except UnicodeEncodeError as problem:
        raise ToolError(
            f"{one_line(path)} is encoded in {file.encoding.name}, which has no {problem.object[problem.start]!r}. "
            "Nothing was changed. Use other characters, or convert the file first."
        ) from None
    diff = diff_spans(path, file.text, [(span.start, span.end, span.new_text) for span in ordered])
    return Edited(
        data=new_data,
        text=text,
        diff=diff,
        strategies=tuple(spans[0].strategy for spans in found),
        count=len(ordered),
    )


def located(
    document: Document, file: FileText, edits: tuple[Edit, ...], path: str, seen: dict[int, str]
) -> list[list[Span]]:
    """The places of each edit."""
    return [
        _locate(document, file, edit, number, len(edits), path, seen) for number, edit in enumerate(edits, 1)
    ]


def in_order(document: Document, found: list[list[Span]], path: str) -> list[Span]:
    """All places from the first to the last. Raises `ToolError` where two meet, or nothing would change."""
    placed = sorted(
        ((span.start, span.end, number, span) for number, spans in enumerate(found, 1) for span in spans),
        key=lambda one: one[:3],
    )
    for (_, end, before, _), (start, _, after, _) in itertools.pairwise(placed):
        if start < end:
            raise ToolError(
                f"Edits {before} and {after} overlap in {one_line(path)} (line {document.line_of(start)}). "
                "Merge them into one edit. Nothing was changed."
            )
    ordered = [span for *_, span in placed]
    if all(document.text[span.start : span.end] == span.new_text for span in ordered):
        raise ToolError(f"The edits change nothing in {one_line(path)}: it already reads like this.")
    return ordered


def _locate(
    document: Document, file: FileText, edit: Edit, number: int, count: int, path: str, seen: dict[int, str]
) -> list[Span]:
    which = f"Edit {number} of {count}: " if count > 1 else ""
    old, new = _line_feeds(edit.old_text, file), _line_feeds(edit.new_text, file)
    if not old:
        raise ToolError(
            f"{which}oldText is empty. Give the text to replace; to make a file or replace all of it, use write."
        )
    if edit.old_text == edit.new_text:
        raise ToolError(f"{which}oldText and newText are the same. Nothing was changed.")
    if edit.replaces_all and (everywhere := _everywhere(document.text, old, new)):
        return everywhere
    try:
        span = find_span(document, old, new) or _at_the_end(document, old, new)
    except Ambiguous as problem:
        places = ", ".join(str(line) for line in problem.lines[:_SHOWN_LINES])
        more = ", …" if len(problem.lines) > _SHOWN_LINES else ""
        how = "" if problem.strategy == "exact" else f" (ignoring {problem.strategy.replace('-', ' ')})"
        raise ToolError(
            f"{which}oldText is {len(problem.lines)} times in {one_line(path)}{how}, at lines {places}{more}. "
            "Add neighbouring lines to it until it is there once, or set replaceAll. Nothing was changed."
        ) from None
    if span is None:
        raise ToolError(
            f"{which}oldText was not found in {one_line(path)}. Nothing was changed.\n"
            + explain_miss(document.lines, old, seen)
        )
    if span.strategy == "exact" and "\n" in old and edit.old_text not in file.raw:
        span = msgspec.structs.replace(span, strategy="line-endings")
    return [span]


def _everywhere(text: str, old: str, new: str) -> list[Span]:
    found: list[Span] = []
    position = text.find(old)
    while position >= 0:
        end = position + len(old)
        found.append(Span(start=position, end=end, new_text=new, strategy="exact"))
        position = text.find(old, end)
    return found


def _at_the_end(document: Document, old: str, new: str) -> Span | None:
    """The old text ends with a line feed that the file's last line does not have, and does not get either."""
    text = document.text
    if text.endswith("\n") or not old.endswith("\n"):
        return None
    span = find_span(Document(f"{text}\n"), old, new)
    if span is None or span.end <= len(text):
        return span
    strategy: Strategy = "line-endings" if span.strategy == "exact" else span.strategy
    return Span(
        start=min(span.start, len(text)),
        end=len(text),
        new_text=span.new_text.removesuffix("\n"),
        strategy=strategy,
    )


def _line_feeds(text: str, file: FileText) -> str:
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    return text.replace("\r", "\n") if file.endings == "cr" else text


def spliced(text: str, spans: list[Span]) -> str:
    parts: list[str] = []
    position = 0
    for span in spans:
        parts += (text[position : span.start], span.new_text)
        position = span.end
    return "".join([*parts, text[position:]])


def _with_endings(file: FileText, spans: list[Span]) -> str:
    """The edited text with the line endings that the file has."""
    if file.endings == "mixed":
        return _with_mixed_endings(file, spans)
    text = spliced(file.text, spans)
    if file.endings == "crlf":
        return text.replace("\n", "\r\n")
    return text.replace("\n", "\r") if file.endings == "cr" else text


def _with_mixed_endings(file: FileText, spans: list[Span]) -> str:
    """Each kept line keeps its own; a new one takes that of the line whose place it has, else of the one before."""
    endings = ["\r\n" if line.endswith("\r") else "\n" for line in file.raw.split("\n")[:-1]]
    usual = max(("\n", "\r\n"), key=endings.count)
    out: list[str] = []
    line = position = 0

    def put(text: str, first: int, last: int) -> None:
        parts = text.split("\n")
        for offset, part in enumerate(parts[:-1]):
            index = min(first + offset, last - 1) if last > first else first - 1
            out.append(part + (endings[index] if 0 <= index < len(endings) else usual))
        out.append(parts[-1])

    for span in spans:
        kept = file.text[position : span.start]
        after = line + kept.count("\n")
        put(kept, line, after)
        last = after + file.text.count("\n", span.start, span.end)
        put(span.new_text, after, last)
        line, position = last, span.end
    rest = file.text[position:]
    put(rest, line, line + rest.count("\n"))
    return "".join(out)
