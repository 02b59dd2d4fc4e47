"""vi's modes over the editor's text: gets keys one at a time, runs complete commands, and repeats the last change on
`.`.

It knows no widget; screen rows and older prompts are left to the caller."""

from typing import Literal

import msgspec

from widgets.editor.editor_model import EditorModel, TextPosition, selection_range, text_between_positions
from widgets.editor.graphemes import grapheme_boundary_before
from widgets.editor.vi import changes
from widgets.editor.vi.motion_targets import first_nonblank_column, last_cursor_column
from widgets.editor.vi.text_objects import TextRange
from widgets.editor.vi.vi_grammar import VI_EXPANSION_BY_SHORTHAND, ViCommand, parse_vi_keys
from widgets.editor.vi.vi_motions import ViMotions

ViModeName = Literal["insert", "normal", "visual", "visual line"]
ViKeyOutcome = Literal["done", "open", "older", "newer"]
"""The result of a key; `older` and `newer` select another prompt, after moving beyond the first
or last line."""
_VI_SEARCH_MOTIONS = frozenset("/?nN*#")
_VI_INSERT_MODE_COMMANDS = frozenset("iaIAoOCSs") | {"gi"}
_VI_OPERATOR_BY_VISUAL_COMMAND = {
    **{short: long[0] for short, long in VI_EXPANSION_BY_SHORTHAND.items()},
    "u": "gu",
    "U": "gU",
    "~": "g~",
}
"""The operator that a command becomes if text is selected."""


class _RepeatableViChange(msgspec.Struct, frozen=True, kw_only=True):
    """The last change that vi's `.` repeats: its command, the text typed after it, and the size of its selection."""

    command: ViCommand
    typed_text: str | None = None
    """The text that was typed after it, if the change entered insert mode."""
    selected_rows: int = 0
    """The size of the selection: lines after the first, and characters in the last line."""
    selected_columns: int = 0
    visual_mode: ViModeName | None = None


class ViMode:
    """The state of vi mode: current mode, pending keys, and the last change."""

    def __init__(self, model: EditorModel) -> None:
        self._model = model
        self._motions = ViMotions(model)
        self.mode: ViModeName = "insert"
        self.pending_keys = ""
        """The keys of an incomplete command."""
        self.is_next_key_literal = False
        """Whether the next key counts as a literal character."""
        self.command = ViCommand()
        """The last command."""
        self.has_failed = False
        """Whether the last command had no effect."""
        self._last_change: _RepeatableViChange | None = None
        self._current_change: _RepeatableViChange | None = None
        """The change whose text is being typed in insert mode."""
        self._insert_start: TextPosition = (0, 0)
        self._visual_start: tuple[TextPosition, TextPosition, ViModeName] | None = None

    def enter_insert_mode_for_new_prompt(self) -> None:
        """Switches vi to insert mode for a new prompt, and forgets pending keys and the selection."""
        self.mode, self.pending_keys, self.is_next_key_literal, self._current_change = (
            "insert",
            "",
            False,
            None,
        )
        self._model.selection_start = None
        self._model.set_undo_group(True)
        self._insert_start = self._model.cursor

    # -- keys ----------------------------------------------------------------------------------------------

    def handle_key(self, key: str) -> ViKeyOutcome:
        """Handles a key in normal or visual mode: adds it to the pending keys and runs the command once it is
        complete."""
        self.pending_keys += key
        command = parse_vi_keys(self.pending_keys, is_visual=self.is_visual)
        self.is_next_key_literal = command == "literal"
        if command in ("open", "literal"):
            return "open"
        self.pending_keys = ""
        self.has_failed = not isinstance(command, ViCommand)
        if not isinstance(command, ViCommand):
            return "done"
        self.command = command
        if (
            not self.is_visual
            and not command.verb
            and (end := self._motion_outside_text(command)) is not None
        ):
            return end
        if self.is_visual:
            self._run_visual_command(command)
        else:
            self._execute(command)
        if command.verb:
            self._motions.forget_goal_column()
        self.clamp_cursor_to_character()
        return "done"

    def erase_search_character(self) -> None:
        """Deletes the last character of the search text that is being typed after `/` or `?`."""
        self.pending_keys = self.pending_keys[:-1]
        self.is_next_key_literal = (
            bool(self.pending_keys)
            and parse_vi_keys(self.pending_keys, is_visual=self.is_visual) == "literal"
        )

    def handle_escape(self) -> bool:
        """Handles Escape: leaves insert or visual mode for normal mode and drops pending keys; returns False if there
        was nothing to leave."""
        self.has_failed = False
        if self.mode == "insert":
            self._finish_insert_mode()
            self.mode = "normal"
            row, column = self._model.cursor
            self._model.move_to((row, grapheme_boundary_before(self._model.lines[row], column)))
            return True
        was_open = bool(self.pending_keys) or self.is_visual
        self.pending_keys, self.is_next_key_literal = "", False
        self._leave_visual_mode()
        return was_open

    def clamp_cursor_to_character(self) -> None:
        """Moves the cursor from behind the line's end onto its last character, as vi's normal mode requires."""
        if self.mode == "normal":
            row, column = self._model.cursor
            if column >= len(self._model.lines[row]):
                self._model.move_to((row, last_cursor_column(self._model.lines[row])))

    @property
    def is_visual(self) -> bool:
        return self.mode in ("visual", "visual line")

    @property
    def status(self) -> str:
        if self.pending_keys:
            return f"{self.mode} · {self.pending_keys}"
        is_search = self.has_failed and self.command.motion in _VI_SEARCH_MOTIONS
        return f"{self.mode} · no match found" if is_search else self.mode

    def _motion_outside_text(self, command: ViCommand) -> ViKeyOutcome | None:
        row, last = self._model.cursor[0], len(self._model.lines) - 1
        if command.motion in ("k", "gk") and row == 0 and not command.count:
            return "older"
        if command.motion in ("j", "gj") and row == last and not command.count:
            return "newer"
        return None

    # -- commands ------------------------------------------------------------------------------------------

    def _execute(self, command: ViCommand) -> None:
        if not command.verb:
            self.has_failed = not self._motions.move_cursor(command)
        elif command.verb == ".":
            self._repeat_last_change(command.count)
        elif command.verb == "u":
            for _ in range(command.repetitions):
                self._model.undo()
        elif command.verb == "\x12":
            for _ in range(command.repetitions):
                self._model.redo()
        elif command.verb in ("v", "V"):
            self._begin_visual_mode("visual" if command.verb == "v" else "visual line")
        elif command.verb == "gv":
            self._restore_last_selection()
        elif command.verb == "y" or command.verb == "Y":
            self._run_operator(command)
        else:
            self._execute_change(command)

    def _execute_change(self, command: ViCommand) -> None:
        """Runs a changing command as one undo unit and remembers it for `.`; notes a failure if nothing could be
        changed."""
        self._model.set_undo_group(True)
        if not self._run_command(command):
            self._model.set_undo_group(False)
            self.has_failed = True
            return
        change = _RepeatableViChange(command=command)
        if self._enters_insert_mode(command):
            self._start_insert_mode(change)
        else:
            self._model.set_undo_group(False)
            self._last_change = change

    def _run_command(self, command: ViCommand) -> bool:
        """Runs a vi command that changes the text; returns False if nothing could be changed."""
        model = self._model
        row = model.cursor[0]
        match command.verb:
            case "p" | "P":
                changes.put_vi_register_text(
                    model, model.vi_register, command.repetitions, is_after=command.verb == "p"
                )
            case "r":
                return changes.replace_chars_at_cursor(model, command.char, command.repetitions)
            case "~":
                changes.swap_case_at_cursor(model, command.repetitions)
            case "J" | "gJ":
                return changes.join_lines(
                    model, row, row + max(1, command.repetitions - 1), has_blank=command.verb == "J"
                )
            case "i":
                pass
            case "gi":
                model.move_to(self._insert_start)
            case "a":
                model.move_to(self._motions.position_right_of_cursor())
            case "I":
                line = model.lines[row]
                model.move_to((row, first_nonblank_column(line) if line.strip() else len(line)))
            case "A":
                model.move_to((row, len(model.lines[row])))
            case "o" | "O":
                changes.insert_empty_line(model, is_below=command.verb == "o")
            case _:
                return self._run_operator(command)
        return True

    def _run_operator(self, command: ViCommand) -> bool:
        """Runs a vi operator with its motion, or an abbreviation such as `D` of both."""
        if command.verb in VI_EXPANSION_BY_SHORTHAND:
            verb, motion = VI_EXPANSION_BY_SHORTHAND[command.verb]
            command = msgspec.structs.replace(command, verb=verb, motion=motion)
        on = self._motions.operator_range(command)
        if on is None:
            return False
        at = self._model.cursor
        changes.run_vi_operator(self._model, command.verb, on)
        if (
            command.verb in ("gu", "gU", "g~")
            and on.is_linewise
            and command.motion in ("j", "k", "gj", "gk", "G")
        ):
            self._model.move_to((on.start[0], at[1]))
        if command.verb == "y":
            self._model.move_to(
                (on.start[0], at[1]) if on.is_linewise and command.motion[0] not in "ia" else on.start
            )
        return True

    @staticmethod
    def _enters_insert_mode(command: ViCommand) -> bool:
        return command.verb == "c" or command.verb in _VI_INSERT_MODE_COMMANDS

    # -- writing -------------------------------------------------------------------------------------------

    def _start_insert_mode(self, change: _RepeatableViChange) -> None:
        self.mode, self._current_change = "insert", change
        self._insert_start = self._model.cursor

    def _finish_insert_mode(self) -> None:
        model = self._model
        start, end = self._insert_start, model.cursor
        written = text_between_positions(model.lines, start, end) if start <= end else ""
        now, self._current_change = self._current_change, None
        if now is not None:
            if now.command.verb in "iaIAoO" and now.command.count > 1 and written:
                self._repeat_typed_text(now.command, written, now.command.count - 1)
            self._last_change = msgspec.structs.replace(now, typed_text=written)
        self._insert_start = model.cursor
        model.set_undo_group(False)

    def _repeat_typed_text(self, command: ViCommand, written: str, times: int) -> None:
        model = self._model
        for _ in range(min(times, 1_000_000 // len(written))):
            if command.verb in "oO":
                changes.insert_empty_line(model, is_below=True)
            model.replace(model.cursor, model.cursor, written)

    def _repeat_last_change(self, count: int) -> None:
        """Repeats the last change (vi's `.`), with another count if one is given."""
        change = self._last_change
        if change is None:
            return
        command = msgspec.structs.replace(change.command, count=count) if count else change.command
        model = self._model
        model.set_undo_group(True)
        if change.visual_mode is not None:
            is_done = self._run_on_range(command, self._range_of_same_size(change))
        else:
            is_done = self._run_command(command)
        if is_done and change.typed_text is not None:
            model.replace(model.cursor, model.cursor, change.typed_text)
            if command.verb in "iaIAoO" and command.count > 1 and change.typed_text:
                self._repeat_typed_text(command, change.typed_text, command.count - 1)
            row, column = model.cursor
            model.move_to((row, grapheme_boundary_before(model.lines[row], column)))
        model.set_undo_group(False)
        self._last_change = msgspec.structs.replace(change, command=command)

    # -- visual --------------------------------------------------------------------------------------------

    def _begin_visual_mode(self, mode: ViModeName) -> None:
        self.mode = mode
        self._model.selection_start = self._model.cursor
        self._model.selection_kind = "line" if mode == "visual line" else "inclusive"

    def _leave_visual_mode(self) -> None:
        if self.is_visual and self._model.selection_start is not None:
            self._visual_start = (self._model.selection_start, self._model.cursor, self.mode)
        self.mode, self._model.selection_start = "normal", None
        self.clamp_cursor_to_character()

    def _restore_last_selection(self) -> None:
        """Selects again what was selected last (vi's `gv`); an existing selection is then remembered as the last
        one."""
        if (last := self._visual_start) is not None:
            if self.is_visual:
                self._leave_visual_mode()
            mark, cursor, mode = last
            self._model.move_to(mark)
            self._begin_visual_mode(mode)
            self._model.move_to(cursor)

    def _run_visual_command(self, command: ViCommand) -> None:
        model = self._model
        if not command.verb:
            model.selection_start = self._motions.extend_selection(command, model.selection_start)
        elif command.verb in ("v", "V"):
            mode: ViModeName = "visual" if command.verb == "v" else "visual line"
            if mode == self.mode:
                self._leave_visual_mode()
            else:
                self.mode = mode
                model.selection_kind = "line" if mode == "visual line" else "inclusive"
        elif command.verb == "gv":
            self._restore_last_selection()
        elif command.verb in ("o", "O") and model.selection_start is not None:
            mark, cursor = model.selection_start, model.cursor
            model.move_to(mark)
            model.selection_start = cursor
        else:
            self._run_on_selection(command)

    def _run_on_selection(self, command: ViCommand) -> None:
        model, mode = self._model, self.mode
        on = TextRange(
            *(selection_range(model) or (model.cursor, model.cursor)),
            is_linewise=mode == "visual line" or command.verb in tuple("SYXDC"),
        )
        goes_beyond = max(model.selection_start or model.cursor, model.cursor)[1] >= len(
            model.lines[on.end[0]]
        )
        takes_line_end = self._motions.stays_at_line_ends or goes_beyond
        if takes_line_end and not on.is_linewise and on.end[0] + 1 < len(model.lines):
            on = TextRange(on.start, (on.end[0] + 1, 0))  # the character at the end is included
        if on.is_linewise:
            on = TextRange((on.start[0], 0), (on.end[0], len(model.lines[on.end[0]])), is_linewise=True)
        command = msgspec.structs.replace(
            command, verb=_VI_OPERATOR_BY_VISUAL_COMMAND.get(command.verb, command.verb)
        )
        self._leave_visual_mode()
        change = _RepeatableViChange(
            command=command,
            visual_mode=mode,
            selected_rows=on.end[0] - on.start[0],
            selected_columns=on.end[1] - (on.start[1] if on.start[0] == on.end[0] else 0),
        )
        model.set_undo_group(True)
        is_done = self._run_on_range(command, on)
        if is_done and command.verb == "c":
            self._start_insert_mode(change)
            return
        model.set_undo_group(False)
        if is_done and command.verb != "y":
            self._last_change = change

    def _run_on_range(self, command: ViCommand, on: TextRange) -> bool:
        model = self._model
        match command.verb:
            case "d" | "c" | "y" | ">" | "<" | "gu" | "gU" | "g~":
                for _ in range(command.repetitions if command.verb in "<>" else 1):
                    changes.run_vi_operator(model, command.verb, on)
                if command.verb == "y":
                    model.move_to(on.start)
            case "r":
                changes.replace_selected_chars(model, on, command.char)
            case "J" | "gJ":
                return changes.join_lines(
                    model, on.start[0], max(on.end[0], on.start[0] + 1), has_blank=command.verb == "J"
                )
            case "p" | "P":
                changes.put_vi_register_over_selection(model, model.vi_register, on, command.repetitions)
            case _:
                return False
        return True

    def _range_of_same_size(self, change: _RepeatableViChange) -> TextRange:
        """Returns the range from the cursor on that is as large as the selection that a repeated change was made on."""
        lines, (row, column) = self._model.lines, self._model.cursor
        last = min(row + change.selected_rows, len(lines) - 1)
        if change.visual_mode == "visual line":
            return TextRange((row, 0), (last, len(lines[last])), is_linewise=True)
        end = change.selected_columns + (column if not change.selected_rows else 0)
        if end > len(lines[last]) and last + 1 < len(lines):
            return TextRange((row, column), (last + 1, 0))
        return TextRange((row, column), (last, min(end, len(lines[last]))))
