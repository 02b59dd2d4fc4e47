"""How the editor looks: its rules and the rows of its text."""

from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from widgets.editor.graphemes import TAB, graphemes, is_chip
from widgets.editor.layout import Layout
from widgets.editor.model import EditorModel
from widgets.line import Line, cells, fit

LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
PREFIX = "prompt--"
COMPONENTS = frozenset(
    PREFIX + name
    for name in (
        "text",
        "chip",
        "placeholder",
        "status",
        "hidden",
        "caret",
        "shell",
        *(f"thinking-{level}" for level in LEVELS),
    )
)


class EditorLook:
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
            found = self._styles[name] = self._widget.get_component_rich_style(key)
        return found


def draw_rule(look: EditorLook, key: str, width: int, *, left: str, hidden: int, arrow: str) -> Strip:
    """A rule with a word in it, and how many rows are out of sight behind it."""
    rule = look[key]
    line = Line(width, look.base)
    right = f" {arrow} {hidden} more " if hidden else ""
    if left and width > 6:
        line.add("──", rule).add(" ").add(fit_to(left, width - 6 - cells(right)), look["status"]).add(" ")
    line.fill_to(width - cells(right) - (2 if right else 0), "─", rule)
    if right:
        line.add(right, look["hidden"])
    line.fill_to(width, "─", rule)
    return line.strip()


def fit_to(text: str, room: int) -> str:
    return text if cells(text) <= room else fit(text, max(0, room)).rstrip()


def draw_row(
    look: EditorLook,
    model: EditorModel,
    layout: Layout,
    row: int,
    *,
    width: int,
    padding: int,
    place: tuple[int, int] | None,
    placeholder: str,
) -> Strip:
    line = Line(width, look.base)
    line.pad(padding)
    is_empty = model.lines == [""]
    if 0 <= row < layout.row_count:
        number, start, end = layout.row(row)
        text = placeholder if is_empty else model.lines[number][start:end]
        style = look["placeholder" if is_empty else "text"]
        caret = place[1] if place is not None and place[0] == row else -1
        _draw_text(line, look, layout, text, style, caret)
    return line.strip()


def _draw_text(line: Line, look: EditorLook, layout: Layout, text: str, style: Style, caret: int) -> None:
    if caret < 0 and text.isascii() and "\t" not in text:
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
        if is_caret or look_of is not style:
            line.add("".join(plain), style)
            plain.clear()
            line.add(shown, look["caret"] if is_caret else look_of)
        else:
            plain.append(shown)
        column += size
    line.add("".join(plain), style)
    if caret >= column:
        line.fill_to(begin + caret)
        line.add(" ", look["caret"])
