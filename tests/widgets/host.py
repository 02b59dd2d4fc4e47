"""An application with nothing but the widgets under test, in bayou's own styles and themes."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ClassVar

from textual._path import CSSPathType
from textual.app import App, ComposeResult
from textual.widget import Widget

from tests.support.idle import text_of
from widgets.themes import default_style_variables, parse_theme, to_textual_theme

STYLES = Path(__file__).parents[2] / "styles"
SIZES = {"80x24": (80, 24), "120x40": (120, 40)}
THEMES = {"dark": "bayou-dark", "light": "bayou-light"}


class Host(App[None]):
    CSS_PATH: ClassVar[CSSPathType | None] = [
        STYLES / f"{name}.tcss" for name in ("base", "editor", "screens", "completion", "transcript")
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self,
        build: Callable[[], Iterable[Widget]],
        *,
        theme: str = "bayou-dark",
        start: Callable[["Host"], None] | None = None,
    ) -> None:
        super().__init__()
        self.animation_level = "none"
        self._build = build
        self._wanted = theme
        self._start = start

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return default_style_variables()

    def compose(self) -> ComposeResult:
        yield from self._build()

    def on_mount(self) -> None:
        for path in (STYLES / "themes").glob("*.json"):
            self.register_theme(to_textual_theme(parse_theme(path.read_bytes(), path.name)))
        self.theme = self._wanted
        if self._start is not None:
            self._start(self)


def screen_text(app: App[None]) -> str:
    """What is on the screen, without colours."""
    return text_of(app.screen)
