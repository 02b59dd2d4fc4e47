"""Screens to pick something by name: actions, keys, themes, older prompts."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import BindingType

from widgets.editor.prompt_chips import UnsentPrompt, draft_text_with_chip_labels
from widgets.key_labels import format_key_name
from widgets.lists.list_rows import ListRow, RowBadge, add_group_headings
from widgets.lists.row_list import RowList
from widgets.screens.action_rows import AppActionRow
from widgets.screens.dialogs import DialogBaseScreen
from widgets.screens.picker import PickerAction, PickerScreen, picker_bindings
from widgets.screens.preview_pane import PreviewParagraph, PreviewText
from widgets.screens.screen_parts import KeyHint


def command_palette_screen(actions: Sequence[AppActionRow]) -> PickerScreen:
    """Returns the command palette: a picker of all actions with their keys, whose choice is run."""
    rows = add_group_headings(
        (
            action.group,
            ListRow(
                id=action.id,
                title=action.title,
                detail=action.detail,
                right=", ".join(map(format_key_name, action.keys)),
                right_tone="muted",
                search_words=f"{action.id} {action.group} {action.words}",
            ),
        )
        for action in actions
    )
    return PickerScreen("Actions", rows, choose="run", placeholder="search actions and commands")


def key_bindings_screen(
    actions: Sequence[AppActionRow], *, note: str = "", current: str = ""
) -> PickerScreen:
    """Returns the picker of all actions with their current keys, by group; the chosen one gets another key."""
    rows: list[tuple[str, ListRow]] = []
    for action in actions:
        badges = [RowBadge(text=action.problem, tone="warning")] if action.problem else []
        if action.is_own:
            badges.append(RowBadge(text="custom", tone="accent"))
        row = ListRow(
            id=action.id,
            title=action.title,
            detail=action.detail,
            right=", ".join(map(format_key_name, action.keys)) or "no key",
            right_tone="accent" if action.keys else "dim",
            badges=tuple(badges),
            search_words=f"{action.group} {action.id} {' '.join(action.keys)}",
        )
        rows.append((action.group, row))
    return PickerScreen(
        "Keys", add_group_headings(rows), note=note, current=current, choose="change key", is_full_height=True
    )


def prompt_history_screen(entries: Sequence[UnsentPrompt]) -> PickerScreen:
    """Returns the picker of older prompts, newest first without duplicates; a row's id is its index in `entries`."""
    newest: dict[str, int] = {}
    for number, entry in enumerate(entries):
        newest.setdefault(draft_text_with_chip_labels(entry), number)
    rows = [ListRow(id=str(number), title=" ".join(text.split())[:400]) for text, number in newest.items()]

    def preview(row: ListRow) -> PreviewText:
        return PreviewText(parts=(PreviewParagraph(text=draft_text_with_chip_labels(entries[int(row.id)])),))

    return PickerScreen("Older prompts", rows, order="given", choose="insert", preview=preview)


THEME_PREVIEW_SAMPLE = PreviewText(
    title="Preview",
    parts=(
        PreviewParagraph(text="A heading", is_heading=True),
        PreviewParagraph(text="The text of an answer,"),
        PreviewParagraph(text="a detail beside it,", tone="muted"),
        PreviewParagraph(text="and a hint.", tone="dim"),
        PreviewParagraph(text=""),
        PreviewParagraph(text="› the focused row", tone="accent"),
        PreviewParagraph(text="✓ done", tone="success"),
        PreviewParagraph(text="! careful", tone="warning"),
        PreviewParagraph(text="✗ failed", tone="error"),
    ),
)


class ThemePickerScreen(PickerScreen):
    """A theme picker: applies the theme under the cursor at once; Escape restores the previous one."""

    ACTIONS = (
        PickerAction(
            id="app.themes.save",
            keys="ctrl+s",
            label="use as default",
            help="Use as the default theme",
            importance=7,
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = picker_bindings(ACTIONS)

    def __init__(self, rows: Sequence[ListRow], current: str, use: Callable[[str], str | None]) -> None:
        self._initial_theme = current
        self._use_theme = use
        super().__init__(
            "Theme",
            rows,
            current=current,
            choose="use",
            preview=lambda _: THEME_PREVIEW_SAMPLE,
            order="given",
        )

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        super().on_row_list_moved(event)
        if event.row is not None:
            self.show_note(self._use_theme(event.row.id) or "")

    def action_cancel(self) -> None:
        self._use_theme(self._initial_theme)
        self.dismiss(None)


class KeyCaptureScreen(DialogBaseScreen[str | None]):
    """A dialog that waits for a new key for an action: returns the key, empty on Delete, which restores the default, or
    None on Escape."""

    def __init__(self, action: AppActionRow) -> None:
        keys = ", ".join(map(format_key_name, action.keys)) or "no key"
        super().__init__(
            f"New key for: {action.title}",
            f"Press the new key. Now: {keys}. Name in keybindings.json: {action.id}",
        )

    def hints(self) -> Sequence[KeyHint]:
        return (KeyHint("delete", "reset to default", 7), KeyHint("escape", "cancel", 8))

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        if event.key != "escape":
            self.dismiss("" if event.key == "delete" else event.key)
        else:
            self.dismiss(None)
