"""`/kernel`."""

import json
from pathlib import Path

from app.tui.features.kernel.page import PythonKernelPage
from tests.compaction.project_session import ProjectSession
from tests.tui.pages.person import Person, at_the_keyboard


def page_of(scene: ProjectSession, person: Person) -> PythonKernelPage:
    return PythonKernelPage(scene.session.cells, person.ask, person.say, lambda: scene.session.cwd)


async def test_what_there_is_to_know_and_a_restart(tmp_path: Path) -> None:
    scene = await ProjectSession(tmp_path).open()
    async with at_the_keyboard() as person:
        page = page_of(scene, person)
        await page.run_kernel_command()
        assert person.heard == [
            "No Python kernel is running. A `$` cell such as `$ 1 + 1` starts one, or the agent's first cell."
        ]
        await scene.session.cells.run_cell("fathoms = [1, 2]")
        async with person.asked(page.run_kernel_command()):
            await person.sees_soon("idle, 1 cell", "memory", "fathoms", "[1, 2]", "Restart")
            await person.press("r", "e", "s", "t")
            await person.press("enter")
        assert person.heard[-1] == "The Python kernel was stopped; the next cell starts without variables."
        await page.run_kernel_command("restart")
        assert person.heard[-1] == "No Python kernel is running."
        await page.run_kernel_command("fly")
        assert person.warned == ["Use /kernel, /kernel restart, or /kernel run FILE.ipynb [2-5]."]
    await scene.session.close()


async def test_a_notebook_is_run(tmp_path: Path) -> None:
    scene = await ProjectSession(tmp_path).open()
    cells = [{"cell_type": "code", "source": text} for text in ("a = 1", "a / 0", "b = 2")]
    scene.write("my notes.ipynb", json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    async with at_the_keyboard() as person:
        page = page_of(scene, person)
        await page.run_kernel_command("run my notes.ipynb 1")
        assert person.heard == ["1 cell of my notes.ipynb ran."]
        await page.run_kernel_command("run my notes.ipynb")
        assert person.warned == [
            "2 cells of my notes.ipynb ran; my notes.ipynb [2] failed, and the rest did not run."
        ]
    await scene.session.close()
