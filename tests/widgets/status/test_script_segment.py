"""A line of a script in the footer: colours by SGR stay, anything else that a terminal would obey is removed."""

import pytest

from tests.widgets.host import Host
from widgets.status.status_footer import StatusFooter
from widgets.status.status_segments import status_script_segment


@pytest.mark.parametrize(
    ("line", "text", "is_coloured"),
    [
        ("plain", "plain", False),
        ("\x1b[31mred\x1b[0m rest", "red rest", True),
        ("\x1b]0;title\x07a\x1b[2Jb\x1b[1;32mgo", "abgo", True),
        ("a\x1b[5Ab", "ab", False),
        ("\x1b]8;;https://evil\x1b\\x\x1b]8;;\x1b\\", "x", False),
    ],
)
def test_what_is_kept_of_a_line(line: str, text: str, is_coloured: bool) -> None:
    segment = status_script_segment("line", line)
    assert segment.text == text
    assert bool(segment.coloured_text) is is_coloured
    assert "\x1b]" not in segment.coloured_text and "\x1b[2J" not in segment.coloured_text


async def test_the_footer_draws_the_colours_of_a_whole_line_only() -> None:
    footer = StatusFooter([status_script_segment("line", "\x1b[31mred\x1b[0m and " + "long " * 20)])
    app = Host(lambda: [footer])
    async with app.run_test(size=(200, 5)) as pilot:
        await pilot.pause()
        red = [segment.text for segment in footer.render_line(0) if segment.style and segment.style.color]
        assert "red" in red
        assert "red and long" in footer.render_line(0).text
        await pilot.resize_terminal(20, 5)
        await pilot.pause()
        assert footer.render_line(0).text.strip().startswith("red")
