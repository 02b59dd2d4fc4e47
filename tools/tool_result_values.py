"""Defines the results of tools: content for the model, and a card with display blocks for people.

Plain values without behaviour; widgets import this module of `tools` and decide how a block looks."""

from typing import Any, Literal

import msgspec

Json = dict[str, Any] | list[Any] | str | int | float | None
"""A decoded JSON value: stored details, arguments of tool calls, content of JSON files."""


class _Value(msgspec.Struct, frozen=True, kw_only=True):
    pass


class TextPart(_Value, frozen=True, kw_only=True):
    text: str


class ImagePart(_Value, frozen=True, kw_only=True):
    data: str
    """The image's data in base64."""
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
    """The result as a value for programs that call the tool from code; it is not stored."""

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
    """States which lines of the file were left out of the block and how to get them."""
    folds: int = 0
    """The number of the file's lines that the block shows on a card; a separate page shows all. 0 shows all on the
    card."""
    more: int = 0
    """The number of further lines of the file that the block leaves out."""


class DiffBlock(_Value, frozen=True, kw_only=True):
    """A block on a card with the change of one file as a unified diff."""

    path: str
    diff: str
    added: int = 0
    removed: int = 0
    more: int = 0
    """The number of following diff lines that the block leaves out."""


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
    """A note on a command's output: that the command timed out or was aborted, or the path of the full output."""
    is_cut: bool = False
    """Whether the beginning of the command's output was cut off."""
    colours: tuple[ColouredSpan, ...] = ()
    """The coloured spans of the output, from the colours that the program gave it."""


class ListBlock(_Value, frozen=True, kw_only=True):
    """A block on a card with a list of paths, matches or entries, one per line."""

    items: tuple[str, ...]
    note: str = ""
    marks: tuple[tuple[int, int, int], ...] = ()
    """Highlighted spans in the items of the list: the item's index from 0, and the start and end in its text."""


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
    """The line of the outline's text that names the symbol, counted from 0; -1 if no line does."""


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
"""The kinds as which an editor can show a tool call, in the words of the Agent Client Protocol."""


class Card(_Value, frozen=True, kw_only=True):
    """The card on which people see a tool call: one line until it is opened, then its blocks."""

    title: str
    """The name of the action on the card, such as `read` or `bash`."""
    subject: str = ""
    """The object of the action on the card: a path and range, or a command's first line."""
    summary: str = ""
    """The outcome of the tool call in a few words: `120 of 3,400 lines`, `exit 1`, `+3 -1`."""
    doubt: str = ""
    """The reason why a tool call that succeeded may still have failed, in words for the user; the card's mark then
    shows doubt too."""
    blocks: tuple[Block, ...] = ()
    kind: ToolKind = "other"
    """The kind of the tool call (read, change, run …), which decides the colour of its action."""
    last_lines: tuple[str, ...] = ()
    """The last lines of output, shown while the card is closed; empty for tools whose result need not be seen, such
    as `read`."""


def make_failed_call_card(title: str, subject: str, result: ToolResult) -> Card:
    """Returns the card of a failed tool call, which shows the whole text of its error."""
    return Card(title=title, subject=subject, summary="failed", blocks=(TextBlock(text=result.text),))
