"""Calls the hook handlers of extensions in order, each with a time limit, and reports each failure once.

`extension_runner` loads and reloads extensions; `api` defines what an extension may call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from app.extensions.extension_events import ExtensionEventBus
from app.extensions.extension_registrations import Extension, ExtensionFlag, ExtensionProblem
from app.extensions.hooks.hook_table import (
    HOOK_DEFINITIONS,
    HookDefinition,
    InvalidHookAnswer,
    decode_hook_answer,
    hook_definition_named,
)
from app.extensions.time_limits import ExtensionTimeLimitExceeded, HookLimits, call_with_time_limit
from app.values.events import Event, ExtensionError

if TYPE_CHECKING:
    from app.extensions.extension_session_binding import SessionBinding
    from app.extensions.handler_contexts import Context


class RegisteredHook:
    """One handler function registered for one hook."""

    __slots__ = ("context", "extension", "function", "is_active")

    def __init__(self, extension: Extension, function: Callable[..., Any], context: Context) -> None:
        self.extension = extension
        self.function = function
        self.context = context
        self.is_active = True


class HookHandlerRegistry:
    """Holds all registered handlers and what they share: the bound session, limits, flags, bus."""

    def __init__(
        self,
        *,
        limits: Callable[[], HookLimits] = HookLimits,
        flags: Mapping[str, str | bool] | None = None,
        behind: Callable[[str], str | None] = lambda flag: None,
        on_problem: Callable[[ExtensionProblem], None] = lambda problem: None,
    ) -> None:
        self.binding: SessionBinding | None = None
        self._limits = limits
        self.flag_values = dict(flags or {})
        self._word_after_flag = behind
        """Returns the word that follows a flag on the command line."""
        self.loaded: tuple[Extension, ...] = ()
        self.problems: list[ExtensionProblem] = []
        self.bus = ExtensionEventBus(self._report_bus_failure, limits)
        self._on_problem = on_problem
        self.handlers: dict[str, tuple[RegisteredHook, ...]] = {}
        """The handlers by hook. Callers look here first, so that no payload is built without a handler."""
        self._change_listeners: list[Callable[[], None]] = []
        self._reported_problems: set[tuple[str, str, str]] = set()
        self._publish_tasks: set[asyncio.Task[None]] = set()

    @property
    def limits(self) -> HookLimits:
        return self._limits()

    def flag_value(self, flag: ExtensionFlag) -> bool | str | None:
        """Returns a flag's value on the command line, in either spelling: `--name=value` or `--name
        value`."""
        value = self.flag_values.get(flag.name, flag.default)
        is_open = flag.type == "string" and flag.name in self.flag_values and value is True
        return self._word_after_flag(flag.name) if is_open else value

    # Hooks

    def add_change_listener(self, follower: Callable[[], None]) -> None:
        """Adds a function that is called whenever the set of handlers changes."""
        self._change_listeners.append(follower)

    def _set_handlers(self, name: str, handlers: tuple[RegisteredHook, ...]) -> None:
        if handlers:
            self.handlers[name] = handlers
        else:
            self.handlers.pop(name, None)
        for follower in self._change_listeners:
            follower()

    def on(
        self, extension: Extension, name: str, function: Callable[..., Any], context: Context
    ) -> Callable[[], None]:
        """Adds a handler; returns a function that removes it at any time. Handlers are called in the order of
        loading."""
        handler = RegisteredHook(extension, function, context)
        waiting = (*self.handlers.get(name, ()), handler)
        self._set_handlers(name, tuple(sorted(waiting, key=lambda one: one.extension.epoch)))
        extension.handler_count += 1

        def take_back() -> None:
            if handler.is_active:
                handler.is_active = False
                extension.handler_count -= 1
                self._set_handlers(
                    name, tuple(one for one in self.handlers.get(name, ()) if one is not handler)
                )

        return take_back

    def remove_handlers(self, extension: Extension) -> None:
        """Removes all handlers of an extension."""
        for name, handlers in list(self.handlers.items()):
            self._set_handlers(
                name, tuple(handler for handler in handlers if handler.extension is not extension)
            )

    async def emit(
        self, name: str, payload: Any, *, asks: Callable[[Extension], bool] = lambda extension: True
    ) -> Any:
        """Calls all handlers of this hook in the order of loading; returns their combined answer or None.
        `asks` selects the extensions to call."""
        handlers = self.handlers.get(name)
        if handlers is None:
            return None
        hook = HOOK_DEFINITIONS.get(name) or hook_definition_named(name)
        assert hook is not None, name
        answer = None
        for handler in handlers:
            if not handler.is_active or not handler.extension.is_open or not asks(handler.extension):
                continue  # removed, or reloaded, by an earlier handler
            answer = await self._call_hook(hook, handler, payload, answer)
            if hook.is_final_answer is not None and hook.is_final_answer(answer):
                break
        return answer

    async def _call_hook(
        self, hook: HookDefinition, handler: RegisteredHook, payload: Any, so_far: Any
    ) -> Any:
        limits = self._limits()
        in_place = hook.answer_on_failure
        seconds = limits.slow_answer_seconds if hook.is_slow else limits.answer_seconds
        try:
            value = await call_with_time_limit(
                handler.function, payload, handler.context, seconds=seconds, block=limits.block_seconds
            )
            answer = None if value is None else decode_hook_answer(hook, value)
            if answer is None or hook.merge is None:
                return so_far
            return hook.merge(payload, so_far, answer)
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            words = "it cancelled itself"
        except InvalidHookAnswer as problem:
            words, in_place = str(problem), hook.answer_if_undecodable or in_place
        except (Exception, SystemExit) as problem:  # noqa: BLE001  (foreign code: reported with its source)
            words = describe_exception(problem, handler.extension.source.path)
        self.report_problem_once(handler.extension.source.path, hook.name, words)
        if in_place is None:
            return so_far
        what = (
            "gave an answer that cannot be read"
            if in_place is hook.answer_if_undecodable
            else "could not check this"
        )
        return in_place(f"The extension {handler.extension.name} {what}: {words}")

    # Problems

    def report_problem_once(self, source: str, event: str, text: str) -> None:
        """Reports a problem once per source, place and text."""
        key = (source, event, text)
        if key in self._reported_problems:
            return
        self._reported_problems.add(key)
        problem = ExtensionProblem(source=source, event=event, text=text)
        self.problems.append(problem)
        self._on_problem(problem)
        if self.binding is not None:
            self._publish_event(ExtensionError(extension_path=source, event=event, error=text))

    def clear_reported_problems(self) -> None:
        """Forgets reported problems, so that after a reload the same problem is reported again."""
        self._reported_problems.clear()

    def _publish_event(self, event: Event) -> None:
        if self.binding is None:
            return
        try:
            task = asyncio.get_running_loop().create_task(self.binding.session.events.publish(event))
        except RuntimeError:
            return  # no loop: code that loads without a loop reads `problems`
        self._publish_tasks.add(task)
        task.add_done_callback(self._publish_tasks.discard)

    def _report_bus_failure(self, extension: Extension, name: str, problem: BaseException) -> None:
        self.report_problem_once(
            extension.source.path, f"events {name}", describe_exception(problem, extension.source.path)
        )


def is_cancelled() -> bool:
    """Whether this task was cancelled, as opposed to extension code raising `CancelledError` itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def describe_exception(problem: BaseException, path: str) -> str:
    """Formats an exception as one line that names the place in the extension's own files."""
    if isinstance(problem, ExtensionTimeLimitExceeded):
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
