"""Widgets that screens share: the titled rule, the key hint line, panes."""

import string
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from rich.style import Style
from textual.containers import Container, Vertical
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from widgets import textual_internals as textual_inside
from widgets.key_labels import UNBOUND_KEY_LABEL, format_key_name
from widgets.readable_styles import has_background_color, make_style_readable
from widgets.row_builder import RIGHT_MARGIN_CELLS, RowBuilder, cells, clean_single_line
from widgets.transcript.leaves.safe_text import cut_end_to_fit


class KeyHint(NamedTuple):
    """A key with the word for what it does, for a line of key hints."""

    key: str
    """The key as in bindings; several are separated by slashes."""
    label: str
    importance: int = 5
    """Hints with the lowest importance are dropped first on narrow screens."""
    id: str = ""
    """The action's id, several separated by slashes: the user's keys replace the default ones."""


class KeyHints(Widget):
    """A widget with a line of key hints; drops the least important ones if there is not enough room."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"key-hints--key", "key-hints--label"}
    DEFAULT_CSS = "KeyHints { height: 1; }"

    def __init__(
        self, hints: Sequence[KeyHint] = (), *, all_keys: KeyHint | None = None, id: str | None = None
    ) -> None:
        """Creates the line. `all_keys`: a hint that is added when some do not fit, for the key that lists all."""
        super().__init__(id=id)
        textual_inside.paint_without_frame(self)
        self.hints = tuple(hints)
        self._all_keys = all_keys

    def show(self, hints: Sequence[KeyHint]) -> None:
        if tuple(hints) != self.hints:
            self.hints = tuple(hints)
            self.refresh()

    def fitting_key_hints(self, width: int) -> list[KeyHint]:
        left = self.current_hints()
        if self._all_keys is not None and _total_cells(left) > width - 2 - RIGHT_MARGIN_CELLS:
            own = textual_inside.app_keymap(self.app) if self.is_attached else {}
            all_keys = _with_user_keys(self._all_keys, own)
            left = [*left[:-1], *([all_keys] if all_keys else []), *left[-1:]]
        while left and _total_cells(left) > width - 2 - RIGHT_MARGIN_CELLS:
            left.remove(min(reversed(left), key=lambda hint: hint.importance))
        return left

    def current_hints(self) -> list[KeyHint]:
        """Returns all hints with the keys that the user set; actions without a key are left out."""
        own = textual_inside.app_keymap(self.app) if self.is_attached else {}
        return [shown for hint in self.hints if (shown := _with_user_keys(hint, own)) is not None]

    def key_at_column(self, x: int) -> str | None:
        """Returns the key of the hint at a column of the line, of several keys the one there or the first; None between
        hints."""
        at = 2
        for number, hint in enumerate(self.fitting_key_hints(self.size.width)):
            at += 3 if number else 0
            keys = hint.key.split("/")
            for place, key in enumerate(keys):
                end = at + cells(format_key_name(key)) + (1 if place < len(keys) - 1 else 0)
                if at <= x < end:
                    return key
                at = end
            end = at + 1 + cells(hint.label)
            if at <= x < end:
                return keys[0]
            at = end
        return None

    def render_line(self, y: int) -> Strip:
        key = self.get_component_rich_style("key-hints--key")
        label = self.get_component_rich_style("key-hints--label")
        line = RowBuilder(self.size.width, self.rich_style).pad(2)
        for number, hint in enumerate(self.fitting_key_hints(self.size.width)):
            line.add(" · " if number else "", label)
            line.add(_key_names(hint.key), key).add(" " + hint.label, label)
        return line.strip()


def _with_user_keys(hint: KeyHint, own: Mapping[str, str]) -> KeyHint | None:
    """Returns a key hint with the keys that the user set for its actions; None if none of them has a key."""
    if not any(action in own for action in hint.id.split("/")):
        return hint
    keys = [
        own.get(action, default).split(",")[0]
        for action, default in zip(hint.id.split("/"), hint.key.split("/"), strict=False)
    ]
    kept = [key for key in keys if key != UNBOUND_KEY_LABEL]
    return hint._replace(key="/".join(kept)) if kept else None


def _key_names(keys: str) -> str:
    """Formats keys for a hint, separated by slashes; punctuation keys by blanks, because `</>` reads as a tag."""
    if keys == "/":
        return "/"
    names = [format_key_name(key) for key in keys.split("/")]
    are_signs = all(name in string.punctuation for name in names)
    return (" " if are_signs else "/").join(names)


def _total_cells(hints: Sequence[KeyHint]) -> int:
    return sum(cells(_key_names(hint.key)) + cells(hint.label) + 4 for hint in hints) - 3


def key_list_text(hints: Sequence[KeyHint]) -> str:
    """Returns a text with one key per line and its action, aligned in columns."""
    width = max((cells(_key_names(hint.key)) for hint in hints), default=0)
    return "\n".join(f"{_key_names(hint.key):<{width}}  {hint.label}" for hint in hints)


class ScreenSheet(Vertical):
    """The container of a screen's rows. They cover all of it, so the container itself is not drawn."""

    BLANK = True


class ScreenSheetBody(Container):
    """The container of a screen's panes. They cover all of it, so the container itself is not drawn."""

    BLANK = True


MIN_SCREEN_TITLE_CELLS = 24
"""Minimum cells for the title; it takes them from the note if needed."""


class RuleTitle(Widget):
    """The title row of a screen: a bar with a title at its left and a note at its right; a rule where backgrounds are
    invisible, or without a title."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"rule-title--{part}" for part in ("rule", "title", "note", "added", "removed")
    }
    DEFAULT_CSS = "RuleTitle { height: 1; }"

    def __init__(self, title: str = "", note: str = "", *, indent: int = 2, id: str | None = None) -> None:
        """Creates the title row. `indent`: the blank columns before the title."""
        super().__init__(id=id)
        textual_inside.paint_without_frame(self)
        self.title = title
        self.note = note
        self._indent = " " * indent

    def show(self, *, title: str | None = None, note: str | None = None) -> None:
        before = (self.title, self.note)
        self.title = self.title if title is None else title
        self.note = self.note if note is None else note
        if before != (self.title, self.note):
            self.refresh()

    def render_line(self, y: int) -> Strip:
        rule = self.get_component_rich_style("rule-title--rule")
        width = self.size.width
        note = f" {clean_single_line(self.note)} " if self.note else ""
        line = RowBuilder(width, self.rich_style)
        edge, filler = (
            (self._indent, " ") if self.title and has_background_color(self.rich_style) else ("─ ", "─")
        )
        if self.title:
            first = cells(self.note.split(" · ")[0]) + 4 if self.note else 0
            title = cut_end_to_fit(
                clean_single_line(self.title),
                max(
                    1,
                    min(
                        line.remaining_cells - 5,
                        max(MIN_SCREEN_TITLE_CELLS, line.remaining_cells - 5 - first),
                    ),
                ),
            )
            line.add(edge, rule).add_with_diffstat(title, *self._word_styles("title")).add(" ")
        note = _fitting_note(note, max(0, line.remaining_cells - 2))
        if cells(note) > 2:
            line.fill_to_column(width - cells(note) - 1, filler, rule)
            line.add_with_diffstat(note, *self._word_styles("note"))
        return line.fill_to_column(width, filler, rule).strip()

    def _word_styles(self, words: str) -> list[Style]:
        """Returns the styles of a title row's part: for words, and for counts of added and of removed lines."""
        return [
            make_style_readable(self.get_component_rich_style(f"rule-title--{part}"))
            for part in (words, "added", "removed")
        ]


QUESTION_EDGE_CELLS = 2
"""The columns of the edge of a question."""


class QuestionEdge(Widget):
    """The coloured edge at the left of a dialog that asks the user something."""

    DEFAULT_CSS = "QuestionEdge { dock: left; width: 2; height: 100%; }"

    def __init__(self) -> None:
        super().__init__()
        textual_inside.paint_without_frame(self)

    def render_line(self, y: int) -> Strip:
        return RowBuilder(self.size.width, self.rich_style).add("▌ ").strip()


def _fitting_note(note: str, width: int) -> str:
    """Shortens a note to the width: drops whole parts between ` · ` from the end, and cuts the first one if
    necessary."""
    left = note.strip().split(" · ")
    while len(left) > 1 and cells(" · ".join(left)) + 2 > width:
        left.pop()
    return f" {cut_end_to_fit(' · '.join(left), max(0, width - 2))} "


class WaitingBanner(Static):
    """A row at the top of a screen that says that a question waits on the page below."""

    DEFAULT_CSS = "WaitingBanner { dock: top; height: 1; padding: 0 2; }"


def show_screen_banner(screen: Screen[Any], text: str) -> None:
    """Shows a text in a row at the top of a screen, changes it, or removes the row if the text is empty."""
    banner = next(iter(screen.query(WaitingBanner)), None)
    if banner is None and text:
        screen.mount(WaitingBanner(text, markup=False))
    elif banner is not None and text:
        banner.update(text)
    elif banner is not None:
        banner.remove()
