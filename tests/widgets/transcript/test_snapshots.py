"""Pictures of every kind of block in each of its states, and of one long conversation."""

import asyncio
from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from tests.widgets.transcript.page import EVERYTHING, Page, PageWithLine
from widgets.transcript.transcript_blocks import (
    AppNoteBlock,
    CardState,
    ToolCallBlock,
    UserPromptBlock,
)
from widgets.transcript.view import Transcript

SIZES = {"80x24": (80, 24), "120x40": (120, 40)}
THEMES = {"dark": "bayou-dark", "light": "bayou-light"}


def show(group: str, *, is_open: bool) -> Callable[[Transcript], None]:
    def fill(transcript: Transcript) -> None:
        transcript.replace_all(EVERYTHING[group])
        transcript.open_all(tools=is_open)
        transcript.open_all(thinking=is_open)

    return fill


async def _see_pictures(pilot: Pilot[None]) -> None:
    transcript = pilot.app.query_one(Transcript)
    transcript.keyboard.go_home()
    transcript.painter.as_text()
    await asyncio.gather(*transcript.painter.thumbnails.tasks.values())
    await pilot.pause()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("group", EVERYTHING)
@pytest.mark.parametrize("state", ["closed", "open"])
def test_blocks(snap_compare: Callable[..., bool], group: str, size: str, theme: str, state: str) -> None:
    page = Page(show(group, is_open=state == "open"), THEMES[theme])
    assert snap_compare(page, terminal_size=SIZES[size], run_before=_see_pictures)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES)
def test_a_long_conversation(snap_compare: Callable[..., bool], size: str, theme: str) -> None:
    def fill(transcript: Transcript) -> None:
        blocks = [block for group in EVERYTHING.values() for block in group]
        transcript.replace_all(blocks)
        for block_id in ("edit", "map", "card-done"):
            transcript.toggle(block_id)

    assert snap_compare(Page(fill, THEMES[theme]), terminal_size=SIZES[size])


@pytest.mark.parametrize("theme", THEMES)
def test_streaming(snap_compare: Callable[..., bool], theme: str) -> None:
    def fill(transcript: Transcript) -> None:
        transcript.add(UserPromptBlock(id="u", text="Go on"))
        transcript.begin_reply("r")
        transcript.append_thinking("r", "First this, then that")
        transcript.append_text("r", "It begins with a list:\n\n- one\n- two\n\n```py\nx = [1, 2")
        transcript.arriving.flush()

    assert snap_compare(Page(fill, THEMES[theme]), terminal_size=(80, 24))


async def _read(pilot: Pilot[None]) -> None:
    transcript = pilot.app.query_one(Transcript)
    transcript.focus()
    await pilot.pause()
    await pilot.press("k", "k")


def test_focus_mode(snap_compare: Callable[..., bool]) -> None:
    page = Page(show("cards", is_open=False))
    assert snap_compare(page, terminal_size=(80, 24), run_before=_read)


async def _search(pilot: Pilot[None]) -> None:
    transcript = pilot.app.query_one(Transcript)
    transcript.finder.search("words")
    await pilot.pause()


def test_search(snap_compare: Callable[..., bool]) -> None:
    page = Page(show("prose", is_open=True))
    assert snap_compare(page, terminal_size=(80, 24), run_before=_search)


async def _scroll_away(pilot: Pilot[None]) -> None:
    await pilot.pause()
    transcript = pilot.app.query_one(Transcript)
    transcript.viewport.scroll_by(-5)
    transcript.add(AppNoteBlock(id="new", text="Something came"))
    card = EVERYTHING["cards"][0].card  # type: ignore[union-attr]
    transcript.add(ToolCallBlock(id="more", card=card, state=CardState.RUNNING))
    await pilot.pause()


def test_new_things_below(snap_compare: Callable[..., bool]) -> None:
    page = PageWithLine(show("prose", is_open=False))
    assert snap_compare(page, terminal_size=(80, 24), run_before=_scroll_away)
