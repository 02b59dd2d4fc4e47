"""Header, footer and queue: what is left when there is little room, and what the keys of the queue ask."""

from hypothesis import given
from hypothesis import strategies as st
from textual import on

from tests.widgets.gallery import FOOTER, QUEUE
from tests.widgets.host import Host, screen_text
from widgets.status.queue import MAX_QUEUE_ROWS, QueuedMessageRow, QueueView
from widgets.status.status_footer import StatusFooter
from widgets.status.status_segments import (
    STATUS_SEGMENT_GAP,
    StatusSegment,
    fitting_status_segments,
    status_segment_cells,
)


def test_long_segments_become_short_before_any_is_left_out() -> None:
    assert len(fitting_status_segments(FOOTER, 78)) == len(FOOTER)
    assert {segment.text for segment in fitting_status_segments(FOOTER, 78)} >= {"bayou", "sonnet-5"}


def test_what_became_short_in_vain_is_long_again() -> None:
    """The name gave way first, and then the path made more room than was wanted."""
    name = StatusSegment(id="session", text="A good name", short="A good…", importance=3)
    path = StatusSegment(id="path", text="~/work/a/deep/folder", short="folder", importance=6)
    assert fitting_status_segments([path, name], 40) == [path, name]
    assert [segment.text for segment in fitting_status_segments([path, name], 24)] == [
        "folder",
        "A good name",
    ]


def test_the_least_important_goes_first() -> None:
    left = [segment.id for segment in fitting_status_segments(FOOTER, 50)]
    assert "cacheRead" not in left
    assert "model" in left
    assert "context" in left


@given(st.lists(st.tuples(st.text("abc", max_size=12), st.integers(0, 9)), max_size=8), st.integers(0, 80))
def test_what_fits_fits_and_keeps_its_order(parts: list[tuple[str, int]], width: int) -> None:
    segments = [
        StatusSegment(id=str(number), text=text, importance=importance)
        for number, (text, importance) in enumerate(parts)
    ]
    left = fitting_status_segments(segments, width)
    ids = [segment.id for segment in left]
    assert ids == sorted(ids, key=int)
    total = sum(map(status_segment_cells, left)) + len(STATUS_SEGMENT_GAP) * max(0, len(left) - 1)
    assert total <= width or len(left) <= 1


async def test_a_bar_is_a_line_that_fills_from_the_left() -> None:
    footer = StatusFooter()
    app = Host(lambda: [footer])
    async with app.run_test() as pilot:
        for share, line in (
            (0.0, "──────"),
            (0.01, "━─────"),
            (0.5, "━━━───"),
            (1.0, "━━━━━━"),
            (2.0, "━━━━━━"),
        ):
            footer.show([StatusSegment(id="context", text="of 200k", bar=share)])
            await pilot.pause()
            assert f"{line} of 200k" in screen_text(app)


async def test_the_same_values_draw_nothing_anew() -> None:
    footer = StatusFooter(FOOTER)
    drawn: list[int] = []
    app = Host(lambda: [footer])
    async with app.run_test() as pilot:
        await pilot.pause()
        footer.refresh = lambda *args, **options: drawn.append(1) or footer  # type: ignore[method-assign]
        footer.show(FOOTER)
        assert drawn == []
        footer.show([*FOOTER, StatusSegment(id="cost", text="$0.124")])
        assert drawn == [1]


async def test_nothing_in_a_name_is_obeyed() -> None:
    app = Host(lambda: [StatusFooter([StatusSegment(id="session", text="[/] \x1b[2J\nname")])])
    async with app.run_test() as pilot:
        await pilot.pause()
        assert "[/] ␛[2J name" in screen_text(app)


class QueueHost(Host):
    def __init__(self) -> None:
        self.view = QueueView(QUEUE)
        self.asked: list[tuple[str, str, int]] = []
        super().__init__(lambda: [self.view], start=lambda app: self.set_focus(self.view))

    @on(QueueView.MoveRequested)
    def moved(self, event: QueueView.MoveRequested) -> None:
        self.asked.append(("move", event.row_id, event.delta))

    @on(QueueView.EditRequested)
    def edited(self, event: QueueView.EditRequested) -> None:
        self.asked.append((type(event).__name__, event.row_id, 0))

    @on(QueueView.Left)
    def left(self) -> None:
        self.asked.append(("left", "", 0))


async def test_waiting_messages_are_edited_moved_and_removed() -> None:
    app = QueueHost()
    async with app.run_test() as pilot:
        await pilot.press("enter", "shift+down", "down", "shift+up", "delete", "tab", "escape")
        await pilot.pause()
        assert app.asked == [
            ("EditRequested", "1", 0),
            ("move", "1", 1),
            ("move", "2", -1),
            ("RemoveRequested", "2", 0),
            ("SwitchRequested", "2", 0),
            ("left", "", 0),
        ]


async def test_the_cursor_follows_its_message() -> None:
    app = QueueHost()
    async with app.run_test():
        app.view.action_move(1)
        app.view.show(tuple(reversed(QUEUE)))
        assert app.view.current == QUEUE[1]
        app.view.show([])
        assert app.view.current is None
        assert not app.view.display


async def test_a_move_is_seen() -> None:
    app = QueueHost()
    async with app.run_test() as pilot:
        app.view.focus()
        await pilot.pause()
        before = current_line(app)
        await pilot.press("down")
        assert current_line(app) != before


def current_line(app: Host) -> str:
    return next(line for line in screen_text(app).splitlines() if line.startswith("› "))


async def test_the_cursor_begins_at_the_first_message_that_waits() -> None:
    app = QueueHost()
    async with app.run_test() as pilot:
        app.set_focus(None)
        app.view.show([QueuedMessageRow(id="0", kind="steer", text="the newest goes first"), *QUEUE])
        await pilot.pause()
        app.set_focus(app.view)
        assert app.view.current is not None and app.view.current.id == "0"


async def test_a_long_queue_tells_how_many_more() -> None:
    rows = [QueuedMessageRow(id=str(number), kind="steer", text=f"message {number}") for number in range(9)]
    app = Host(lambda: [QueueView(rows)])
    async with app.run_test() as pilot:
        await pilot.pause()
        assert f"and {9 - MAX_QUEUE_ROWS} more" in screen_text(app)
