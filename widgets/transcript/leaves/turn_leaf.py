"""Draws the end of a turn: a coloured bar if there is something to look at, otherwise only words."""

from widgets.diffstat import split_diffstat
from widgets.transcript.blocks import CardState, TurnBlock
from widgets.transcript.leaves.leaf import ACTION_LINK_PREFIX, Leaf, StyleRun
from widgets.transcript.leaves.safe_text import clean, wrap

_GROUNDS = {
    CardState.ABORTED: "pill-aborted",
    CardState.FAILED: "pill-failed",
    CardState.SKIPPED: "user",
}
_UNBROKEN_BLANK = "\u00a0"
"""Keeps in one row what belongs together: a key and what it does, files and their counts."""


class TurnLeaf(Leaf):
    """A unit of layout with the end of a turn. Its text wraps only between facts, not within one such as a key and its
    action."""

    __slots__ = ("_unbroken_text",)

    def __init__(
        self, text: str, runs: list[StyleRun], *, key: str, fill: str, mark: str, mark_key: str
    ) -> None:
        super().__init__(
            text.replace(_UNBROKEN_BLANK, " "),
            runs,
            key=key,
            first=mark,
            rest=" " * len(mark),
            prefix_key=mark_key,
            fill=fill,
        )
        self._unbroken_text = text

    def _lay_out(self, width: int) -> list[tuple[int, int]]:
        return wrap(self._unbroken_text, self._room(width))


def draw_turn(block: TurnBlock, mark: str) -> Leaf:
    text, runs = "", list[StyleRun]()
    for piece, key in _turn_pieces(block):
        runs.append((len(text), len(text) + len(piece), key))
        text += piece
    ground = _turn_ground(block)
    return TurnLeaf(text, runs, key=ground or "dim", fill=ground, mark=mark, mark_key=_words_key(block))


def turn_text(block: TurnBlock) -> str:
    return "".join(text for text, _ in _turn_pieces(block)).replace(_UNBROKEN_BLANK, " ")


def _turn_pieces(block: TurnBlock) -> list[tuple[str, str]]:
    """Returns the pieces of the end of a turn with their styles; its actions are links."""
    ground = _turn_ground(block)
    pieces = [(block.words, _words_key(block, weight="+b"))]
    if block.doubt:
        pieces += [("   ", ground), (clean(block.doubt), f"note-warning|{ground}")]
    if block.files:
        pieces.append(("   ", ground))
        pieces += [
            (piece.text.replace(" ", _UNBROKEN_BLANK), f"{piece.kind or 'text'}|{ground}")
            for piece in split_diffstat(clean(block.files))
        ]
    if block.waiting:
        pieces += [("   ", ground), (clean(block.waiting), f"accent|{ground}")]
    if block.warning:
        pieces += [("   ", ground), (clean(block.warning), f"note-warning|{ground}")]
    for action in block.actions:
        address = f"@{ACTION_LINK_PREFIX}{action.id}\0"
        pieces += [("   ", ground), (action.key, f"{address}accent|{ground}"), (_UNBROKEN_BLANK, ground)]
        pieces.append((action.words.replace(" ", _UNBROKEN_BLANK), f"{address}text|{ground}"))
    return pieces


def _turn_ground(block: TurnBlock) -> str:
    """Returns the background of the end of a turn: a warning colour if it is in doubt, a bar if it has changes, actions
    or waiting work, empty if it has only words."""
    has_more = block.files or block.doubt or block.waiting or block.warning or block.actions
    if block.doubt:
        return "pill-aborted"
    return _GROUNDS.get(block.state, "turn") if has_more else ""


def _words_key(block: TurnBlock, weight: str = "") -> str:
    if ground := _turn_ground(block):
        style = f"state-{block.state}"
        if block.state is CardState.DONE:
            style = "note-warning" if block.doubt else "accent" if block.waiting else style
        return f"{style}{weight}|{ground}"
    return "dim" if block.state is CardState.DONE else f"state-{block.state}"
