"""A terminal emulator without a window: parses a program's output, keeps the resulting screen, answers its queries.

It supports what full-screen programs, shells and prompts use of xterm. Unknown sequences are ignored; output affects
nothing but this screen: no clipboard, no links, no window titles."""

import codecs
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from rich.style import Style

from widgets.emulator.terminal_grid import TerminalGrid, TerminalGridRow
from widgets.emulator.terminal_pen import TerminalPen

_MAX_SCROLLBACK_LINES: Final = 5_000
_MAX_ESCAPE_SEQUENCE_CHARS: Final = 65_536
_MAX_CSI_PARAMETER_DIGITS: Final = 9
"""The maximum length of a number; longer ones are ignored."""
_MAX_CSI_PARAMETER_VALUE: Final = 9_999
_TAB_COLUMNS: Final = 8
_TERMINAL_TOKEN_PATTERN: Final = re.compile(
    r"(?P<text>[^\x00-\x1f\x7f-\x9f]+)"
    r"|\x1b\[(?P<parameters>[0-?]*)(?P<between>[ -/]*)(?P<final>[@-~])"
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"
    r"|\x1b(?P<charset>[()])(?P<set>.)"
    r"|\x1b[ -/]+[0-~]"
    r"|\x1b(?P<escape>[0-OQ-WYZ\\`-~])"
    r"|(?P<control>[\x00-\x1f\x7f-\x9f])",
    re.DOTALL,
)
_UNFINISHED_SEQUENCE_PATTERN: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)\Z")
_CSI_CURSOR_COMMANDS: Final = frozenset("ABCDEFGHIZadef`")
_CSI_EDIT_COMMANDS: Final = frozenset("JKLM@PXbST")
_LINE_DRAWING_TABLE: Final = str.maketrans("`afgjklmnopqrstuvwxyz{|}~", "◆▒°±┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")
"""Maps letters to line-drawing characters in the terminal's graphics character set."""


class TerminalEmulator:
    """Emulates a terminal for a program: takes its output and holds the resulting screen.

    One thread may pass output while another draws the screen."""

    def __init__(self, columns: int, lines: int, *, reply: Callable[[bytes], None]) -> None:
        self._reply = reply
        self._lock = threading.RLock()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unfinished_sequence = ""
        self._scrollback: deque[TerminalGridRow] = deque(maxlen=_MAX_SCROLLBACK_LINES)
        self._size = (columns, lines)
        self._reset_terminal()

    def _reset_terminal(self) -> None:
        columns, lines = self._size
        self._main_grid = TerminalGrid(columns, lines, self._scrollback.append)
        self._alternate_grid = TerminalGrid(columns, lines)
        """The alternate screen, which full-screen programs use and which has no scroll-back."""
        self._grid = self._main_grid
        self._pen = TerminalPen()
        self._saved: tuple[int, int, TerminalPen] = (0, 0, TerminalPen())
        self._is_autowrap_on, self._is_insert_mode_on = True, False
        self._charsets, self._charset = ["B", "B"], 0
        self._last_char = " "
        self.has_cursor = True
        self.has_application_keys = False
        self.has_bracketed_paste = False

    # Reading the screen

    @property
    def is_full_screen(self) -> bool:
        return self._grid is self._alternate_grid

    @property
    def cursor(self) -> tuple[int, int]:
        with self._lock:
            return min(self._grid.x, self._grid.column_count - 1), self._grid.y

    def styled_row_pieces(self, y: int) -> list[tuple[str, Style | None]]:
        """Returns a row of the emulated screen as pieces of text, each with one style."""
        with self._lock:
            if y >= self._grid.line_count:
                return []
            row = self._grid.rows[y]
            return list(_styled_pieces(row))

    def full_text(self) -> str:
        """Returns all text of the emulated terminal with its scroll-back; wrapped lines are joined."""
        with self._lock:
            rows = [*self._scrollback, *self._main_grid.rows]
            if self.is_full_screen:
                rows += self._alternate_grid.rows
            lines = [""]
            for row in rows:
                lines[-1] += "".join(row.chars)
                if not row.is_wrapped:
                    lines.append("")
        return "\n".join(line.rstrip() for line in lines).strip("\n")

    def resize(self, columns: int, lines: int) -> None:
        with self._lock:
            self._size = (columns, lines)
            for grid in (self._main_grid, self._alternate_grid):
                grid.resize(columns, lines)

    # Output of the program

    def feed(self, data: bytes) -> None:
        with self._lock:
            text = self._unfinished_sequence + self._decoder.decode(data)
            self._unfinished_sequence = ""
            unfinished = _UNFINISHED_SEQUENCE_PATTERN.search(text)
            if unfinished and len(text) - unfinished.start() <= _MAX_ESCAPE_SEQUENCE_CHARS:
                self._unfinished_sequence = text[unfinished.start() :]
                text = text[: unfinished.start()]
            for token in _TERMINAL_TOKEN_PATTERN.finditer(text):
                self._run_token(token)

    def _run_token(self, token: "re.Match[str]") -> None:
        match token.lastgroup:
            case "text":
                text = token["text"]
                if self._charsets[self._charset] == "0":
                    text = text.translate(_LINE_DRAWING_TABLE)
                self._last_char = text[-1]
                self._grid.write_text(
                    text, self._pen.style, wraps=self._is_autowrap_on, inserts=self._is_insert_mode_on
                )
            case "final":
                self._run_csi_sequence(token["parameters"], token["between"], token["final"])
            case "set":
                self._charsets["()".index(token["charset"])] = token["set"]
            case "escape":
                self._run_escape_sequence(token["escape"])
            case "control":
                self._run_control_character(token["control"])
            case _:
                pass  # titles, clipboard and pictures are ignored

    def _run_control_character(self, char: str) -> None:
        grid = self._grid
        match char:
            case "\b":
                grid.x = max(0, min(grid.x, grid.column_count - 1) - 1)
            case "\t":
                grid.move_to((grid.x // _TAB_COLUMNS + 1) * _TAB_COLUMNS, grid.y)
            case "\n" | "\v" | "\f":
                grid.line_feed()
            case "\r":
                grid.x = 0
            case "\x0e" | "\x0f":
                self._charset = 1 if char == "\x0e" else 0

    def _run_escape_sequence(self, char: str) -> None:
        grid = self._grid
        match char:
            case "7":
                self._save_cursor()
            case "8":
                self._restore_cursor()
            case "D":
                grid.line_feed()
            case "E":
                grid.x = 0
                grid.line_feed()
            case "M":
                grid.reverse_line_feed()
            case "c":
                self._reset_terminal()

    def _run_csi_sequence(self, parameters: str, between: str, final: str) -> None:
        sign = parameters[:1] if parameters[:1] in ("<", "=", ">", "?") else ""
        if between:
            return
        if final == "m":
            if not sign:
                self._pen.apply_sgr(parameters)
            return
        numbers = [
            min(int(part[:_MAX_CSI_PARAMETER_DIGITS]), _MAX_CSI_PARAMETER_VALUE) if part.isdigit() else 0
            for part in parameters.removeprefix(sign)[:_MAX_ESCAPE_SEQUENCE_CHARS].split(";")
        ]
        if sign == "?" and final in "hl":
            for number in numbers:
                self._set_private_mode(number, is_on=final == "h")
        elif final == "c" and sign in ("", ">"):
            self._reply(b"\x1b[>0;10;1c" if sign else b"\x1b[?62;22c")
        elif not sign or (sign == "?" and final in "JK"):
            self._run_command(final, numbers)

    def _run_command(self, final: str, numbers: list[int]) -> None:
        if final in _CSI_CURSOR_COMMANDS:
            self._move_cursor(final, numbers)
        elif final in _CSI_EDIT_COMMANDS:
            self._change_content(final, numbers[0])
        else:
            self._set_mode(final, numbers)

    def _move_cursor(self, final: str, numbers: list[int]) -> None:
        """Runs an escape sequence that moves the cursor; a missing number counts as 1."""
        grid, count = self._grid, max(1, numbers[0])
        match final:
            case "A":
                grid.move_by(0, -count)
            case "B" | "e":
                grid.move_by(0, count)
            case "C" | "a":
                grid.move_by(count, 0)
            case "D":
                grid.move_by(-count, 0)
            case "E" | "F":
                grid.move_by(-grid.column_count, count if final == "E" else -count)
            case "G" | "`":
                grid.move_to(count - 1, grid.y)
            case "d":
                grid.move_to(grid.x, count - 1)
            case "I" | "Z":
                steps = count if final == "I" else -count
                grid.move_to((grid.x // _TAB_COLUMNS + steps) * _TAB_COLUMNS, grid.y)
            case _:
                column = max(1, numbers[1]) if len(numbers) > 1 else 1
                grid.move_to(column - 1, count - 1)

    def _change_content(self, final: str, how: int) -> None:
        """Runs an escape sequence that inserts, deletes, erases, repeats or scrolls text."""
        grid, blank, count = self._grid, self._pen.blank_style, max(1, how)
        match final:
            case "J":
                if how < 3:
                    grid.erase_display(how, blank)
                elif not self.is_full_screen:
                    self._scrollback.clear()
            case "K":
                grid.erase_line(how, blank)
            case "L" | "M":
                grid.insert_lines(count if final == "L" else -count, blank)
            case "@":
                grid.insert_chars(count, blank)
            case "P":
                grid.delete_chars(count, blank)
            case "X":
                grid.erase_chars(count, blank)
            case "b":
                again = self._last_char * min(count, grid.column_count * grid.line_count)
                grid.write_text(
                    again, self._pen.style, wraps=self._is_autowrap_on, inserts=self._is_insert_mode_on
                )
            case _:
                grid.scroll_rows(count if final == "S" else -count, blank)

    def _set_mode(self, final: str, numbers: list[int]) -> None:
        """Runs an escape sequence that sets a mode, saves or restores the cursor, sets the scrolling region, or asks
        for an answer."""
        match final:
            case "s":
                self._save_cursor()
            case "u":
                self._restore_cursor()
            case "r":
                bottom = numbers[1] if len(numbers) > 1 and numbers[1] else self._grid.line_count
                self._grid.set_scroll_region(max(1, numbers[0]) - 1, bottom - 1)
            case "h" | "l":
                self._is_insert_mode_on = final == "h" if 4 in numbers else self._is_insert_mode_on
            case "n":
                self._answer_query(numbers[0])

    def _set_private_mode(self, mode: int, *, is_on: bool) -> None:
        match mode:
            case 1:
                self.has_application_keys = is_on
            case 7:
                self._is_autowrap_on = is_on
            case 25:
                self.has_cursor = is_on
            case 1048:
                self._save_cursor() if is_on else self._restore_cursor()
            case 47 | 1047 | 1049:
                self._switch_screen(is_on=is_on, saves=mode == 1049)
            case 2004:
                self.has_bracketed_paste = is_on

    def _switch_screen(self, *, is_on: bool, saves: bool) -> None:
        if is_on == self.is_full_screen:
            return
        if is_on:
            if saves:
                self._save_cursor()
            self._alternate_grid = TerminalGrid(*self._size)
            self._alternate_grid.move_to(self._main_grid.x, self._main_grid.y)
            self._grid = self._alternate_grid
        else:
            self._grid = self._main_grid
            if saves:
                self._restore_cursor()

    def _save_cursor(self) -> None:
        self._saved = (self._grid.x, self._grid.y, self._pen.copy())

    def _restore_cursor(self) -> None:
        x, y, pen = self._saved
        self._grid.move_to(x, y)
        self._pen = pen.copy()

    def _answer_query(self, what: int) -> None:
        if what == 5:
            self._reply(b"\x1b[0n")
        elif what == 6:
            x, y = self.cursor
            self._reply(b"\x1b[%d;%dR" % (y + 1, x + 1))


def _styled_pieces(row: TerminalGridRow) -> Iterator[tuple[str, Style | None]]:
    start, styles = 0, row.styles
    for at in range(1, len(styles) + 1):
        if at == len(styles) or styles[at] is not styles[start]:
            yield "".join(row.chars[start:at]), styles[start]
            start = at
