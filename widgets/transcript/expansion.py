"""How far blocks are open: by themselves, by the answer for all of them, and by hand."""

from enum import IntEnum
from typing import Literal, NamedTuple, assert_never

from tools.results import CommandBlock, DiffBlock
from widgets.transcript.blocks import Block, CardBlock, CardState, ReplyBlock
from widgets.transcript.markdown.diagram import Diagrams

AutoOpenCards = Literal["never", "errors", "edits", "always"]


class Extent(IntEnum):
    """Each shows more than the one before."""

    CLOSED = 0
    PREVIEW = 1
    """The first lines, of a command's output the last ones."""
    ALL = 2
    """As much as one reads in place; the rest on a screen of its own."""
    WHOLE = 3
    """Where something was found in it."""


def extent_of(is_open: "Extent | bool") -> Extent:
    """Of who knows only open and closed."""
    if isinstance(is_open, Extent):
        return is_open
    return Extent.ALL if is_open else Extent.CLOSED


class Expansion(NamedTuple):
    """What is open: an answer for one block stands over the answer for all."""

    tools: Extent | bool | None = None
    """None: as `cards` says."""
    thinking: bool = False
    cards: AutoOpenCards = "never"
    """Which of them open by themselves."""
    diagrams: Diagrams = "final"
    is_whole: bool = False
    """The block has a screen of its own, where long results are not cut."""

    def of(self, block: Block, own: Extent | None) -> Extent:
        if own is not None:
            return own
        if isinstance(block, ReplyBlock):
            return extent_of(self.thinking)
        if self.tools is not None or not isinstance(block, CardBlock):
            return extent_of(self.tools or Extent.CLOSED)
        return self._by_itself(block)

    def _by_itself(self, block: CardBlock) -> Extent:
        match self.cards:
            case "never":
                return Extent.CLOSED
            case "always":
                return Extent.ALL
            case "errors" | "edits":
                is_edit = self.cards == "edits" and any(
                    isinstance(one, DiffBlock) for one in block.card.blocks
                )
                is_shown = block.state is CardState.FAILED or _has_output(block)
                return Extent.PREVIEW if is_edit or is_shown else Extent.CLOSED
            case _:
                assert_never(self.cards)


def _has_output(block: CardBlock) -> bool:
    """A command at work tells what it says, as it says it."""
    return block.state is CardState.RUNNING and any(
        isinstance(part, CommandBlock) and part.output for part in block.card.blocks
    )
