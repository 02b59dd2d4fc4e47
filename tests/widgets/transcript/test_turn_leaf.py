"""The end of a turn as it is drawn."""

from widgets.transcript.blocks import CardState, TurnAction, TurnBlock
from widgets.transcript.leaves.leaf import Leaf
from widgets.transcript.leaves.turn_leaf import draw_turn, turn_text

CHANGED = TurnBlock(
    id="t",
    words="Done in 14 s",
    files="fleet.py, boats.md +67 −12",
    actions=(
        TurnAction(key="alt+g", words="review", id="app.review.show"),
        TurnAction(key="alt+z", words="undo", id="app.files.undo"),
    ),
)


def rows(leaf: Leaf, width: int) -> list[str]:
    return [leaf.plain[start:end].rstrip() for start, end in leaf.layout(width)]


def test_a_narrow_page_breaks_between_what_can_be_done_and_not_within() -> None:
    assert rows(draw_turn(CHANGED, "✓ "), 36) == [
        "Done in 14 s",
        "fleet.py, boats.md +67 −12",
        "alt+g review   alt+z undo",
    ]
    assert turn_text(CHANGED).endswith("fleet.py, boats.md +67 −12   alt+g review   alt+z undo")


def test_only_a_turn_with_changes_stands_on_a_bar() -> None:
    assert draw_turn(CHANGED, "✓ ").fill == "turn"
    for state, key in ((CardState.DONE, "dim"), (CardState.ABORTED, "state-aborted")):
        bare = draw_turn(TurnBlock(id="t", words="", state=state), "  ")
        assert (bare.fill, bare.prefix_key) == ("", key)
