"""The end of a turn as it is drawn."""

import pytest

from widgets.transcript.leaves.layout_leaf import LayoutLeaf
from widgets.transcript.leaves.turn_end_leaf import draw_turn_end, turn_end_text
from widgets.transcript.transcript_blocks import CardState, TurnAction, TurnEndBlock

CHANGED = TurnEndBlock(
    id="t",
    words="Done in 14 s",
    files="fleet.py, boats.md +67 −12",
    actions=(
        TurnAction(key="alt+g", words="review", id="app.review.show"),
        TurnAction(key="alt+z", words="undo", id="app.files.undo"),
    ),
)


def rows(leaf: LayoutLeaf, width: int) -> list[str]:
    return ["".join(piece.text for piece in leaf.pieces(row)) for row in range(len(leaf.layout(width)))]


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (80, "✓ Done in 14 s   fleet.py, boats.md +67 −12   alt+g review   alt+z undo"),
        (60, "✓ Done in 14 s   +67 −12   alt+g review   alt+z undo"),
        (40, "✓ Done in 14 s   +67 −12   alt+z undo"),
        (30, "✓ Done in 14 s   +67 −12"),
    ],
)
def test_the_end_of_a_turn_stays_in_one_row_and_its_counts_stay_longest(width: int, shown: str) -> None:
    assert rows(draw_turn_end(CHANGED, "✓ ")[0], width) == [shown]
    assert turn_end_text(CHANGED).endswith("fleet.py, boats.md +67 −12   alt+g review   alt+z undo")


def test_what_must_be_read_breaks_into_rows() -> None:
    end = TurnEndBlock(id="t", words="Done in 14 s", warning="cannot be undone: big.bin and 1 more")
    assert rows(draw_turn_end(end, "✓ ")[0], 34) == [
        "✓ Done in 14 s   cannot be undone:",
        "  big.bin and 1 more",
    ]


def test_only_the_end_of_a_turn_that_changed_files_stands_on_a_bar() -> None:
    for state, ground in ((CardState.DONE, "turn"), (CardState.ABORTED, "pill-aborted")):
        for files in ("a.py +1", ""):
            drawn = draw_turn_end(TurnEndBlock(id="t", words="Ended", state=state, files=files), "  ")
            assert drawn[0].fill == (ground if files else "")
    assert draw_turn_end(TurnEndBlock(id="t", words="", state=CardState.DONE), "  ") == []
