"""Tells what must be known of a block without drawing it: its text, and its approximate height."""

from typing import NamedTuple, assert_never

from tools.tool_result_values import (
    Block as CardPart,
)
from tools.tool_result_values import (
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
)
from widgets.transcript.block_expansion import BlockExtent
from widgets.transcript.leaves import ansi_text
from widgets.transcript.leaves import card_leaves as cards
from widgets.transcript.leaves.image_leaf import MAX_IMAGE_ROWS
from widgets.transcript.leaves.turn_end_leaf import turn_end_text
from widgets.transcript.transcript_blocks import (
    AppNoteBlock,
    Block,
    CustomBlock,
    ReplyBlock,
    ReplyProse,
    ToolCallBlock,
    TurnEndBlock,
    UserPromptBlock,
)


class _FoldedPrompt(NamedTuple):
    """The shown parts of a long prompt without its middle. The end is kept, because the question about a pasted text
    often is there."""

    head: str
    left_out: str
    """Says how much is missing."""
    tail: str


_UNFOLDED_PROMPT_LIMIT = cards.DrawnTextLimit(40, 8_000)
"""A longer prompt is folded: longer than what people write, so that it is mostly a paste."""
_PROMPT_HEAD_LIMIT = cards.DrawnTextLimit(8, 1_600)
_PROMPT_TAIL_LIMIT = cards.DrawnTextLimit(2, 400)


def fold_long_prompt(text: str, extent: BlockExtent) -> _FoldedPrompt | None:
    """Returns the shown parts of a long prompt, whose middle is left out; None if all of it is shown."""
    text = text.rstrip("\n")
    most = head = cards.OPEN_CARD_LIMIT
    if extent <= BlockExtent.PREVIEW:
        most, head = _UNFOLDED_PROMPT_LIMIT, _PROMPT_HEAD_LIMIT
    if extent is BlockExtent.WHOLE or (len(text) <= most.characters and text.count("\n") < most.lines):
        return None
    shown = "\n".join(text[: head.characters].split("\n")[: head.lines])
    rest = text[len(shown) :].removeprefix("\n")
    end = "\n".join(rest[-_PROMPT_TAIL_LIMIT.characters :].split("\n")[-_PROMPT_TAIL_LIMIT.lines :])
    middle = rest[: len(rest) - len(end)]
    if not middle:
        return None
    count, unit = middle.count("\n"), "line"
    if not count:
        count, unit = len(middle), "character"
    return _FoldedPrompt(shown, f"… {count:,} more {unit}{'' if count == 1 else 's'}", end)


def raw_text(block: Block) -> str:
    """Returns a block's source text, as it is copied: Markdown, output, or a diff with its signs."""
    match block:
        case UserPromptBlock():
            return block.text
        case AppNoteBlock():
            return _note_text(block)
        case TurnEndBlock():
            return turn_end_text(block)
        case ReplyBlock():
            return "\n\n".join(part.text for part in block.parts if isinstance(part, ReplyProse))
        case ToolCallBlock() | CustomBlock():
            note = block.note if isinstance(block, ToolCallBlock) else ""
            return "\n".join(filter(None, (note, *map(_raw_part_text, block.card.blocks))))
        case _:
            assert_never(block)


def search_text(block: Block) -> str:
    """Returns all text of a block that a search covers, drawn or not, including thinking and the headers of cards."""
    if isinstance(block, ReplyBlock):
        return "\n".join(part.text for part in block.parts)
    text = raw_text(block)
    if isinstance(block, ToolCallBlock | CustomBlock):
        card = block.card
        head = f"{card.title} {card.subject} {card.summary}"
        return f"{head}\n{text}" if text else head
    return text


def _note_text(block: AppNoteBlock) -> str:
    rows = ("  ".join(filter(None, (row.label, row.text, row.detail))) for row in block.rows)
    return "\n".join(filter(None, (block.title, block.text, *rows)))


def _raw_part_text(part: CardPart) -> str:
    match part:
        case TextBlock():
            return ansi_text.strip_ansi(part.text)
        case MarkdownBlock() | FileBlock() | MapBlock():
            return part.text
        case DiffBlock():
            return part.diff
        case CommandBlock():
            return f"$ {part.command}\n{ansi_text.strip_ansi(part.output)}"
        case ListBlock():
            return "\n".join(part.items)
        case TreeBlock():
            return "\n".join(line for root in part.roots for line in cards.format_tree_lines(root))
        case TableBlock():
            return "\n".join("\t".join(row) for row in (part.header, *part.rows))
        case ImageBlock():
            return ""
        case _:
            assert_never(part)


class BlockTextSize(NamedTuple):
    """The number of lines and characters of a block, from which its height at any width is estimated."""

    lines: int
    characters: int
    """The number of characters in lines that may wrap; 0 if all lines are short."""


def estimate_block_size(block: Block, extent: BlockExtent) -> BlockTextSize:
    """Estimates how many lines and characters a block draws at an extent, without drawing it."""
    match block:
        case UserPromptBlock():
            fold = fold_long_prompt(block.text, extent)
            texts = [block.text] if fold is None else [*fold]
            return _sum_sizes(sum(map(_image_row_count, block.images)), texts)
        case TurnEndBlock():
            return _sum_sizes(1, [])
        case AppNoteBlock():
            return _sum_sizes(len(block.art) + 2 * block.is_centred, [_note_text(block)])
        case ReplyBlock():
            texts = [part.text for part in block.parts if extent or isinstance(part, ReplyProse)]
            return _sum_sizes(2 * len(block.parts) - 1 - len(texts), texts)
        case CustomBlock(preview_lines=peek) if peek and not extent:
            return _sum_sizes(2, raw_text(block).split("\n", peek)[:peek])
        case ToolCallBlock(card=card) if extent is BlockExtent.RESULT:
            return _sum_sizes(1 + len(card.last_lines), [])
        case ToolCallBlock() | CustomBlock():
            parts = block.card.blocks if extent else ()
            images = sum(_image_row_count(part) for part in parts if isinstance(part, ImageBlock))
            most = None if extent > BlockExtent.PREVIEW else cards.CARD_PREVIEW_LIMIT.lines
            return _sum_sizes(
                1 + images,
                ["\n".join(_estimated_part_text(part).split("\n", most or -1)[:most]) for part in parts],
            )
        case _:
            assert_never(block)


def _image_row_count(image: ImageBlock) -> int:
    return 1 + (MAX_IMAGE_ROWS if image.data else 0)


def _estimated_part_text(part: CardPart) -> str:
    if isinstance(part, CommandBlock):
        return part.output
    return part.text if isinstance(part, TextBlock) else _raw_part_text(part)


def _sum_sizes(lines: int, texts: list[str]) -> BlockTextSize:
    characters = 0
    for text in texts:
        count = text.count("\n") + 1
        lines += count
        if count <= 4 or len(text) > 50 * count:
            characters += len(text)
    return BlockTextSize(max(1, lines), characters)
