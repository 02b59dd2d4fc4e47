"""Loads, reloads and ends the extensions of one session.

`hooks` calls their handlers; `loader` finds their files; `session_hooks` implements the session's hooks with
them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from app.extensions.extension_registrations import (
    Extension,
    ExtensionProblem,
    ExtensionSource,
    ExtensionStatus,
)
from app.extensions.hooks.event_hooks import HOOK_EVENT_TYPES, HookEventState
from app.extensions.hooks.hook_registry import HookHandlerRegistry, describe_exception, is_cancelled
from app.extensions.hooks.hook_table import SESSION_EVENTS
from app.extensions.hooks.payloads import SessionShutdown, SessionStart
from app.extensions.time_limits import call_sync_with_time_limit, call_with_time_limit
from app.values.events import Event

if TYPE_CHECKING:
    from app.extensions.extension_session_binding import SessionBinding


class Extensions:
    """All extensions of a session, loaded and reloaded."""

    def __init__(self, **shared: Any) -> None:
        """`shared` are the arguments of `Hooked`."""
        self.hooks = HookHandlerRegistry(**shared)
        self._epoch = 0
        self._event_state = HookEventState()
        self._has_warned_of_old_names = False
        self.may_read: Callable[[ExtensionSource], bool] = lambda source: True
        """Whether an extension's file may be read; checked before every file."""

    def bind(self, bound: SessionBinding) -> None:
        """Connects the extensions to a session and its user interface, and hands over what they registered
        before."""
        self.hooks.binding = bound
        self._event_state.start_session(bound.session)
        for extension in self.hooks.loaded:
            for tool in extension.tools.values():
                bound.registrations.add_tool(tool, extension.owner_name)
            for name, entry in extension.servers.items():
                bound.registrations.add_server(name, entry, extension.owner_name)
            for spec in extension.providers.values():
                bound.registrations.add_provider(spec, extension.provider_owner_name(spec.name))
            if extension.operations is not None:
                bound.registrations.add_operations(*extension.operations, extension.owner_name)

    # Loading

    async def load(self, sources: Sequence[ExtensionSource]) -> tuple[ExtensionProblem, ...]:
        """Loads extensions in order; one that fails does not affect the others. Returns the new problems."""
        before = len(self.hooks.problems)
        known = {extension.name for extension in self.hooks.loaded}
        for source in sources:
            if source.name in known:
                self.hooks.report_problem_once(
                    source.path,
                    "load",
                    f"an extension called {source.name} is loaded already; this one is left out",
                )
                continue
            known.add(source.name)
            await self._load_extension(source)
        self._warn_of_former_import()
        return tuple(self.hooks.problems[before:])

    def _warn_of_former_import(self) -> None:
        """Shows one notice for all extensions with the former import."""
        former = [one.source.path for one in self.hooks.loaded if one.uses_former_name]
        if not former or self._has_warned_of_old_names or self.hooks.binding is None:
            return
        self._has_warned_of_old_names = True
        more = f" and {len(former) - 1} more" if len(former) > 1 else ""
        self.hooks.binding.session.events.notify(
            f"{former[0]}{more}: app.extensions.public still works, but is now `from bayou import …`"
        )

    async def _load_extension(self, source: ExtensionSource) -> None:
        self._epoch += 1
        extension = Extension(source, self._epoch)
        extension.may_read = partial(self.may_read, source)
        from app.extensions.api import ExtensionApi  # noqa: PLC0415  (behind the first paint)

        api = ExtensionApi(self.hooks, extension)
        try:
            function = call_sync_with_time_limit(source.load, extension, block=self.hooks.limits.load_seconds)
            await call_with_time_limit(
                function, api, seconds=self.hooks.limits.load_seconds, block=self.hooks.limits.load_seconds
            )
        except asyncio.CancelledError:
            self._unload(extension)
            if is_cancelled():
                raise
            self.hooks.report_problem_once(source.path, "load", "it cancelled itself")
        except (Exception, SystemExit) as problem:  # noqa: BLE001  (foreign code: it is named and left out)
            self._unload(extension)
            self.hooks.report_problem_once(source.path, "load", describe_exception(problem, source.path))
        else:
            self.hooks.loaded = (*self.hooks.loaded, extension)

    async def start(self, reason: Any = "startup") -> None:
        await self.hooks.emit("session_start", SessionStart(reason=reason))

    async def restart_for_changed_settings(self) -> None:
        """Restarts bayou's own extensions with changed settings. All other extensions check for changes
        themselves."""
        told = SessionStart(reason="reload")
        await self.hooks.emit(
            "session_start", told, asks=lambda extension: extension.source.origin == "builtin"
        )

    async def reload(self, sources: Sequence[ExtensionSource]) -> tuple[ExtensionProblem, ...]:
        """Ends the old epoch, removing all its registrations, and loads the extensions again."""
        await self.hooks.emit("session_shutdown", SessionShutdown(reason="reload"))
        self._unload_all()
        problems = await self.load(sources)
        await self.start("reload")
        return problems

    async def close(self, reason: Any = "quit") -> None:
        await self.hooks.emit("session_shutdown", SessionShutdown(reason=reason))
        self._unload_all()

    def _unload_all(self) -> None:
        for extension in reversed(self.hooks.loaded):
            self._unload(extension)
        self.hooks.loaded = ()
        self.hooks.clear_reported_problems()

    def _unload(self, extension: Extension) -> None:
        extension.close()
        self.hooks.remove_handlers(extension)
        if self.hooks.binding is not None:
            brought = self.hooks.binding.registrations
            for provider in extension.providers:
                brought.remove_owner(extension.provider_owner_name(provider))
            brought.remove_owner(extension.owner_name)

    async def handle_event(self, event: Event) -> None:
        """Passes a session's event to its handlers, and calls the hooks that follow from it."""
        name: Any = event.__struct_config__.tag
        if name in SESSION_EVENTS and name in self.hooks.handlers:
            await self.hooks.emit(name, event)
        if name in HOOK_EVENT_TYPES:
            hook = self._event_state.hook_for_event(
                event, self.hooks.binding.session if self.hooks.binding else None
            )
            if hook is not None:
                await self.hooks.emit(*hook)

    def status(self) -> tuple[ExtensionStatus, ...]:
        """Returns the status of all extensions, for the screen that lists them; those that failed to load
        have only problems."""
        loaded = tuple(_extension_status(extension, self.hooks.problems) for extension in self.hooks.loaded)
        known = {status.path for status in loaded}
        lost = dict.fromkeys(problem.source for problem in self.hooks.problems if problem.source not in known)
        return loaded + tuple(
            ExtensionStatus(
                name=path, path=path, problems=tuple(p for p in self.hooks.problems if p.source == path)
            )
            for path in lost
        )


def _extension_status(extension: Extension, problems: Sequence[ExtensionProblem]) -> ExtensionStatus:
    counts = {
        "hooks": extension.handler_count,
        "tools": len(extension.tools),
        "commands": len(extension.commands),
        "shortcuts": len(extension.shortcuts),
        "providers": len(extension.providers),
        "renderers": len(extension.message_renderers)
        + len(extension.entry_renderers)
        + len(extension.tool_renderers),
    }
    return ExtensionStatus(
        name=extension.name,
        path=extension.source.path,
        origin=extension.source.origin,
        counts={what: count for what, count in counts.items() if count},
        problems=tuple(problem for problem in problems if problem.source == extension.source.path),
    )
