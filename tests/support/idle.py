"""A pilot that waits for messages, layout and paint instead of the clock.

Textual's pilot waits after each key, and in each `pause()`, until the process has used no CPU
time for 20 ms. This one continues as soon as nothing is left to do: no task or callback of the
loop is ready, nothing runs in a thread (`asyncio.to_thread`), and pending layout and paint are
done at once instead of at the next tick of the screen's timer.

It does not wait for other processes or timers: tests that need those wait until their effect
is there.

All private API of Textual and asyncio that the tests use is in this module."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any

import textual.app
import textual.pilot
from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen
from textual.strip import Strip

LIMIT = 1.0
"""Seconds of CPU time after which an application that never becomes idle is no longer awaited, as
in Textual. The wait for threads has the same limit."""

LOOK = 0.002
"""Seconds between two checks of a thread or of a pause in which nothing happened."""

_driven: ContextVar[App[Any]] = ContextVar("driven")
_away: Counter[asyncio.AbstractEventLoop] = Counter()
"""The number of running `to_thread` calls of each event loop."""
_press_keys = App._press_keys
_to_thread = asyncio.to_thread


def install() -> None:
    """Installs the pilot for the whole test run."""
    Pilot.pause = _pause  # type: ignore[method-assign]
    App._press_keys = _press  # type: ignore[method-assign]
    textual.app.wait_for_idle = _wait_for_idle  # type: ignore[attr-defined]
    asyncio.to_thread = _counted_to_thread


async def idle(app: App[Any]) -> bool:
    """Waits until the application has nothing left to do; returns whether it had something to do."""
    has_worked = False
    until, looks = time.process_time() + LIMIT, round(LIMIT / LOOK)
    rests = 0
    while (
        rests < 2 and looks and time.process_time() < until
    ):  # the second check has polled sockets and pipes too
        is_away = _away[asyncio.get_running_loop()] > 0
        looks -= is_away
        await asyncio.sleep(LOOK if is_away else 0)
        if _is_busy() or _show(app):
            rests = 0
            has_worked = True
        else:
            rests += 1
    return has_worked


def _is_busy() -> bool:
    """Returns whether another callback is ready or a thread is running."""
    loop = asyncio.get_running_loop()
    return bool(_away[loop] or loop._ready)  # type: ignore[attr-defined]


def _show(app: App[Any]) -> bool:
    """Does pending layout and paint; returns whether there was any."""
    if not app._screen_stack or app._batch_count:
        return False
    if app._resize_event is not None:
        app._check_resize()
        return True
    waiting = [screen for screen in screens_of(app) if _is_stale(screen)]
    for screen in waiting:
        with app._context(), screen._context():
            screen._on_timer_update()
    return bool(waiting)


def _is_stale(screen: Screen[Any]) -> bool:
    """Returns whether the screen's timer runs, which means that layout, paint or callbacks are
    pending."""
    return screen._update_timer._active.is_set() or (screen is screen.app.screen and bool(screen._callbacks))


def screens_of(app: App[Any]) -> list[Screen[Any]]:
    """Returns the visible screens, the topmost last."""
    return [*app._background_screens, app.screen]


def is_laid_out(app: App[Any], columns: int, lines: int) -> bool:
    """Returns whether all visible screens have this size."""
    return all(screen._compositor.size == (columns, lines) for screen in screens_of(app))


def rows_of(screen: Screen[Any]) -> list[Strip]:
    """Returns the painted rows of a screen."""
    return screen._compositor.render_strips()


def text_of(screen: Screen[Any]) -> str:
    """Returns the painted rows of a screen as plain text."""
    return "\n".join(row.text.rstrip() for row in rows_of(screen))


def watch_paints(app: App[Any], noted: Callable[[Screen[Any], Any], None]) -> None:
    """Calls `noted` with every update of a screen that is sent to the terminal."""
    send = app._display

    def display(screen: Screen[Any], update: Any) -> None:
        if update is not None:
            noted(screen, update)
        send(screen, update)

    app._display = display  # type: ignore[method-assign]


async def _pause(self: Pilot[Any], delay: float | None = None) -> None:
    await self._wait_for_screen()
    if delay is not None:
        await asyncio.sleep(delay)
    elif not await idle(self.app):
        await asyncio.sleep(LOOK)
    self.app.screen._on_timer_update()


async def _press(self: App[Any], keys: Iterable[str]) -> None:
    token = _driven.set(self)
    try:
        await _press_keys(self, keys)
    finally:
        _driven.reset(token)


async def _counted_to_thread(work: Callable[..., Any], *args: Any, **named: Any) -> Any:
    loop = asyncio.get_running_loop()
    _away[loop] += 1
    try:
        return await _to_thread(work, *args, **named)
    finally:
        _away[loop] -= 1
        if not _away[loop]:
            del _away[loop]


async def _wait_for_idle(min_sleep: float = 0.0, max_sleep: float = LIMIT) -> None:
    """Replaces Textual's function, which it calls after key presses."""
    await idle(_driven.get())
