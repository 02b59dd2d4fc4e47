"""Defines the interface between extensions and the user interfaces: the `Ui` protocol and the values that
cross it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from app.providers.model_stream import Adapter
from app.providers.signin.interface import SignIn
from app.values.models import Model

Mode = Literal["tui", "rpc", "acp", "json", "print"]
DeliverAs = Literal["steer", "follow_up", "next_turn", "aside"]
Level = Literal["info", "warning", "error"]
Placement = Literal["above_editor", "below_editor"]


class WindowUsage(msgspec.Struct, frozen=True, kw_only=True):
    """The fill level of the model's context window."""

    tokens: int | None
    window: int
    percent: float | None


class ProviderSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A provider that an extension adds, or its changes to one of bayou's own."""

    name: str
    models: tuple[Model, ...] = ()
    adapter: Adapter | None = None
    """The adapter for the models' `api`, where bayou has none for it."""
    api_key: str | None = None
    """Literal, `$NAME` or `!command`."""
    headers: Mapping[str, str] = {}
    base_url: str | None = None
    """The address of requests to this provider's models, bayou's own included: a proxy, a gateway."""
    sign_in: SignIn | None = None
    """How a person signs in to an account; /login offers it."""
    discover: Callable[[], Awaitable[Sequence[Model]]] | None = None


class Ui(Protocol):
    """The questions and displays that a user interface offers. Without a person to answer, questions return
    the cancelled value."""

    @property
    def has_ui(self) -> bool: ...
    async def select(
        self, title: str, options: Sequence[str], *, timeout: float | None = None
    ) -> str | None: ...
    async def confirm(self, title: str, message: str = "", *, timeout: float | None = None) -> bool: ...
    async def input(
        self, title: str, placeholder: str = "", *, timeout: float | None = None
    ) -> str | None: ...
    async def editor(self, title: str, prefill: str = "") -> str | None: ...
    async def custom(self, make: Callable[..., Any], *, overlay: bool = False) -> Any:
        """Shows the Textual screen or widget that `make(done)` returns until it calls `done(value)`; returns
        that value. Without a screen `make` is not called and the result is None."""
        ...

    def notify(self, text: str, level: Level = "info") -> None: ...
    def set_status(self, key: str, text: str | None) -> None: ...
    def set_widget(self, key: str, content: Any, *, placement: Placement = "above_editor") -> None:
        """Shows lines, a View, or (full screen only) a widget made by a callable; None removes it."""
        ...

    def set_title(self, title: str) -> None: ...
    def set_header(self, make: Callable[..., Any] | None) -> None: ...
    def set_footer(self, make: Callable[..., Any] | None) -> None: ...
    def set_editor(self, make: Callable[..., Any] | None) -> None:
        """Replaces the prompt's editor with the widget of `make(submit)`, which calls `submit(text)` to send;
        None restores bayou's own."""
        ...

    def on_terminal_input(self, listener: Callable[[str], Any]) -> Callable[[], None]:
        """Calls `listener(data)` with the terminal's input before it is decoded to keys. True: the input is
        consumed; a text replaces it. Returns a function that stops it."""
        ...

    def set_working(self, message: str | None, *, frames: Sequence[str] | None = None) -> None: ...
    def editor_text(self) -> str: ...
    def set_editor_text(self, text: str) -> None: ...
    def paste(self, text: str) -> None: ...
    def set_tools_expanded(self, expanded: bool) -> None: ...
    def tools_expanded(self) -> bool: ...
    def themes(self) -> Sequence[str]: ...
    def theme(self) -> str: ...
    def set_theme(self, name: str) -> bool: ...
