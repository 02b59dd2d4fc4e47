"""What a tool gives back: content for the model, and a card with display blocks for people.

Plain values without behaviour; the only module of `tools` that widgets may see. How a block looks is the
widgets' business; how a result is made is each tool's.
"""

from typing import Any

import msgspec

Json = dict[str, Any] | list[Any] | str | int | float | None
"""What JSON text becomes: of details that are stored, arguments, and files."""


class _Value(msgspec.Struct, frozen=True, kw_only=True):
    pass


class TextPart(_Value, frozen=True, kw_only=True):
    text: str


class ImagePart(_Value, frozen=True, kw_only=True):
    data: str
    """Base64."""
    mime_type: str


Part = TextPart | ImagePart


class ToolResult(_Value, frozen=True, kw_only=True):
    """The outcome of one call, or of one so far (progress)."""

    content: tuple[Part, ...] = ()
    details: dict[str, Any] | None = None
    """JSON data that is stored with the result; enough, with arguments and content, to draw the card again."""
    is_error: bool = False
    terminate: bool = False
    """End the run after this batch, if every result of the batch says so."""
    structured_content: Any = None
    """For programs; not stored."""

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.content if isinstance(part, TextPart))


def text_result(text: str, *, details: dict[str, Any] | None = None, is_error: bool = False) -> ToolResult:
    return ToolResult(content=(TextPart(text=text),), details=details, is_error=is_error)


class TextBlock(_Value, frozen=True, kw_only=True):
    """Plain text; `tail` shows its end first when it has to be cut."""

    text: str
    tail: bool = False


class MarkdownBlock(_Value, frozen=True, kw_only=True):
    text: str


class FileBlock(_Value, frozen=True, kw_only=True):
    """Lines of a file, to be highlighted."""

    path: str
    text: str
    first_line: int = 1
    note: str = ""
    """What was left out and how to get it."""
    folds: int = 0
    """So many lines are shown until it is opened on a page of its own; 0: all."""
    more: int = 0
    """Lines behind these that came and are left out here."""


class DiffBlock(_Value, frozen=True, kw_only=True):
    """A change of one file, as a unified diff."""

    path: str
    diff: str
    added: int = 0
    removed: int = 0
    more: int = 0
    """Lines behind these that are left out here."""


class ColouredSpan(msgspec.Struct, frozen=True, array_like=True):
    """Of a line of output, counted from the first."""

    line: int
    start: int
    end: int
    sgr: str
    """As a terminal is told it: `1;31`."""


class CommandBlock(_Value, frozen=True, kw_only=True):
    command: str
    output: str = ""
    exit_code: int | None = None
    note: str = ""
    """Timed out, aborted, where the full output is."""
    is_cut: bool = False
    """The output lacks its beginning."""
    colours: tuple[ColouredSpan, ...] = ()
    """Those that the program gave its output."""


class ListBlock(_Value, frozen=True, kw_only=True):
    """Paths, matches, entries: one a line."""

    items: tuple[str, ...]
    note: str = ""
    marks: tuple[tuple[int, int, int], ...] = ()
    """What stands out: which item, from 0, and from where to where in it."""


class TreeNode(_Value, frozen=True, kw_only=True):
    label: str
    children: tuple["TreeNode", ...] = ()


class TreeBlock(_Value, frozen=True, kw_only=True):
    roots: tuple[TreeNode, ...]


class MapSymbol(_Value, frozen=True, kw_only=True):
    label: str
    kind: str
    first_line: int
    last_line: int
    depth: int = 0
    row: int = -1
    """The line of the outline's text that names it, from 0; -1: none does."""


class MapBlock(_Value, frozen=True, kw_only=True):
    """The outline of a file. `text` is exactly what the model gets."""

    path: str
    text: str
    language: str = ""
    total_lines: int = 0
    symbols: tuple[MapSymbol, ...] = ()


class ImageBlock(_Value, frozen=True, kw_only=True):
    mime_type: str
    byte_count: int
    data: str = ""
    width: int = 0
    height: int = 0


class TableBlock(_Value, frozen=True, kw_only=True):
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Block = (
    TextBlock
    | MarkdownBlock
    | FileBlock
    | DiffBlock
    | CommandBlock
    | ListBlock
    | TreeBlock
    | MapBlock
    | ImageBlock
    | TableBlock
)


class Card(_Value, frozen=True, kw_only=True):
    """What a person sees of a tool call: one line until opened, then its blocks."""

    title: str
    """What it does: `read`, `bash`."""
    subject: str = ""
    """To what: a path and range, a command's first line."""
    summary: str = ""
    """How it went, in a few words: `120 of 3,400 lines`, `exit 1`, `+3 -1`."""
    blocks: tuple[Block, ...] = ()
