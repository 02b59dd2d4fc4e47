"""Counts the modules that an action passes through: calls, module changes and distinct modules of
bayou, in a session assembled as in the program.

It counts calls of Python functions of `app`, `tools` and `widgets` (a resumed generator counts
too), in the event loop's thread and in all threads; a module change is a call in another
module than the previous one of the thread. Other activity of the page meanwhile is counted
too, except in walks without frames. Actions that follow another of their kind are counted without imports."""

import asyncio
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

from app.assembly.assembled_session import AssembledSession
from app.assembly.command_line_options import CommandLineOptions
from app.assembly.extensions.extension_setup import connect_extensions
from app.assembly.session_builder import assemble_session
from app.extensions.headless_ui import HeadlessUi
from app.providers.scripted import ScriptedModel, ScriptedResponse, call, say
from app.resources.paths import BayouPaths, shipped_styles_dir
from app.values.messages import ToolResultMessage
from bench.table import Row

OURS = ("app.", "tools.", "widgets.")
Place = tuple[str, str]
"""A module and a function in it."""
REQUEST = (("app.engine.session", "prompt"), ("app.providers.adapter_registry", "stream_answer"))
BATCH = (("app.agent.call_batch", "run_and_yield_events"), ("app.agent.call_batch", "_end_event"))
QUESTION = (("app.engine.permissions.permission_gate", "check_call"), ("widgets.status.approval", "show"))
PAINTED = (
    ("app.engine.permissions.permission_gate", "check_call"),
    ("widgets.status.approval", "_note_painted"),
)
DELTA = (("app.providers.model_stream", "emit"), ("widgets.transcript.painting.transcript_painter", "rows"))


class Count(msgspec.Struct):
    """The calls and modules counted so far."""

    calls: int = 0
    changes: int = 0
    modules: dict[str, None] = {}
    """The modules in the order in which they were entered."""

    def add(self, module: str, before: str) -> None:
        self.calls += 1
        self.changes += module != before
        self.modules[module] = None


class Walk:
    """Counts calls from one function to another, both included. `skip`: the number of such walks
    before it.

    `repeat`: the walk is counted each time, and the median by its calls in the loop's thread is
    used."""

    def __init__(
        self, ends: tuple[Place, Place], *, skip: int = 0, repeat: bool = False, has_frames: bool = True
    ) -> None:
        """`has_frames`: whether the page's frames and ticks count; before a walk's end they draw what
        other events changed."""
        self.loop, self.all = Count(), Count()
        """The counts in the event loop's thread, and in all threads."""
        self._first, self._last = ends
        self._skip = skip
        self._repeats = repeat
        self._has_frames = has_frames
        self._found: list[tuple[Count, Count]] = []
        self._begun: set[FrameType] = set()
        """Frames where a walk began: a coroutine that continues is no new walk."""
        self._is_on = self.is_over = False
        self._before: dict[int, str] = {}
        self._loop_thread = 0

    def __enter__(self) -> "Walk":
        self._loop_thread = threading.get_ident()
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *problem: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)
        if self._found:
            self.loop, self.all = sorted(self._found, key=lambda one: one[0].calls)[len(self._found) // 2]
            self.is_over = True

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event != "call" or self.is_over or not module.startswith(OURS):
            return
        if self._is_on and not self._has_frames and _is_in_timer():
            return
        here = (module, frame.f_code.co_name)
        if here == self._first and not self._is_on and frame not in self._begun:
            self._begun.add(frame)
            self._is_on = True
        if self._is_on and not self._skip:
            self._add(module)
        if self._is_on and here == self._last:
            self._is_on = False
            if self._skip:
                self._skip -= 1
            elif self._repeats:
                self._found.append((self.loop, self.all))
                self.loop, self.all = Count(), Count()
                self._before.clear()
            else:
                self.is_over = True

    def _add(self, module: str) -> None:
        thread = threading.get_ident()
        before, self._before[thread] = self._before.get(thread, ""), module
        self.all.add(module, before)
        if thread == self._loop_thread:
            self.loop.add(module, before)


def _is_in_timer() -> bool:
    """Whether a timer of the page runs: its frames and ticks are tasks of Textual."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return False  # another thread
    return task is not None and getattr(task.get_coro(), "__qualname__", "") == "Timer._run_timer"


@asynccontextmanager
async def assembled_for(
    *answers: ScriptedResponse, mode: str
) -> AsyncIterator[tuple[AssembledSession, CommandLineOptions, BayouPaths]]:
    """Yields a session in a project of two files, in a permission mode."""
    with tempfile.TemporaryDirectory() as name:
        project = Path(name) / "project"
        project.mkdir()
        (project / "short.py").write_text("".join(f"line_{number} = {number}\n" for number in range(6)))
        (project / "long.py").write_text("def work():\n    pass\n\n" * 1_000)
        paths, options = BayouPaths.from_env({"HOME": name}, project), CommandLineOptions()
        paths.agent_dir.mkdir(parents=True)
        (paths.agent_dir / "settings.json").write_text(f'{{"permissions": {{"mode": "{mode}"}}}}')
        assembled = assemble_session(options, paths, {}, can_ask=True)
        assembled.model_choice.set_model(
            ScriptedModel([*answers, say("done")], tokens_per_second=400).register(assembled.registry)
        )
        yield assembled, options, paths


async def walked(walk: Walk, *answers: ScriptedResponse) -> Walk:
    """Runs the walk without a user interface."""
    async with assembled_for(*answers, mode="auto-edit") as (assembled, options, paths):
        session = assembled.session
        ui = HeadlessUi(session.events.publish_now)
        await connect_extensions(assembled, options, paths, mode="print", ui=ui, shutdown=lambda: None)
        await session.events.wait_until_delivered()
        session.warm_up()  # as after the first paint
        with walk:
            await session.prompt("hello")
            await session.wait_until_idle()
        for message in session.messages:
            assert not (isinstance(message, ToolResultMessage) and message.is_error), message
        await session.close()
    return walk


async def walked_on_screen(walk: Walk, *answers: ScriptedResponse) -> Walk:
    """Runs the walk on the full screen, where each question is answered with yes."""
    with walk:
        await _on_screen(*answers)
    return walk


async def _on_screen(*answers: ScriptedResponse) -> None:
    from app.tui.app import BayouApp
    from app.tui.startup import TuiStartOptions, make_extension_loader

    async with assembled_for(*answers, mode="ask") as (assembled, options, paths):
        opening = TuiStartOptions(load_extensions=make_extension_loader(assembled, options, paths))
        app = BayouApp(
            assembled, opening=opening, home=paths.home, css_path=sorted(shipped_styles_dir().glob("*.tcss"))
        )
        async with app.run_test(size=(120, 40)) as pilot:
            await app.is_ready.wait()
            await pilot.pause()
            await app.session.prompt("hello")
            while app.session.is_running:
                await pilot.pause(0.02)
                if app.approval_bar.accepts_keys:
                    await pilot.press("alt+a")


def edit(number: int) -> ScriptedResponse:
    change = {"oldText": f"line_{number} = {number}", "newText": f"line_{number} = {number + 10}"}
    return call("edit", path="short.py", edits=[change])


def rows() -> Iterator[Row]:
    yield from _rows("first prompt to the request", asyncio.run(walked(Walk(REQUEST))))
    yield from _rows("read that makes a map", asyncio.run(walked(Walk(BATCH), call("read", path="long.py"))))
    reads = [call("read", path="short.py", offset=2), call("read", path="short.py")]
    yield from _rows("read of six lines", asyncio.run(walked(Walk(BATCH, skip=1), *reads)))
    yield from _rows("edit of one line", asyncio.run(walked(Walk(BATCH, skip=1), edit(1), edit(2))))
    questions = [call("write", path="a.txt", content="a"), call("write", path="b.txt", content="b")]
    for name, ends in (("question to the bar", QUESTION), ("question to the painted bar", PAINTED)):
        walk = Walk(ends, skip=1, has_frames=ends is PAINTED)
        yield from _rows(name, asyncio.run(walked_on_screen(walk, *questions)))
    said = say("a few words " * 200)
    yield from _rows(
        "delta to its row", asyncio.run(walked_on_screen(Walk(DELTA, skip=5, repeat=True), said))
    )


LIMITS = {
    "first prompt to the request": (40, 184),
    "read of six lines": (40, 130),
    "edit of one line": (55, 200),
    "question to the bar": (45, 350),
    "delta to its row": (28, 204),
}
"""The limits of each walk: modules and module changes. Two modules of the first prompt are the budget of a run,
one sees whether models.json has changed."""


def _rows(name: str, walk: Walk) -> Iterator[Row]:
    assert walk.is_over, f"{name} did not come to its end"
    modules, changes = LIMITS.get(name, ("", ""))
    for where, count in (("", walk.loop), (", in threads, too", walk.all)):
        yield Row(
            name=f"{name}: modules entered{where}",
            figure=len(count.modules),
            unit="modules",
            limit=str(modules),
        )
        yield Row(
            name=f"{name}: changes of module{where}",
            figure=count.changes,
            unit="changes",
            limit=str(changes),
        )
        yield Row(name=f"{name}: calls{where}", figure=count.calls, unit="calls")


if __name__ == "__main__":
    print("\n".join(asyncio.run(walked(Walk(REQUEST))).loop.modules))
