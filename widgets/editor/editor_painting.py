"""Draws the rows of the prompt editor: the rule above, the wrapped text, and the rule below."""

from collections.abc import Sequence
from typing import NamedTuple

from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from widgets.editor.editor_model import EditorModel, TextPosition
from widgets.editor.graphemes import TAB_CELLS, is_chip_character, line_graphemes
from widgets.editor.text_layout import TextLayout
from widgets.key_labels import split_key_hints
from widgets.readable_styles import has_background_color, make_style_readable
from widgets.row_builder import RIGHT_MARGIN_CELLS, RowBuilder, cells, clean_single_line, fit_text_to_cells
from widgets.status.status_segments import STATUS_SEGMENT_GAP, StatusSegment, fitting_status_segments
from widgets.transcript.leaves.safe_text import cut_end_to_fit

PROMPT_MARK_COLUMN_CELLS = 2
"""The width of the mark column and a space, after which text begins on the whole page."""

THINKING_LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
EDITOR_STYLE_PREFIX = "prompt--"
EDITOR_COMPONENT_CLASS_NAMES = frozenset(
    EDITOR_STYLE_PREFIX + name
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
        "pill",
        "pill-accent",
        "pill-error",
        "pill-warning",
        "warning",
        *(f"thinking-{level}" for level in THINKING_LEVELS),
    )
)


class EditorStyles:
    """The styles with which the prompt editor is drawn, looked up once per theme."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._styles: dict[str, Style] = {}
        self.base = widget.rich_style
        self.rule = " " if has_background_color(self.base) else "─"
        """What fills the first and the last row: the editor's ground, and rules where grounds are invisible."""

    def __getitem__(self, name: str) -> Style:
        found = self._styles.get(name)
        if found is None:
            key = EDITOR_STYLE_PREFIX + name
            if key not in EDITOR_COMPONENT_CLASS_NAMES:
                key = EDITOR_STYLE_PREFIX + "thinking-off"
            found = self._widget.get_component_rich_style(key)
            if name in ("selected", "caret") and not has_background_color(found):
                found += Style(reverse=True)
            found = make_style_readable(found)
            self._styles[name] = found
        return found


class EditorBorderText(NamedTuple):
    """The text in one of the two rules of the prompt editor: a mark, words, figures and key hints."""

    main_text: str = ""
    dimmed_figures: str = ""
    """Shown dimmed after the words; dropped last when space is short."""
    mark: str = ""
    """A glyph in the mark column for a running activity."""
    key_hints: str = ""
    """Key hints at the right end, such as `esc stop`."""
    is_main_text_key_hints: bool = False
    """Whether the words are key hints too."""


def draw_editor_border(
    look: EditorStyles,
    key: str,
    width: int,
    told: EditorBorderText,
    *,
    hidden: int,
    arrow: str,
    char: str,
    status: Sequence[StatusSegment] = (),
) -> Strip:
    """Draws the rule above or below the prompt editor's text: words, key hints, mode and model, and how many rows of
    text are hidden in that direction."""
    rule = look[key]
    line = RowBuilder(width, look.base)
    right = f" {arrow} {hidden} more " if hidden else ""
    hints = split_key_hints(told.key_hints)
    size = cells(right) + sum(cells(text) for text, _ in hints) + (2 if hints else 0)
    if size + 16 > width and hints:
        hints, size = [], cells(right)
    room = width - size - 4
    if told.main_text and room > 2:
        line.add(told.mark or char, look["alive"] if told.mark else rule).add(" ")
        if told.is_main_text_key_hints:
            _add_key_hints(line, look, split_key_hints(told.main_text), room)
        else:
            figures = f" · {told.dimmed_figures}" if told.dimmed_figures else ""
            line.add(
                cut_text_to_cells(clean_single_line(told.main_text), room - cells(figures)), look["status"]
            )
            line.add(cut_text_to_cells(figures, line.remaining_cells), look["detail"])
        line.add(" ")
    if status:
        if not line.used:
            line.add(char, rule).add(" ")
        _add_mode_and_model(line, look, key, status, width - size - RIGHT_MARGIN_CELLS)
        line.add(" ")
    line.fill_to_column(width - size - (1 if size else 0), char, rule)
    if hints:
        line.add(" ")
        _add_key_hints(line, look, hints, line.remaining_cells)
        line.add(" ")
    if right:
        line.add(right, look["hidden"])
    line.fill_to_column(width, char, rule)
    return line.strip()


def _add_key_hints(
    line: RowBuilder, look: EditorStyles, hints: Sequence[tuple[str, bool]], room: int
) -> None:
    for text, is_key in hints:
        text = cut_text_to_cells(text, room)
        line.add(text, look["key" if is_key else "detail"])
        room -= cells(text)


def _add_mode_and_model(
    line: RowBuilder, look: EditorStyles, key: str, status: Sequence[StatusSegment], width: int
) -> None:
    """Adds the status segments to an editor's rule as far as they fit: the permission mode as a pill, the model, the
    thinking level in its colour."""
    for number, segment in enumerate(fitting_status_segments(status, width - line.used - 2)):
        line.add(STATUS_SEGMENT_GAP if number or line.used > PROMPT_MARK_COLUMN_CELLS else "")
        if segment.id == "permissions":
            mode, _, rest = segment.text.partition(", ")
            pill = f"pill-{segment.tone}" if segment.tone in ("accent", "error", "warning") else "pill"
            line.add(f" {mode.upper()} ", look[pill]).add(f" {rest}" if rest else "", look["warning"])
        else:
            name = {"thinking": key, "model": "status"}.get(segment.id, "detail")
            line.add(segment.text, look["warning" if segment.tone == "warning" else name])


def cut_text_to_cells(text: str, room: int) -> str:
    return text if cells(text) <= room else fit_text_to_cells(text, max(0, room)).rstrip()


def draw_editor_row(
    look: EditorStyles,
    model: EditorModel,
    layout: TextLayout,
    row: int,
    *,
    width: int,
    padding: int,
    place: tuple[int, int] | None,
    placeholder: str,
    is_focused: bool = True,
    selected: tuple[TextPosition, TextPosition] | None = None,
) -> Strip:
    line = RowBuilder(width, look.base)
    if row == 0:
        line.add("› ", look["mark" if is_focused else "resting"])
    line.fill_to_column(PROMPT_MARK_COLUMN_CELLS + padding)
    is_empty = model.lines == [""]
    if 0 <= row < layout.row_count:
        number, start, end = layout.row(row)
        text = (
            cut_end_to_fit(placeholder, max(1, line.remaining_cells - RIGHT_MARGIN_CELLS))
            if is_empty
            else model.lines[number][start:end]
        )
        style = look["placeholder" if is_empty else "text"]
        caret = place[1] if place is not None and place[0] == row else -1
        inside = range(0)
        if selected is not None and selected[0][0] <= number <= selected[1][0]:
            first = selected[0][1] - start if selected[0][0] == number else 0
            last = selected[1][1] - start if selected[1][0] == number else len(text) + 1
            inside = range(max(0, first), max(0, last))
        _draw_row_text(line, look, layout, text, style, caret, inside)
    return line.strip()


def _draw_row_text(
    line: RowBuilder,
    look: EditorStyles,
    layout: TextLayout,
    text: str,
    style: Style,
    caret: int,
    inside: range,
) -> None:
    """Draws the text of an editor row with its chips, tabs, selection and caret. `inside`: the indexes of the selected
    characters; a selected line break is shown as one cell."""
    if caret < 0 and not inside and text.isascii() and "\t" not in text:
        line.add(text, style)
        return
    begin = line.used
    plain: list[str] = []
    column = 0
    for start, end, size in line_graphemes(text):
        shown, look_of = text[start:end], style
        if is_chip_character(shown[0]):
            shown, look_of = layout.label(shown[0]), look["chip"]
            size = cells(shown)
        elif shown[0] == "\t":
            size = TAB_CELLS - column % TAB_CELLS
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
        line.fill_to_column(begin + caret)
        line.add(" ", look["caret"])
