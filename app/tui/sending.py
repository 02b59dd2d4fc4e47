"""What becomes of what a person sends: a shell command, a slash command, a prompt."""

from typing import TYPE_CHECKING

from app.engine.session import Refused
from app.tui.slash import EXPECTED, run_slash
from app.values.content import Image
from widgets.transcript.blocks import NoteKind

if TYPE_CHECKING:
    from app.tui.app import BayouApp


class Sending:
    """Sends for one application."""

    def __init__(self, app: "BayouApp") -> None:
        self._app = app

    async def send(self, text: str, images: tuple[Image, ...], while_running: str) -> None:
        self._app.transcript.follow()
        if text.startswith("!"):
            await self._shell(text)
            return
        if text.startswith("/") and await run_slash(self._app, text):
            self._app.status.refresh()
            return
        await self.prompt(text, images, while_running)

    async def prompt(self, text: str, images: tuple[Image, ...], while_running: str = "steer") -> None:
        how = "follow_up" if while_running == "follow_up" else "steer"
        try:
            await self._app.session.prompt(text, images, while_running=how)
        except Refused as problem:
            self._app.presenter.note(str(problem), NoteKind.ERROR)
            self._give_back(text)

    async def _shell(self, text: str) -> None:
        exclude = text.startswith("!!")
        command = text.lstrip("!").strip()
        if not command:
            return
        self._app.status.say(f"$ {command.splitlines()[0][:40]}")
        try:
            await self._app.session.run_shell(command, exclude=exclude)
        except EXPECTED as problem:
            self._app.presenter.note(str(problem), NoteKind.ERROR)
            self._give_back(text)
        self._app.status.say("")

    def _give_back(self, text: str) -> None:
        """What could not be sent returns to an empty editor; it is in the history in any case."""
        if self._app.editor.is_blank:
            self._app.editor.set_text(text)
