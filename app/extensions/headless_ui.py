"""Implements an extension's questions and displays where there is no screen, and watches over every question.

`HeadlessUi` serves print and JSON mode, `EventPublishingUi` uses RPC's question protocol; the full screen has its own.
`ExtensionUi` wraps them for extensions: it reports questions, pauses time limits, and refuses stale extensions.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from app.extensions.extension_registrations import Extension
from app.extensions.extension_views import View, view_data, view_text
from app.extensions.hooks.payloads import UiPromptEnd, UiPromptStart
from app.extensions.time_limits import pause_extension_time_limit
from app.extensions.ui_protocol import Level, Placement, Ui
from app.values.events import Event, Notice, QuestionAsked

EXTENSION_QUESTION_TIMEOUT_SECONDS = 600.0
"""How long a question without a timeout waits, so that a client that never answers cannot block it
for ever."""
EXTENSION_EDITOR_TIMEOUT_SECONDS = 3600.0
"""The same limit for the editor question, which has no timeout."""


class HeadlessUi:
    """Answers every question with its cancelled value, since no person is present, and reports the first of
    each kind."""

    has_ui = False

    def __init__(self, publish: Callable[[Event], None] = lambda event: None, mode: str = "print") -> None:
        self._publish = publish
        self._mode = mode
        self._reported_features: set[str] = set()

    def _report_missing_feature(self, what: str) -> None:
        if what not in self._reported_features:
            self._reported_features.add(what)
            text = f"An extension asked for {what}, which {self._mode} mode does not have."
            self._publish(Notice(level="info", text=text))

    def _ignore_feature(self, what: str) -> None:
        """Ignores features that only a screen has."""

    async def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str | None:
        self._report_missing_feature("a choice")
        return None

    async def confirm(self, title: str, message: str = "", *, timeout: float | None = None) -> bool:
        self._report_missing_feature("a confirmation")
        return False

    async def input(self, title: str, placeholder: str = "", *, timeout: float | None = None) -> str | None:
        self._report_missing_feature("an input")
        return None

    async def editor(self, title: str, prefill: str = "") -> str | None:
        self._report_missing_feature("an editor")
        return None

    async def custom(self, make: Callable[..., Any], *, overlay: bool = False) -> Any:
        self._report_missing_feature("a custom screen")
        return None

    def notify(self, text: str, level: Level = "info") -> None:
        self._publish(Notice(level=level, text=text))

    def set_status(self, key: str, text: str | None) -> None: ...

    def set_widget(self, key: str, content: Any, *, placement: Placement = "above_editor") -> None: ...

    def set_title(self, title: str) -> None: ...

    def set_header(self, make: Callable[..., Any] | None) -> None:
        self._report_missing_feature("a custom header")

    def set_footer(self, make: Callable[..., Any] | None) -> None:
        self._report_missing_feature("a custom footer")

    def set_editor(self, make: Callable[..., Any] | None) -> None:
        self._report_missing_feature("a custom editor")

    def on_terminal_input(self, listener: Callable[[str], Any]) -> Callable[[], None]:
        self._report_missing_feature("what the terminal sends")
        return lambda: None

    def set_working(self, message: str | None, *, frames: Sequence[str] | None = None) -> None:
        self._ignore_feature("a custom working message")

    def editor_text(self) -> str:
        self._ignore_feature("the editor's text")
        return ""

    def set_editor_text(self, text: str) -> None: ...

    def paste(self, text: str) -> None: ...

    def set_tools_expanded(self, expanded: bool) -> None:
        self._ignore_feature("tool cards opened or closed")

    def tools_expanded(self) -> bool:
        self._ignore_feature("whether tool cards are open")
        return False

    def themes(self) -> Sequence[str]:
        self._ignore_feature("the list of themes")
        return ()

    def theme(self) -> str:
        self._ignore_feature("the theme's name")
        return ""

    def set_theme(self, name: str) -> bool:
        self._ignore_feature("another theme")
        return False


class EventPublishingUi(HeadlessUi):
    """Publishes questions and notes as `extension_ui_request` events; the reader of a question sets its
    `answer`."""

    has_ui = True

    def __init__(
        self,
        publish: Callable[[Event], None],
        *,
        mode: str = "rpc",
        answer_seconds: float = EXTENSION_QUESTION_TIMEOUT_SECONDS,
    ) -> None:
        super().__init__(publish, mode)
        self._answer_timeout = answer_seconds

    async def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str | None:
        answer = await self._publish_and_wait(
            None, timeout, method="select", title=title, options=tuple(options)
        )
        return answer if isinstance(answer, str) else None

    async def confirm(self, title: str, message: str = "", *, timeout: float | None = None) -> bool:
        return (
            await self._publish_and_wait(False, timeout, method="confirm", title=title, message=message)
            is True
        )

    async def input(self, title: str, placeholder: str = "", *, timeout: float | None = None) -> str | None:
        answer = await self._publish_and_wait(
            None, timeout, method="input", title=title, placeholder=placeholder or None
        )
        return answer if isinstance(answer, str) else None

    async def editor(self, title: str, prefill: str = "") -> str | None:
        seconds = max(self._answer_timeout, EXTENSION_EDITOR_TIMEOUT_SECONDS)
        answer = await self._publish_and_wait(
            None, None, method="editor", title=title, prefill=prefill or None, seconds=seconds
        )
        return answer if isinstance(answer, str) else None

    def notify(self, text: str, level: Level = "info") -> None:
        self._publish_request(method="notify", message=text, extra={"notifyType": level})

    def set_status(self, key: str, text: str | None) -> None:
        more = {} if text is None else {"statusText": text}
        self._publish_request(method="setStatus", extra={"statusKey": key, **more})

    def set_widget(self, key: str, content: Any, *, placement: Placement = "above_editor") -> None:
        if callable(content):
            self._report_missing_feature("a custom widget")
            return
        extra: dict[str, Any] = {"widgetKey": key}
        if isinstance(content, View):
            extra |= {"widgetLines": view_text(content).split("\n"), "widgetView": view_data(content)}
        elif content is not None:
            extra["widgetLines"] = [content] if isinstance(content, str) else [str(line) for line in content]
        extra["widgetPlacement"] = "aboveEditor" if placement == "above_editor" else "belowEditor"
        self._publish_request(method="setWidget", extra=extra)

    def show_view(self, target_id: str, view: View) -> None:
        """Publishes a renderer's view of a message or an entry."""
        extra = {"targetId": target_id, "lines": view_text(view).split("\n"), "view": view_data(view)}
        self._publish_request(method="showView", extra=extra)

    def set_title(self, title: str) -> None:
        self._publish_request(method="setTitle", title=title)

    def set_editor_text(self, text: str) -> None:
        self._publish_request(method="set_editor_text", extra={"text": text})

    def paste(self, text: str) -> None:
        self.set_editor_text(text)

    def _ignore_feature(self, what: str) -> None:
        self._report_missing_feature(what)  # a client may draw such a feature itself, so it is reported

    def _publish_request(self, **fields: Any) -> None:
        self._publish(QuestionAsked(id=str(uuid.uuid4()), **fields))

    async def _publish_and_wait(
        self, cancelled: Any, timeout: float | None, *, seconds: float | None = None, **fields: Any
    ) -> Any:
        """Publishes the question and waits for its answer. Returns the cancelled value after the timeout or,
        without a timeout, after `seconds` with a warning."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        milliseconds = None if timeout is None else round(timeout * 1000)
        self._publish(QuestionAsked(id=str(uuid.uuid4()), timeout=milliseconds, answer=answer, **fields))
        patience = (seconds or self._answer_timeout) if timeout is None else timeout
        try:
            return await asyncio.wait_for(answer, patience)
        except TimeoutError:
            if timeout is None:
                text = f"Nobody answered “{fields['title']}” within {patience:g} s; it counts as cancelled."
                self._publish(Notice(level="warning", text=text))
            return cancelled


class ExtensionUi:
    """A user interface's `Ui` as one extension sees it."""

    def __init__(
        self, ui: Callable[[], Ui], extension: Extension, emit: Callable[[str, Any], Awaitable[Any]]
    ) -> None:
        self._ui = ui
        self._extension = extension
        self._emit = emit

    def __getattr__(self, name: str) -> Any:
        """Passes everything that is not a question straight to the user interface."""
        self._extension.require_extension_open()
        return getattr(self._ui(), name)

    async def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str | None:
        return await self._ask_watched("select", title, lambda ui: ui.select(title, options, timeout=timeout))

    async def confirm(self, title: str, message: str = "", *, timeout: float | None = None) -> bool:
        return await self._ask_watched(
            "confirm", title, lambda ui: ui.confirm(title, message, timeout=timeout)
        )

    async def input(self, title: str, placeholder: str = "", *, timeout: float | None = None) -> str | None:
        return await self._ask_watched(
            "input", title, lambda ui: ui.input(title, placeholder, timeout=timeout)
        )

    async def editor(self, title: str, prefill: str = "") -> str | None:
        return await self._ask_watched("editor", title, lambda ui: ui.editor(title, prefill))

    async def custom(self, make: Callable[..., Any], *, overlay: bool = False) -> Any:
        return await self._ask_watched("custom", "", lambda ui: ui.custom(make, overlay=overlay))

    def set_editor(self, make: Callable[..., Any] | None) -> None:
        """Replaces the editor until the extension ends."""
        self._extension.require_extension_open()
        ui = self._ui()
        ui.set_editor(make)
        if make is not None:
            self._extension.on_close.append(lambda: ui.set_editor(None))

    def on_terminal_input(self, listener: Callable[[str], Any]) -> Callable[[], None]:
        """Listens until it is stopped or the extension ends."""
        self._extension.require_extension_open()
        stop = self._ui().on_terminal_input(listener)
        self._extension.on_close.append(stop)
        return stop

    async def _ask_watched(self, kind: Any, title: str, ask: Callable[[Ui], Awaitable[Any]]) -> Any:
        self._extension.require_extension_open()
        ui = self._ui()
        with pause_extension_time_limit():
            await self._emit("ui_prompt_start", UiPromptStart(kind=kind, title=title))
            try:
                return await ask(ui)
            finally:
                await self._emit("ui_prompt_end", UiPromptEnd(kind=kind, title=title))
