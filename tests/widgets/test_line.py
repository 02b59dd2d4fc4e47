"""Rows of the line API: bars whose parts are as long as what they show."""

from widgets.row_builder import divide_bar_cells


def test_the_parts_of_a_bar_are_together_as_long_as_their_sum() -> None:
    kinds = [0.0003, 0.019, 0.0005, 0.004, 0.0005, 0.006]  # 3 % of the window
    assert sum(divide_bar_cells(kinds, 76)) == round(76 * sum(kinds)) == 2
    assert divide_bar_cells([0.5, 0.25, 0.25], 76) == [38, 19, 19]
    assert sum(divide_bar_cells([0.7, 0.7], 10)) == 10


def test_the_largest_of_few_tokens_has_the_only_cell_of_a_bar() -> None:
    assert divide_bar_cells([0.0001, 0.0, 0.001], 40) == [0, 0, 1]
    assert divide_bar_cells([0.0, 0.0], 40) == [0, 0]
