"""What is really painted can be told from its ground, in every theme: 4.5:1 for words, 3:1 for marks.

`test_themes` asks this of the tokens; here nothing escapes that the styles mix, or write in another token's colour.
"""

from collections.abc import Iterator

import pytest
from rich.color import Color
from textual.app import App

from tests.support.idle import rows_of
from tests.widgets.gallery import scene
from tests.widgets.host import STYLES
from tests.widgets.transcript.page import EVERYTHING, Page
from widgets.colors import contrast_ratio
from widgets.status.approval import ApprovalBar
from widgets.transcript.view import Transcript

COLOURED = sorted(path.stem for path in (STYLES / "themes").glob("*.json") if path.stem != "ansi")
SHOWN = (
    *("editing", "shell", "queue", "completions", "picker", "tree", "settings", "hotkeys"),
    *("question", "confirm", "secret", "jobs", "compare"),
)
MIN_CHANGED_GROUND_CONTRAST = 1.23
PICTURE = " ▀▄█"
"""A thumbnail's cells; they are no words and no marks."""


def painted(app: App[None]) -> Iterator[tuple[str, str, str]]:
    """Each piece of the screen with its colour and its ground."""
    for strip in rows_of(app.screen):
        for text, style, _ in strip:
            if text.strip(PICTURE) and style is not None and style.color and style.bgcolor:
                color, ground = _hex(style.color), _hex(style.bgcolor)
                yield (text, ground, color) if style.reverse else (text, color, ground)


def _hex(color: Color) -> str:
    return color.get_truecolor().hex


def poor(app: App[None]) -> list[str]:
    found: dict[str, None] = {}
    for text, color, ground in painted(app):
        least = 4.5 if any(map(str.isalnum, text)) else 3
        if (ratio := contrast_ratio(color, ground)) < least:
            found[f"{app.theme}: {ratio:.2f} for {color} on {ground}: {text.strip()[:30]!r}"] = None
    return list(found)


async def in_every_theme(app: App[None], height: int) -> list[str]:
    found: list[str] = []
    async with app.run_test(size=(120, height)) as pilot:
        for theme in COLOURED:
            app.theme = theme
            await pilot.pause()
            found += poor(app)
    return found


@pytest.mark.parametrize("name", SHOWN)
async def test_screens(name: str) -> None:
    assert await in_every_theme(scene(name, "bayou-dark"), 40) == []


async def test_every_block_of_the_transcript() -> None:
    def fill(transcript: Transcript) -> None:
        transcript.replace_all([block for group in EVERYTHING.values() for block in group])
        transcript.open_all(tools=True)
        transcript.open_all(thinking=True)
        transcript.keyboard.go_home()

    assert await in_every_theme(Page(fill, "bayou-dark"), 700) == []


async def test_it_would_be_seen() -> None:
    """A style that is too faint is found."""
    app = scene("tree", "bayou-dark")
    async with app.run_test(size=(120, 40)) as pilot:
        app.stylesheet.add_source("KeyHints > .key-hints--label { color: $rule; }")
        app.refresh_css(animate=False)
        await pilot.pause()
        assert any("fork" in text for text in poor(app))


async def test_changed_lines_are_seen_on_the_card_of_a_question_in_every_theme() -> None:
    app = scene("approval", "bayou-dark")
    found: list[str] = []
    async with app.run_test(size=(120, 40)) as pilot:
        bar = app.query_one(ApprovalBar)
        for theme in COLOURED:
            app.theme = theme
            await pilot.pause()
            _, sheet = bar.background_colors
            for name in ("add", "remove"):
                ground = sheet + bar.get_component_styles(f"transcript--{name}").background
                if (ratio := contrast_ratio(ground.hex, sheet.hex)) < MIN_CHANGED_GROUND_CONTRAST:
                    found.append(f"{theme}: {name} {ratio:.3f}")
    assert found == []
