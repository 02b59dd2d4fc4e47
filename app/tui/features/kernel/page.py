"""The page for `/kernel`: shows interpreter, memory and names of the persistent Python kernel, restarts it, runs a
notebook's cells."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from app.engine.user_runs.user_cells import UserCells
from app.tui.features.shared_dialogs import pick_list_row
from app.tui.page_protocols import AskOnScreen, ShowMessage
from tools.files.paths import absolute_path
from tools.number_formatting import format_byte_count
from widgets.lists.list_rows import ListRow
from widgets.transcript.transcript_blocks import AppNoteKind

if TYPE_CHECKING:
    from tools.kernel.session_kernel import KernelInfo

_MAX_SHOWN_KERNEL_NAMES = 200


class PythonKernelPage(msgspec.Struct, frozen=True):
    """Shows and controls the Python kernel of one session."""

    cells: UserCells
    ask: AskOnScreen
    show_message: ShowMessage
    cwd: Callable[[], Path]

    async def run_kernel_command(self, words: str = "") -> None:
        """Runs `/kernel`: `restart`, `run FILE [cells]`, or without arguments shows the kernel's
        state."""
        deed, _, rest = words.partition(" ")
        if deed == "restart":
            await self._restart_kernel()
        elif deed == "run" and rest.strip():
            await self._run_notebook(rest.strip())
        elif deed:
            self.show_message(
                "Use /kernel, /kernel restart, or /kernel run FILE.ipynb [2-5].", AppNoteKind.WARNING
            )
        else:
            await self._show_kernel()

    async def _show_kernel(self) -> None:
        view = await self.cells.kernel_info()
        if view is None or view.state == "none":
            self.show_message(
                "No Python kernel is running. A `$` cell such as `$ 1 + 1` starts one, or the agent's first cell."
            )
            return
        picked = await pick_list_row(self.ask, "Kernel", kernel_status_rows(view))
        if picked is not None and picked.row.id == "restart":
            await self._restart_kernel()

    async def _restart_kernel(self) -> None:
        was_there = await self.cells.restart_kernel()
        self.show_message(
            "The Python kernel was stopped; the next cell starts without variables."
            if was_there
            else "No Python kernel is running."
        )

    async def _run_notebook(self, words: str) -> None:
        path, cells = _split_file_and_cells(words)
        done = await self.cells.run_notebook(Path(absolute_path(path, self.cwd())), cells)
        failed = bool(done) and done[-1].result.is_error
        count = f"{len(done)} cell{'' if len(done) == 1 else 's'}"
        text = f"{count} of {path} ran" + (
            f"; {done[-1].title} failed, and the rest did not run." if failed else "."
        )
        self.show_message(text, AppNoteKind.WARNING if failed else AppNoteKind.INFO)


def _split_file_and_cells(words: str) -> tuple[str, str]:
    """Splits `my file.ipynb 2-5` into the notebook's path and the cells to run."""
    head, ending, rest = words.partition(".ipynb")
    return (head + ending, rest.strip()) if ending else (words, "")


def kernel_status_rows(view: "KernelInfo") -> list[ListRow]:
    memory = format_byte_count(view.memory_bytes) if view.memory_bytes is not None else "unknown"
    rows = [
        ListRow(id="kernel", title="Interpreter", is_heading=True),
        ListRow(
            id="interpreter",
            title=view.interpreter,
            detail=f"Python {view.version}, from {view.interpreter_origin}",
        ),
        ListRow(
            id="state",
            title=f"{view.state}, {view.cell_count} cell{'' if view.cell_count == 1 else 's'}",
            detail=f"memory {memory}, process {view.pid}",
        ),
        ListRow(id="restart", title="Restart", detail="all variables are lost"),
    ]
    if view.names:
        rows.append(ListRow(id="names", title="Variables", is_heading=True))
    elif view.state == "busy":
        rows.append(ListRow(id="names", title="Variables appear when the cell has finished", is_heading=True))
    rows += [
        ListRow(id=f"name:{one['name']}", title=one["name"], detail=one["value"], right=one["type"])
        for one in view.names[:_MAX_SHOWN_KERNEL_NAMES]
    ]
    return rows
