"""How many rooms two things go through: calls, changes of module and distinct modules of ours, in a session put
together as the program does it. What is counted does not depend on the machine.

The first prompt, from `Session.prompt` to `Registry.stream`; and a `read` of a long file that makes a map, from the
beginning of its batch to the end of its call (without what threads do meanwhile).
"""

import asyncio
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from app.assembly.build import assemble
from app.assembly.extending import extend
from app.assembly.options import Options
from app.extensions.ui import SilentUi
from app.providers.scripted import Made, Scripted, call, say
from app.resources.paths import Paths
from bench.table import Row

OURS = ("app.", "tools.", "widgets.")


class Walk:
    """Calls of our functions between two of them."""

    def __init__(self, first: tuple[str, str], last: tuple[str, str]) -> None:
        self.calls = 0
        self.changes = 0
        self.modules: list[str] = []
        self._first, self._last = first, last
        self._is_on = False
        self._before = ""

    def note(self, frame: FrameType, event: str, argument: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event != "call" or not module.startswith(OURS):
            return
        here = (module, frame.f_code.co_name)
        self._is_on = self._is_on or here == self._first
        if not self._is_on:
            return
        self.calls += 1
        self.changes += module != self._before
        self._before = module
        if module not in self.modules:
            self.modules.append(module)
        if here == self._last:
            sys.setprofile(None)


FIRST_PROMPT = Walk(("app.engine.session", "prompt"), ("app.providers.registry", "stream"))
READ = Walk(("app.agent.calls", "events"), ("app.agent.calls", "_end"))


async def walked(walk: Walk, *answers: Made) -> Walk:
    with tempfile.TemporaryDirectory() as name:
        project = Path(name) / "project"
        project.mkdir()
        (project / "long.py").write_text(
            "".join(f"def work_{number}():\n    pass\n\n" for number in range(1_000))
        )
        paths, options = Paths.from_env({"HOME": name}, project), Options()
        assembled = assemble(options, paths, {})
        session = assembled.session
        ui = SilentUi(session.events.publish_now)
        await extend(assembled, options, paths, mode="print", ui=ui, shutdown=lambda: None)
        assembled.choice.set(Scripted([*answers, say("done")]).register(assembled.registry))
        await session.events.drain()
        session.warm_up()  # as it is behind the first paint
        sys.setprofile(walk.note)
        try:
            await session.prompt("hello")
            await session.wait_until_idle()
        finally:
            sys.setprofile(None)
        await session.close()
    return walk


def rows() -> Iterator[Row]:
    prompt = asyncio.run(walked(FIRST_PROMPT))
    yield Row(name="first prompt to the request: modules entered", figure=len(prompt.modules), unit="modules")
    yield Row(name="first prompt to the request: changes of module", figure=prompt.changes, unit="changes")
    yield Row(name="first prompt to the request: calls", figure=prompt.calls, unit="calls")
    read = asyncio.run(walked(READ, call("read", path="long.py")))
    yield Row(name="read that makes a map: modules entered", figure=len(read.modules), unit="modules")
    yield Row(name="read that makes a map: changes of module", figure=read.changes, unit="changes")
    yield Row(name="read that makes a map: calls", figure=read.calls, unit="calls")


if __name__ == "__main__":
    print("\n".join(asyncio.run(walked(FIRST_PROMPT)).modules))
