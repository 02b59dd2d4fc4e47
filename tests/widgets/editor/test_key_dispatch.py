"""A field does what was pressed in the order in which it was pressed, however fast it comes."""

import pytest
from textual._xterm_parser import XTermParser
from textual.pilot import Pilot

from tests.widgets.host import Host
from widgets.editor.line_input import LineInput
from widgets.editor.prompt_editor import PromptEditor


async def send(pilot: Pilot[None], data: str) -> None:
    """All of it at once, as a slow line or a program delivers keys."""
    for event in XTermParser().feed(data):
        event.set_sender(pilot.app)
        pilot.app.post_message(event)
    await pilot.pause()
    await pilot.pause()


@pytest.mark.parametrize("field", [LineInput, PromptEditor])
@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("abc\x7fx", "abx"),
        ("zebra\x7f\x7f\x7f\x7f\x7fcrow", "crow"),
        ("abc\x1b[D\x1b[Dx", "axbc"),
        ("words to go\x15new", "new"),
        ("b\x01a", "ab"),
    ],
)
async def test_letters_do_not_overtake_keys(
    field: type[LineInput | PromptEditor], typed: str, text: str
) -> None:
    app = Host(lambda: [field()])
    async with app.run_test() as pilot:
        widget = app.query_one(field)
        widget.focus()
        await pilot.pause()
        await send(pilot, typed)
        assert widget.text == text
