"""vi's modes over the text: keys come in one by one, a whole command is carried out, `.` does the last change again.

Knows no widget. What is beyond the text (rows on the screen, older prompts) is left to whoever feeds the keys.
"""

from typing import Literal

import msgspec

from widgets.editor.graphemes import boundary_before
from widgets.editor.model import EditorModel, Position, between, selected
from widgets.editor.vi import changes
from widgets.editor.vi.grammar import SHORT, Spoken, parse
from widgets.editor.vi.motions import Walker
from widgets.editor.vi.objects import Stretch
from widgets.editor.vi.places import first_word, last_column

Mode = Literal["insert", "normal", "visual", "visual line"]
Fed = Literal["done", "open", "older", "newer"]
"""`older`, `newer`: up from the first line or down from the last: to another prompt."""
_SEARCHES = frozenset("/?nN*#")
_INTO_INSERT = frozenset("iaIAoOCSs") | {"gi"}
_ON_SELECTION = {**{short: long[0] for short, long in SHORT.items()}, "u": "gu", "U": "gU", "~": "g~"}
"""Which operator a deed is where something is selected."""


class _Change(msgspec.Struct, frozen=True, kw_only=True):
    """What `.` does again."""

    said: Spoken
    written: str | None = None
    """What was written behind it, if it led into insert mode."""
    rows: int = 0
    """Of what was selected: lines below the first, and characters in the last of them."""
    columns: int = 0
    was_visual: Mode | None = None


class ViMode:
    def __init__(self, model: EditorModel) -> None:
        self._model = model
        self._walker = Walker(model)
        self.mode: Mode = "insert"
        self.keys = ""
        """The beginning of a command."""
        self.wants_literal = False
        """The next key is taken as the character it writes."""
        self.said = Spoken()
        """The last command."""
        self.has_failed = False
        """It came to nothing."""
        self._last: _Change | None = None
        self._now: _Change | None = None
        """The change whose words are being written."""
        self._written_from: Position = (0, 0)
        self._begun_visual: tuple[Position, Position, Mode] | None = None

    def begin(self) -> None:
        """A new prompt: one writes."""
        self.mode, self.keys, self.wants_literal, self._now = "insert", "", False, None
        self._model.mark = None
        self._model.group(True)
        self._written_from = self._model.cursor

    # -- keys ----------------------------------------------------------------------------------------------

    def feed(self, key: str) -> Fed:
        """A key outside of insert mode."""
        self.keys += key
        said = parse(self.keys, is_visual=self.is_visual)
        self.wants_literal = said == "literal"
        if said in ("open", "literal"):
            return "open"
        self.keys = ""
        self.has_failed = not isinstance(said, Spoken)
        if not isinstance(said, Spoken):
            return "done"
        self.said = said
        if not self.is_visual and not said.verb and (end := self._beyond(said)) is not None:
            return end
        if self.is_visual:
            self._select(said)
        else:
            self._carry_out(said)
        if said.verb:
            self._walker.forget_goal()
        self.settle()
        return "done"

    def rub(self) -> None:
        """The last character of what is looked for is none."""
        self.keys = self.keys[:-1]
        self.wants_literal = bool(self.keys) and parse(self.keys, is_visual=self.is_visual) == "literal"

    def escape(self) -> bool:
        """Back to normal mode. False: it means nothing here."""
        self.has_failed = False
        if self.mode == "insert":
            self._finish_writing()
            self.mode = "normal"
            row, column = self._model.cursor
            self._model.move_to((row, boundary_before(self._model.lines[row], column)))
            return True
        was_open = bool(self.keys) or self.is_visual
        self.keys, self.wants_literal = "", False
        self._leave_visual()
        return was_open

    def settle(self) -> None:
        """Outside of insert mode the cursor stands on a character."""
        if self.mode == "normal":
            row, column = self._model.cursor
            if column >= len(self._model.lines[row]):
                self._model.move_to((row, last_column(self._model.lines[row])))

    @property
    def is_visual(self) -> bool:
        return self.mode in ("visual", "visual line")

    @property
    def told(self) -> str:
        if self.keys:
            return f"{self.mode} · {self.keys}"
        is_search = self.has_failed and self.said.motion in _SEARCHES
        return f"{self.mode} · nothing found" if is_search else self.mode

    def _beyond(self, said: Spoken) -> Fed | None:
        row, last = self._model.cursor[0], len(self._model.lines) - 1
        if said.motion in ("k", "gk") and row == 0 and not said.count:
            return "older"
        if said.motion in ("j", "gj") and row == last and not said.count:
            return "newer"
        return None

    # -- commands ------------------------------------------------------------------------------------------

    def _carry_out(self, said: Spoken) -> None:
        if not said.verb:
            self.has_failed = not self._walker.move(said)
        elif said.verb == ".":
            self._again(said.count)
        elif said.verb == "u":
            for _ in range(said.times):
                self._model.undo()
        elif said.verb == "\x12":
            for _ in range(said.times):
                self._model.redo()
        elif said.verb in ("v", "V"):
            self._begin_visual("visual" if said.verb == "v" else "visual line")
        elif said.verb == "gv":
            self._visual_again()
        elif said.verb == "y" or said.verb == "Y":
            self._operate(said)
        else:
            self._change(said)

    def _change(self, said: Spoken) -> None:
        """A command that `.` does again."""
        self._model.group(True)
        if not self._do(said):
            self._model.group(False)
            self.has_failed = True
            return
        change = _Change(said=said)
        if self._writes(said):
            self._begin_writing(change)
        else:
            self._model.group(False)
            self._last = change

    def _do(self, said: Spoken) -> bool:
        """False: nothing came of it."""
        model = self._model
        row = model.cursor[0]
        match said.verb:
            case "p" | "P":
                changes.put(model, model.register, said.times, is_after=said.verb == "p")
            case "r":
                return changes.replace_chars(model, said.char, said.times)
            case "~":
                changes.swap_case(model, said.times)
            case "J" | "gJ":
                return changes.join(model, row, row + max(1, said.times - 1), has_blank=said.verb == "J")
            case "i":
                pass
            case "gi":
                model.move_to(self._written_from)
            case "a":
                model.move_to(self._walker.right_of_cursor())
            case "I":
                line = model.lines[row]
                model.move_to((row, first_word(line) if line.strip() else len(line)))
            case "A":
                model.move_to((row, len(model.lines[row])))
            case "o" | "O":
                changes.open_line(model, is_below=said.verb == "o")
            case _:
                return self._operate(said)
        return True

    def _operate(self, said: Spoken) -> bool:
        """An operator with its motion, or what is short for one."""
        if said.verb in SHORT:
            verb, motion = SHORT[said.verb]
            said = msgspec.structs.replace(said, verb=verb, motion=motion)
        on = self._walker.stretch(said)
        if on is None:
            return False
        at = self._model.cursor
        changes.operate(self._model, said.verb, on)
        if said.verb in ("gu", "gU", "g~") and on.is_linewise and said.motion in ("j", "k", "gj", "gk", "G"):
            self._model.move_to((on.start[0], at[1]))
        if said.verb == "y":
            self._model.move_to(
                (on.start[0], at[1]) if on.is_linewise and said.motion[0] not in "ia" else on.start
            )
        return True

    @staticmethod
    def _writes(said: Spoken) -> bool:
        return said.verb == "c" or said.verb in _INTO_INSERT

    # -- writing -------------------------------------------------------------------------------------------

    def _begin_writing(self, change: _Change) -> None:
        self.mode, self._now = "insert", change
        self._written_from = self._model.cursor

    def _finish_writing(self) -> None:
        model = self._model
        start, end = self._written_from, model.cursor
        written = between(model.lines, start, end) if start <= end else ""
        now, self._now = self._now, None
        if now is not None:
            if now.said.verb in "iaIAoO" and now.said.count > 1 and written:
                self._write_again(now.said, written, now.said.count - 1)
            self._last = msgspec.structs.replace(now, written=written)
        self._written_from = model.cursor
        model.group(False)

    def _write_again(self, said: Spoken, written: str, times: int) -> None:
        model = self._model
        for _ in range(min(times, 1_000_000 // len(written))):
            if said.verb in "oO":
                changes.open_line(model, is_below=True)
            model.replace(model.cursor, model.cursor, written)

    def _again(self, count: int) -> None:
        """The last change, with another count if one is given."""
        change = self._last
        if change is None:
            return
        said = msgspec.structs.replace(change.said, count=count) if count else change.said
        model = self._model
        model.group(True)
        if change.was_visual is not None:
            is_done = self._do_on(said, self._same_size(change))
        else:
            is_done = self._do(said)
        if is_done and change.written is not None:
            model.replace(model.cursor, model.cursor, change.written)
            if said.verb in "iaIAoO" and said.count > 1 and change.written:
                self._write_again(said, change.written, said.count - 1)
            row, column = model.cursor
            model.move_to((row, boundary_before(model.lines[row], column)))
        model.group(False)
        self._last = msgspec.structs.replace(change, said=said)

    # -- visual --------------------------------------------------------------------------------------------

    def _begin_visual(self, mode: Mode) -> None:
        self.mode = mode
        self._model.mark = self._model.cursor
        self._model.mark_kind = "line" if mode == "visual line" else "inclusive"

    def _leave_visual(self) -> None:
        if self.is_visual and self._model.mark is not None:
            self._begun_visual = (self._model.mark, self._model.cursor, self.mode)
        self.mode, self._model.mark = "normal", None
        self.settle()

    def _visual_again(self) -> None:
        """The last selection; where something is selected, the two change places."""
        if (last := self._begun_visual) is not None:
            if self.is_visual:
                self._leave_visual()
            mark, cursor, mode = last
            self._model.move_to(mark)
            self._begin_visual(mode)
            self._model.move_to(cursor)

    def _select(self, said: Spoken) -> None:
        model = self._model
        if not said.verb:
            model.mark = self._walker.extend(said, model.mark)
        elif said.verb in ("v", "V"):
            mode: Mode = "visual" if said.verb == "v" else "visual line"
            if mode == self.mode:
                self._leave_visual()
            else:
                self.mode = mode
                model.mark_kind = "line" if mode == "visual line" else "inclusive"
        elif said.verb == "gv":
            self._visual_again()
        elif said.verb in ("o", "O") and model.mark is not None:
            mark, cursor = model.mark, model.cursor
            model.move_to(mark)
            model.mark = cursor
        else:
            self._on_selection(said)

    def _on_selection(self, said: Spoken) -> None:
        model, mode = self._model, self.mode
        on = Stretch(
            *(selected(model) or (model.cursor, model.cursor)),
            is_linewise=mode == "visual line" or said.verb in tuple("SYXDC"),
        )
        goes_beyond = max(model.mark or model.cursor, model.cursor)[1] >= len(model.lines[on.end[0]])
        takes_line_end = self._walker.goes_to_ends or goes_beyond
        if takes_line_end and not on.is_linewise and on.end[0] + 1 < len(model.lines):
            on = Stretch(on.start, (on.end[0] + 1, 0))  # behind the last character it is taken too
        if on.is_linewise:
            on = Stretch((on.start[0], 0), (on.end[0], len(model.lines[on.end[0]])), is_linewise=True)
        said = msgspec.structs.replace(said, verb=_ON_SELECTION.get(said.verb, said.verb))
        self._leave_visual()
        change = _Change(
            said=said,
            was_visual=mode,
            rows=on.end[0] - on.start[0],
            columns=on.end[1] - (on.start[1] if on.start[0] == on.end[0] else 0),
        )
        model.group(True)
        is_done = self._do_on(said, on)
        if is_done and said.verb == "c":
            self._begin_writing(change)
            return
        model.group(False)
        if is_done and said.verb != "y":
            self._last = change

    def _do_on(self, said: Spoken, on: Stretch) -> bool:
        model = self._model
        match said.verb:
            case "d" | "c" | "y" | ">" | "<" | "gu" | "gU" | "g~":
                for _ in range(said.times if said.verb in "<>" else 1):
                    changes.operate(model, said.verb, on)
                if said.verb == "y":
                    model.move_to(on.start)
            case "r":
                changes.replace_all(model, on, said.char)
            case "J" | "gJ":
                return changes.join(
                    model, on.start[0], max(on.end[0], on.start[0] + 1), has_blank=said.verb == "J"
                )
            case "p" | "P":
                changes.put_over(model, model.register, on, said.times)
            case _:
                return False
        return True

    def _same_size(self, change: _Change) -> Stretch:
        """As much as was selected, from the cursor on."""
        lines, (row, column) = self._model.lines, self._model.cursor
        last = min(row + change.rows, len(lines) - 1)
        if change.was_visual == "visual line":
            return Stretch((row, 0), (last, len(lines[last])), is_linewise=True)
        end = change.columns + (column if not change.rows else 0)
        if end > len(lines[last]) and last + 1 < len(lines):
            return Stretch((row, column), (last + 1, 0))
        return Stretch((row, column), (last, min(end, len(lines[last]))))
