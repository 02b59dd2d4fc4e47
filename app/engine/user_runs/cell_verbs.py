"""What faces do with the kernel of a session: run a cell as its person, look at it, stop it, begin anew."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from app.engine.user_runs.user_cells import OwnCell, OwnCells
from app.engine.user_runs.user_shell import UserShell
from app.values.unable import Unable
from tools.base import ToolError
from tools.workspace import Workspace

if TYPE_CHECKING:
    from tools.kernel.kept import KernelView


class CellVerbs(msgspec.Struct, frozen=True):
    """Of one session."""

    cells: OwnCells
    workspace: Workspace
    shell: UserShell
    has_turn: Callable[[], bool]
    """A turn is under way, behind which what a person runs is recorded."""

    @property
    def is_running(self) -> bool:
        """One of the person's."""
        return self.cells.underway.is_running

    async def run(
        self,
        code: str,
        *,
        title: str = "",
        timeout: float | None = 0,
        resets: bool = False,
        exclude: bool = False,
    ) -> OwnCell:
        """Runs a person's cell; the model reads of it with the next request unless `exclude`."""
        cell = await self.cells.run(code, title=title, timeout=timeout, resets=resets, exclude=exclude)
        if not self.has_turn():
            await self.shell.record_held_back()
        return cell

    def abort(self) -> None:
        self.cells.underway.abort()

    async def view(self) -> "KernelView | None":
        """None: none was needed yet."""
        return await self.workspace.kernel().view() if self.workspace.has_kernel else None

    async def restart(self) -> bool:
        """The next cell begins with nothing. False: none runs."""
        if not self.workspace.has_kernel:
            return False
        return await self.workspace.kernel().restart()

    async def names_like(self, text: str) -> tuple[str, ...]:
        """Names that go on from `text`, of the kernel that runs."""
        return await self.workspace.kernel().completed(text) if self.workspace.has_kernel else ()

    async def run_notebook(self, path: Path, wanted: str = "") -> tuple[OwnCell, ...]:
        """The code cells of a notebook, one after the other until one fails. `wanted`: `3`, `2-5`, `4-`."""
        from tools.kernel.notebook import code_cells  # noqa: PLC0415  (only for notebooks)

        try:
            found = code_cells(path, wanted)
        except ToolError as problem:
            raise Unable(str(problem)) from None
        done: list[OwnCell] = []
        for number, code in found:
            cell = await self.run(code, title=f"{path.name} [{number}]")
            done.append(cell)
            if cell.result.is_error:
                break
        return tuple(done)
