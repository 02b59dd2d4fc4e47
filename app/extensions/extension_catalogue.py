"""Collects what all extensions offer to the user interface: commands, shortcuts, flags, renderers,
transforms, completions.

When two extensions register the same name, the one loaded first keeps it and the other gets a problem report.
Extension code is called with time limits; when it fails, the interface continues without it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from app.extensions.extension_registrations import Command, Completion, Extension, ExtensionFlag, Shortcut
from app.extensions.extension_views import View, as_view
from app.extensions.hooks.hook_registry import HookHandlerRegistry, describe_exception, is_cancelled
from app.extensions.time_limits import (
    ExtensionTimeLimitExceeded,
    call_sync_with_time_limit,
    call_with_time_limit,
)
from app.values.messages import CustomMessage
from tools.tool_result_values import Card, ToolResult

EXTENSION_COMMAND_TIMEOUT_SECONDS = 24 * 3600.0
"""The limit of a command, which may run long: the user waits for it and can end it with Escape."""


class ExtensionRenderedOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a renderer: a view for every user interface, or a widget that only the full screen can
    show."""

    view: View | None = None
    widget: Any = None


class ExtensionCatalogue:
    """Looks up and calls the commands, shortcuts, flags and renderers that all extensions have registered."""

    def __init__(self, hooked: HookHandlerRegistry) -> None:
        self._hooks = hooked

    # Commands and keys

    def commands(self, taken: Iterable[str] = ()) -> dict[str, Command]:
        """Returns the commands by name. `taken` are the names of bayou's own commands, which extensions
        cannot replace."""
        return self._first_registered("command", lambda extension: extension.commands, taken)

    def shortcuts(
        self, taken: Iterable[str] = (), spelled: Callable[[str], str] = lambda key: key
    ) -> dict[str, Shortcut]:
        """Returns the shortcuts by key. `spelled` gives one spelling for each key, in any order of its
        modifiers."""
        return self._first_registered("shortcut", lambda extension: extension.shortcuts, taken, spelled)

    def flags(self) -> dict[str, ExtensionFlag]:
        return self._first_registered("flag", lambda extension: extension.flags, ())

    def unknown_command_line_flags(self) -> tuple[str, ...]:
        """Returns the flags of the command line that no extension has registered."""
        return tuple(name for name in self._hooks.flag_values if name not in self.flags())

    def extension_flag_errors(self) -> tuple[str, ...]:
        """Describes the errors in the flags of the command line, one sentence each."""
        given = self._hooks.flag_values
        problems = [
            f"Unknown option: --{name}. See bayou --help." for name in self.unknown_command_line_flags()
        ]
        for name, flag in self.flags().items():
            if name not in given:
                continue
            if flag.type == "string" and not self._hooks.flag_value(flag):
                problems.append(
                    f"--{name} needs a value: --{name}=VALUE or --{name} VALUE. {flag.description}".strip()
                )
            if flag.type == "boolean" and given[name] is not True:
                problems.append(f"--{name} takes no value.")
        return tuple(problems)

    def flags_with_values(self) -> tuple[str, ...]:
        """Returns the flags whose value is the next word of the command line."""
        given = self._hooks.flag_values
        return tuple(
            name for name, flag in self.flags().items() if flag.type == "string" and given.get(name) is True
        )

    async def run_command(self, name: str, arguments: str) -> bool:
        """Runs a command. Returns False when there is no such command; a failure is reported, not raised."""
        found = self._owner_of(name, lambda extension: extension.commands)
        return await self._run_registered(found, f"command /{name}", arguments)

    async def run_shortcut(self, key: str) -> bool:
        return await self._run_registered(
            self._owner_of(key, lambda extension: extension.shortcuts), f"shortcut {key}"
        )

    async def _run_registered(self, found: tuple[Extension, Any] | None, what: str, *arguments: Any) -> bool:
        if found is None:
            return False
        from app.extensions.handler_contexts import CommandContext  # noqa: PLC0415  (behind the first paint)

        extension, registered = found
        context = CommandContext(extension, self._hooks)
        await self._call_guarded(
            extension, what, EXTENSION_COMMAND_TIMEOUT_SECONDS, registered.run, *arguments, context
        )
        return True

    async def complete_argument(self, name: str, typed: str) -> tuple[Completion, ...]:
        found = self._owner_of(name, lambda extension: extension.commands)
        if found is None or found[1].complete is None:
            return ()
        extension, command = found
        assert command.complete is not None
        given = await self._call_guarded(extension, f"completion of /{name}", 1.0, command.complete, typed)
        return _checked_completions(given)

    async def complete_text(self, text: str, cursor: int) -> tuple[Completion, ...]:
        """Returns the suggestions of all extensions for the editor's text."""
        found: list[Completion] = []
        for extension in self._hooks.loaded:
            for completer in extension.completers:
                given = await self._call_guarded(extension, "autocomplete", 1.0, completer, text, cursor)
                found += _checked_completions(given)
        return tuple(found)

    # Drawing

    def render_message(self, message: CustomMessage, *, expanded: bool) -> ExtensionRenderedOutput | None:
        """Draws a message. None: no extension draws this type, or its renderer failed; draw it plainly."""
        return self._render(
            lambda extension: extension.message_renderers, message.custom_type, message, expanded
        )

    def render_entry(self, custom_type: str, data: Any, *, expanded: bool) -> ExtensionRenderedOutput | None:
        return self._render(lambda extension: extension.entry_renderers, custom_type, data, expanded)

    def render_tool(
        self, name: str, arguments: Mapping[str, Any], result: ToolResult | None, usual: Card
    ) -> ExtensionRenderedOutput | None:
        return self._render(lambda extension: extension.tool_renderers, name, arguments, result, usual)

    def has_renderer_for(self, custom_type: str) -> bool:
        return any(custom_type in extension.message_renderers for extension in self._hooks.loaded)

    @property
    def has_markdown_transforms(self) -> bool:
        return any(extension.transforms for extension in self._hooks.loaded)

    @property
    def draws_more_than_messages(self) -> bool:
        """Whether an extension changes how tools, entries or ordinary text look."""
        return self.has_markdown_transforms or any(
            extension.tool_renderers or extension.entry_renderers for extension in self._hooks.loaded
        )

    def transform_markdown(self, text: str, kind: str) -> str:
        """Returns the Markdown to draw in place of `text`."""
        for extension in self._hooks.loaded:
            for transform in extension.transforms:
                if kind not in transform.kinds:
                    continue
                changed = self._call_guarded_sync(extension, "markdown transform", transform.change, text)
                text = changed if isinstance(changed, str) else text
        return text

    def _render(
        self, table: Callable[[Extension], Mapping[str, Any]], name: str, *arguments: Any
    ) -> ExtensionRenderedOutput | None:
        found = self._owner_of(name, table)
        if found is None:
            return None
        extension, render = found
        made = self._call_guarded_sync(extension, f"renderer of {name}", render, *arguments)
        if made is None:
            return None
        view = as_view(made, title=name)
        return (
            ExtensionRenderedOutput(view=view) if view is not None else ExtensionRenderedOutput(widget=made)
        )

    # Calling extension code

    def _first_registered(
        self,
        what: str,
        table: Callable[[Extension], Mapping[str, Any]],
        taken: Iterable[str],
        spelled: Callable[[str], str] = lambda name: name,
    ) -> dict[str, Any]:
        own = set(taken)
        found: dict[str, Any] = {}
        owners: dict[str, str] = {}
        for extension in self._hooks.loaded:
            for written, value in table(extension).items():
                name = spelled(written)
                if name in own or name in found:
                    whose = owners.get(name, "bayou itself")
                    text = f"the {what} {name} belongs to {whose} already; this one is left out"
                    self._hooks.report_problem_once(extension.source.path, "register", text)
                    continue
                found[name] = value
                owners[name] = extension.name
        return found

    def _owner_of(
        self, name: str, table: Callable[[Extension], Mapping[str, Any]]
    ) -> tuple[Extension, Any] | None:
        for extension in self._hooks.loaded:
            if name in table(extension):
                return extension, table(extension)[name]
        return None

    async def _call_guarded(
        self, extension: Extension, what: str, seconds: float, function: Callable[..., Any], *arguments: Any
    ) -> Any:
        try:
            return await call_with_time_limit(
                function, *arguments, seconds=seconds, block=self._hooks.limits.block_seconds
            )
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            self._hooks.report_problem_once(extension.source.path, what, "it cancelled itself")
        except (Exception, SystemExit) as problem:  # noqa: BLE001  (foreign code: reported with its source)
            self._hooks.report_problem_once(
                extension.source.path, what, describe_exception(problem, extension.source.path)
            )
        return None

    def _call_guarded_sync(
        self, extension: Extension, what: str, function: Callable[..., Any], *arguments: Any
    ) -> Any:
        try:
            made = call_sync_with_time_limit(function, *arguments, block=self._hooks.limits.block_seconds)
        except (Exception, SystemExit, ExtensionTimeLimitExceeded) as problem:  # noqa: BLE001  (foreign code: reported with its source)
            self._hooks.report_problem_once(
                extension.source.path, what, describe_exception(problem, extension.source.path)
            )
            return None
        if isinstance(made, Awaitable):
            close = getattr(made, "close", None)
            if close is not None:
                close()
            self._hooks.report_problem_once(
                extension.source.path, what, "it must be a plain function, not async"
            )
            return None
        return made


def _checked_completions(given: Any) -> tuple[Completion, ...]:
    if not isinstance(given, Sequence) or isinstance(given, str):
        return ()
    return tuple(
        item if isinstance(item, Completion) else Completion(value=str(item), label=str(item))
        for item in given
    )
