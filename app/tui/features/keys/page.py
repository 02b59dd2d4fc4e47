"""The page for `/hotkeys`, `/help` and the command palette: lists keys and commands, rebinds keys, runs actions by
name."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from app.tui.features.shared_dialogs import pick_list_row
from app.tui.keys.action_table import ActionTable
from app.tui.keys.keymap import save_key_binding
from app.tui.page_protocols import AskOnScreen, WriteToEditor
from app.values.json_comments import JsonSyntaxError
from app.values.user_errors import FileError
from widgets.key_labels import format_key_name
from widgets.lists.list_rows import ListRow, add_group_headings
from widgets.screens.action_rows import AppActionRow
from widgets.screens.common_pickers import KeyCaptureScreen, command_palette_screen, key_bindings_screen
from widgets.screens.picker import PickerResult

_PLAIN_KEY_BY_ACTION = {
    "app.approval.once": "press {focus}, then y",
    "app.approval.always": "press {focus}, then a",
    "app.permissions.cycle": "press it twice",
}
"""What to press for actions that allow something, where Alt with a letter may be an Escape and that letter."""
_SCROLL_BAR_LEGEND = "in the scroll bar: ▐ prompt · ◆ match"


class KeysAndCommandsPage(msgspec.Struct, frozen=True):
    """Lists, runs and rebinds the keys and commands of one application."""

    action_table: ActionTable
    ask: AskOnScreen
    write: WriteToEditor
    keys_file: Path
    """The user's key bindings file."""
    reload_keys: Callable[[], object]
    """Reads the file and applies its keys."""
    run_action: Callable[[str], Awaitable[None]]
    """Runs an action by its id."""
    recent_actions: list[str]
    """The ids chosen in the palette, latest first."""
    reports_alt_separately: Callable[[], bool]
    """Returns whether the terminal tells Alt from an Escape before a key."""

    async def show_keys(self) -> None:
        """Lists the keys; Enter on an action asks for a new key, until the list is closed."""
        at, note = "", ""
        while True:
            rows = self._key_rows()
            problems = sum(1 for row in rows if row.problem)
            note = note or (f"{problems} conflicts" if problems else _SCROLL_BAR_LEGEND)
            picked: PickerResult | None = await self.ask(key_bindings_screen(rows, note=note, current=at))
            if picked is None:
                return
            at = picked.row.id
            row = next(row for row in rows if row.id == at)
            key: str | None = await self.ask(KeyCaptureScreen(row))
            note = "" if key is None else self._rebind_action(row.id, key)

    def _key_rows(self) -> list[AppActionRow]:
        """Returns the rows of all keys; those that this terminal cannot tell from an Escape name what to press
        instead."""
        rows = self.action_table.key_rows()
        if self.reports_alt_separately():
            return rows
        focus = next(
            (format_key_name(row.keys[0]) for row in rows if row.id == "app.approval.enter" and row.keys), ""
        )
        plain = {action: words.format(focus=focus) for action, words in _PLAIN_KEY_BY_ACTION.items()}
        return [
            msgspec.structs.replace(row, detail=f"unclear in this terminal: {plain[row.id]}")
            if row.id in plain and any(key.startswith("alt+") for key in row.keys)
            else row
            for row in rows
        ]

    def _rebind_action(self, action: str, key: str) -> str:
        try:
            save_key_binding(self.keys_file, action, key or None)
        except (FileError, JsonSyntaxError) as problem:
            return f"{self.keys_file}: {problem}"
        self.reload_keys()
        conflict = self.action_table.user_keymap.conflict_by_action.get(action)
        return conflict or (f"now {format_key_name(key)}" if key else "reset to default")

    async def show_commands(self) -> None:
        """Lists all slash commands; Enter writes the chosen one into the editor."""
        rows = add_group_headings(
            (
                self.action_table.slash_command_group(name),
                ListRow(
                    id=f"/{name} ",
                    title=f"/{name}",
                    detail=text,
                    right=self.action_table.hints.get(name, ""),
                    tone="accent",
                ),
            )
            for name, text in self.action_table.slash_command_descriptions()
        )
        palette, note = self.action_table.key_of("app.palette"), "/hotkeys lists the keys"
        picked = await pick_list_row(
            self.ask,
            "Commands",
            rows,
            choose="insert",
            note=f"{palette} searches all actions · {note}" if palette else note,
            is_full_height=True,
        )
        if picked is not None:
            self.write(picked.row.id, focus=True)

    async def show_palette(self) -> None:
        """Lists all actions and commands by name, the last used first; Enter runs the chosen one."""
        rows = self.action_table.palette_rows()
        by_id = {row.id: row for row in rows}
        recent = [
            msgspec.structs.replace(by_id[one], group="Last used")
            for one in self.recent_actions
            if one in by_id
        ]
        others = [row for row in rows if row.id not in self.recent_actions]
        picked: PickerResult | None = await self.ask(command_palette_screen([*recent, *others]))
        if picked is None:
            return
        self.recent_actions[:] = [
            picked.row.id,
            *(one for one in self.recent_actions if one != picked.row.id),
        ]
        if picked.row.id.startswith("/"):
            self.write(f"{picked.row.id} ", focus=True)
        else:
            await self.run_action(picked.row.id)
