"""Defines the results of tools: content for the model, and a card with display blocks for people.

Plain values without behaviour; widgets import this module of `tools` and decide how a block looks."""

from typing import Any, Literal

import msgspec

Json = dict[str, Any] | list[Any] | str | int | float | None
"""A decoded JSON value, for stored details, arguments and files."""


class _Value(msgspec.Struct, frozen=True, kw_only=True):
    pass


class TextPart(_Value, frozen=True, kw_only=True):
    text: str


class ImagePart(_Value, frozen=True, kw_only=True):
    data: str
    """The image in base64."""
    mime_type: str


Part = TextPart | ImagePart


class ToolResult(_Value, frozen=True, kw_only=True):
    """The result of a tool call, or an intermediate result (progress)."""

    content: tuple[Part, ...] = ()
    details: dict[str, Any] | None = None
    """JSON data stored with the result; with arguments and content it is enough to draw the card again."""
    is_error: bool = False
    terminate: bool = False
    """Ends the run after this batch, if every result of the batch sets it."""
    structured_content: Any = None
    """A value for programs; not stored."""

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.content if isinstance(part, TextPart))


def text_result(text: str, *, details: dict[str, Any] | None = None, is_error: bool = False) -> ToolResult:
    return ToolResult(content=(TextPart(text=text),), details=details, is_error=is_error)


class TextBlock(_Value, frozen=True, kw_only=True):
    """A block of plain text on a card; `tail` shows the end instead of the beginning when the block is cut."""

    text: str
    tail: bool = False


class MarkdownBlock(_Value, frozen=True, kw_only=True):
    text: str


class FileBlock(_Value, frozen=True, kw_only=True):
    """A block of a file's lines on a card, with syntax highlighting."""

    path: str
    text: str
    first_line: int = 1
    note: str = ""
    """States what was left out and how to get it."""
    folds: int = 0
    """Number of lines shown until the block is opened on its own page; 0 shows all."""
    more: int = 0
    """Number of lines after these that were received and are left out here."""


class DiffBlock(_Value, frozen=True, kw_only=True):
    """A block on a card with the change of one file as a unified diff."""

    path: str
    diff: str
    added: int = 0
    removed: int = 0
    more: int = 0
    """Number of lines after these that are left out here."""


class ColouredSpan(msgspec.Struct, frozen=True, array_like=True):
    """A coloured part of a line of a command's output; lines count from the first."""

    line: int
    start: int
    end: int
    sgr: str
    """Parameters of the SGR sequence, such as `1;31`."""


class CommandBlock(_Value, frozen=True, kw_only=True):
    command: str
    output: str = ""
    exit_code: int | None = None
    note: str = ""
    """Timed out, aborted, or the path of the full output."""
    is_cut: bool = False
    """Whether the beginning of the output is missing."""
    colours: tuple[ColouredSpan, ...] = ()
    """Colours that the program gave its output."""


class ListBlock(_Value, frozen=True, kw_only=True):
    """A block on a card with a list of paths, matches or entries, one per line."""

    items: tuple[str, ...]
    note: str = ""
    marks: tuple[tuple[int, int, int], ...] = ()
    """Highlighted spans: item index from 0, start and end in the item."""


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
    """Line of the outline's text that names the symbol, from 0; -1 if none does."""


class MapBlock(_Value, frozen=True, kw_only=True):
    """A block on a card with the outline of a file. `text` is exactly what the model reads."""

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


ToolKind = Literal[
    "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"
]
"""What an editor shows a call as; the words of the Agent Client Protocol."""


class Card(_Value, frozen=True, kw_only=True):
    """The card on which people see a tool call: one line until it is opened, then its blocks."""

    title: str
    """The action, such as `read` or `bash`."""
    subject: str = ""
    """The object of the action: a path and range, a command's first line."""
    summary: str = ""
    """The outcome in a few words: `120 of 3,400 lines`, `exit 1`, `+3 -1`."""
    doubt: str = ""
    """Why a success may be none, which the card's mark shows too."""
    blocks: tuple[Block, ...] = ()
    kind: ToolKind = "other"
    """What the call does; the action is drawn in its colour."""
    last_lines: tuple[str, ...] = ()
    """The last lines of what was computed or said, shown while the card is closed; empty where a result is no news, as
    of a read."""


def make_failed_card(title: str, subject: str, result: ToolResult) -> Card:
    """Returns the card of a call that failed: its whole text."""
    return Card(title=title, subject=subject, summary="failed", blocks=(TextBlock(text=result.text),))
