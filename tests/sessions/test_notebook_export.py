"""The cells of a session as a notebook: in order, the agent's and the person's, with what they showed."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from app.providers.scripted import call, say
from app.sessions.export.notebook import export_notebook
from tests.compaction.stage import Scene
from tests.kernel.test_cells import PICTURE


async def test_cells_and_what_they_showed(tmp_path: Path) -> None:
    scene = await Scene(tmp_path).open()
    scene.script.responses[:] = [
        call("eval", code="x = 6\nprint('six')\nx", title="Six"),
        call("bash", command="true"),
        call("eval", code="1 / 0"),
        say("ok"),
    ]
    await scene.prompt("go")
    await scene.session.cells.run(PICTURE + "Picture()")
    await scene.session.cells.run("x * 7", exclude=True)
    notebook: dict[str, Any] = json.loads(export_notebook(scene.session.log))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    cells = notebook["cells"]
    assert ["".join(cell["source"]).splitlines()[-1] for cell in cells] == [
        "x",
        "1 / 0",
        "Picture()",
        "x * 7",
    ]
    assert [cell["execution_count"] for cell in cells] == [1, 2, 3, 4]
    assert cells[0]["metadata"] == {"title": "Six"}
    stream, value = cells[0]["outputs"]
    assert stream == {"output_type": "stream", "name": "stdout", "text": "six\n"}
    assert value["output_type"] == "execute_result" and value["data"] == {"text/plain": "6"}
    (error,) = cells[1]["outputs"]
    assert (error["output_type"], error["ename"]) == ("error", "ZeroDivisionError")
    assert list(cells[2]["outputs"][0]["data"]) == ["image/png"]
    assert cells[3]["outputs"][0]["data"] == {"text/plain": "42"}
    path = scene.session.log.path
    await scene.session.close()
    assert path is not None

    run = [sys.executable, "-m", "app", "export", str(path), "--notebook", str(tmp_path / "mine")]
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = await run_program(run, Path(__file__).parents[2], environment)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "mine.ipynb").read_text())["cells"] == cells


async def run_program(
    words: list[str], folder: Path, environment: dict[str, str]
) -> "subprocess.CompletedProcess[str]":
    return await asyncio.to_thread(
        subprocess.run, words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
