"""The footer's segments: which there are, in which order and colour, and when."""

from pathlib import Path

from app.resources.settings_display import SegmentLook
from app.tui.status.bars import Surroundings, footer
from app.values.todos import TodoItem, TodoPhase
from tests.engine.stage import Play


async def test_segments_are_in_the_wanted_order_and_colour(tmp_path: Path) -> None:
    play = Play(tmp_path)
    await play.session.set_todos([TodoPhase(name="W", tasks=(TodoItem(content="a"), TodoItem(content="b")))])
    around = Surroundings(home=tmp_path, host="harbour")
    made = footer(
        play.session, around, ["host", "todos", "sessionId", "path"], {"host": SegmentLook(tone="success")}
    )
    assert [(one.id, one.text, one.tone) for one in made] == [
        ("host", "harbour", "success"),
        ("todos", "0/2 done", "accent"),
        ("sessionId", play.session.state.session_id, "dim"),
        ("path", "~", "muted"),
    ]


async def test_a_segment_shows_when_it_is_wanted(tmp_path: Path) -> None:
    play = Play(tmp_path)

    def shown(show: str, width: int) -> list[str]:
        look = SegmentLook(show=show)  # pyright: ignore[reportArgumentType]
        around = Surroundings(home=tmp_path, width=width)
        return [one.id for one in footer(play.session, around, ["path"], {"path": look})]

    assert shown("always", 80) == shown("idle", 80) == shown("wide", 120) == ["path"]
    assert shown("running", 80) == shown("wide", 119) == []
