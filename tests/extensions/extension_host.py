"""A session with a scripted model and a user interface that answers, for tests of extensions."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from app.extensions.extension_runner import Extensions
from app.extensions.extension_session_binding import ExtensionRegistrationTables, SessionBinding
from app.extensions.headless_ui import HeadlessUi
from app.providers.scripted import say
from app.values.entries import Entry
from app.values.events import ExtensionError
from app.values.messages import CustomMessage
from tests.engine.scripted_session import ScriptedSession
from tools.tool_definition import Tool


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """A message on its way into the session."""

    message: CustomMessage
    deliver_as: str
    trigger: bool
    call_id: str | None


class AnsweringUi(HeadlessUi):
    """Answers questions from a list and remembers what it was shown."""

    has_ui = True

    def __init__(self, answers: Sequence[Any] = ()) -> None:
        super().__init__()
        self.answers = list(answers)
        self.asked: list[tuple[Any, ...]] = []
        self.notes: list[tuple[str, str]] = []
        self.statuses: dict[str, str | None] = {}
        self.statuses_shown: list[str | None] = []
        self.widgets: dict[str, Any] = {}
        self.title = ""
        self.screens: list[Any] = []

    def _next(self, *asked: Any) -> Any:
        self.asked.append(asked)
        return self.answers.pop(0) if self.answers else None

    async def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str | None:
        return self._next("select", title, tuple(options))

    async def confirm(self, title: str, message: str = "", *, timeout: float | None = None) -> bool:
        return self._next("confirm", title, message) is True

    async def input(self, title: str, placeholder: str = "", *, timeout: float | None = None) -> str | None:
        return self._next("input", title, placeholder)

    async def editor(self, title: str, prefill: str = "") -> str | None:
        return self._next("editor", title, prefill)

    async def custom(self, make: Callable[..., Any], *, overlay: bool = False) -> Any:
        self.screens.append(make)
        return self._next("custom", overlay)

    def notify(self, text: str, level: str = "info") -> None:
        self.notes.append((level, text))

    def set_status(self, key: str, text: str | None) -> None:
        self.statuses[key] = text
        self.statuses_shown.append(text)

    def set_widget(self, key: str, content: Any, *, placement: str = "above_editor") -> None:
        self.widgets[key] = content

    def set_title(self, title: str) -> None:
        self.title = title


class ExtensionHost:
    """Extensions that are loaded here are bound to this session."""

    def __init__(self, folder: Path, cwd: Path) -> None:
        self.cwd = cwd
        self.harness = ScriptedSession(folder, *[say("ok")] * 20, cwd=cwd)
        self.session = self.harness.session
        self.choice = self.harness.choice
        self.settings: dict[str, Any] = {}
        self.done: list[str] = []
        """What was asked of the program around the session."""
        self.sent: list[Sent] = []
        self._usual_send, self.session.send = self.session.send, self._send
        self.bound = SessionBinding(
            session=self.session,
            mode="tui",
            ui=AnsweringUi(),
            session_paths=self.harness.places,
            registrations=ExtensionRegistrationTables(self.session, self.choice, self.harness.registry),
            settings=lambda: self.settings,
            is_trusted=True,
            shutdown=lambda: self.done.append("shutdown"),
            reload=self._reload,
        )

    def extensions(self, **shared: Any) -> Extensions:
        """None yet, bound to this session."""
        extensions = Extensions(**shared)
        extensions.bind(self.bound)
        return extensions

    async def _send(self, message: CustomMessage, **how: Any) -> str:
        """Notes how it was sent, and sends it."""
        noted = {"deliver_as": "steer", "trigger": False, "call_id": None, **how}
        self.sent.append(Sent(message=message, **noted))
        return await self._usual_send(message, **how)

    async def _reload(self) -> None:
        self.done.append("reload")

    @property
    def ui(self) -> Any:
        return self.bound.ui

    @ui.setter
    def ui(self, ui: Any) -> None:
        self.bound.ui = ui

    @property
    def tools(self) -> dict[str, Tool]:
        return {tool.name: tool for tool in self.session.tools.all_tools()}

    @property
    def entries(self) -> Sequence[Entry]:
        return self.session.log.entries

    def errors(self) -> list[ExtensionError]:
        return self.harness.all(ExtensionError)


async def settled() -> None:
    """Lets what was started but not awaited (reports, say) happen."""
    for _ in range(5):
        await asyncio.sleep(0)
