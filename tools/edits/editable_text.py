"""Decodes a file's text for edits, and encodes it again with encoding, byte order mark and line endings preserved.
The dialects place the edits."""

import itertools
from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from tools.edits.dialects.old_text_matching import SearchableText, TextEdit
from tools.files.text_encoding import UTF8_ENCODING, TextEncoding, detect_encoding
from tools.text_sanitizing import one_line
from tools.tool_definition import ToolError


class EditableText(Protocol):
    """The interface of a file opened for editing: its text with line feeds only, and the bytes that result from
    changes."""

    @property
    def text(self) -> str: ...

    @property
    def raw_text(self) -> str:
        """The file's text with its original line endings."""
        ...

    @property
    def is_as_stored(self) -> bool:
        """Whether `text` is the file's own text; False for a notebook, whose text is the `read` tool's rendering."""
        ...

    def to_line_feeds(self, text: str) -> str:
        """Converts the line ends of a model's text to line feeds, as in `text`."""
        ...

    def encode_with_edits(self, spans: Sequence[TextEdit], path: str) -> bytes:
        """Returns the file's bytes with these spans of the text replaced; the spans are ordered and do not overlap.
        Raises `ToolError`."""
        ...


class DecodedFileText(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a file with its line ends as line feeds, which is encoded again with the original encoding, byte
    order mark and line ends."""

    text: str
    raw_text: str
    encoding: TextEncoding
    line_endings: Literal["lf", "crlf", "cr", "mixed"]

    @property
    def is_as_stored(self) -> bool:
        return True

    def to_line_feeds(self, text: str) -> str:
        text = text.removeprefix("\ufeff").replace("\r\n", "\n")
        return text.replace("\r", "\n") if self.line_endings == "cr" else text

    def encode_with_edits(self, spans: Sequence[TextEdit], path: str) -> bytes:
        try:
            return self.encoding.encode(_restore_line_endings(self, spans))
        except UnicodeEncodeError as problem:
            raise ToolError(
                f"{one_line(path)} is encoded in {self.encoding.name}, which has no "
                f"{problem.object[problem.start]!r}. Nothing was changed. Use other characters, or convert the "
                "file first."
            ) from None


def decode_text_file(data: bytes, path: str) -> DecodedFileText:
    encoding = detect_encoding(data[: 256 * 1024], is_whole=len(data) <= 256 * 1024)
    if encoding is None:
        raise ToolError(
            f"{one_line(path)} is a binary file. Only text can be edited; use bash for anything else."
        )
    try:
        raw = encoding.decode(data)
    except UnicodeDecodeError:
        encoding = UTF8_ENCODING
        raw = encoding.decode(data)
    if "\r" not in raw:
        return DecodedFileText(text=raw, raw_text=raw, encoding=encoding, line_endings="lf")
    if "\n" not in raw:
        return DecodedFileText(
            text=raw.replace("\r", "\n"), raw_text=raw, encoding=encoding, line_endings="cr"
        )
    crlf = raw.count("\r\n")
    endings = "crlf" if crlf == raw.count("\n") else "mixed" if crlf else "lf"
    return DecodedFileText(
        text=raw.replace("\r\n", "\n"), raw_text=raw, encoding=encoding, line_endings=endings
    )


def replace_text_spans(text: str, spans: Sequence[TextEdit]) -> str:
    """Replaces spans of a text; where two spans replace the same place, both apply."""
    parts: list[str] = []
    position = 0
    for span in spans:
        parts += (text[position : span.start], span.new_text)
        position = max(position, span.end)
    return "".join([*parts, text[position:]])


def sort_edit_spans(
    document: SearchableText, found: Sequence[Sequence[TextEdit]], path: str
) -> list[TextEdit]:
    """Returns the spans that all edits of a text replace, in order. Raises `ToolError` if two overlap."""
    placed = sorted(
        ((span.start, span.end, number, span) for number, spans in enumerate(found, 1) for span in spans),
        key=lambda one: one[:3],
    )
    for (_, end, before, _), (start, _, after, _) in itertools.pairwise(placed):
        if start < end:
            raise ToolError(
                f"Edits {before} and {after} overlap in {one_line(path)} (line {document.line_number_at(start)}). "
                "Merge them into one edit. Nothing was changed."
            )
    return [span for *_, span in placed]


def _restore_line_endings(file: DecodedFileText, spans: Sequence[TextEdit]) -> str:
    """Returns the edited text with the file's line endings."""
    if file.line_endings == "mixed":
        return _restore_mixed_line_endings(file, spans)
    text = replace_text_spans(file.text, spans)
    if file.line_endings == "crlf":
        return text.replace("\n", "\r\n")
    return text.replace("\n", "\r") if file.line_endings == "cr" else text


def _restore_mixed_line_endings(file: DecodedFileText, spans: Sequence[TextEdit]) -> str:
    """Returns the edited text of a file with mixed line endings: unchanged lines keep theirs; a new line takes that of
    the replaced line, otherwise of the line before."""
    endings = ["\r\n" if line.endswith("\r") else "\n" for line in file.raw_text.split("\n")[:-1]]
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
