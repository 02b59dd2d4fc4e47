"""Draws the editor: its upper and lower rule and the rows of its text."""

from collections.abc import Sequence
from typing import NamedTuple

from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from widgets.editor.graphemes import TAB, graphemes, is_chip
from widgets.editor.layout import Layout
from widgets.editor.model import EditorModel, Position
from widgets.key_labels import hint_parts
from widgets.line import RowBuilder, cells, fit_cells
from widgets.readable_styles import has_background
from widgets.transcript.leaves.safe_text import crop

MARK_CELLS = 2
"""The width of the mark column and a space, after which text begins on the whole page."""

LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
PREFIX = "prompt--"
COMPONENTS = frozenset(
    PREFIX + name
    for name in (
        "text",
        "chip",
        "placeholder",
        "status",
        "alive",
        "detail",
        "key",
        "mark",
        "resting",
        "hidden",
        "caret",
        "selected",
        "shell",
        *(f"thinking-{level}" for level in LEVELS),
    )
)


class EditorStyles:
    """The editor's styles, looked up once per theme."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._styles: dict[str, Style] = {}
        self.base = widget.rich_style

    def __getitem__(self, name: str) -> Style:
        found = self._styles.get(name)
        if found is None:
            key = PREFIX + name
            if key not in COMPONENTS:
                key = PREFIX + "thinking-off"
            found = self._widget.get_component_rich_style(key)
            if name in ("selected", "caret") and not has_background(found):
                found += Style(reverse=True)
            self._styles[name] = found
        return found


class RuleText(NamedTuple):
    """The text in one of the editor's rules."""

    words: str = ""
    figures: str = ""
    """Shown dimmed after the words; dropped last when space is short."""
    mark: str = ""
    """A glyph in the mark column for a running activity."""
    hints: str = ""
    """Key hints at the right end, such as `esc stop`."""
    is_hints: bool = False
    """Whether the words are key hints too."""


def draw_rule(
    look: EditorStyles, key: str, width: int, told: RuleText, *, hidden: int, arrow: str, char: str = "─"
) -> Strip:
    """Draws a rule with text in it and the number of rows hidden beyond it."""
    rule = look[key]
    line = RowBuilder(width, look.base)
    right = f" {arrow} {hidden} more " if hidden else ""
    hints = hint_parts(told.hints)
    size = cells(right) + sum(cells(text) for text, _ in hints) + (2 if hints else 0)
    if size + 16 > width and hints:
        hints, size = [], cells(right)
    room = width - size - 4
    if told.words and room > 2:
        line.add(told.mark or char, look["alive"] if told.mark else rule).add(" ")
        if told.is_hints:
            _add_hints(line, look, hint_parts(told.words), room)
        else:
            figures = f" · {told.figures}" if told.figures else ""
            line.add(fit_to(told.words, room - cells(figures)), look["status"])
            line.add(fit_to(figures, line.room), look["detail"])
        line.add(" ")
    line.fill_to(width - size - (1 if size else 0), char, rule)
    if hints:
        line.add(" ")
        _add_hints(line, look, hints, line.room)
        line.add(" ")
    if right:
        line.add(right, look["hidden"])
    line.fill_to(width, char, rule)
    return line.strip()


def _add_hints(line: RowBuilder, look: EditorStyles, hints: Sequence[tuple[str, bool]], room: int) -> None:
    for text, is_key in hints:
        text = fit_to(text, room)
        line.add(text, look["key" if is_key else "detail"])
        room -= cells(text)


def fit_to(text: str, room: int) -> str:
    return text if cells(text) <= room else fit_cells(text, max(0, room)).rstrip()


def draw_row(
    look: EditorStyles,
    model: EditorModel,
    layout: Layout,
    row: int,
    *,
    width: int,
    padding: int,
    place: tuple[int, int] | None,
    placeholder: str,
    is_focused: bool = True,
    selected: tuple[Position, Position] | None = None,
) -> Strip:
    line = RowBuilder(width, look.base)
    if row == 0:
        line.add("› ", look["mark" if is_focused else "resting"])
    line.fill_to(MARK_CELLS + padding)
    is_empty = model.lines == [""]
    if 0 <= row < layout.row_count:
        number, start, end = layout.row(row)
        text = crop(placeholder, max(1, line.room - 1)) if is_empty else model.lines[number][start:end]
        style = look["placeholder" if is_empty else "text"]
        caret = place[1] if place is not None and place[0] == row else -1
        inside = range(0)
        if selected is not None and selected[0][0] <= number <= selected[1][0]:
            first = selected[0][1] - start if selected[0][0] == number else 0
            last = selected[1][1] - start if selected[1][0] == number else len(text) + 1
            inside = range(max(0, first), max(0, last))
        _draw_text(line, look, layout, text, style, caret, inside)
    return line.strip()


def _draw_text(
    line: RowBuilder, look: EditorStyles, layout: Layout, text: str, style: Style, caret: int, inside: range
) -> None:
    """Draws the text of a row. `inside`: the selected characters; a selected line break is shown as
    one cell."""
    if caret < 0 and not inside and text.isascii() and "\t" not in text:
        line.add(text, style)
        return
    begin = line.used
    plain: list[str] = []
    column = 0
    for start, end, size in graphemes(text):
        shown, look_of = text[start:end], style
        if is_chip(shown[0]):
            shown, look_of = layout.label(shown[0]), look["chip"]
            size = cells(shown)
        elif shown[0] == "\t":
            size = TAB - column % TAB
            shown = " " * size
        is_caret = column <= caret < column + max(1, size)
        if start in inside:
            look_of = look["selected"]
        if is_caret or look_of is not style:
            line.add("".join(plain), style)
            plain.clear()
            line.add(shown, look["caret"] if is_caret else look_of)
        else:
            plain.append(shown)
        column += size
    line.add("".join(plain), style)
    if len(text) in inside and not (caret >= column):
        line.add(" ", look["selected"])
    if caret >= column:
        line.fill_to(begin + caret)
        line.add(" ", look["caret"])
