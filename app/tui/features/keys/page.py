"""`/hotkeys`, `/help` and the palette: lists keys and commands, rebinds keys, runs actions by name."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from app.tui.features.shared_dialogs import pick
from app.tui.keys.action_table import ActionTable
from app.tui.keys.keymap import bind_key
from app.tui.page_protocols import AskPerson, Write
from app.values.json_comments import JsonSyntaxError
from app.values.user_errors import FileError
from widgets.key_labels import key_name
from widgets.lists.rows import ListRow
from widgets.screens.common_pickers import KeyScreen, hotkeys_screen, palette_screen
from widgets.screens.picker import Picked


class KeysPage(msgspec.Struct, frozen=True):
    """Lists, runs and rebinds the keys and commands of one application."""

    table: ActionTable
    ask: AskPerson
    write: Write
    file: Path
    """The user's key bindings file."""
    read_again: Callable[[], object]
    """Reads the file and applies its keys."""
    do: Callable[[str], Awaitable[None]]
    """Runs an action by its id."""
    recent: list[str]
    """The ids chosen in the palette, latest first."""

    async def open(self) -> None:
        """Lists the keys; Enter on an action asks for a new key, until the list is closed."""
        at, note = "", ""
        while True:
            rows = self.table.key_rows()
            problems = sum(1 for row in rows if row.problem)
            note = note or (f"{problems} conflicts" if problems else "")
            picked: Picked | None = await self.ask(hotkeys_screen(rows, note=note, current=at))
            if picked is None:
                return
            at = picked.row.id
            row = next(row for row in rows if row.id == at)
            key: str | None = await self.ask(KeyScreen(row))
            note = "" if key is None else self._rebind(row.id, key)

    def _rebind(self, action: str, key: str) -> str:
        try:
            bind_key(self.file, action, key or None)
        except (FileError, JsonSyntaxError) as problem:
            return f"{self.file}: {problem}"
        self.read_again()
        conflict = self.table.own.conflicts.get(action)
        return conflict or (f"{key_name(key)} it is" if key else "the default again")

    async def commands(self) -> None:
        """Lists all slash commands; Enter writes the chosen one into the editor."""
        rows = [
            ListRow(id=f"/{name} ", title=f"/{name}", detail=text, right=self.table.hints.get(name, ""))
            for name, text in self.table.command_names()
        ]
        palette, note = self.table.key_of("app.palette"), "/hotkeys lists the keys"
        picked = await pick(
            self.ask,
            "Commands",
            rows,
            choose="write it",
            note=f"{palette} finds everything · {note}" if palette else note,
            is_full_height=True,
        )
        if picked is not None:
            self.write(picked.row.id, focus=True)

    async def palette(self) -> None:
        """Lists all actions and commands by name, the last used first; Enter runs the chosen one."""
        rows = self.table.palette_rows()
        rows.sort(key=lambda row: self.recent.index(row.id) if row.id in self.recent else len(self.recent))
        picked: Picked | None = await self.ask(palette_screen(rows))
        if picked is None:
            return
        self.recent[:] = [picked.row.id, *(one for one in self.recent if one != picked.row.id)]
        if picked.row.id.startswith("/"):
            self.write(f"{picked.row.id} ", focus=True)
        else:
            await self.do(picked.row.id)
