"""A person's own cells: in the agent's kernel, read by the model or kept from it, stopped, and looked at."""

import asyncio
import json
from pathlib import Path

import pytest

from app.engine.user_runs.cell_commands import eval, get_kernel, restart_kernel, run_notebook
from app.providers.scripted import call, say
from app.values.cells import CELL_ENTRY_TYPE
from app.values.content import text_of
from app.values.entries import CustomEntry, CustomMessageEntry
from app.values.events import Event, ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from app.values.messages import ToolResultMessage
from app.values.user_errors import UserError
from tests.compaction.project_session import ProjectSession


async def test_the_agent_and_its_person_share_a_kernel(tmp_path: Path) -> None:
    scene = await ProjectSession(tmp_path).open()
    done = await scene.session.cells.run_cell("shared = 20 + 1\nshared")
    assert done.result.text == "Out: 21"
    scene.script.responses[:] = [call("eval", code="shared * 2"), say("ok")]
    await scene.prompt("go")
    result = next(one for one in scene.session.messages if isinstance(one, ToolResultMessage))
    assert text_of(result.content) == "Out: 42"
    asked = str(scene.asked[0].messages)
    assert "The user ran this in the Python kernel" in asked and "Out: 21" in asked
    await scene.session.close()


async def test_two_dollars_keep_it_from_the_model(tmp_path: Path) -> None:
    scene = await ProjectSession(tmp_path).open()
    await scene.session.cells.run_cell("'hush'", exclude=True)
    await scene.session.cells.run_cell("'told'")
    kinds = [
        type(one) for one in scene.session.log.entries if getattr(one, "custom_type", "") == CELL_ENTRY_TYPE
    ]
    assert kinds == [CustomEntry, CustomMessageEntry]
    scene.script.responses[:] = [say("ok")]
    await scene.prompt("go")
    assert "hush" not in str(scene.asked[0].messages) and "told" in str(scene.asked[0].messages)
    await scene.session.close()


async def test_a_cell_streams_output_and_can_be_stopped(tmp_path: Path) -> None:
    scene = await ProjectSession(tmp_path).open()
    events: list[ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd] = []
    printed = asyncio.Event()

    def hear(event: Event) -> None:
        if isinstance(event, ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd):
            events.append(event)
            if isinstance(event, ToolExecutionUpdate):
                printed.set()

    scene.session.subscribe(hear)
    running = asyncio.ensure_future(
        scene.session.cells.run_cell("kept = 1\nprint('so far')\nimport time; time.sleep(99)")
    )
    await printed.wait()
    assert scene.session.state.is_cell_running and scene.session.state.is_busy
    with pytest.raises(UserError, match="already running"):
        await scene.session.cells.run_cell("1")
    await scene.session.abort()
    assert (await running).result.text == "so far\nInterrupted; state kept."
    assert (await scene.session.cells.run_cell("kept")).result.text == "Out: 1"
    await scene.session.events.wait_until_delivered()
    assert [type(event).__name__ for event in events][:2] == ["ToolExecutionStart", "ToolExecutionUpdate"]
    assert isinstance(events[-1], ToolExecutionEnd) and len({event.tool_call_id for event in events}) == 2
    await scene.session.close()


async def test_its_cells_call_tools_too(tmp_path: Path) -> None:
    scene = await ProjectSession(tmp_path).open()
    scene.write("a.txt", "hello\n")
    done = await scene.session.cells.run_cell("tool.read(path='a.txt').strip()")
    assert done.result.text == "Out: 'hello'"
    assert done.result.details is not None and done.result.details["calls"][0]["name"] == "read"
    await scene.session.close()


async def test_commands_of_all_faces(tmp_path: Path) -> None:
    scene = await ProjectSession(tmp_path).open()
    session = scene.session
    assert await get_kernel(session) == {"state": "none", "cells": 0, "names": []}
    assert await restart_kernel(session) is False
    told = await eval(session, "rows = [1, 2]\nrows", title="Rows")
    assert told["output"] == "Out: [1, 2]" and not told["isError"] and told["pictures"] == 0
    kernel = await get_kernel(session)
    assert kernel["state"] == "idle" and kernel["cells"] == 1
    assert kernel["names"] == [{"name": "rows", "type": "list", "value": "[1, 2]"}]
    assert await session.cells.kernel_names_starting_with("ro") == ("rows", "round")
    assert "rows.append" in await session.cells.kernel_names_starting_with("rows.ap")
    assert await restart_kernel(session) is True
    assert "its state is gone" in (await eval(session, "1"))["output"]
    await session.close()


async def test_the_cells_of_a_notebook_run_from_its_file(tmp_path: Path) -> None:
    scene = await ProjectSession(tmp_path).open()
    cells = [
        {"cell_type": "markdown", "source": "# Title"},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "a = 1"]},
        {"cell_type": "code", "source": "a + 1"},
        {"cell_type": "code", "source": "1 / 0"},
        {"cell_type": "code", "source": "never = 1"},
    ]
    scene.write("note book.ipynb", json.dumps({"cells": cells, "nbformat": 4, "metadata": {}}))
    told = await run_notebook(scene.session, "note book.ipynb")
    assert [one["output"].splitlines()[-1] for one in told] == [
        "(no output)",
        "Out: 2",
        "ZeroDivisionError: division by zero",
    ]
    assert [one["output"] for one in await run_notebook(scene.session, "note book.ipynb", "3")] == ["Out: 2"]
    for path, wanted, words in (
        ("note book.ipynb", "1", "no code cells"),
        ("note book.ipynb", "x", "is not a range of cells"),
        ("nowhere.ipynb", "", "No such file"),
    ):
        with pytest.raises(UserError, match=words):
            await run_notebook(scene.session, path, wanted)
    await scene.session.close()


async def test_another_session_begins_with_an_empty_kernel(tmp_path: Path) -> None:
    scene = await ProjectSession(tmp_path).open()
    await scene.session.cells.run_cell("x = 1")
    await scene.session.branches.start_new_session()
    done = await scene.session.cells.run_cell("'x' in dir()")
    assert done.result.text == (
        "[Another session is open. The kernel was restarted; its state is gone.]\nOut: False"
    )
    await scene.session.close()
