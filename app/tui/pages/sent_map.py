"""`/map FOLDER` and `/map FILE`: what of the repository is sent to the model, and seen by the person."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from app.engine.permission_verbs import PermissionVerbs
from app.engine.repository_maps import FOLDER_MAP, RepositoryMaps
from app.tui.handed import AskPerson, TellPerson
from app.values.messages import CustomMessage
from tools.base import ToolError
from tools.results import Card, TextBlock
from tools.text import visible
from widgets.screens.block import BlockScreen
from widgets.transcript.blocks import CardBlock, NoteKind


class SentMap:
    def __init__(
        self,
        maps: RepositoryMaps,
        ask: AskPerson,
        say: TellPerson,
        *,
        cwd: Callable[[], Path],
        send: Callable[[CustomMessage], object],
        send_outline: Callable[[str], Awaitable[object]],
        permissions: PermissionVerbs,
    ) -> None:
        """`send_outline`: of a file, for the person and the model."""
        self._maps = maps
        self._ask = ask
        self._say = say
        self._cwd = cwd
        self._send = send
        self._send_outline = send_outline
        self._permissions = permissions

    def is_folder(self, path: str) -> bool:
        return self._named(path).is_dir()

    async def send_folder(self, folder: str) -> None:
        """`/map FOLDER`: for the person and the model."""
        try:
            text = await self._maps.map_of_folder(str(self._cwd() / folder))
        except ToolError as problem:
            self._say(str(problem), NoteKind.ERROR)
            return
        self._send(CustomMessage(custom_type=FOLDER_MAP, content=text, details={"folder": folder}))

    async def send_file(self, name: str) -> None:
        """`/map FILE`: for the person and the model; of a file that is kept back, for the person alone."""
        path = self._named(name)
        why = await asyncio.to_thread(self._permissions.why_unread, path)
        if not why:
            await self._send_outline(name)
            return
        try:
            text = await self._maps.outline_of(path)
        except OSError as problem:
            self._say(f"/map {name}: {problem.strerror or problem}", NoteKind.ERROR)
            return
        note = f"For you alone, not sent to the model: {why}."
        card = Card(
            title="map",
            subject=visible(name),
            blocks=(TextBlock(text=note), TextBlock(text=visible(text))),
        )
        block = CardBlock(id=f"outline:{path}", card=card)
        await self._ask(BlockScreen("Outline", lambda: block))

    def _named(self, path: str) -> Path:
        return self._cwd() / Path(path).expanduser()
