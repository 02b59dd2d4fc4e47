"""vi's motions on the editor's text: where they move the cursor, and which range they give an operator."""

from widgets.editor.editor_model import EditorModel, TextPosition
from widgets.editor.graphemes import grapheme_boundary_after
from widgets.editor.vi import motion_targets
from widgets.editor.vi.motion_targets import (
    BLANK_KIND,
    EMPTY_LINE_KIND,
    ViFindMotion,
    ViMotionTarget,
    first_nonblank_column,
    last_cursor_column,
    vi_character_kind,
)
from widgets.editor.vi.text_objects import TextRange, find_text_object
from widgets.editor.vi.vi_grammar import VI_FIND_COMMANDS, VI_SEARCH_COMMANDS, ViCommand
from widgets.editor.vi.vi_search import ViSearch, find_vi_search_match, vim_pattern_of_word_at

_END_OF_LINE_COLUMN = 1 << 30
"""A column after the end of every line."""

_VI_STEP_MOTIONS = frozenset("hlwWbBeE")
"""Motions that fail at the end of the text or the line."""
_VI_WORD_STEPS = {
    **{
        "w": motion_targets.next_word_start,
        "W": motion_targets.next_word_start,
        "b": motion_targets.previous_word_start,
        "B": motion_targets.previous_word_start,
    },
    **{
        "e": motion_targets.next_word_end,
        "E": motion_targets.next_word_end,
        "ge": motion_targets.previous_word_end,
        "gE": motion_targets.previous_word_end,
    },
}


class ViMotions:
    """Runs vi's motions on a text and remembers the column for moving up and down, and the last search."""

    def __init__(self, model: EditorModel) -> None:
        self._model = model
        self._last_find: ViFindMotion | None = None
        self._last_search: ViSearch | None = None
        self._goal_column: int | None = None
        """The column to keep while moving up and down."""
        self._start_column = 0
        """The column where the last motion started."""

    @property
    def stays_at_line_ends(self) -> bool:
        """Whether moving up and down keeps the cursor at line ends, as after vi's `$`."""
        return self._goal_column is not None and self._goal_column >= _END_OF_LINE_COLUMN

    def position_right_of_cursor(self) -> TextPosition:
        row, column = self._model.cursor
        return row, grapheme_boundary_after(self._model.lines[row], column)

    def move_cursor(self, command: ViCommand) -> bool:
        """Moves the cursor by a vi motion; returns False if the motion has no target or the cursor stays where it
        is."""
        goal, at = self._goal_column, self._model.cursor
        target = self._motion_target(command)
        if target is not None:
            self._model.move_to(target.position)
        self._goal_column = _END_OF_LINE_COLUMN if command.motion == "$" else None
        if command.motion in ("j", "k", "gj", "gk"):
            self._goal_column = self._start_column if goal is None else goal
        row, column = self._model.cursor
        came = (row, min(column, last_cursor_column(self._model.lines[row])))
        return target is not None and (command.motion not in _VI_STEP_MOTIONS or came != at)

    def forget_goal_column(self) -> None:
        """Forgets the column that vi keeps while moving up and down, because the text changed."""
        self._goal_column = None

    def extend_selection(self, command: ViCommand, mark: TextPosition | None) -> TextPosition | None:
        """Extends a visual selection by a motion or a text object: moves the cursor, which is one end, and returns the
        other end."""
        if len(command.motion) == 2 and command.motion[0] in "ia":
            on = self._text_object_range(command)
            if on is None or (on.start == on.end and not on.is_linewise):
                return mark
            end = (
                motion_targets.previous_cursor_position(self._model.lines, on.end)
                if not on.is_linewise
                else on.end
            )
            self._model.move_to(end or on.end)
            return min(mark, on.start) if mark is not None and mark < self._model.cursor else on.start
        self.move_cursor(command)
        return mark

    def _text_object_range(self, command: ViCommand) -> TextRange | None:
        lines, at, (how, name) = self._model.lines, self._model.cursor, command.motion
        return find_text_object(lines, at, name, is_around=how == "a", count=command.repetitions)

    def operator_range(self, command: ViCommand) -> TextRange | None:
        """Returns the range of text that a vi operator with this motion or text object affects; None if there is
        none."""
        lines, at = self._model.lines, self._model.cursor
        if command.is_linewise:
            last = at[0] + command.repetitions - 1
            if command.count > 1 and at[0] == len(lines) - 1:
                return None
            return _linewise_range(lines, at[0], min(last, len(lines) - 1))
        if len(command.motion) == 2 and command.motion[0] in "ia":
            return self._text_object_range(command)
        if (
            command.verb == "c"
            and command.motion in ("w", "W")
            and (on := self._changed_word_range(command)) is not None
        ):
            return on
        target = self._motion_target(command)
        if target is None:
            return None
        if target.is_linewise:
            first, last = sorted((at[0], target.position[0]))
            return (
                _linewise_range(lines, first, last)
                if first != last or command.motion not in ("j", "k")
                else None
            )
        if command.motion in ("w", "W"):
            target = ViMotionTarget(self._limit_to_line(target.position))
        start, end = sorted((at, target.position))
        if target.is_inclusive:
            end = (end[0], grapheme_boundary_after(lines[end[0]], end[1]))
        elif command.motion not in ("w", "W") and end[1] == 0 and end[0] > start[0]:
            end = (end[0] - 1, len(lines[end[0] - 1]))
            if not lines[start[0]][: start[1]].strip():
                return _linewise_range(lines, start[0], end[0])
        around = lines[start[0]][: start[1]] + lines[end[0]][end[1] :]
        if command.verb == "d" and end[0] > start[0] and not around.strip():  # nothing remains of these lines
            return _linewise_range(lines, start[0], end[0])
        return TextRange(start, end) if start != end or command.verb == "c" else None

    def _changed_word_range(self, command: ViCommand) -> TextRange | None:
        """Returns the range that vi's `cw` changes: to the end of the word, without the space after it; None if `cw`
        works like other operators."""
        lines, at = self._model.lines, self._model.cursor
        is_big = command.motion == "W"
        if vi_character_kind(lines, at, is_big=is_big) in (BLANK_KIND, EMPTY_LINE_KIND):
            return None
        end = motion_targets.end_of_character_run(lines, at, is_big=is_big)
        for _ in range(command.repetitions - 1):
            end = motion_targets.next_word_end(lines, end, is_big=is_big)
        return TextRange(at, (end[0], grapheme_boundary_after(lines[end[0]], end[1])))

    def _limit_to_line(self, place: TextPosition) -> TextPosition:
        """Returns the end of an operator's range for `w`: before the line break where the motion would go on to the
        next line."""
        lines, at = self._model.lines, self._model.cursor
        row, column = place
        while row > at[0] and not lines[row][:column].strip():
            row, column = row - 1, len(lines[row - 1])
            if lines[row]:
                break
        return (row, column) if (row, column) > at else place

    def _motion_target(self, command: ViCommand) -> ViMotionTarget | None:
        lines, at, motion = self._model.lines, self._model.cursor, command.motion
        self._start_column = at[1]
        if motion in VI_FIND_COMMANDS:
            self._last_find = ViFindMotion(motion, command.char)
            return motion_targets.find_character_in_line(lines, at, self._last_find, command.repetitions)
        if motion in (";", ","):
            if self._last_find is None:
                return None
            wanted = self._last_find if motion == ";" else self._last_find.reversed_direction
            return motion_targets.find_character_in_line(
                lines, at, wanted, command.repetitions, is_again=True
            )
        if motion in _VI_WORD_STEPS:
            return self._word_target(motion, command.repetitions)
        if motion in VI_SEARCH_COMMANDS or motion in ("n", "N", "*", "#"):
            return self._search_target(command)
        return self._in_line_target(motion, command.repetitions) or self._line_target(command)

    def _search_target(self, command: ViCommand) -> ViMotionTarget | None:
        lines, at, motion = self._model.lines, self._model.cursor, command.motion
        if motion in VI_SEARCH_COMMANDS:
            known = self._last_search.pattern if self._last_search is not None else ""
            self._last_search = ViSearch(command.char or known, is_forward=motion == "/")
        elif motion in ("*", "#"):
            word = vim_pattern_of_word_at(lines[at[0]], at[1])
            if word is None:
                return None
            at = (at[0], word[0])
            self._last_search = ViSearch(word[1], is_forward=motion == "*")
        wanted = self._last_search
        if wanted is None:
            return None
        if motion == "N":
            wanted = wanted._replace(is_forward=not wanted.is_forward)
        place = find_vi_search_match(lines, at, wanted, command.repetitions)
        return ViMotionTarget(place) if place is not None else None

    def _word_target(self, motion: str, count: int) -> ViMotionTarget:
        lines, at = self._model.lines, self._model.cursor
        step = _VI_WORD_STEPS[motion]
        is_big = motion[-1].isupper()
        place = motion_targets.repeat_position_step(lambda one: step(lines, one, is_big=is_big), at, count)
        return ViMotionTarget(place, is_inclusive=motion[-1] in "eE")

    def _in_line_target(self, motion: str, count: int) -> ViMotionTarget | None:
        lines, at = self._model.lines, self._model.cursor
        row = at[0]
        match motion:
            case "h":
                return ViMotionTarget(motion_targets.position_to_the_left(lines, at, count))
            case "l":
                return ViMotionTarget(motion_targets.position_to_the_right(lines, at, count))
            case "0":
                return ViMotionTarget((row, 0))
            case "^":
                return ViMotionTarget((row, first_nonblank_column(lines[row])))
            case "$" | "g_":
                to = min(row + count - 1, len(lines) - 1)
                line = lines[to] if motion == "$" else lines[to].rstrip()
                return ViMotionTarget((to, last_cursor_column(line)), is_inclusive=True)
            case "|":
                return ViMotionTarget((row, min(count - 1, len(lines[row]))))
            case _:
                return None

    def _line_target(self, command: ViCommand) -> ViMotionTarget | None:
        lines, at, count, motion = self._model.lines, self._model.cursor, command.repetitions, command.motion
        match motion:
            case "j" | "gj" | "k" | "gk":
                return self._row_target(count if motion[-1] == "j" else -count)
            case "+" | "-" | "_":
                down = {"+": count, "-": -count, "_": count - 1}[motion]
                return self._first_nonblank_target(at[0] + down)
            case "G" | "gg":
                usual = len(lines) if motion == "G" else 1
                return self._first_nonblank_target(min(command.count or usual, len(lines)) - 1)
            case "{" | "}":
                return ViMotionTarget(
                    motion_targets.find_paragraph_boundary(lines, at, count, is_forward=motion == "}")
                )
            case "%":
                place = motion_targets.find_matching_bracket(lines, at)
                return ViMotionTarget(place, is_inclusive=True) if place is not None else None
            case _:
                return None

    def _row_target(self, delta: int) -> ViMotionTarget | None:
        lines, (row, column) = self._model.lines, self._model.cursor
        to = row + delta
        if not 0 <= to < len(lines):
            return None
        goal = column if self._goal_column is None else self._goal_column
        return ViMotionTarget((to, min(goal, last_cursor_column(lines[to]))), is_linewise=True)

    def _first_nonblank_target(self, row: int) -> ViMotionTarget | None:
        lines = self._model.lines
        return (
            ViMotionTarget((row, first_nonblank_column(lines[row])), is_linewise=True)
            if 0 <= row < len(lines)
            else None
        )


def _linewise_range(lines: motion_targets.TextLines, first: int, last: int) -> TextRange:
    return TextRange((first, 0), (last, len(lines[last])), is_linewise=True)
