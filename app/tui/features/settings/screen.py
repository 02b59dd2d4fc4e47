"""The screen with the list of settings: one row per setting, edited in place."""

from collections.abc import Callable, Sequence
from typing import ClassVar

import msgspec
from textual.binding import Binding, BindingType

from widgets.lists.list_rows import ListRow, RowBadge, RowTone, make_column_heads
from widgets.lists.row_filter import MatchedListRow
from widgets.lists.row_list import RowList
from widgets.screens.dialogs import TextInputDialog
from widgets.screens.picker import PickerScreen
from widgets.screens.preview_pane import PreviewParagraph, PreviewText
from widgets.screens.screen_parts import KeyHint, KeyHints
from widgets.screens.screen_request import ScreenRequest

NO_VALUE_TEXT = "none"
"""The word for no value, whatever the file writes for it."""
_SETTING_VALUE_TEXTS = {
    "": NO_VALUE_TEXT,
    "true": "on",
    "false": "off",
    "{}": NO_VALUE_TEXT,
    "[]": NO_VALUE_TEXT,
}
"""Display texts for JSON values."""
_SETTING_VALUE_TONES: dict[str, RowTone] = {NO_VALUE_TEXT: "dim", "off": "dim", "on": "success"}
_SETTING_VALUE_CELLS = 11
"""The width of the value column: most values fit, so the descriptions line up."""
_MIN_CELLS_FOR_ORIGINS = 60
"""Columns of the terminal from which rows say where their values come from."""
_CHANGED_SETTING_MARK = "• "
"""Stands in front of a value that is not the default."""


class SettingRow(msgspec.Struct, frozen=True, kw_only=True):
    """A setting as a row of the settings list."""

    id: str
    """The setting's key, such as `markdown.mermaid`."""
    label: str = ""
    """The setting's name for people; empty: its key."""
    group: str = ""
    value: str = ""
    """The value as the user reads and types it."""
    default: str = ""
    value_with_unit: str = ""
    """The value with its unit, as figures are shown; empty if it has none."""
    default_with_unit: str = ""
    unit: str = ""
    """The unit in which the value is typed."""
    choices: tuple[str, ...] = ()
    """All possible values; empty for numbers and texts, which are typed."""
    help: str = ""
    origin: str = "default"
    """Where the value comes from: `default`, `user`, `project`."""
    effects: tuple[str, ...] = ()
    """The effects of the value, one line each."""
    problems: tuple[str, ...] = ()
    """Parts of the value that are ignored, with the reasons."""
    details_label: str = ""
    """The label of the setting's details page; empty if it has none."""
    is_fixed: bool = False
    """Whether the command line or environment sets the value, so that it cannot be changed here."""

    @property
    def title(self) -> str:
        return self.label or self.id

    @property
    def shown_value(self) -> str:
        return self.value_with_unit or setting_value_text(self.value)

    @property
    def is_changed(self) -> bool:
        return self.value != self.default


class SettingsScreen(PickerScreen):
    """The settings list, in which values are edited in place."""

    BELOW_MIN_ROWS = 16
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right", "cycle(1)", "Next value of the setting", show=False, id="app.settings.next"),
        Binding("left", "cycle(-1)", "Previous value of the setting", show=False, id="app.settings.previous"),
        Binding(
            "delete,ctrl+backspace",
            "reset",
            "Reset the setting to its default",
            show=False,
            id="app.settings.reset",
        ),
        Binding(
            "ctrl+o",
            "look",
            "Show the setting's description",
            show=False,
            id="app.settings.look",
            priority=True,
        ),
    ]

    class Changed(ScreenRequest["SettingsScreen"]):
        """Message: the user chose a value for a setting (None: the default); the application saves it and answers with
        `show_settings`."""

        def __init__(self, screen: "SettingsScreen", key: str, value: str | None) -> None:
            super().__init__(screen)
            self.key = key
            self.value = value

    class DetailsRequested(ScreenRequest["SettingsScreen"]):
        """Message: the user opens a setting's page of details."""

        def __init__(self, screen: "SettingsScreen", key: str) -> None:
            super().__init__(screen)
            self.key = key

    def __init__(
        self,
        settings: Sequence[SettingRow],
        *,
        check: Callable[[str, str], str] | None = None,
        query: str = "",
    ) -> None:
        self._settings = {row.id: row for row in settings}
        self._check = check
        super().__init__(
            "Settings",
            _list_rows(settings),
            query=query,
            choose="change",
            heads=make_column_heads("Setting", badges=("  value",), right="from"),
            preview=self._setting_preview,
            is_full_height=True,
        )

    def show_settings(self, settings: Sequence[SettingRow], note: str = "") -> None:
        self._settings = {row.id: row for row in settings}
        self.show_rows(_list_rows(settings), note=note)
        self.refresh_preview()
        if self.is_there:  # the new value may have a details page
            self.query_one(KeyHints).show(self.hints())

    def hints(self) -> list[KeyHint]:
        look = self.setting.details_label if self.setting is not None else ""
        is_filtering = self.is_there and bool(self.filter_text)  # then the arrows move within the typed text
        values = KeyHint("left/right", "switch value", 7, "app.settings.previous/app.settings.next")
        one = self.setting
        # a value of the project or the command line is not the person's to take back
        is_own = one is not None and one.origin in ("default", "user")
        can_reset = one is not None and one.is_changed and is_own and not one.is_fixed
        return [
            *([KeyHint("ctrl+o", look, 8, "app.settings.look")] if look else []),
            KeyHint("enter", "change", 9, "tui.select.confirm"),
            *([] if is_filtering else [values]),
            *([KeyHint("delete", "reset to default", 8, "app.settings.reset")] if can_reset else []),
            KeyHint("escape", "close", 8, "tui.select.cancel"),
        ]

    def on_resize(self) -> None:
        super().on_resize()
        self._apply(self.row.id if self.row else "")

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        super().on_row_list_moved(event)
        self.query_one(KeyHints).show(self.hints())

    def action_look(self) -> None:
        if self.setting is not None and self.setting.details_label:
            self.post_message(self.DetailsRequested(self, self.setting.id))

    @property
    def setting(self) -> SettingRow | None:
        return self._settings.get(self.row.id) if self.row else None

    def action_choose(self) -> None:
        setting = self.setting
        if setting is None or setting.is_fixed:
            return
        if setting.choices:
            self.action_cycle(1)
            return
        check = self._check or (lambda _key, _text: "")
        is_told = self.has_class("beside") or self.has_class(
            "below"
        )  # the pane above the question shows it already
        screen = TextInputDialog(
            f"{setting.title} ({setting.unit})" if setting.unit else setting.title,
            "" if is_told else setting.help,
            placeholder=f"default: {setting_value_text(setting.default)}",
            prefill=setting.value,
            check=lambda text: check(setting.id, text),
        )

        def take(text: str | None) -> None:
            if text is not None and text != setting.value:
                self.post_message(self.Changed(self, setting.id, text))

        self.app.push_screen(screen, take)

    def action_cycle(self, delta: int) -> None:
        setting = self.setting
        if setting is None or setting.is_fixed or not setting.choices:
            return
        at = setting.choices.index(setting.value) if setting.value in setting.choices else -1
        value = setting.choices[(at + delta) % len(setting.choices)]
        self.post_message(self.Changed(self, setting.id, value))

    def action_reset(self) -> None:
        if self.setting is not None and not self.setting.is_fixed:
            self.post_message(self.Changed(self, self.setting.id, None))

    def adjust_visible_rows(self, shown: list[MatchedListRow]) -> list[MatchedListRow]:
        """Returns the rows of the settings; without descriptions where the pane shows them in full, and without origins
        where these would cut the values."""
        if self.app.size.width < _MIN_CELLS_FOR_ORIGINS:
            shown = [
                MatchedListRow(msgspec.structs.replace(item.row, right=""), item.matched) for item in shown
            ]
        if not (self.has_class("beside") or self.has_class("below")):
            return shown
        return [MatchedListRow(msgspec.structs.replace(item.row, detail=""), item.matched) for item in shown]

    def _setting_preview(self, row: ListRow) -> PreviewText:
        setting = self._settings.get(row.id)
        if setting is None:
            return PreviewText()
        facts: list[str] = []
        if setting.choices:
            facts.append("one of: " + ", ".join(map(setting_value_text, setting.choices)))
        if setting.unit:
            facts.append(f"in the file: {setting.value} {setting.unit}")
        if setting.origin != "default":
            facts.append(f"from: {setting.origin}")
        parts = (
            PreviewParagraph(text=setting.help),
            *(PreviewParagraph(text=problem, tone="warning") for problem in setting.problems),
            *(PreviewParagraph(text=fact) for fact in setting.effects),
            PreviewParagraph(text=_default_text(setting), tone="accent" if setting.is_changed else "muted"),
            *(PreviewParagraph(text=fact, tone="muted") for fact in facts),
            PreviewParagraph(text=setting.id, tone="dim"),
        )
        return PreviewText(title=setting.title, parts=parts)


def setting_value_text(value: str) -> str:
    return _SETTING_VALUE_TEXTS.get(value, value)


def _default_text(setting: SettingRow) -> str:
    return f"default: {setting.default_with_unit or setting_value_text(setting.default)}"


def _value_tone(shown: str) -> RowTone:
    return "number" if shown[:1].isdecimal() or shown[:1] == "$" else _SETTING_VALUE_TONES.get(shown, "text")


def _list_rows(settings: Sequence[SettingRow]) -> list[ListRow]:
    rows: list[ListRow] = []
    group = ""
    column = min(32, max((len(setting.title) for setting in settings), default=0))
    for setting in settings:
        if setting.group and setting.group != group:
            group = setting.group
            rows.append(ListRow(id=f"#{group}", title=group, is_heading=True))
        is_changed = setting.is_changed
        value = RowBadge(
            text=f"{_CHANGED_SETTING_MARK if is_changed else '  '}{setting.shown_value.ljust(_SETTING_VALUE_CELLS)}",
            tone="accent" if is_changed else _value_tone(setting.shown_value),
        )
        rows.append(
            ListRow(
                id=setting.id,
                title=setting.title.ljust(column),
                badges=(value,),
                detail=f"{_default_text(setting)}. {setting.help}" if is_changed else setting.help,
                right="error in file" if setting.problems else setting.origin,
                right_tone="warning"
                if setting.problems
                else "dim"
                if setting.origin == "default"
                else "accent",
                is_disabled=setting.is_fixed,
                search_words=f"{setting.group} {setting.id}",
            )
        )
    return rows
