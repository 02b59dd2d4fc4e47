"""The functions of extensions that wait for hooks: asked in order, each within its time, failures reported once.

Loading and reloading are `runner`'s business; what an extension may call is `api`'s.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from app.extensions.events import EventBus
from app.extensions.guard import HookLimits, HookTooSlow, call
from app.extensions.hooks.hook_table import HOOKS, Hook, UnreadAnswer, as_answer, hook_named
from app.extensions.registrations import Extension, ExtensionFlag, Problem
from app.values.events import Event, ExtensionError

if TYPE_CHECKING:
    from app.extensions.bound import Bound
    from app.extensions.contexts import Context


class Registered:
    """One function that waits for one hook."""

    __slots__ = ("context", "extension", "function", "is_active")

    def __init__(self, extension: Extension, function: Callable[..., Any], context: Context) -> None:
        self.extension = extension
        self.function = function
        self.context = context
        self.is_active = True


class Hooked:
    """All that wait, and what they share: what they are bound to, limits, flags, bus."""

    def __init__(
        self,
        *,
        limits: Callable[[], HookLimits] = HookLimits,
        flags: Mapping[str, str | bool] | None = None,
        behind: Callable[[str], str | None] = lambda flag: None,
        on_problem: Callable[[Problem], None] = lambda problem: None,
    ) -> None:
        self.bound: Bound | None = None
        self._limits = limits
        self.flag_values = dict(flags or {})
        self._behind = behind
        """The word behind a flag on the command line."""
        self.loaded: tuple[Extension, ...] = ()
        self.problems: list[Problem] = []
        self.bus = EventBus(self._bus_failed, limits)
        self._on_problem = on_problem
        self.waiting: dict[str, tuple[Registered, ...]] = {}
        """By hook. Who would have to make the payload looks first whether there is anybody."""
        self._followers: list[Callable[[], None]] = []
        self._told: set[tuple[str, str, str]] = set()
        self._publishing: set[asyncio.Task[None]] = set()

    @property
    def limits(self) -> HookLimits:
        return self._limits()

    def value_of(self, flag: ExtensionFlag) -> bool | str | None:
        """What the command line says, in either spelling: `--name=value`, `--name value`."""
        value = self.flag_values.get(flag.name, flag.default)
        is_open = flag.type == "string" and flag.name in self.flag_values and value is True
        return self._behind(flag.name) if is_open else value

    # Hooks

    def follow(self, follower: Callable[[], None]) -> None:
        """Called whenever others wait for hooks."""
        self._followers.append(follower)

    def _wait(self, name: str, handlers: tuple[Registered, ...]) -> None:
        if handlers:
            self.waiting[name] = handlers
        else:
            self.waiting.pop(name, None)
        for follower in self._followers:
            follower()

    def on(
        self, extension: Extension, name: str, function: Callable[..., Any], context: Context
    ) -> Callable[[], None]:
        """Adds a handler; returns how to take it back, at any time. It is asked in the order of loading."""
        handler = Registered(extension, function, context)
        waiting = (*self.waiting.get(name, ()), handler)
        self._wait(name, tuple(sorted(waiting, key=lambda one: one.extension.epoch)))
        extension.handler_count += 1

        def take_back() -> None:
            if handler.is_active:
                handler.is_active = False
                extension.handler_count -= 1
                self._wait(name, tuple(one for one in self.waiting.get(name, ()) if one is not handler))

        return take_back

    def forget(self, extension: Extension) -> None:
        """Nothing of it waits any longer."""
        for name, handlers in list(self.waiting.items()):
            self._wait(name, tuple(handler for handler in handlers if handler.extension is not extension))

    async def emit(
        self, name: str, payload: Any, *, asks: Callable[[Extension], bool] = lambda extension: True
    ) -> Any:
        """Asks everybody who waits for this hook, in the order of loading; returns their joint answer or None.
        `asks`: whether an extension is meant."""
        handlers = self.waiting.get(name)
        if handlers is None:
            return None
        hook = HOOKS.get(name) or hook_named(name)
        assert hook is not None, name
        answer = None
        for handler in handlers:
            if not handler.is_active or not handler.extension.is_open or not asks(handler.extension):
                continue  # taken back, or reloaded, by one of those before
            answer = await self._ask(hook, handler, payload, answer)
            if hook.stops is not None and hook.stops(answer):
                break
        return answer

    async def _ask(self, hook: Hook, handler: Registered, payload: Any, so_far: Any) -> Any:
        limits = self._limits()
        in_place = hook.closed
        seconds = limits.slow_answer if hook.is_slow else limits.answer
        try:
            value = await call(
                handler.function, payload, handler.context, seconds=seconds, block=limits.block
            )
            answer = None if value is None else as_answer(hook, value)
            if answer is None or hook.fold is None:
                return so_far
            return hook.fold(payload, so_far, answer)
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            words = "it cancelled itself"
        except UnreadAnswer as problem:
            words, in_place = str(problem), hook.unread or in_place
        except (Exception, SystemExit) as problem:  # noqa: BLE001  (foreign code: reported with its source)
            words = in_words(problem, handler.extension.source.path)
        self.report(handler.extension.source.path, hook.name, words)
        if in_place is None:
            return so_far
        what = "gave an answer that cannot be read" if in_place is hook.unread else "could not check this"
        return in_place(f"The extension {handler.extension.name} {what}: {words}")

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
        if self.bound is not None:
            self._publish(ExtensionError(extension_path=source, event=event, error=text))

    def forget_told(self) -> None:
        """What goes wrong after a reload is told, be it the same as before."""
        self._told.clear()

    def _publish(self, event: Event) -> None:
        if self.bound is None:
            return
        try:
            task = asyncio.get_running_loop().create_task(self.bound.session.events.publish(event))
        except RuntimeError:
            return  # no loop: whoever loads without one reads `problems`
        self._publishing.add(task)
        task.add_done_callback(self._publishing.discard)

    def _bus_failed(self, extension: Extension, name: str, problem: BaseException) -> None:
        self.report(extension.source.path, f"events {name}", in_words(problem, extension.source.path))


def is_cancelled() -> bool:
    """Somebody cancelled us, as opposed to foreign code that raised `CancelledError` by itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def in_words(problem: BaseException, path: str) -> str:
    """An exception as one line that names the place in the extension's own files."""
    if isinstance(problem, HookTooSlow):
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
