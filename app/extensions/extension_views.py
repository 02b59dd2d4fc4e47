"""Describes what an extension shows, without a screen: a title, a summary and a body of blocks.

The full screen makes a widget of a view, print mode text, RPC data. An extension may give its own widget
instead, which only the full screen can show.
"""

from typing import Any, assert_never

import msgspec

from tools.text_tables import align_columns
from tools.tool_result_values import (
    Block,
    Card,
    CommandBlock,
    DiffBlock,
    FileBlock,
    ImageBlock,
    ListBlock,
    MapBlock,
    MarkdownBlock,
    TableBlock,
    TextBlock,
    TreeBlock,
    TreeNode,
)


class View(msgspec.Struct, frozen=True, kw_only=True):
    """A renderer's result that every user interface can show."""

    title: str
    subject: str = ""
    """The subject, shown behind the title."""
    summary: str = ""
    """The state or result, in a few words."""
    body: tuple[Block, ...] = ()
    collapsed_lines: int = 0
    """How many lines of the body show before it is expanded."""
    level: str = "info"
    """`info`, `warning` or `error`."""

    def card(self) -> Card:
        return Card(title=self.title, subject=self.subject, summary=self.summary, blocks=self.body)


def as_view(value: Any, *, title: str = "") -> View | None:
    """Converts a renderer's result to a view: a View, a Card, blocks or a text; None for any other value."""
    if isinstance(value, View):
        return value
    if isinstance(value, Card):
        name = f"{value.title} {value.subject}".strip()
        return View(title=name, summary=value.summary, body=value.blocks)
    if isinstance(value, str):
        return View(title=title, body=(TextBlock(text=value),))
    if isinstance(value, Block):
        return View(title=title, body=(value,))
    if isinstance(value, tuple) and value and all(isinstance(item, Block) for item in value):
        return View(title=title, body=value)
    return None


def view_text(view: View, *, expanded: bool = True) -> str:
    """Formats a view as text, for print mode."""
    head = " · ".join(part for part in (view.title, view.summary) if part)
    lines = "\n".join(format_block_text(block) for block in view.body).split("\n") if view.body else []
    if not expanded:
        hidden = len(lines) - view.collapsed_lines
        lines = lines[: view.collapsed_lines]
        if hidden > 0 and view.collapsed_lines:
            lines.append(f"… {hidden} more lines")
    return "\n".join([*([head] if head else []), *lines])


def view_data(view: View) -> dict[str, Any]:
    """Formats a view as plain JSON data, for RPC, each block with its `kind`."""
    return {
        "title": view.title,
        "summary": view.summary,
        "level": view.level,
        "collapsedLines": view.collapsed_lines,
        "body": [block_to_json(block) for block in view.body],
    }


def block_to_json(block: Block) -> dict[str, Any]:
    kind = type(block).__name__.removesuffix("Block").lower()
    return {"kind": kind, **msgspec.to_builtins(block)}


def format_block_text(block: Block) -> str:
    match block:
        case TextBlock() | MarkdownBlock() | FileBlock() | MapBlock():
            return block.text
        case DiffBlock():
            return block.diff
        case CommandBlock():
            return f"$ {block.command}\n{block.output}".rstrip()
        case ListBlock():
            return "\n".join(block.items)
        case TreeBlock():
            return "\n".join(line for root in block.roots for line in _tree_lines(root, 0))
        case TableBlock():
            return _table_lines(block)
        case ImageBlock():
            return f"[image {block.mime_type}, {block.byte_count} bytes]"
        case _:
            assert_never(block)


def _tree_lines(node: TreeNode, depth: int) -> list[str]:
    return [
        "  " * depth + node.label,
        *(line for child in node.children for line in _tree_lines(child, depth + 1)),
    ]


def _table_lines(block: TableBlock) -> str:
    return "\n".join(align_columns([block.header, *block.rows]))
