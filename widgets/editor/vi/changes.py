"""vi's operators and its commands that change text: functions over the editor's text model."""

import re

from widgets.editor.editor_model import EditorModel, TextPosition, position_after_text, text_between_positions
from widgets.editor.graphemes import grapheme_boundary_after
from widgets.editor.vi.motion_targets import first_nonblank_column, last_cursor_column
from widgets.editor.vi.text_objects import TextRange
from widgets.editor.vi_register import ViRegister

VI_SHIFT_INDENT = "    "
_MAX_VI_PUT_CHARS = 1_000_000
"""The maximum number of characters that a put with a count may insert."""


def run_vi_operator(model: EditorModel, verb: str, on: TextRange) -> None:
    """Runs a vi operator (yank, delete, change, indent, change of case) on a range of the text; the cursor moves where
    vi leaves it."""
    match verb:
        case "y":
            _copy_to_register(model, on)
        case "d":
            _copy_to_register(model, on)
            _delete_range(model, on)
        case "c":
            _copy_to_register(model, on)
            model.replace(on.start, on.end, "")
            model.move_to(on.start)
        case ">" | "<":
            _shift_lines(model, on.start[0], on.end[0], is_out=verb == "<")
        case _:
            _change_case(model, on, verb)


def _copy_to_register(model: EditorModel, on: TextRange) -> None:
    text = text_between_positions(model.lines, on.start, on.end)
    if not text and not on.is_linewise:
        return
    model.vi_register = ViRegister(text, on.is_linewise)
    model.kill_ring.add_kill(text, is_forward=True, joins=False)


def _delete_range(model: EditorModel, on: TextRange) -> None:
    if not on.is_linewise:
        model.replace(on.start, on.end, "")
        model.move_to(on.start)
        return
    first, last = on.start[0], on.end[0]
    if last + 1 < len(model.lines):
        model.replace((first, 0), (last + 1, 0), "")
    elif first:
        model.replace((first - 1, len(model.lines[first - 1])), on.end, "")
    else:
        model.replace((0, 0), on.end, "")
    row = min(first, len(model.lines) - 1)
    model.move_to((row, first_nonblank_column(model.lines[row])))


def _shift_lines(model: EditorModel, first: int, last: int, *, is_out: bool) -> None:
    lines = model.lines[first : last + 1]
    changed = [_dedent_line(line) if is_out else (VI_SHIFT_INDENT + line if line else line) for line in lines]
    model.replace((first, 0), (last, len(model.lines[last])), "\n".join(changed))
    model.move_to((first, first_nonblank_column(model.lines[first])))


def _dedent_line(line: str) -> str:
    return line[1:] if line.startswith("\t") else re.sub("^ {1,4}", "", line)


def _change_case(model: EditorModel, on: TextRange, verb: str) -> None:
    column = model.cursor[1]
    text = text_between_positions(model.lines, on.start, on.end)
    changed = {"gu": str.lower, "gU": str.upper, "g~": str.swapcase}[verb](text)
    model.replace(on.start, on.end, changed)
    row = on.start[0]
    model.move_to((row, min(column, first_nonblank_column(model.lines[row]))) if on.is_linewise else on.start)


# -- putting -----------------------------------------------------------------------------------------------


def put_vi_register_text(model: EditorModel, kept: ViRegister, count: int, *, is_after: bool) -> None:
    if not kept.text and not kept.is_linewise:
        return
    count = max(1, min(count, _MAX_VI_PUT_CHARS // (len(kept.text) + 1)))
    row, column = model.cursor
    if kept.is_linewise:
        block = "\n".join([kept.text] * count)
        if is_after:
            model.replace((row, len(model.lines[row])), (row, len(model.lines[row])), f"\n{block}")
            row += 1
        else:
            model.replace((row, 0), (row, 0), f"{block}\n")
        model.move_to((row, first_nonblank_column(model.lines[row])))
        return
    text = kept.text * count
    start = (row, grapheme_boundary_after(model.lines[row], column) if is_after else column)
    model.replace(start, start, text)
    if "\n" in text:
        model.move_to(start)
    else:
        end = position_after_text(start, text)
        model.move_to((row, last_cursor_column(model.lines[row][: end[1]])))


def put_vi_register_over_selection(model: EditorModel, kept: ViRegister, on: TextRange, count: int) -> None:
    """Replaces the selected text by the content of vi's register, `count` times; the replaced text goes into the
    register."""
    _copy_to_register(model, on)
    text = "\n".join([kept.text] * count) if kept.is_linewise else kept.text * count
    if kept.is_linewise and not on.is_linewise:
        text = f"\n{text}\n"
    model.replace(on.start, on.end, text)
    end = position_after_text(on.start, text)
    if on.is_linewise or "\n" in text:
        row = on.start[0]
        model.move_to((row, first_nonblank_column(model.lines[row]) if on.is_linewise else on.start[1]))
    else:
        model.move_to((end[0], last_cursor_column(model.lines[end[0]][: end[1]])))


# -- single commands ---------------------------------------------------------------------------------------


def replace_chars_at_cursor(model: EditorModel, char: str, count: int) -> bool:
    """Replaces `count` characters from the cursor on by one character (vi's `r`); returns False if the line has too
    few."""
    row, column = model.cursor
    line = model.lines[row]
    end = column
    for _ in range(count):
        if end >= len(line):
            return False
        end = grapheme_boundary_after(line, end)
    if char == "\n":
        model.replace((row, column), (row, end), "\n")
        return True
    model.replace((row, column), (row, end), char * count)
    model.move_to((row, column + len(char) * (count - 1)))
    return True


def replace_selected_chars(model: EditorModel, on: TextRange, char: str) -> None:
    """Replaces every selected character except line breaks by one character (vi's `r` in visual mode)."""
    text = text_between_positions(model.lines, on.start, on.end)
    pieces: list[str] = []
    for line in text.split("\n"):
        at = count = 0
        while at < len(line):
            at = grapheme_boundary_after(line, at)
            count += 1
        pieces.append(char * count)
    model.replace(on.start, on.end, "\n".join(pieces))
    model.move_to(on.start)


def swap_case_at_cursor(model: EditorModel, count: int) -> None:
    """Swaps the case of `count` characters from the cursor on (vi's `~`) and moves the cursor past them."""
    row, column = model.cursor
    line = model.lines[row]
    end = column
    for _ in range(count):
        end = grapheme_boundary_after(line, end)
    model.replace((row, column), (row, end), line[column:end].swapcase())
    model.move_to((row, end))


def join_lines(model: EditorModel, first: int, last: int, *, has_blank: bool) -> bool:
    """Joins consecutive lines into one (vi's `J` and `gJ`); returns False if there is no line below."""
    last = min(last, len(model.lines) - 1)
    if last <= first:
        return False
    joined = model.lines[first]
    at = len(joined)
    for line in model.lines[first + 1 : last + 1]:
        at = len(joined)
        if not has_blank:
            joined += line
            continue
        line = line.lstrip()
        blank = "" if not line or line.startswith(")") or not joined or joined[-1].isspace() else " "
        joined += blank + line
        at = min(at, max(0, len(joined) - 1))
    model.replace((first, 0), (last, len(model.lines[last])), joined)
    model.move_to((first, at))
    return True


def insert_empty_line(model: EditorModel, *, is_below: bool) -> None:
    """Inserts an empty line below or above the cursor's line (vi's `o` and `O`) and moves the cursor to it."""
    row = model.cursor[0]
    if is_below:
        end: TextPosition = (row, len(model.lines[row]))
        model.replace(end, end, "\n")
        model.move_to((row + 1, 0))
    else:
        model.replace((row, 0), (row, 0), "\n")
        model.move_to((row, 0))
