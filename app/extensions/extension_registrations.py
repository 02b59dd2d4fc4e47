"""Holds what an extension has registered: tools, commands, shortcuts, flags, renderers, providers, handlers.

One `Extension` is one extension in one epoch: a reload makes new objects, and the old ones refuse to work.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from tools.file_and_process_operations import FileOperations, ProcessOperations
from tools.tool_definition import Tool

if TYPE_CHECKING:
    from app.extensions.extension_session_binding import SessionBinding
    from app.extensions.ui_protocol import ProviderSpec


class StaleExtension(RuntimeError):
    """The extension was reloaded or removed; objects that it kept from before refuse to work."""


class NotReady(RuntimeError):
    """There is no session yet: actions belong into hooks, tools and commands, not into loading."""


def require_session_binding(bound: SessionBinding | None) -> SessionBinding:
    if bound is None:
        raise NotReady("There is no session yet. Do this in a hook, for example session_start.")
    return bound


class ExtensionProblem(msgspec.Struct, frozen=True, kw_only=True):
    """An error of an extension, with its name and file in the text."""

    source: str
    event: str
    """A hook's name, or `load`, `register`, `tool NAME`, `command NAME`, `render`."""
    text: str

    def __str__(self) -> str:
        return f"{self.source}: {self.event}: {self.text}"


class ExtensionStatus(msgspec.Struct, frozen=True, kw_only=True):
    """An extension's name, file, registrations and problems, for lists of extensions."""

    name: str
    path: str
    origin: str = "not loaded"
    counts: dict[str, int] = {}
    """The number of registrations by kind: `{"tools": 1, "hooks": 3}`."""
    problems: tuple[ExtensionProblem, ...] = ()


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """One suggestion for a command's argument or for the editor."""

    value: str
    label: str = ""
    description: str = ""


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A slash command of an extension."""

    name: str
    run: Callable[[str, Any], Any]
    """(arguments, CommandContext)"""
    description: str = ""
    complete: Callable[[str], Sequence[Completion | str] | Awaitable[Sequence[Completion | str]]] | None = (
        None
    )


class Shortcut(msgspec.Struct, frozen=True, kw_only=True):
    """A key binding of an extension."""

    key: str
    run: Callable[[Any], Any]
    description: str = ""


class ExtensionFlag(msgspec.Struct, frozen=True, kw_only=True):
    """A command line flag of an extension."""

    name: str
    type: Literal["boolean", "string"] = "boolean"
    default: bool | str | None = None
    description: str = ""


class MarkdownTransform(msgspec.Struct, frozen=True, kw_only=True):
    """Changes the Markdown of messages before it is drawn, never what is stored or sent."""

    change: Callable[[str], str]
    kinds: tuple[str, ...] = ("assistant",)


class ExtensionSource(msgspec.Struct, frozen=True, kw_only=True):
    """An extension's origin and the function that loads it."""

    name: str
    """The extension's name: `permission-gate`, `builtin:file-maps`."""
    path: str
    """The extension's file, folder or entry point, to show to people."""
    origin: Literal["builtin", "user", "project", "flag", "settings", "package", "entry-point"]
    load: Callable[[Extension], Any]
    """Returns the function `extension(api)`; may raise any exception."""


class Extension:
    """One loaded extension. `is_open` is False once its epoch has ended."""

    def __init__(self, source: ExtensionSource, epoch: int) -> None:
        self.source = source
        self.epoch = epoch
        self.is_open = True
        self.may_read: Callable[[], bool] = lambda: True
        """Whether its files are unchanged since the user approved them."""
        self.uses_former_name = False
        """Whether its file imports the names for extensions from where they were before the package `bayou`."""
        self.tools: dict[str, Tool] = {}
        self.commands: dict[str, Command] = {}
        self.shortcuts: dict[str, Shortcut] = {}
        self.flags: dict[str, ExtensionFlag] = {}
        self.message_renderers: dict[str, Callable[..., Any]] = {}
        self.entry_renderers: dict[str, Callable[..., Any]] = {}
        self.tool_renderers: dict[str, Callable[..., Any]] = {}
        self.transforms: list[MarkdownTransform] = []
        self.providers: dict[str, ProviderSpec] = {}
        self.servers: dict[str, dict[str, Any]] = {}
        """MCP servers by name, with the keys of a configuration file."""
        self.operations: tuple[FileOperations | None, ProcessOperations | None] | None = None
        self.completers: list[Callable[..., Any]] = []
        self.handler_count = 0
        self.on_close: list[Callable[[], None]] = []

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def owner_name(self) -> str:
        """The name under which bayou's tables hold what this load of the extension registered."""
        return f"extension:{self.source.name}#{self.epoch}"

    def provider_owner_name(self, provider: str) -> str:
        """Returns the owner name of one provider of the extension, so that each provider can be removed alone."""
        return f"{self.owner_name}/{provider}"

    def require_extension_open(self) -> None:
        if not self.is_open:
            raise StaleExtension(
                f"{self.name} was reloaded or removed. This object belongs to the time before; "
                "use the one that the new extension(api) or the new handler was given."
            )

    def close(self) -> None:
        self.is_open = False
        callbacks, self.on_close = self.on_close, []
        for callback in callbacks:
            callback()
