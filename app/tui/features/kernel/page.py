"""`/kernel`: interpreter, memory and names of the persistent Python kernel; restart; running a notebook's cells."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from app.engine.user_runs.user_cells import UserCells
from app.tui.features.shared_dialogs import pick
from app.tui.page_protocols import AskPerson, ShowMessage
from tools.amounts import size
from tools.files.paths import absolute_path
from widgets.lists.rows import ListRow
from widgets.transcript.blocks import NoteKind

if TYPE_CHECKING:
    from tools.kernel.kept import KernelInfo

_SHOWN = 200


class KernelPage(msgspec.Struct, frozen=True):
    """Shows and controls the Python kernel of one session."""

    cells: UserCells
    ask: AskPerson
    say: ShowMessage
    cwd: Callable[[], Path]

    async def open(self, words: str = "") -> None:
        """Runs `/kernel`: `restart`, `run FILE [cells]`, or without arguments shows the kernel's
        state."""
        deed, _, rest = words.partition(" ")
        if deed == "restart":
            await self._restart()
        elif deed == "run" and rest.strip():
            await self._run(rest.strip())
        elif deed:
            self.say("Use /kernel, /kernel restart, or /kernel run FILE.ipynb [2-5].", NoteKind.WARNING)
        else:
            await self._show()

    async def _show(self) -> None:
        view = await self.cells.view()
        if view is None or view.state == "none":
            self.say("No Python kernel is running. `$ 1 + 1` starts one, and so does the agent's first cell.")
            return
        picked = await pick(self.ask, "Kernel", rows_of(view))
        if picked is not None and picked.row.id == "restart":
            await self._restart()

    async def _restart(self) -> None:
        was_there = await self.cells.restart()
        self.say(
            "The Python kernel was stopped; the next cell starts without variables."
            if was_there
            else "No Python kernel is running."
        )

    async def _run(self, words: str) -> None:
        path, cells = _file_and_cells(words)
        done = await self.cells.run_notebook(Path(absolute_path(path, self.cwd())), cells)
        failed = bool(done) and done[-1].result.is_error
        count = f"{len(done)} cell{'' if len(done) == 1 else 's'}"
        text = f"{count} of {path} ran" + (
            f"; {done[-1].title} failed, and the rest did not run." if failed else "."
        )
        self.say(text, NoteKind.WARNING if failed else NoteKind.INFO)


def _file_and_cells(words: str) -> tuple[str, str]:
    """Splits `my file.ipynb 2-5` into the file and the cells after it."""
    head, ending, rest = words.partition(".ipynb")
    return (head + ending, rest.strip()) if ending else (words, "")


def rows_of(view: "KernelInfo") -> list[ListRow]:
    memory = size(view.memory) if view.memory is not None else "not known"
    rows = [
        ListRow(id="kernel", title="Interpreter", is_heading=True),
        ListRow(id="interpreter", title=view.interpreter, detail=f"Python {view.version}, by {view.found}"),
        ListRow(
            id="state",
            title=f"{view.state}, {view.cells} cell{'' if view.cells == 1 else 's'}",
            detail=f"memory {memory}, process {view.pid}",
        ),
        ListRow(id="restart", title="Restart", detail="what cells defined is gone then"),
    ]
    if view.names:
        rows.append(ListRow(id="names", title="Names", is_heading=True))
    elif view.state == "busy":
        rows.append(ListRow(id="names", title="Names appear when the cell has ended", is_heading=True))
    rows += [
        ListRow(id=f"name:{one['name']}", title=one["name"], detail=one["value"], right=one["type"])
        for one in view.names[:_SHOWN]
    ]
    return rows
