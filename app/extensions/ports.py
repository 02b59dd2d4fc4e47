"""What extensions and faces have in common: how a face is asked, and the few values that go to and fro."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from app.providers.contract import Adapter
from app.providers.signin.interface import SignIn
from app.values.models import Model

Mode = Literal["tui", "rpc", "json", "print"]
DeliverAs = Literal["steer", "follow_up", "next_turn", "aside"]
Level = Literal["info", "warning", "error"]
Placement = Literal["above_editor", "below_editor"]


class WindowUsage(msgspec.Struct, frozen=True, kw_only=True):
    """How full the model's window is."""

    tokens: int | None
    window: int
    percent: float | None


class ProviderSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A provider that an extension brings along, or changes to one of bayou's own."""

    name: str
    models: tuple[Model, ...] = ()
    adapter: Adapter | None = None
    """Speaks the models' `api`, where that is none of bayou's own."""
    api_key: str | None = None
    """Literal, `$NAME` or `!command`."""
    headers: Mapping[str, str] = {}
    base_url: str | None = None
    """Where its models are asked, bayou's own ones too: a proxy, a gateway."""
    sign_in: SignIn | None = None
    """How a person signs in to an account: /login offers it."""
    discover: Callable[[], Awaitable[Sequence[Model]]] | None = None


class Ui(Protocol):
    """What a face can ask and show. Where nobody can answer, questions give the cancelled value."""

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
        """Shows what `make(done)` gives, a Textual screen or widget, until it calls `done(value)`; gives that value.
        None where there is no screen: `make` is not called there."""
        ...

    def notify(self, text: str, level: Level = "info") -> None: ...
    def set_status(self, key: str, text: str | None) -> None: ...
    def set_widget(self, key: str, content: Any, *, placement: Placement = "above_editor") -> None:
        """Lines, a View, or (full screen only) a callable that makes a widget; None takes it away."""
        ...

    def set_title(self, title: str) -> None: ...
    def set_header(self, make: Callable[..., Any] | None) -> None: ...
    def set_footer(self, make: Callable[..., Any] | None) -> None: ...
    def set_editor(self, make: Callable[..., Any] | None) -> None:
        """`make(submit)` gives a widget that stands in for the prompt's editor, and calls `submit(text)` to send; None
        gives bayou's own back."""
        ...

    def on_terminal_input(self, listener: Callable[[str], Any]) -> Callable[[], None]:
        """`listener(data)` hears what the terminal sends before keys are made of it. True: it is used up; a text counts
        in its place. Returns how to stop."""
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
