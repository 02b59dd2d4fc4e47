"""Editing commands that keys of the prompt editor run: moving, deleting, killing, chips. Each is a function over the
editor's text model."""

from collections.abc import Callable

from widgets.editor.editor_model import EditorModel, TextPosition, selection_range
from widgets.editor.graphemes import grapheme_boundary_after, grapheme_boundary_before
from widgets.editor.prompt_chips import PasteChip, PromptChip
from widgets.editor.word_boundaries import word_end_after_index, word_start_before_index

# -- moving ------------------------------------------------------------------------------------------------


def move_left(model: EditorModel) -> None:
    model.move_to(_position_left(model))


def move_right(model: EditorModel) -> None:
    model.move_to(_position_right(model))


def move_word_left(model: EditorModel) -> None:
    model.move_to(_previous_word_start(model))


def move_word_right(model: EditorModel) -> None:
    model.move_to(_next_word_end(model))


def move_line_start(model: EditorModel) -> None:
    model.move_to((model.cursor[0], 0))


def move_line_end(model: EditorModel) -> None:
    model.move_to((model.cursor[0], len(model.current_line)))


def jump_to_character(model: EditorModel, char: str, *, is_forward: bool) -> bool:
    """Moves the cursor to the next or previous occurrence of a character, in this or another line; returns False if
    there is none."""
    row, column = model.cursor
    rows = range(row, len(model.lines)) if is_forward else range(row, -1, -1)
    for at in rows:
        line = model.lines[at]
        if is_forward:
            found = line.find(char, column + 1 if at == row else 0)
        else:
            found = line.rfind(char, 0, column) if at == row else line.rfind(char)
        if found >= 0:
            model.move_to((at, found))
            return True
    return False


def make_selecting_motion(move: Callable[[EditorModel], object]) -> Callable[[EditorModel], object]:
    """Returns a command that runs a cursor motion and selects the text it passes."""

    def make_selecting_motion(model: EditorModel) -> None:
        if model.selection_start is None:
            model.selection_start, model.selection_kind = model.cursor, "char"
        move(model)

    return make_selecting_motion


def transpose_characters(model: EditorModel) -> None:
    """Swaps the characters before and after the cursor; at the end of a line, its last two characters."""
    row, column = model.cursor
    line = model.current_line
    middle = column if column < len(line) else grapheme_boundary_before(line, column)
    start, end = grapheme_boundary_before(line, middle), grapheme_boundary_after(line, middle)
    if start < middle < end:
        model.replace((row, start), (row, end), line[middle:end] + line[start:middle])


def transpose_words(model: EditorModel) -> None:
    """Swaps the word before the cursor with the one at or after it."""
    row, line = model.cursor[0], model.current_line
    end = word_end_after_index(line, model.cursor[1])
    start = word_start_before_index(line, end)
    before = word_start_before_index(line, start)
    stop = word_end_after_index(line, before)
    if before < stop <= start < end:
        model.replace((row, before), (row, end), line[start:end] + line[stop:start] + line[before:stop])


# -- deleting ----------------------------------------------------------------------------------------------


def delete_backward(model: EditorModel) -> None:
    model.delete_text_range(*(selection_range(model) or (_position_left(model), model.cursor)))


def delete_forward(model: EditorModel) -> None:
    model.delete_text_range(*(selection_range(model) or (model.cursor, _position_right(model))))


def kill_word_backward(model: EditorModel) -> None:
    """Moves the selection, or without one the word before the cursor, into the kill ring."""
    if (on := selection_range(model)) is not None:
        model.kill(*on, is_forward=True)
        return
    model.kill(_previous_word_start(model), model.cursor, is_forward=False)


def kill_word_forward(model: EditorModel) -> None:
    model.kill(model.cursor, _next_word_end(model), is_forward=True)


def kill_to_line_start(model: EditorModel) -> None:
    """Moves the text from the start of the line to the cursor into the kill ring; at the start of a line, the line
    break before it."""
    row, column = model.cursor
    model.kill((row, 0) if column else _position_left(model), model.cursor, is_forward=False)


def kill_to_line_end(model: EditorModel) -> None:
    row, column = model.cursor
    end = (row, len(model.current_line)) if column < len(model.current_line) else _position_right(model)
    model.kill(model.cursor, end, is_forward=True)


# -- chips -------------------------------------------------------------------------------------------------


def insert_chip(model: EditorModel, chip: PromptChip) -> None:
    model.insert(model.chips.add_chip(chip))


def expand_chip(model: EditorModel) -> bool:
    """Replaces the chip of a long paste at or before the cursor by its text; returns False if there is none."""
    row, column = model.cursor
    for at in (column, column - 1):
        char = model.current_line[at : at + 1]
        chip = model.chips.chip_by_character.get(char) if char else None
        if isinstance(chip, PasteChip):
            model.replace((row, at), (row, at + 1), chip.text)
            return True
    return False


# -- places ------------------------------------------------------------------------------------------------


def _position_left(model: EditorModel) -> TextPosition:
    row, column = model.cursor
    if column:
        return row, grapheme_boundary_before(model.lines[row], column)
    return (row - 1, len(model.lines[row - 1])) if row else (0, 0)


def _position_right(model: EditorModel) -> TextPosition:
    row, column = model.cursor
    if column < len(model.lines[row]):
        return row, grapheme_boundary_after(model.lines[row], column)
    return (row + 1, 0) if row + 1 < len(model.lines) else (row, column)


def _previous_word_start(model: EditorModel) -> TextPosition:
    row, column = model.cursor
    return (row, word_start_before_index(model.current_line, column)) if column else _position_left(model)


def _next_word_end(model: EditorModel) -> TextPosition:
    row, column = model.cursor
    return (
        (row, word_end_after_index(model.current_line, column))
        if column < len(model.current_line)
        else _position_right(model)
    )
