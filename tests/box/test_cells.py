"""Files that run later which a cell makes are moved away, as behind a command."""

from collections.abc import Callable
from pathlib import Path

from tests.box.hands import BoxedHands
from tools.kernel.calls import Evaluation, EvalWish
from tools.kernel.telling import told


async def test_files_that_run_later_are_moved_away_behind_the_cell_that_made_them(
    boxed: Callable[..., BoxedHands], project: Path
) -> None:
    workspace = boxed().workspace

    async def result(code: str) -> str:
        evaluation = Evaluation(EvalWish(code=code), workspace, call_id="c", caller=None)
        return told(await evaluation.run(), workspace).text

    try:
        assert "decides what may run" not in await result("open('notes.txt', 'w').write('1')")
        text = await result(
            "import os; os.makedirs('a/.vscode'); open('a/.vscode/tasks.json', 'w').write('{}')"
        )
        assert "it was moved to" in text and "a/.vscode" in text
        assert "decides what may run" not in await result("1 + 1")
    finally:
        workspace.end_kernel()
