"""Draws the end of a turn: of one that changed files as a bar with how it ended, the files, and what can be done with
them; of any other as a line."""

from collections.abc import Iterator
from typing import NamedTuple

from widgets.diffstat import split_diffstat
from widgets.transcript.leaves.layout_leaf import ACTION_LINK_URL_PREFIX, LayoutLeaf, StyledPiece
from widgets.transcript.leaves.safe_text import cells, clean, wrap_line_into_ranges
from widgets.transcript.transcript_blocks import CardState, TurnEndBlock

_TURN_BACKGROUND_BY_STATE = {
    CardState.ABORTED: "pill-aborted",
    CardState.FAILED: "pill-failed",
    CardState.SKIPPED: "user",
}
_NO_BREAK_SPACE = "\u00a0"
"""Keeps in one row what belongs together: a key and what it does, files and their counts."""


class _TurnPiece(NamedTuple):
    text: str
    key: str
    dropped: int = 0
    """When it is left out so that the end stays in one row: the lowest first, 0 never."""


class TurnEndLeaf(LayoutLeaf):
    """A unit of layout with the end of a turn in one row, from which facts that are shown elsewhere are left out if
    there is too little room. If the rest does not fit, it wraps between facts."""

    __slots__ = ("_shown", "_turn_pieces")

    def __init__(self, pieces: list[_TurnPiece], *, key: str, fill: str, mark: str, mark_key: str) -> None:
        text = "".join(piece.text for piece in pieces)
        super().__init__(
            text.replace(_NO_BREAK_SPACE, " "),
            key=key,
            first=mark,
            rest=" " * len(mark),
            prefix_key=mark_key,
            fill=fill,
        )
        self._turn_pieces = pieces
        self._shown: list[StyledPiece] = []
        """The pieces of its only row; empty if it has several."""
        at = 0
        for piece in pieces:
            self.runs.append((at, at + len(piece.text), piece.key))
            at += len(piece.text)

    def _lay_out(self, width: int) -> list[tuple[int, int]]:
        room = self._room(width)
        for dropped in range(max(piece.dropped for piece in self._turn_pieces) + 1):
            self._shown = list(self._pieces_without(dropped))
            if sum(cells(piece.text) for piece in self._shown) <= room:
                return [(0, len(self.plain))]
        self._shown = []
        return wrap_line_into_ranges("".join(piece.text for piece in self._turn_pieces), room)

    def _pieces_without(self, dropped: int) -> Iterator[StyledPiece]:
        at = 0
        for text, key, order in self._turn_pieces:
            if not 0 < order <= dropped:
                yield StyledPiece(text.replace(_NO_BREAK_SPACE, " "), key, at, at + len(text))
            at += len(text)

    def pieces(self, row: int) -> list[StyledPiece]:
        return [*self._before(row), *self._shown] if self._shown else super().pieces(row)


def draw_turn_end(block: TurnEndBlock, mark: str) -> list[LayoutLeaf]:
    """Draws the end of a turn; nothing if there is nothing to say."""
    if block.is_blank:
        return []
    ground = _turn_ground(block)
    key = ground or "dim"
    return [TurnEndLeaf(_turn_pieces(block), key=key, fill=ground, mark=mark, mark_key=_words_key(block))]


def turn_end_text(block: TurnEndBlock) -> str:
    return "".join(piece.text for piece in _turn_pieces(block)).replace(_NO_BREAK_SPACE, " ")


_DROPPED_NAMES, _DROPPED_ACTIONS = 1, 2


def _turn_pieces(block: TurnEndBlock) -> list[_TurnPiece]:
    """Returns the pieces of the end of a turn with their styles; its actions are links."""
    ground = _turn_ground(block)
    between = _TurnPiece("   ", ground) if ground else _TurnPiece(" · ", "dim")
    pieces = [_TurnPiece(block.words, _words_key(block, weight="+b" if ground else ""))]
    if block.doubt:
        pieces.append(_TurnPiece(f", but {clean(block.doubt)}", _on(ground, "note-warning")))
    if block.figures:
        pieces += [between, _TurnPiece(clean(block.figures), _on(ground, "dim"), _DROPPED_NAMES)]
    if block.files:
        pieces.append(between)
        counted = split_diffstat(clean(block.files))
        has_counts = any(piece.kind for piece in counted)
        pieces += [
            _TurnPiece(
                piece.text.replace(" ", _NO_BREAK_SPACE),
                _on(ground, piece.kind or "text"),
                _DROPPED_NAMES if has_counts and not piece.kind and piece.text.strip() else 0,
            )
            for piece in counted
        ]
    if block.waiting:
        pieces += [between, _TurnPiece(clean(block.waiting), _on(ground, "accent"))]
    if block.warning:
        pieces += [between, _TurnPiece(clean(block.warning), _on(ground, "note-warning"))]
    for order, action in enumerate(block.actions, _DROPPED_ACTIONS):
        address = f"@{ACTION_LINK_URL_PREFIX}{action.id}\0"
        words = f"{_NO_BREAK_SPACE}{action.words}".replace(" ", _NO_BREAK_SPACE)
        pieces.append(between._replace(dropped=order))
        pieces.append(_TurnPiece(action.key, address + _on(ground, "accent"), order))
        pieces.append(_TurnPiece(words, address + _on(ground, "text"), order))
    return pieces


def _on(ground: str, style: str) -> str:
    return f"{style}|{ground}" if ground else style


def _turn_ground(block: TurnEndBlock) -> str:
    """Returns the background colour for the end of a turn that changed files; a warning colour if its end is in doubt.
    Empty for one without changes."""
    if not (block.files or block.warning):
        return ""
    return "pill-aborted" if block.doubt else _TURN_BACKGROUND_BY_STATE.get(block.state, "turn")


def _words_key(block: TurnEndBlock, weight: str = "") -> str:
    style, ground = f"state-{block.state}", _turn_ground(block)
    if block.state is CardState.DONE:
        plain = style if ground else "dim"
        style = "note-warning" if block.doubt else "accent" if block.waiting else plain
    return _on(ground, style + weight)
