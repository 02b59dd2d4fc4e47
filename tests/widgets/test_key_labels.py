"""How short things are told where there is little room, and in which colours."""

import pytest
from rich.style import Style

from tools.number_formatting import MINUS_SIGN
from widgets.diffstat import DiffstatPiece, split_diffstat
from widgets.key_labels import fitting_key_hints
from widgets.readable_styles import selected_row_style
from widgets.status.status_segments import StatusSegment, fitting_status_segments

KEYS = "enter edit · del remove · tab steer · esc back"


@pytest.mark.parametrize(
    ("width", "told"),
    [
        (60, KEYS),
        (36, "enter edit · del remove · esc back"),
        (22, "enter edit · esc back"),
        (5, "esc back"),
    ],
)
def test_hints_that_do_not_fit_go_as_a_whole_and_the_way_back_stays(width: int, told: str) -> None:
    assert fitting_key_hints(KEYS, width) == told


def test_without_a_way_back_the_first_stays() -> None:
    assert fitting_key_hints("alt+a once · alt+x not · f8 keys here", 24) == "alt+a once · alt+x not"


def test_lines_that_came_and_went_are_told_apart_from_other_words() -> None:
    pieces = split_diffstat(f"2 files +3,000 {MINUS_SIGN}1 · at +x, a-1 and {MINUS_SIGN}12")
    assert [piece for piece in pieces if piece.kind] == [
        DiffstatPiece("+3,000", "added"),
        DiffstatPiece(f"{MINUS_SIGN}1", "removed"),
        DiffstatPiece(f"{MINUS_SIGN}12", "removed"),
    ]
    assert (
        "".join(piece.text for piece in pieces)
        == f"2 files +3,000 {MINUS_SIGN}1 · at +x, a-1 and {MINUS_SIGN}12"
    )


def test_where_one_is_can_be_seen_without_a_ground() -> None:
    """On a terminal's own palette, and without colours."""
    row = Style(color="cyan", bold=True)
    assert selected_row_style(row, Style(bgcolor="default")) == Style(bold=True, reverse=True)
    assert selected_row_style(row, Style(bgcolor="#2d423e")).bgcolor == Style(bgcolor="#2d423e").bgcolor


def test_what_is_elastic_takes_the_room_that_is_left() -> None:
    title = StatusSegment(id="title", text="a long name of a session", short="a long", is_elastic=True)
    other = StatusSegment(id="cost", text="$0.12", is_right=True)
    assert [one.text for one in fitting_status_segments([title, other], 25)] == [
        "a long name of a …",
        "$0.12",
    ]
    assert [one.text for one in fitting_status_segments([title, other], 40)] == [title.text, other.text]
