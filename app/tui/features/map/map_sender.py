"""Runs `/map FOLDER` and `/map FILE`: sends a part of the repository map to the model and shows it to the user."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from app.engine.permissions.permission_gate import PermissionGate
from app.engine.repository.repository_maps import FOLDER_MAP_MESSAGE_TYPE, RepositoryMaps
from app.tui.features.shared_dialogs import show_card
from app.tui.page_protocols import AskOnScreen, ShowMessage
from app.values.messages import CustomMessage
from tools.text_sanitizing import escape_controls
from tools.tool_definition import ToolError
from tools.tool_result_values import Card, TextBlock
from widgets.transcript.transcript_blocks import AppNoteKind


class RepositoryMapSender(msgspec.Struct, frozen=True):
    """Sends maps of folders and outlines of files to the model and the user."""

    maps: RepositoryMaps
    ask: AskOnScreen
    show_message: ShowMessage
    cwd: Callable[[], Path]
    send: Callable[[CustomMessage], object]
    send_outline: Callable[[str], Awaitable[object]]
    """Sends the outline of a file to the user and the model."""
    permissions: PermissionGate
    open_map: Callable[[], Awaitable[None]]

    async def run_map_command(self, argument: str) -> None:
        """Runs `/map`: sends the map of a folder or the outline of a file; without an argument opens the map."""
        path = argument.removeprefix("@").strip("\"'")
        if not path:
            await self.open_map()
        elif self.is_folder(path):
            await self.send_folder_map(path)
        else:
            await self.send_file_outline(path)

    def is_folder(self, path: str) -> bool:
        return self._find_path(path).is_dir()

    async def send_folder_map(self, folder: str) -> None:
        """Sends the map of a folder to the user and the model (`/map FOLDER`)."""
        try:
            text = await self.maps.map_of_folder(str(self.cwd() / folder))
        except ToolError as problem:
            self.show_message(str(problem), AppNoteKind.ERROR)
            return
        self.send(
            CustomMessage(custom_type=FOLDER_MAP_MESSAGE_TYPE, content=text, details={"folder": folder})
        )

    async def send_file_outline(self, name: str) -> None:
        """Sends the outline of a file to the user and the model (`/map FILE`); of a hidden file only
        the user sees it."""
        path = self._find_path(name)
        why = await asyncio.to_thread(self.permissions.hidden_file_reason, path)
        if not why:
            await self.send_outline(name)
            return
        try:
            text = await self.maps.outline_of_file(path)
        except OSError as problem:
            self.show_message(f"/map {name}: {problem.strerror or problem}", AppNoteKind.ERROR)
            return
        note = f"The map was not sent to the model: {why}."
        card = Card(
            title="map",
            subject=escape_controls(name),
            blocks=(TextBlock(text=note), TextBlock(text=escape_controls(text))),
        )
        await show_card(self.ask, "Outline", card)

    def _find_path(self, path: str) -> Path:
        return self.cwd() / Path(path).expanduser()
