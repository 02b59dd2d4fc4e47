"""A large read as a person sees it: its page, and the map beside it to go on from."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from textual.pilot import Pilot

from app.providers.scripted import call, say
from app.values.messages import CustomMessage
from tests.tui.scripted_app import ScriptedApp, make_app
from tests.tui.test_extensions import ready, submit, until

COUNT = 900


@pytest.fixture
async def page(tmp_path: Path) -> AsyncIterator[tuple[ScriptedApp, Pilot[int]]]:
    """Three files over the limits, read at once."""
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    for name in "abc":
        text = "".join(f"def {name}_{n}(x):\n    return x\n\n\n" for n in range(COUNT))
        (home / "project" / f"{name}.py").write_text(text)
    reads = call("read", "1", path="a.py") + call("read", "2", path="b.py") + call("read", "3", path="c.py")
    app = make_app(home, reads, say("done"), extension="def extension(api): pass")
    async with app.run_test(size=(100, 40)) as pilot:
        await ready(app, pilot)
        await submit(app, pilot, "look at them")
        await until(app, pilot, "done")
        yield app, pilot


async def test_three_maps_stand_below_three_reads_in_call_order_each_one_line(page) -> None:
    app, _pilot = page
    lines = [line for line in app.screen_text.split("\n") if "map " in line and "symbols" in line]
    assert [" ".join(line.split()[1:3]) for line in lines] == ["map a.py", "map b.py", "map c.py"]
    assert all("3,600 lines · 900 symbols · Python" in line for line in lines)
    assert all(line.rstrip().endswith("ctrl+o open") for line in lines)
    assert not any("function a_1" in line for line in app.screen_text.split("\n"))


async def at_map(app: ScriptedApp, pilot: Pilot[int], name: str) -> str:
    """Goes up with the keyboard to the map of that file; its block's id."""
    titles = {item.block.id: getattr(item.block, "card", None) for item in app.transcript.column.items}
    wanted = next(
        id_
        for id_, card in titles.items()
        if card is not None and (card.title, card.subject) == ("map", name)
    )
    app.transcript.focus()
    await pilot.pause()
    async with asyncio.timeout(10):
        while app.transcript.keyboard.cursor != wanted:
            await pilot.press("k")
    return wanted


async def test_a_map_opens_alone_and_shows_what_the_model_got(page) -> None:
    app, pilot = page
    sent = [str(message.content) for message in app.session.messages if isinstance(message, CustomMessage)]
    block_id = await at_map(app, pilot, "b.py")
    await pilot.press("ctrl+o")
    await until(app, pilot, "function b_501")
    await pilot.press("ctrl+o")
    await until(app, pilot, "function b_503")
    item = next(item for item in app.transcript.column.items if item.block.id == block_id)
    shown = item.text(app.transcript.column.expansion)
    assert all(line.strip() in shown for line in sent[1].splitlines())
    assert "function a_5" not in app.screen_text and "function c_5" not in app.screen_text


async def test_a_symbol_is_found_by_typing_and_asked_for(page) -> None:
    app, pilot = page
    await at_map(app, pilot, "c.py")
    await pilot.press("enter")
    await until(app, pilot, "enter open")
    await pilot.press(*"c_523", "enter")
    await until(app, pilot, "read c.py:2093-2094")
    assert app.editor.text == "read c.py:2093-2094"
    assert app.editor.has_focus


async def click(app: ScriptedApp, pilot: Pilot[int], wanted: str) -> None:
    """On the line of the page that holds these words."""
    row = next(row for row, line in enumerate(app.screen_text.split("\n")) if wanted in line)
    await pilot.click(offset=(8, row))


async def test_a_click_opens_one_map_alone_and_another_closes_it(page) -> None:
    app, pilot = page
    await click(app, pilot, "map b.py")
    await until(app, pilot, "function b_501")
    assert "function a_5" not in app.screen_text and "function c_5" not in app.screen_text
    await click(app, pilot, "map b.py")
    await until(app, pilot, "function b_503")
    await click(app, pilot, "map b.py")
    async with asyncio.timeout(10):
        while "function b_501" in app.screen_text:
            await pilot.pause()


async def test_a_click_on_a_symbol_asks_for_it(page) -> None:
    app, pilot = page
    await click(app, pilot, "map b.py")
    await until(app, pilot, "function b_501")
    await click(app, pilot, "function b_501")
    await until(app, pilot, "read b.py:2005-2006")
    assert app.editor.text == "read b.py:2005-2006"


async def test_a_map_that_was_asked_for_shows_its_beginning(page) -> None:
    app, pilot = page
    await submit(app, pilot, "/map a.py")
    await until(app, pilot, "function a_3")
    await until(app, pilot, "more lines")
