"""The loaded extensions of one session: handlers are called, failures reported once, everything can be reloaded.

Where extensions are found is `loader`'s business; how the engine's questions become hooks is `bridge`'s.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.extensions.api import ExtensionApi
from app.extensions.contexts import Context
from app.extensions.events import EventBus
from app.extensions.guard import Limits, TooSlow, call, call_now
from app.extensions.hearing import MEANT, Memory
from app.extensions.hooks import SESSION_EVENTS, Hook, as_answer, hook_named
from app.extensions.payloads import SessionShutdown, SessionStart
from app.extensions.ports import Host
from app.extensions.registrations import Extension, Problem, Source, Status
from app.values.events import Event, ExtensionError


class Registered:
    """One function that waits for one hook."""

    __slots__ = ("context", "extension", "function", "is_active")

    def __init__(self, extension: Extension, function: Callable[..., Any], context: Context) -> None:
        self.extension = extension
        self.function = function
        self.context = context
        self.is_active = True


class Extensions:
    """All extensions of a session. Without any it does nothing and costs next to nothing."""

    def __init__(
        self,
        host: Host | None = None,
        *,
        limits: Limits = Limits(),  # noqa: B008  (frozen)
        flags: Mapping[str, str | bool] | None = None,
        on_problem: Callable[[Problem], None] = lambda problem: None,
    ) -> None:
        self.host = host
        self.limits = limits
        self.flag_values = dict(flags or {})
        self.loaded: tuple[Extension, ...] = ()
        self.problems: list[Problem] = []
        self.bus = EventBus(self._bus_failed, limits)
        self._on_problem = on_problem
        self._handlers: dict[str, tuple[Registered, ...]] = {}
        self._told: set[tuple[str, str, str]] = set()
        self._epoch = 0
        self._memory = Memory()
        self._publishing: set[asyncio.Task[None]] = set()

    def bind(self, host: Host) -> None:
        """The session and face that extensions talk to. What they registered before is handed over."""
        self.host = host
        self._memory.begin(host)
        for extension in self.loaded:
            for tool in extension.tools.values():
                host.add_tool(tool, extension.owner)
            for spec in extension.providers.values():
                host.add_provider(spec, extension.owner_of(spec.name))

    # Loading

    async def load(self, sources: Sequence[Source]) -> tuple[Problem, ...]:
        """Loads them in order, one that fails leaving the others alone. Returns what went wrong now."""
        before = len(self.problems)
        known = {extension.name for extension in self.loaded}
        for source in sources:
            if source.name in known:
                self.report(
                    source.path,
                    "load",
                    f"an extension called {source.name} is loaded already; this one is left out",
                )
                continue
            known.add(source.name)
            await self._load_one(source)
        return tuple(self.problems[before:])

    async def _load_one(self, source: Source) -> None:
        self._epoch += 1
        extension = Extension(source, self._epoch)
        api = ExtensionApi(self, extension)
        try:
            function = call_now(source.load, extension, block=self.limits.load)
            await call(function, api, seconds=self.limits.load, block=self.limits.load)
        except asyncio.CancelledError:
            self._drop(extension)
            if _is_cancelled():
                raise
            self.report(source.path, "load", "it cancelled itself")
        except (Exception, SystemExit) as problem:  # noqa: BLE001  (foreign code: it is named and left out)
            self._drop(extension)
            self.report(source.path, "load", in_words(problem, source.path))
        else:
            self.loaded = (*self.loaded, extension)

    async def start(self, reason: Any = "startup") -> None:
        await self.emit("session_start", SessionStart(reason=reason))

    async def reload(self, sources: Sequence[Source]) -> tuple[Problem, ...]:
        """Ends the old epoch, everything it registered included, and loads anew."""
        await self.emit("session_shutdown", SessionShutdown(reason="reload"))
        self._drop_all()
        problems = await self.load(sources)
        await self.start("reload")
        return problems

    async def close(self, reason: Any = "quit") -> None:
        await self.emit("session_shutdown", SessionShutdown(reason=reason))
        self._drop_all()

    def _drop_all(self) -> None:
        for extension in reversed(self.loaded):
            self._drop(extension)
        self.loaded = ()
        self._handlers = {}
        self._told.clear()

    def _drop(self, extension: Extension) -> None:
        extension.close()
        for name, handlers in list(self._handlers.items()):
            kept = tuple(handler for handler in handlers if handler.extension is not extension)
            if kept:
                self._handlers[name] = kept
            else:
                del self._handlers[name]
        if self.host is not None:
            for provider in extension.providers:
                self.host.remove_owner(extension.owner_of(provider))
            self.host.remove_owner(extension.owner)

    # Hooks

    def on(
        self, extension: Extension, name: str, function: Callable[..., Any], context: Context
    ) -> Callable[[], None]:
        """Adds a handler; returns how to take it back, at any time."""
        handler = Registered(extension, function, context)
        self._handlers[name] = (*self._handlers.get(name, ()), handler)
        extension.handler_count += 1

        def take_back() -> None:
            if handler.is_active:
                handler.is_active = False
                extension.handler_count -= 1
                kept = tuple(other for other in self._handlers.get(name, ()) if other is not handler)
                if kept:
                    self._handlers[name] = kept
                else:
                    self._handlers.pop(name, None)

        return take_back

    def listens(self, name: str) -> bool:
        """Whether anybody waits for this hook, for those who would have to make the payload first."""
        return name in self._handlers

    async def emit(self, name: str, payload: Any) -> Any:
        """Asks everybody who waits for this hook, in the order of loading; returns their joint answer or None."""
        handlers = self._handlers.get(name)
        if handlers is None:
            return None
        hook = hook_named(name)
        assert hook is not None, name
        answer: Any = None
        for handler in handlers:
            if not handler.is_active or not handler.extension.is_open:
                continue  # taken back, or reloaded, by one of those before
            answer = await self._ask(hook, handler, payload, answer)
            if hook.stops is not None and hook.stops(answer):
                break
        return answer

    async def _ask(self, hook: Hook, handler: Registered, payload: Any, so_far: Any) -> Any:
        seconds = self.limits.slow_answer if hook.is_slow else self.limits.answer
        try:
            value = await call(
                handler.function, payload, handler.context, seconds=seconds, block=self.limits.block
            )
            answer = as_answer(hook, value)
            if answer is None or hook.fold is None:
                return so_far
            return hook.fold(payload, so_far, answer)
        except asyncio.CancelledError:
            if _is_cancelled():
                raise
            words = "it cancelled itself"
        except (Exception, SystemExit) as problem:  # noqa: BLE001  (foreign code: reported with its source)
            words = in_words(problem, handler.extension.source.path)
        self.report(handler.extension.source.path, hook.name, words)
        if hook.closed is None:
            return so_far
        return hook.closed(f"The extension {handler.extension.name} could not check this: {words}")

    async def hear(self, event: Event) -> None:
        """Tells an event of the session to those who listen, and what hooks follow from it."""
        name: Any = event.__struct_config__.tag
        if name in self._handlers and name in SESSION_EVENTS:
            await self.emit(name, event)
        if name in MEANT:
            hook = self._memory.hook_for(event, self.host)
            if hook is not None:
                await self.emit(*hook)

    def status(self) -> tuple[Status, ...]:
        """For the screen that lists extensions; those that could not be loaded have only problems."""
        loaded = tuple(_status(extension, self.problems) for extension in self.loaded)
        known = {status.path for status in loaded}
        lost = dict.fromkeys(problem.source for problem in self.problems if problem.source not in known)
        return loaded + tuple(
            Status(name=path, path=path, problems=tuple(p for p in self.problems if p.source == path))
            for path in lost
        )

    # What went wrong

    def report(self, source: str, event: str, text: str) -> None:
        """Once per source, place and words."""
        key = (source, event, text)
        if key in self._told:
            return
        self._told.add(key)
        problem = Problem(source=source, event=event, text=text)
        self.problems.append(problem)
        self._on_problem(problem)
        if self.host is not None:
            self._publish(ExtensionError(extension_path=source, event=event, error=text))

    def _publish(self, event: Event) -> None:
        if self.host is None:
            return
        try:
            task = asyncio.get_running_loop().create_task(_publish(self.host, event))
        except RuntimeError:
            return  # no loop: whoever loads without one reads `problems`
        self._publishing.add(task)
        task.add_done_callback(self._publishing.discard)

    def _bus_failed(self, extension: Extension, name: str, problem: BaseException) -> None:
        self.report(extension.source.path, f"events {name}", in_words(problem, extension.source.path))


def _status(extension: Extension, problems: Sequence[Problem]) -> Status:
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
    return Status(
        name=extension.name,
        path=extension.source.path,
        origin=extension.source.origin,
        counts={what: count for what, count in counts.items() if count},
        problems=tuple(problem for problem in problems if problem.source == extension.source.path),
    )


async def _publish(host: Host, event: Event) -> None:
    await host.publish(event)


def _is_cancelled() -> bool:
    """Somebody cancelled us, as opposed to foreign code that raised `CancelledError` by itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def in_words(problem: BaseException, path: str) -> str:
    """An exception as one line that names the place in the extension's own files."""
    if isinstance(problem, TooSlow):
        return str(problem)
    if isinstance(problem, SyntaxError):
        return f"line {problem.lineno}: {problem.msg}"
    place = ""
    trace = problem.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file == path or file.startswith(path.rstrip("/") + "/"):
            name = file.removeprefix(path).lstrip("/")
            place = f"{name + ' ' if name else ''}line {trace.tb_lineno}: "
        trace = trace.tb_next
    text = str(problem)
    return f"{place}{type(problem).__name__}{': ' + text if text else ''}"
