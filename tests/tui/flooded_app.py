"""The whole page in a terminal, with questions that come one after the other: a program for a separate process.

`python -m tests.tui.flooded_app HOME COUNT LONG FILE`: so many questions, of which every LONG-th stands long enough to
listen while the others are gone soon. Then one waits for a person. What was answered is written into FILE.
"""

import asyncio
import json
import random
import sys
import uuid
from pathlib import Path
from typing import Any

from app.assembly.command_line_options import CommandLineOptions
from app.assembly.session_builder import assemble_session
from app.providers.scripted import ScriptedModel, say
from app.resources.paths import BayouPaths, shipped_styles_dir
from app.tui.app import BayouApp
from app.tui.startup import TuiStartOptions
from app.values.approvals import Approval, JudgedPart
from app.values.events import QuestionAsked

LAST = "the last question"


class Flooded(BayouApp):
    """The application with constant questions."""

    count = 0
    long = 1
    file = Path()

    def on_ready(self) -> None:
        super().on_ready()
        self.flood = asyncio.ensure_future(self._flood())

    async def _flood(self) -> None:
        await self.is_ready.wait()
        chance = random.Random(1)
        answered = 0
        for number in range(self.count):
            is_long = number % self.long == 0
            seconds = chance.uniform(0.9, 1.3) if is_long else chance.uniform(0.01, 0.08)
            answered += (
                await self._asked(f"touch number-{number}", seconds, floor=number % 7 == 0) is not None
            )
        self.editor.set_text("")
        reply = await self._asked(LAST, None, floor=False)
        told = {"asked": self.count, "answered": answered, "person": bool(reply and reply.is_allowed)}
        self.file.write_text(json.dumps(told))
        self.exit(0)

    async def _asked(self, command: str, seconds: float | None, *, floor: bool) -> Any:
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        part = JudgedPart(text=command, letter="contained", why="makes a file")
        approval = Approval(
            tool_call_id="call",
            tool_name="bash",
            arguments={"command": command},
            parts=(part,),
            letter="forbidden" if floor else "contained",
            why="makes a file",
            decided_by="mode ask",
            mode="ask",
            confirmation_word="a" if floor else None,
        )
        self.session.events.publish_now(
            QuestionAsked(
                id=str(uuid.uuid4()), method="select", title=command, approval=approval, answer=answer
            )
        )
        await asyncio.wait({answer}, timeout=seconds)
        if answer.done():
            return answer.result()
        answer.cancel()
        await asyncio.sleep(0)
        return None


def main(home: str, count: str, long: str, file: str) -> None:
    folder = Path(home) / "project"
    folder.mkdir(parents=True, exist_ok=True)
    paths = BayouPaths.from_env({"HOME": home}, folder)
    assembled = assemble_session(
        CommandLineOptions(no_session=True, permissions="ask", approve=True), paths, {}, can_ask=True
    )
    script = ScriptedModel([say("ok")] * 20_000)
    assembled.model_choice.set_model(script.register(assembled.registry))
    app = Flooded(
        assembled,
        opening=TuiStartOptions(),
        home=Path(home),
        css_path=sorted(shipped_styles_dir().glob("*.tcss")),
    )
    app.count, app.long, app.file = int(count), int(long), Path(file)
    app.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
