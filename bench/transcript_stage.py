"""The test app of the transcript benchmarks, with only a transcript, and functions to time work
in it."""

import gc
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

os.environ.setdefault("TEXTUAL_FPS", "240")  # read when Textual is imported; bayou sets it too

from textual._compositor import CompositorUpdate
from textual.app import App, ComposeResult

from bench.transcript_corpus import conversation
from widgets.editor.prompt_editor import PromptEditor
from widgets.terminal.terminal_output import TerminalOutputDiff
from widgets.themes import default_style_variables
from widgets.transcript.view import Transcript

STYLES = Path(__file__).parent.parent / "styles"


class TranscriptApp(App[None]):
    """An app with a transcript above the editor, which encodes what it paints."""

    CSS_PATH: ClassVar = [str(STYLES / f"{name}.tcss") for name in ("base", "editor", "transcript")]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self) -> None:
        super().__init__()
        self.output = TerminalOutputDiff(self)
        self.painted: Callable[[], None] | None = None

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return default_style_variables()

    def compose(self) -> ComposeResult:
        yield Transcript()
        yield PromptEditor()

    def on_mount(self) -> None:
        self.editor.focus()

    @property
    def editor(self) -> PromptEditor:
        return self.query_one(PromptEditor)

    def _display(self, screen: Any, renderable: Any) -> None:
        if isinstance(renderable, CompositorUpdate) and not self._batch_count:
            self.output.encode(renderable, self.console)  # type: ignore[arg-type]
            if self.painted is not None:
                self.painted()
        super()._display(screen, renderable)  # type: ignore[arg-type]

    @property
    def transcript(self) -> Transcript:
        return self.query_one(Transcript)

    def paint(self, *, everything: bool = False) -> None:
        """Paints pending changes now, as the screen's timer would."""
        transcript = self.transcript
        compositor = self.screen._compositor
        widgets = [transcript, transcript.vertical_scrollbar]
        compositor.update_widgets({widget for widget in widgets if widget._dirty_regions})
        self.screen._dirty_widgets.clear()
        if everything:
            transcript.viewport.repaint()
            compositor.update_widgets({transcript})
        update = compositor.render_update()
        if update is not None:
            self.output.encode(update, self.console)  # type: ignore[arg-type]


@asynccontextmanager
async def transcript_app(count: int) -> AsyncIterator[TranscriptApp]:
    app = TranscriptApp()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        if count:
            app.transcript.replace_all(conversation(count))
            await pilot.pause()
        gc.collect()
        gc.freeze()
        yield app


def cpu(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def best(values: list[float]) -> float:
    return min(values)


def stream_deltas(app: TranscriptApp, name: str, source: str, deltas: int, at: int = 0) -> float:
    """Returns the CPU time of streaming deltas of 38 characters, four per frame."""

    def work() -> None:
        for number in range(at, at + deltas, 4):
            for index in range(number, number + 4):
                app.transcript.append_text(name, source[index * 38 : index * 38 + 38])
            app.transcript.arriving.flush()
            app.paint()

    return cpu(work)
