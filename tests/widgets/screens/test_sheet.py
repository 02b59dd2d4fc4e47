"""What a sheet costs to open: it styles its widgets once, lays out nothing behind it, and paints once.

`ClosableModalScreen` and the bare widgets reach into Textual for that; these tests tell when Textual is another below
them.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.css.stylesheet import Stylesheet
from textual.geometry import Region
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget

from app.tui.features.tree.screen import SessionTreeScreen
from tests.support.idle import idle, watch_paints
from tests.widgets.host import Host, screen_text
from widgets.lists.list_rows import ListRow
from widgets.lists.row_list import RowList
from widgets.lists.tree_rows import SessionTreeEntry
from widgets.screens.picker import PickerScreen
from widgets.screens.preview_pane import Preview, make_preview_text
from widgets.screens.screen_parts import KeyHints, RuleTitle
from widgets.textual_internals import ClosableModalScreen, FastScrollBar

SIZE = (120, 40)
ROWS = [ListRow(id=str(number), title=f"row {number}") for number in range(200)]
TEXT = "\n".join(f"line {number}" for number in range(100))


def tree() -> SessionTreeScreen:
    entries = [
        SessionTreeEntry(id=str(number), parent=str(number - 1) if number else None, text=f"entry {number}")
        for number in range(200)
    ]
    return SessionTreeScreen(entries, leaf="199", preview=lambda _: make_preview_text("An entry", TEXT))


def picker() -> PickerScreen:
    return PickerScreen("Rows", ROWS, preview=lambda _: make_preview_text("A row", TEXT), is_full_height=True)


def low_picker() -> PickerScreen:
    return PickerScreen("Rows", ROWS)


SHEETS = [tree, picker, low_picker]
Sheet = Callable[[], ClosableModalScreen[Any]]


class VisibleRow:
    """Every update of the screen that an application sends to its terminal."""

    def __init__(self, app: Host) -> None:
        self.updates: list[LayoutUpdate | ChopsUpdate] = []
        watch_paints(app, self._note)

    def _note(self, screen: Screen[Any], update: Any) -> None:
        if isinstance(screen, ClosableModalScreen):
            self.updates.append(update)


async def settle(pilot: Pilot[None]) -> None:
    """Waits until no frame is pending."""
    await idle(pilot.app)


@pytest.mark.parametrize("make", SHEETS)
async def test_it_is_painted_once_when_it_opens(make: Sheet) -> None:
    app = Host(list)
    async with app.run_test(size=SIZE) as pilot:
        shown = VisibleRow(app)
        await app.push_screen(make())
        await settle(pilot)
        (update,) = shown.updates
        assert isinstance(update, LayoutUpdate)
        painted = ["".join(strip.text for strip in row).rstrip() for row in update.strips]
        assert "\n".join(painted) == screen_text(app)


async def test_a_key_is_one_paint() -> None:
    app = Host(list)
    async with app.run_test(size=SIZE) as pilot:
        await app.push_screen(low_picker())
        await settle(pilot)
        shown = VisibleRow(app)
        await pilot.press("down")
        await settle(pilot)
        assert len(shown.updates) == 1
        assert "› row 1" in screen_text(app)


@pytest.mark.parametrize("make", SHEETS)
async def test_its_widgets_are_styled_once(make: Sheet, monkeypatch: pytest.MonkeyPatch) -> None:
    styled: Counter[str] = Counter()
    apply = Stylesheet.apply

    def count(self: Stylesheet, node: Any, **options: Any) -> None:
        if isinstance(node, RowList | RuleTitle | KeyHints | Preview):
            styled[type(node).__name__] += 1
        apply(self, node, **options)

    app = Host(list)
    async with app.run_test(size=SIZE) as pilot:
        monkeypatch.setattr(Stylesheet, "apply", count)
        await app.push_screen(make())
        await settle(pilot)
        assert set(styled.values()) == {1}


@pytest.mark.parametrize("make", SHEETS)
async def test_nothing_behind_it_is_laid_out(make: Sheet, monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out: list[Screen[Any]] = []
    lay_out = Screen._refresh_layout

    def note(self: Screen[Any], *arguments: Any, **options: Any) -> None:
        laid_out.append(self)
        lay_out(self, *arguments, **options)

    app = Host(list)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        monkeypatch.setattr(Screen, "_refresh_layout", note)
        sheet = make()
        await app.push_screen(sheet)
        await settle(pilot)
        assert set(laid_out) == {sheet}


@pytest.mark.parametrize("make", SHEETS)
async def test_another_size_lays_out_all_screens(make: Sheet) -> None:
    app = Host(list)
    async with app.run_test(size=SIZE) as pilot:
        await app.push_screen(make())
        await settle(pilot)
        await pilot.resize_terminal(80, 24)
        while any(screen.size != (80, 24) for screen in app.screen_stack):
            await pilot.pause()
        await settle(pilot)
        keys = app.screen.query_one(KeyHints).region
        assert keys == Region(0, 23, 80, 1)
        assert "esc close" in screen_text(app).splitlines()[23]


async def test_what_lies_behind_a_low_sheet_is_seen() -> None:
    app = Host(lambda: [RuleTitle("behind it")])
    async with app.run_test(size=SIZE) as pilot:
        await app.push_screen(PickerScreen("Rows", ROWS[:3]))
        await settle(pilot)
        assert "behind it" in screen_text(app).splitlines()[0]


async def test_rows_in_sight_are_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    draw = RowList._draw_row

    def note(self: RowList, item: Any, width: int, *, is_current: bool) -> Any:
        drawn.append(item.row.id)
        return draw(self, item, width, is_current=is_current)

    monkeypatch.setattr(RowList, "_draw_row", note)
    app = Host(list)
    async with app.run_test(size=SIZE) as pilot:
        await app.push_screen(low_picker())
        await settle(pilot)
        assert len(drawn) == len(set(drawn))
        rows = app.screen.query_one(RowList)
        for at in range(rows.size.height):  # what is shown is what was drawn, not made of it anew
            assert rows._styles_cache._cache[at] is rows.render_line(at)
        drawn.clear()
        await pilot.press("down")
        await settle(pilot)
        assert sorted(drawn) == ["0", "1"]
        drawn.clear()
        await pilot.press("end")
        await settle(pilot)
        assert sorted(map(int, drawn)) == list(range(200 - rows.size.height, 200))


@pytest.mark.parametrize("row", [0, 37, 100, 199])
async def test_a_bare_scroll_bar_is_drawn_as_textual_draws_it(row: int) -> None:
    app = Host(list)
    async with app.run_test(size=SIZE) as pilot:
        await app.push_screen(low_picker())
        app.screen.query_one(RowList).move_to(row)
        await settle(pilot)
        bar = app.screen.query_one(RowList).vertical_scrollbar
        assert isinstance(bar, FastScrollBar)
        bar._render_content()
        bare = [(cell.text, cell.style) for strip in bar._render_cache.lines for cell in strip]
        Widget._render_content(bar)
        assert [(cell.text, cell.style) for strip in bar._render_cache.lines for cell in strip] == bare
        assert {str(style.meta.get("@mouse.down")) for _, style in bare if style is not None} >= {"grab"}
