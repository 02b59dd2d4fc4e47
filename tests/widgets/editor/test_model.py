"""The text being written, by examples; `test_machine` presses everything at random."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.editor import commands
from widgets.editor.editor_model import EditorModel
from widgets.editor.prompt_chips import PasteChip, UnsentPrompt

TEXTS = st.text(alphabet=string.ascii_letters + "  \n_-é漢👩‍🚀👍🏽🇩🇪\u0301", max_size=12)


def typed(model: EditorModel, text: str) -> None:
    for char in text:
        model.type_text(char)


def offset(model: EditorModel) -> int:
    row, column = model.cursor
    return sum(len(line) + 1 for line in model.lines[:row]) + column


def test_undo_takes_back_word_by_word() -> None:
    model = EditorModel()
    typed(model, "fix the parser")
    model.undo()
    assert model.text == "fix the"
    model.undo()
    assert model.text == "fix"
    model.redo()
    assert model.text == "fix the"


def test_typing_after_undo_forgets_what_could_be_redone() -> None:
    model = EditorModel()
    typed(model, "one two")
    model.undo()
    typed(model, "!")
    model.redo()
    assert model.text == "one!"


def test_a_run_of_backspaces_is_one_unit() -> None:
    model = EditorModel()
    typed(model, "abcdef")
    for _ in range(3):
        commands.delete_backward(model)
    model.undo()
    assert model.text == "abcdef"


def test_kills_in_a_row_are_yanked_together_in_order() -> None:
    model = EditorModel("one two three")
    commands.kill_word_backward(model)
    commands.kill_word_backward(model)
    assert model.text == "one "
    model.yank()
    assert model.text == "one two three"


def test_yank_pop_goes_round_the_ring() -> None:
    model = EditorModel("a b")
    commands.kill_word_backward(model)
    commands.move_line_start(model)
    commands.kill_word_forward(model)
    model.yank()
    assert model.text == "a "
    model.yank_pop()
    assert model.text == "b "
    model.yank_pop()
    assert model.text == "a "


def test_a_cleared_text_is_one_undo_away() -> None:
    model = EditorModel()
    typed(model, "two hours of work")
    model.set_text("")
    assert model.text == ""
    model.undo()
    assert model.text == "two hours of work"


def test_a_chip_is_one_character_and_opens_in_place() -> None:
    model = EditorModel("see ")
    commands.insert_chip(model, PasteChip(text="line\n" * 20))
    typed(model, " there")
    assert model.chips.expand_chips(model.text) == "see " + "line\n" * 20 + " there"
    model.move_to((0, 5))
    commands.expand_chip(model)
    assert model.text.count("line") == 20
    model.undo()
    commands.delete_backward(model)
    assert model.text == "see  there"


def test_deleting_a_chip_renumbers_those_behind_it() -> None:
    model = EditorModel()
    commands.insert_chip(model, PasteChip(text="a\n" * 20))
    commands.insert_chip(model, PasteChip(text="b\n" * 30))
    model.move_to((0, 1))
    commands.delete_backward(model)
    assert list(model.chips.chip_labels_in(model.text).values()) == ["[paste #1 +31 lines]"]


def test_jumping_goes_over_lines_both_ways() -> None:
    model = EditorModel("alpha\nbeta\ngamma")
    model.move_to((0, 0))
    assert commands.jump_to_character(model, "g", is_forward=True)
    assert model.cursor == (2, 0)
    assert commands.jump_to_character(model, "b", is_forward=False)
    assert model.cursor == (1, 0)
    assert not commands.jump_to_character(model, "z", is_forward=True)


def test_a_draft_comes_back_with_its_chips() -> None:
    model = EditorModel("x ")
    commands.insert_chip(model, PasteChip(text="long\n" * 12))
    draft = model.draft()
    other = EditorModel()
    other.reset(draft)
    assert other.chips.expand_chips(other.text) == "x " + "long\n" * 12


@pytest.mark.parametrize("word", ["cafe\u0301s", "नमस्ते", "สวัสดี", "snake_case", "Ünïcode9"])
def test_a_word_is_one_word_in_every_script(word: str) -> None:
    model = EditorModel(f"see {word} now")
    model.move_to((0, 4))
    commands.move_word_right(model)
    assert model.line_before_cursor == f"see {word}"
    commands.kill_word_backward(model)
    assert model.text == "see  now"


def test_yanking_the_only_kill_again_leaves_nothing_for_undo() -> None:
    model = EditorModel("a b")
    commands.kill_word_backward(model)
    model.yank()
    model.yank_pop()
    model.undo()
    assert model.text == "a "


def test_an_older_kill_takes_no_accent_behind_it_along() -> None:
    """The accent joins what was yanked to one character, but it was not yanked."""
    model = EditorModel("older newer")
    commands.kill_word_backward(model)
    model.end_undo_unit()
    commands.delete_backward(model)
    commands.kill_word_backward(model)
    model.set_text("\u0301")
    model.move_to((0, 0))
    model.yank()
    model.yank_pop()
    assert model.text == "newer\u0301"


@given(TEXTS)
def test_word_moves_never_leave_the_text_and_always_progress(text: str) -> None:
    model = EditorModel(text)
    model.move_to((0, 0))
    places = [offset(model)]
    while model.cursor != model.end_position:
        commands.move_word_right(model)
        assert offset(model) > places[-1]
        places.append(offset(model))
    while model.cursor != (0, 0):
        before = offset(model)
        commands.move_word_left(model)
        assert offset(model) < before


def test_a_reset_has_no_past() -> None:
    model = EditorModel()
    typed(model, "sent")
    model.reset(UnsentPrompt(text="next"))
    assert not bool(model._undo_units)
    assert model.text == "next"


def test_a_draft_of_another_day_does_not_change_the_chips_that_are_there() -> None:
    other = EditorModel()
    commands.insert_chip(other, PasteChip(text="old\n" * 20))
    model = EditorModel()
    commands.insert_chip(model, PasteChip(text="new\n" * 20))
    model.restore(other.draft())
    assert model.chips.expand_chips(model.text) == "old\n" * 20
    model.undo()
    assert model.chips.expand_chips(model.text) == "new\n" * 20


def test_a_killed_chip_is_yanked_into_the_next_prompt() -> None:
    model = EditorModel()
    commands.insert_chip(model, PasteChip(text="log\n" * 20))
    commands.kill_to_line_start(model)
    model.reset()
    model.yank()
    assert model.chips.expand_chips(model.text) == "log\n" * 20


def test_a_draft_without_its_chips_leaves_nothing_behind() -> None:
    model = EditorModel()
    model.reset(UnsentPrompt(text="a\U00100000b"))
    assert model.text == "ab"
