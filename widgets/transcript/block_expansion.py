"""How much of each transcript block is shown: by default, by the setting for all blocks, and as the user opened it."""

from enum import IntEnum
from typing import Literal, NamedTuple, assert_never

from tools.tool_result_values import CommandBlock, DiffBlock
from widgets.transcript.markdown.diagram import DiagramSetting
from widgets.transcript.transcript_blocks import Block, CardState, ReplyBlock, ToolCallBlock

AutoOpenCardsSetting = Literal["never", "errors", "edits", "results", "always"]


class BlockExtent(IntEnum):
    """How much of a transcript block is shown; each value shows more than the previous."""

    CLOSED = 0
    RESULT = 1
    """The last lines of a result."""
    PREVIEW = 2
    """The first lines, or the last ones of a command's output."""
    ALL = 3
    """Shows as much as is readable in place; the rest is on a separate screen."""
    WHOLE = 4
    """Everything, where a search found something in it."""


def open_state_to_extent(is_open: "BlockExtent | bool") -> BlockExtent:
    """Converts an open or closed state to an extent: open shows all that is readable in place."""
    if isinstance(is_open, BlockExtent):
        return is_open
    return BlockExtent.ALL if is_open else BlockExtent.CLOSED


class BlockExpansion(NamedTuple):
    """How much all transcript blocks show by default; a block that the user opened or closed has its own extent."""

    tools: BlockExtent | bool | None = None
    """The extent of all tool cards; None: as `cards` says."""
    thinking: bool = False
    cards: AutoOpenCardsSetting = "never"
    """Which cards open automatically."""
    diagrams: DiagramSetting = "final"
    is_whole: bool = False
    """The block has a separate screen, where long results are not cut."""

    def block_extent(self, block: Block, own: BlockExtent | None) -> BlockExtent:
        if own is not None:
            return own
        if isinstance(block, ReplyBlock):
            return open_state_to_extent(self.thinking)
        if self.tools is not None or not isinstance(block, ToolCallBlock):
            return open_state_to_extent(self.tools or BlockExtent.CLOSED)
        return self._default_card_extent(block)

    def _default_card_extent(self, block: ToolCallBlock) -> BlockExtent:
        match self.cards:
            case "never":
                return BlockExtent.CLOSED
            case "always":
                return BlockExtent.ALL
            case "errors" | "edits" | "results":
                if block.state is CardState.ASKED or block.word:
                    return BlockExtent.CLOSED  # the question above the editor shows the change, or showed it
                is_edit = self.cards != "errors" and any(
                    isinstance(one, DiffBlock) for one in block.card.blocks
                )
                is_shown = block.state is CardState.FAILED or _has_output(block)
                if is_edit or is_shown:
                    return BlockExtent.PREVIEW
                is_result = self.cards == "results" and block.state is CardState.DONE
                return BlockExtent.RESULT if is_result and block.card.last_lines else BlockExtent.CLOSED
            case _:
                assert_never(self.cards)


def _has_output(block: ToolCallBlock) -> bool:
    """Returns whether a block is a command that runs and has output, which is then shown."""
    return block.state is CardState.RUNNING and any(
        isinstance(part, CommandBlock) and part.output for part in block.card.blocks
    )
