"""Carries events between extensions. Extensions choose the names; bayou sends nothing on this bus."""

from collections.abc import Callable
from typing import Any

from app.extensions.extension_registrations import Extension
from app.extensions.time_limits import HookLimits, call_with_time_limit

ReportHandlerFailure = Callable[[Extension, str, BaseException], None]


class ExtensionEventBus:
    """Delivers events between the extensions of a session."""

    def __init__(self, failed: ReportHandlerFailure, limits: Callable[[], HookLimits]) -> None:
        self._failed = failed
        self._limits = limits
        self._listeners: dict[str, tuple[tuple[Extension, Callable[[Any], Any]], ...]] = {}

    def on(self, extension: Extension, name: str, function: Callable[[Any], Any]) -> Callable[[], None]:
        entry = (extension, function)
        self._listeners[name] = (*self._listeners.get(name, ()), entry)

        def take_back() -> None:
            self._listeners[name] = tuple(
                other for other in self._listeners.get(name, ()) if other is not entry
            )

        extension.on_close.append(take_back)
        return take_back

    async def emit(self, name: str, data: Any = None) -> None:
        limits = self._limits()
        for extension, function in self._listeners.get(name, ()):
            if not extension.is_open:
                continue
            try:
                await call_with_time_limit(
                    function, data, seconds=limits.answer_seconds, block=limits.block_seconds
                )
            except (Exception, SystemExit) as problem:  # noqa: BLE001  (another extension's failure is not the sender's)
                self._failed(extension, name, problem)


class ExtensionBusView:
    """The bus as one extension sees it."""

    def __init__(self, bus: ExtensionEventBus, extension: Extension) -> None:
        self._bus = bus
        self._extension = extension

    def on(self, name: str, function: Callable[[Any], Any]) -> Callable[[], None]:
        """Calls `function(data)`, plain or async, for each event of that name; returns a function that stops
        it."""
        self._extension.require_extension_open()
        return self._bus.on(self._extension, name, function)

    async def emit(self, name: str, data: Any = None) -> None:
        self._extension.require_extension_open()
        await self._bus.emit(name, data)
