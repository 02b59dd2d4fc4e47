"""Python that stays: the agent's cell and its person's, with what they showed, and the page of the kernel."""

import pytest

from app.engine.user_runs.user_cells import UserCells
from app.providers.scripted import ScriptedModel, call, say
from tests.support.photographs import Photographs
from tests.support.screens import Screen, text_of
from tools.kernel.session_kernel import KernelInfo

NAMES = (
    {"name": "depths", "type": "list", "value": "[3, 5, 8, 13]"},
    {"name": "frame", "type": "pandas.DataFrame", "value": "120 x 4"},
    {"name": "mean", "type": "function", "value": ""},
)
VIEW = KernelInfo(
    state="idle",
    interpreter="~/project/.venv/bin/python",
    interpreter_origin=".venv",
    version="3.12.4",
    pid=4711,
    memory_bytes=14_800_000,
    cell_count=4,
    names=NAMES,
)
CODE = """depths = [3, 5, 8, 13]

def mean(numbers):
    return sum(numbers) / len(numbers)

for depth in depths:
    print("fathoms", depth)
text = tool.read(path="notes.txt")
len(text), mean(depths)"""


@pytest.fixture(autouse=True)
def no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    async def view(self: UserCells) -> KernelInfo:
        return VIEW

    monkeypatch.setattr(UserCells, "kernel_info", view)
    monkeypatch.setattr("app.tui.transcript.message_blocks.format_call_duration", lambda milliseconds: "")
    monkeypatch.setattr(
        "app.engine.models.model_requests.ModelRequests._on_connection_state",
        lambda self, state, seconds: None,
    )


async def test_cells(screen: Screen, photographs: Photographs) -> None:
    script = ScriptedModel(
        [
            call("write", path="notes.txt", content="The anchor holds.\n"),
            call("eval", code=CODE, title="Depths of the harbour"),
            say("The mean depth is 7.25 fathoms."),
        ]
    )
    async with photographs.of(screen.app(theme=photographs.theme, script=script)) as tour:
        await tour.say("how deep is the harbour?")
        await tour.idle()
        await tour.say("$ raise ValueError('too deep')")
        await tour.until("ValueError: too deep")
        await tour.say("$$ max(depths)")
        await tour.until("not sent to the model")
        await tour.until(lambda: not tour.app.session.state.is_cell_running)
        await tour.until(lambda: "Working" not in text_of(tour.app))
        await tour.photograph("closed")
        await tour.photograph_small("closed")
        await tour.press("ctrl+o")
        await tour.photograph("open")
        await tour.press("ctrl+o")
        await tour.say("/kernel")
        await tour.until("pandas.DataFrame")
        await tour.photograph("kernel")
        await tour.photograph_small("kernel")
