"""The text being edited: lines, a cursor, kill ring, undo and redo.

Pure: no widget, width or key; the functions that keys run are in `commands`.

Positions are (line, index in the line); the cursor is always on a grapheme boundary. Every change goes through
`_replace`, which undo reverses."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from widgets.editor.graphemes import grapheme_boundary_after, snap_to_grapheme_boundary
from widgets.editor.prompt_chips import PromptChipTable, UnsentPrompt
from widgets.editor.vi_register import ViRegister

TextPosition = tuple[int, int]
SelectionKind = Literal["char", "inclusive", "line"]
"""Whether a selection ends before the cursor, includes its character, or covers whole lines."""
MAX_UNDO_UNITS = 1000
MAX_KILL_RING_ENTRIES = 60


class KillRing:
    """The texts that were killed (cut) in the editor, newest first, for yanking."""

    def __init__(self) -> None:
        self.entries: list[str] = []

    def add_kill(self, text: str, *, is_forward: bool, joins: bool) -> None:
        """Adds a killed text to the ring. Consecutive kills become one entry: forward ones append, backward ones
        prepend."""
        if not text:
            return
        if joins and self.entries:
            self.entries[0] = self.entries[0] + text if is_forward else text + self.entries[0]
        else:
            self.entries.insert(0, text)
            del self.entries[MAX_KILL_RING_ENTRIES:]

    @property
    def newest(self) -> str:
        return self.entries[0] if self.entries else ""

    def rotate_entries(self) -> str:
        """Moves the newest killed text to the end of the ring; returns the one that is newest then."""
        if self.entries:
            self.entries.append(self.entries.pop(0))
        return self.newest


class _Edit(NamedTuple):
    start: TextPosition
    removed: str
    inserted: str


class _UndoUnit:
    """Changes of the editor's text that one undo reverts together."""

    def __init__(self, before: TextPosition) -> None:
        self.edits: list[_Edit] = []
        self.cursor_before = before
        self.cursor_after = before


def position_after_text(start: TextPosition, text: str) -> TextPosition:
    """Returns the end position of a text inserted at `start`."""
    breaks = text.count("\n")
    if not breaks:
        return start[0], start[1] + len(text)
    return start[0] + breaks, len(text) - text.rfind("\n") - 1


def text_between_positions(lines: Sequence[str], start: TextPosition, end: TextPosition) -> str:
    if start[0] == end[0]:
        return lines[start[0]][start[1] : end[1]]
    middle = lines[start[0] + 1 : end[0]]
    return "\n".join([lines[start[0]][start[1] :], *middle, lines[end[0]][: end[1]]])


class EditorModel:
    """The editor's text with cursor, selection, kill ring and undo history."""

    def __init__(self, text: str = "") -> None:
        self.lines: list[str] = text.split("\n")
        self.cursor: TextPosition = (len(self.lines) - 1, len(self.lines[-1]))
        self.chips = PromptChipTable()
        self.kill_ring = KillRing()
        self.vi_register = ViRegister()
        self.selection_start: TextPosition | None = None
        """The other end of the selection, if there is one."""
        self.selection_kind: SelectionKind = "char"
        self.version = 0
        """A number that changes with every change of the text."""
        self._undo_units: list[_UndoUnit] = []
        self._redo_units: list[_UndoUnit] = []
        self._last_command_kind = ""
        """The kind of the last command, if it affects the next: type, space, rub, kill or yank."""
        self._yanked_range: tuple[TextPosition, TextPosition] | None = None
        self._undo_group: _UndoUnit | None = None
        self._is_grouping = False
        """Whether changes are grouped to one undo unit, which is `_undo_group` once it has begun."""

    # -- reading -------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def current_line(self) -> str:
        return self.lines[self.cursor[0]]

    @property
    def end_position(self) -> TextPosition:
        return len(self.lines) - 1, len(self.lines[-1])

    @property
    def is_blank(self) -> bool:
        return not any(line.strip() for line in self.lines)

    @property
    def line_before_cursor(self) -> str:
        """Returns the part of the cursor's line before the cursor."""
        return self.current_line[: self.cursor[1]]

    def draft(self) -> UnsentPrompt:
        text = self.text
        return UnsentPrompt(
            text=text, chips=self.chips.chips_in(text), row=self.cursor[0], column=self.cursor[1]
        )

    # -- changing ------------------------------------------------------------------------------------------

    def type_text(self, text: str) -> None:
        """Inserts typed text at the cursor. A typed word is one undo unit; white space begins the next."""
        is_space = text.isspace()
        joins = self._last_command_kind == "space" or (self._last_command_kind == "type" and not is_space)
        start, end = selection_range(self) or (self.cursor, self.cursor)
        self._replace(start, end, text, joins=joins and start == end)
        self._last_command_kind = "space" if is_space else "type"

    def insert(self, text: str) -> None:
        """Inserts a text at the cursor, replacing the selection, as one undo unit."""
        if text:
            self.end_undo_unit()
            start, end = selection_range(self) or (self.cursor, self.cursor)
            self._replace(start, end, text)

    def replace(self, start: TextPosition, end: TextPosition, text: str) -> None:
        """Replaces a range of the editor's text by another text, as one undo unit."""
        self.end_undo_unit()
        self._replace(start, end, text)

    def set_text(self, text: str) -> None:
        """Replaces the editor's whole text as one undo unit; the cursor moves to its end."""
        self.replace((0, 0), self.end_position, text)

    def reset(self, draft: UnsentPrompt | None = None) -> None:
        """Replaces the text and forgets the undo history: after a prompt was sent, or for a restored draft."""
        draft = draft or UnsentPrompt()
        self.chips.forget_chips_missing_from("".join((*self.kill_ring.entries, *self.vi_register.text)))
        self.lines = self.chips.import_chips(draft.text, draft.chips).split("\n")
        row = min(max(0, draft.row), len(self.lines) - 1)
        self.cursor = (row, snap_to_grapheme_boundary(self.lines[row], draft.column))
        self._undo_units.clear()
        self._redo_units.clear()
        self.end_undo_unit()
        self.selection_start = self._undo_group = None
        self.version += 1

    def restore(self, draft: UnsentPrompt) -> None:
        """Replaces the editor's text and chips by those of a draft, as one undo unit."""
        self.set_text(self.chips.import_chips(draft.text, draft.chips))

    def delete_text_range(self, start: TextPosition, end: TextPosition) -> None:
        """Deletes a range of the text. Consecutive deletions are undone together."""
        if start != end:
            self._replace(start, end, "", joins=self._last_command_kind == "rub")
            self._last_command_kind = "rub"

    def kill(self, start: TextPosition, end: TextPosition, *, is_forward: bool) -> None:
        """Deletes a range of the text and stores it in the kill ring. Texts killed one after another become one
        entry."""
        if start == end:
            return
        self.kill_ring.add_kill(
            text_between_positions(self.lines, start, end),
            is_forward=is_forward,
            joins=self._last_command_kind == "kill",
        )
        self._replace(start, end, "")
        self._last_command_kind = "kill"

    def yank(self) -> None:
        if self.kill_ring.newest:
            start = self.cursor
            self.insert(self.kill_ring.newest)
            self._yanked_range = (start, position_after_text(start, self.kill_ring.newest))
            self._last_command_kind = "yank"

    def yank_pop(self) -> None:
        """Replaces the text that was just yanked by the next older text of the kill ring; does nothing after any other
        command."""
        if self._last_command_kind != "yank" or self._yanked_range is None:
            return
        start, end = self._yanked_range
        self._replace(start, end, self.kill_ring.rotate_entries())
        self._yanked_range = (start, position_after_text(start, self.kill_ring.newest))
        self._last_command_kind = "yank"

    # -- undo ----------------------------------------------------------------------------------------------

    def set_undo_group(self, is_open: bool) -> None:
        """Begins or ends a group of text changes that one undo reverts together."""
        self._is_grouping, self._undo_group = is_open, None
        self.end_undo_unit()

    def undo(self) -> None:
        if not self._undo_units:
            return
        unit = self._undo_units.pop()
        for edit in reversed(unit.edits):
            self._replace_range(edit.start, position_after_text(edit.start, edit.inserted), edit.removed)
        self._redo_units.append(unit)
        self.cursor, self.selection_start, self._undo_group = unit.cursor_before, None, None
        self.end_undo_unit()

    def redo(self) -> None:
        if not self._redo_units:
            return
        unit = self._redo_units.pop()
        for edit in unit.edits:
            self._replace_range(edit.start, position_after_text(edit.start, edit.removed), edit.inserted)
        self._undo_units.append(unit)
        self.cursor, self.selection_start, self._undo_group = unit.cursor_after, None, None
        self.end_undo_unit()

    # -- moving --------------------------------------------------------------------------------------------

    def move_to(self, position: TextPosition) -> None:
        row = min(max(0, position[0]), len(self.lines) - 1)
        self.cursor = (row, snap_to_grapheme_boundary(self.lines[row], position[1]))
        self.end_undo_unit()

    def end_undo_unit(self) -> None:
        """Makes the next change of the text a separate undo unit: ends the current run of typing, killing or
        yanking."""
        self._last_command_kind = ""
        self._yanked_range = None

    # -- inside --------------------------------------------------------------------------------------------

    def _replace(self, start: TextPosition, end: TextPosition, text: str, *, joins: bool = False) -> None:
        self.selection_start = None
        removed = text_between_positions(self.lines, start, end)
        if removed == text:  # nothing changes, so there is nothing to undo
            self._place_cursor_after(start, text)
            return
        if not ((joins or self._undo_group is not None) and self._undo_units):
            self._undo_units.append(_UndoUnit(self.cursor))
            del self._undo_units[:-MAX_UNDO_UNITS]
        if self._is_grouping:
            self._undo_group = self._undo_units[-1]
        self._redo_units.clear()
        unit = self._undo_units[-1]
        unit.edits.append(_Edit(start, removed, text))
        self._replace_range(start, end, text)
        self._place_cursor_after(start, text)
        unit.cursor_after = self.cursor

    def _place_cursor_after(self, start: TextPosition, text: str) -> None:
        row, column = position_after_text(start, text)
        self.cursor = (row, snap_to_grapheme_boundary(self.lines[row], column))

    def _replace_range(self, start: TextPosition, end: TextPosition, text: str) -> None:
        head = self.lines[start[0]][: start[1]]
        tail = self.lines[end[0]][end[1] :]
        self.lines[start[0] : end[0] + 1] = (head + text + tail).split("\n")
        self.version += 1


def selection_range(model: EditorModel) -> tuple[TextPosition, TextPosition] | None:
    """Returns the start and end of the editor's selection, in text order; None without a selection."""
    if model.selection_start is None:
        return None
    start, end = sorted((model.selection_start, model.cursor))
    if model.selection_kind == "line":
        return (start[0], 0), (end[0], len(model.lines[end[0]]))
    if model.selection_kind == "inclusive":
        end = (end[0], grapheme_boundary_after(model.lines[end[0]], end[1]))
    return (start, end) if start != end else None
