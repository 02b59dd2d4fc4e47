"""An app for the terminal fuzz: it takes random steps on request and can paint everything afresh.

Run in a real terminal with the path of a socket: each line `step SEED`, `repaint`, `size` or `quit` is answered, once
all output was written, by setting the terminal's title to the line's number.
"""

import asyncio
import random
import sys
from collections.abc import Callable
from pathlib import Path

from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.screen import ModalScreen, Screen
from textual.widgets import Input, Static

from tests.support.idle import idle, is_laid_out
from tests.widgets.transcript.terminal.planted import PLANTED
from tools.tool_result_values import Card, CommandBlock, TextBlock
from widgets.terminal.terminal_output import TerminalOutputDiff
from widgets.textual_internals import paint_changed_widgets
from widgets.themes import default_style_variables
from widgets.transcript.transcript_blocks import (
    AppNoteBlock,
    AppNoteKind,
    CardState,
    ToolCallBlock,
    UserPromptBlock,
)
from widgets.transcript.view import Transcript

ROOT = Path(__file__).parents[4]
WORDS = [
    "plain",
    "words",
    "**bold**",
    "`code`",
    "[link](http://a.b)",
    "日本語",
    "naïve",
    "✓",
    "→",
    "long-hyphenated",
]


class Question(ModalScreen[None]):
    DEFAULT_CSS = (
        "Question { align: center middle; } Question Static { width: 40; height: 5; border: solid red; }"
    )

    def compose(self) -> ComposeResult:
        yield Static("A question in front of everything", markup=False)


class Driven(App[None]):
    CSS_PATH = ROOT / "styles" / "transcript.tcss"
    CSS = "#side { width: 20; background: $panel; } #line { dock: bottom; height: 3; }"

    def __init__(self, socket: str) -> None:
        super().__init__()
        self.socket = socket
        self.number = 0
        self.reply = ""
        self.output = TerminalOutputDiff(self)

    def get_default_screen(self) -> Screen[None]:
        screen: Screen[None] = Screen(id="_default")
        paint_changed_widgets(screen)
        return screen

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return default_style_variables()

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Transcript()
            yield Static("side\n" * 4, id="side", markup=False)
        yield Input(id="line")

    async def on_mount(self) -> None:
        self.query_one(Input).cursor_blink = False
        self.transcript = self.query_one(Transcript)
        self.output.install_output_diff()
        for number in range(8):
            self.transcript.add(
                UserPromptBlock(id=f"u{number}", text=f"Question {number} " + "word " * number)
            )
            self.transcript.add(
                AppNoteBlock(id=f"n{number}", text="A note\nof two lines", kind=AppNoteKind.WARNING)
            )
        self.server = await asyncio.start_unix_server(self.serve, self.socket)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := (await reader.readline()).decode().split():
            token, command, *arguments = line
            if command == "quit":
                self.exit()
                return
            if command == "repaint":
                self.output.forget_terminal_content()
                self.transcript.notify_style_update()  # its kept rows are painted again too
                self.transcript.viewport.repaint()
                self.screen._compositor.update_widgets({self.transcript})
                everything = self.screen._compositor.render_update(
                    full=True, screen_stack=self._background_screens
                )
                self._display(self.screen, everything)
            elif command == "close":
                if len(self.screen_stack) > 1:
                    self.pop_screen()
            elif command == "size":
                await self.until_size(int(arguments[0]), int(arguments[1]))
            else:
                self.step(random.Random(int(arguments[0])))
            await self.until_painted()
            assert self._driver is not None
            self._driver.write(f"\x1b]2;{token}\x07")
            self._driver.flush()
            writer.write(f"{token}\n".encode())
            await writer.drain()

    async def until_size(self, width: int, height: int) -> None:
        for _ in range(500):
            if is_laid_out(self, width, height):
                return
            await asyncio.sleep(0.01)  # the terminal tells of it by a signal
        raise AssertionError(f"the app has {self.size}")

    async def until_painted(self) -> None:
        """Wait until no widget wants to be painted."""
        self.transcript.arriving.flush()
        await idle(self)

    def step(self, random_: random.Random) -> None:
        steps: list[Callable[[random.Random], None]] = [
            self.stream, self.stream, self.stream, self.trickle, self.trickle, self.trickle,
            self.scroll, self.scroll, self.scroll, self.tail, self.card, self.note, self.modal,
            self.change_theme, self.type, self.side, self.expand,
        ]  # fmt: skip
        random_.choice(steps)(random_)

    def begin(self) -> None:
        if not self.reply:
            self.number += 1
            self.reply = f"r{self.number}"
            self.transcript.begin_reply(self.reply)

    def trickle(self, random_: random.Random) -> None:
        """A little of the same line, or a long paragraph."""
        self.begin()
        count = random_.choice([1, 1, 2, 3, 5, 200])
        self.transcript.append_text(self.reply, "".join(f"{random_.choice(WORDS)} " for _ in range(count)))

    def stream(self, random_: random.Random) -> None:
        self.begin()
        for _ in range(random_.randint(1, 6)):
            text = " ".join(random_.choice(WORDS) for _ in range(random_.randint(1, 9)))
            text += random_.choice([" ", "\n", "\n\n", "\n- ", "\n\n```py\nx = 1\n", "\n```\n\n", "\n\n## "])
            self.transcript.append_text(self.reply, text)
            if random_.random() < 0.5:
                self.transcript.arriving.flush()
        if random_.random() < 0.2:
            self.transcript.finish_reply(self.reply)
            self.reply = ""

    def scroll(self, random_: random.Random) -> None:
        self.transcript.viewport.scroll_by(random_.choice([-30, -7, -3, -2, -1, 1, 2, 3, 8, 25]))

    def tail(self, random_: random.Random) -> None:
        del random_
        self.transcript.viewport.follow_end()

    def card(self, random_: random.Random) -> None:
        state = random_.choice(list(CardState))
        output = "\n".join(f"line {number}" for number in range(random_.randint(0, 9)))
        card = Card(title="bash", subject="make", blocks=(CommandBlock(command="make", output=output),))
        self.transcript.add(
            ToolCallBlock(id=f"c{random_.randint(0, 5)}", card=card, state=state, timing="1 s")
        )

    def note(self, random_: random.Random) -> None:
        self.number += 1
        self.transcript.add(
            AppNoteBlock(
                id=f"x{self.number}",
                text="note " * random_.randint(1, 40),
                kind=random_.choice(list(AppNoteKind)),
            )
        )

    def modal(self, random_: random.Random) -> None:
        del random_
        if len(self.screen_stack) > 1:
            self.pop_screen()
        else:
            self.push_screen(Question())

    def change_theme(self, random_: random.Random) -> None:
        self.theme = random_.choice(["textual-dark", "textual-light", "nord", "gruvbox"])

    def type(self, random_: random.Random) -> None:
        self.query_one(Input).value = "typed " * random_.randint(0, 6)

    def side(self, random_: random.Random) -> None:
        self.query_one("#side", Static).update("\n".join("side" for _ in range(random_.randint(1, 20))))

    def expand(self, random_: random.Random) -> None:
        card = Card(title="read", blocks=(TextBlock(text="opened\n" * 5),))
        self.transcript.add(ToolCallBlock(id="c0", card=card, state=CardState.DONE))
        self.transcript.open_all(tools=random_.random() < 0.5)


if __name__ == "__main__":
    if sys.argv[2:]:
        PLANTED[sys.argv[2]]()
    Driven(sys.argv[1]).run()
