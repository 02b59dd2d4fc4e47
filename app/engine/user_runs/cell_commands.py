"""Session commands about the Python kernel: running a cell for the user, inspecting and restarting the kernel."""

from pathlib import Path

from app.engine.commands import response_data
from app.engine.commands.session_command import omit_none_fields, require_text_for_os, session_command
from app.engine.session import Session
from app.engine.user_runs.user_cells import UserCell
from tools.files.paths import absolute_path
from tools.tool_result_values import ImagePart


@session_command(
    "Run Python as the user", "In the kernel of the agent's cells; progress arrives as tool events."
)
async def eval(
    session: Session,
    code: str,
    title: str = "",
    timeout: float | None = None,
    reset: bool = False,
    exclude_from_context: bool = False,
) -> response_data.CellResult:
    done = await session.cells.run_cell(
        code, title=title, timeout=timeout or 0, resets=reset, exclude=exclude_from_context
    )
    return _cell_result(done)


@session_command(
    "Run the code cells of a notebook",
    "Stops at the first that fails. `cells`: 3, 2-5 or 4-.",
    answer="cells",
)
async def run_notebook(session: Session, path: str, cells: str = "") -> list[response_data.CellResult]:
    notebook = Path(absolute_path(require_text_for_os(path, "path"), session.cwd))
    done = await session.cells.run_notebook(notebook, cells)
    return [_cell_result(cell) for cell in done]


@session_command("Stop the user's cell", stops=True)
async def abort_eval(session: Session) -> None:
    session.cells.abort()


@session_command(
    "Restart the Python kernel",
    "Forgets everything that cells defined. False: no kernel runs.",
    answer="restarted",
    stops=True,
)
async def restart_kernel(session: Session) -> bool:
    return await session.cells.restart_kernel()


@session_command("Interpreter, memory and variables of the kernel")
async def get_kernel(session: Session) -> response_data.Kernel:
    view = await session.cells.kernel_info()
    if view is None or view.state == "none":
        return {"state": "none", "cells": 0, "names": []}
    return omit_none_fields(
        state=view.state,
        interpreter=view.interpreter,
        found=view.interpreter_origin,
        version=view.version,
        pid=view.pid,
        memory=view.memory_bytes,
        cells=view.cell_count,
        names=list(view.names),
    )


def _cell_result(cell: UserCell) -> response_data.CellResult:
    return {
        "id": cell.id,
        "output": cell.result.text,
        "pictures": sum(isinstance(part, ImagePart) for part in cell.result.content),
        "isError": cell.result.is_error,
        "details": cell.result.details,
    }
