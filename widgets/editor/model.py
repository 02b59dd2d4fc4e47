"""The text being written: lines, a cursor between characters, kill ring, undo and redo.

Pure: knows no widget, no width and no key. Positions are (line, index in the line); the cursor always stands on a
boundary between characters as people see them. Every change goes through `_replace`, which is what undo reverses.
"""

from typing import NamedTuple

from widgets.editor.chips import Chip, Chips, Draft, PasteChip
from widgets.editor.graphemes import boundary_after, boundary_before, snap
from widgets.editor.killring import KillRing
from widgets.editor.words import word_end, word_start

Position = tuple[int, int]
UNDO_LIMIT = 1000


class _Edit(NamedTuple):
    start: Position
    removed: str
    inserted: str


class _Unit:
    """Edits that undo takes back together."""

    def __init__(self, before: Position) -> None:
        self.edits: list[_Edit] = []
        self.before = before
        self.after = before


def end_of(start: Position, text: str) -> Position:
    """Where a text ends that was put at a position."""
    breaks = text.count("\n")
    if not breaks:
        return start[0], start[1] + len(text)
    return start[0] + breaks, len(text) - text.rfind("\n") - 1


class EditorModel:
    def __init__(self, text: str = "") -> None:
        self.lines: list[str] = text.split("\n")
        self.cursor: Position = (len(self.lines) - 1, len(self.lines[-1]))
        self.chips = Chips()
        self.kills = KillRing()
        self.version = 0
        """Another number after every change of the text."""
        self._undo: list[_Unit] = []
        self._redo: list[_Unit] = []
        self._last = ""
        """What the last command was, where that matters to the next: type, space, rub, kill, yank."""
        self._yanked: tuple[Position, Position] | None = None

    # -- reading -------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def line(self) -> str:
        return self.lines[self.cursor[0]]

    @property
    def end(self) -> Position:
        return len(self.lines) - 1, len(self.lines[-1])

    @property
    def is_blank(self) -> bool:
        return not any(line.strip() for line in self.lines)

    @property
    def before_cursor(self) -> str:
        """The cursor's line up to the cursor."""
        return self.line[: self.cursor[1]]

    def draft(self) -> Draft:
        text = self.text
        return Draft(text=text, chips=self.chips.used(text), row=self.cursor[0], column=self.cursor[1])

    def between(self, start: Position, end: Position) -> str:
        if start[0] == end[0]:
            return self.lines[start[0]][start[1] : end[1]]
        middle = self.lines[start[0] + 1 : end[0]]
        return "\n".join([self.lines[start[0]][start[1] :], *middle, self.lines[end[0]][: end[1]]])

    # -- changing ------------------------------------------------------------------------------------------

    def type(self, text: str) -> None:
        """Insert what a key typed. A run of a word is one unit of undo; blank space begins the next."""
        is_space = text.isspace()
        joins = self._last == "space" or (self._last == "type" and not is_space)
        self._replace(self.cursor, self.cursor, text, joins=joins)
        self._last = "space" if is_space else "type"

    def insert(self, text: str) -> None:
        """Insert a text as one unit."""
        if text:
            self.settle()
            self._replace(self.cursor, self.cursor, text)

    def replace(self, start: Position, end: Position, text: str) -> None:
        """Put a text in place of a range, as one unit: completion, expansion."""
        self.settle()
        self._replace(start, end, text)

    def insert_chip(self, chip: Chip) -> None:
        self.insert(self.chips.add(chip))

    def expand_chip(self) -> bool:
        """Put the text of the paste at or before the cursor in its place."""
        row, column = self.cursor
        for at in (column, column - 1):
            char = self.line[at : at + 1]
            chip = self.chips.known.get(char) if char else None
            if isinstance(chip, PasteChip):
                self.replace((row, at), (row, at + 1), chip.text)
                return True
        return False

    def set_text(self, text: str) -> None:
        """Another text, as one unit of undo; the cursor goes to its end."""
        self.replace((0, 0), self.end, text)

    def clear(self) -> None:
        """Empty the text; undo brings it back."""
        if self.lines != [""]:
            self.set_text("")

    def reset(self, draft: Draft | None = None) -> None:
        """Begin anew, without a past: after sending, or with a draft that was saved."""
        draft = draft or Draft()
        self.chips.keep_only("".join(self.kills.entries))
        self.lines = self.chips.adopt(draft.text, draft.chips).split("\n")
        row = min(max(0, draft.row), len(self.lines) - 1)
        self.cursor = (row, snap(self.lines[row], draft.column))
        self._undo.clear()
        self._redo.clear()
        self.settle()
        self.version += 1

    def restore(self, draft: Draft) -> None:
        """Show another draft (history, queue), as one unit of undo."""
        self.set_text(self.chips.adopt(draft.text, draft.chips))

    def delete_backward(self) -> None:
        self._rub(self._left(), self.cursor)

    def delete_forward(self) -> None:
        self._rub(self.cursor, self._right())

    def kill_word_backward(self) -> None:
        self._kill(self.word_left(), self.cursor, is_forward=False)

    def kill_word_forward(self) -> None:
        self._kill(self.cursor, self.word_right(), is_forward=True)

    def kill_to_line_start(self) -> None:
        """To the line's beginning; at its beginning, the line break before it."""
        row, column = self.cursor
        self._kill((row, 0) if column else self._left(), self.cursor, is_forward=False)

    def kill_to_line_end(self) -> None:
        row, column = self.cursor
        end = (row, len(self.line)) if column < len(self.line) else self._right()
        self._kill(self.cursor, end, is_forward=True)

    def yank(self) -> None:
        if self.kills.newest:
            start = self.cursor
            self.insert(self.kills.newest)
            self._yanked = (start, end_of(start, self.kills.newest))
            self._last = "yank"

    def yank_pop(self) -> None:
        """Right after a yank: put the next older kill in its place."""
        if self._last != "yank" or self._yanked is None:
            return
        start, end = self._yanked
        self._replace(start, end, self.kills.rotate())
        self._yanked = (start, end_of(start, self.kills.newest))
        self._last = "yank"

    # -- undo ----------------------------------------------------------------------------------------------

    @property
    def can_undo(self) -> bool:
        return bool(self._undo)

    def undo(self) -> None:
        if not self._undo:
            return
        unit = self._undo.pop()
        for edit in reversed(unit.edits):
            self._apply(edit.start, end_of(edit.start, edit.inserted), edit.removed)
        self._redo.append(unit)
        self.cursor = unit.before
        self.settle()

    def redo(self) -> None:
        if not self._redo:
            return
        unit = self._redo.pop()
        for edit in unit.edits:
            self._apply(edit.start, end_of(edit.start, edit.removed), edit.inserted)
        self._undo.append(unit)
        self.cursor = unit.after
        self.settle()

    # -- moving --------------------------------------------------------------------------------------------

    def move_to(self, position: Position) -> None:
        row = min(max(0, position[0]), len(self.lines) - 1)
        self.cursor = (row, snap(self.lines[row], position[1]))
        self.settle()

    def move_left(self) -> None:
        self.move_to(self._left())

    def move_right(self) -> None:
        self.move_to(self._right())

    def move_word_left(self) -> None:
        self.move_to(self.word_left())

    def move_word_right(self) -> None:
        self.move_to(self.word_right())

    def move_line_start(self) -> None:
        self.move_to((self.cursor[0], 0))

    def move_line_end(self) -> None:
        self.move_to((self.cursor[0], len(self.line)))

    def jump(self, char: str, *, is_forward: bool) -> bool:
        """To the next place of a character, over lines."""
        row, column = self.cursor
        rows = range(row, len(self.lines)) if is_forward else range(row, -1, -1)
        for at in rows:
            line = self.lines[at]
            if is_forward:
                found = line.find(char, column + 1 if at == row else 0)
            else:
                found = line.rfind(char, 0, column) if at == row else line.rfind(char)
            if found >= 0:
                self.move_to((at, found))
                return True
        return False

    def word_left(self) -> Position:
        row, column = self.cursor
        return (row, word_start(self.line, column)) if column else self._left()

    def word_right(self) -> Position:
        row, column = self.cursor
        return (row, word_end(self.line, column)) if column < len(self.line) else self._right()

    def settle(self) -> None:
        """End the run of typing, killing or yanking: what comes next stands by itself."""
        self._last = ""
        self._yanked = None

    # -- inside --------------------------------------------------------------------------------------------

    def _left(self) -> Position:
        row, column = self.cursor
        if column:
            return row, boundary_before(self.lines[row], column)
        return (row - 1, len(self.lines[row - 1])) if row else (0, 0)

    def _right(self) -> Position:
        row, column = self.cursor
        if column < len(self.lines[row]):
            return row, boundary_after(self.lines[row], column)
        return (row + 1, 0) if row + 1 < len(self.lines) else (row, column)

    def _rub(self, start: Position, end: Position) -> None:
        if start != end:
            self._replace(start, end, "", joins=self._last == "rub")
            self._last = "rub"

    def _kill(self, start: Position, end: Position, *, is_forward: bool) -> None:
        if start == end:
            return
        self.kills.kill(self.between(start, end), is_forward=is_forward, joins=self._last == "kill")
        self._replace(start, end, "")
        self._last = "kill"

    def _replace(self, start: Position, end: Position, text: str, *, joins: bool = False) -> None:
        removed = self.between(start, end)
        if removed == text:  # nothing that undo could take back
            self._stand_behind(start, text)
            return
        if not (joins and self._undo):
            self._undo.append(_Unit(self.cursor))
            del self._undo[:-UNDO_LIMIT]
        self._redo.clear()
        unit = self._undo[-1]
        unit.edits.append(_Edit(start, removed, text))
        self._apply(start, end, text)
        self._stand_behind(start, text)
        unit.after = self.cursor

    def _stand_behind(self, start: Position, text: str) -> None:
        row, column = end_of(start, text)
        self.cursor = (row, snap(self.lines[row], column))

    def _apply(self, start: Position, end: Position, text: str) -> None:
        head = self.lines[start[0]][: start[1]]
        tail = self.lines[end[0]][end[1] :]
        self.lines[start[0] : end[0] + 1] = (head + text + tail).split("\n")
        self.version += 1
