"""Chooses the Python that runs the cells: the project's own, if it has one that may be used."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from tools.files.paths import absolute_path

_VENV_FOLDER_NAMES: Final = (".venv", "venv")


class KernelInterpreter(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    origin: str
    """The source that names the interpreter, such as `.venv` or the setting `eval.python`."""
    venv_folder: str | None = None
    """The folder of the interpreter's virtual environment."""
    is_set_by_user: bool = False
    """Whether a setting names the interpreter, so that no other is tried."""


def candidate_kernel_interpreters(
    chosen: str | None, cwd: Path, environment: Mapping[str, str], *, uses_folder: bool
) -> Iterator[KernelInterpreter]:
    """Yields the Python interpreters for the kernel in the order in which they are tried. `uses_folder`: programs in
    the folder may run."""
    if chosen:
        path = absolute_path(chosen, cwd) if "/" in chosen else shutil.which(chosen) or chosen
        yield KernelInterpreter(
            path=path, origin="eval.python", venv_folder=_find_venv_folder(path), is_set_by_user=True
        )
        return
    active = environment.get("VIRTUAL_ENV")
    if active and (uses_folder or not Path(active).is_relative_to(cwd)):
        yield KernelInterpreter(path=f"{active}/bin/python", origin="VIRTUAL_ENV", venv_folder=active)
    if uses_folder:
        for name in _VENV_FOLDER_NAMES:
            folder = cwd / name
            if os.path.lexists(folder / "bin" / "python"):
                yield KernelInterpreter(
                    path=str(folder / "bin" / "python"), origin=name, venv_folder=str(folder)
                )
    for name in ("python3", "python"):
        found = shutil.which(name, path=environment.get("PATH"))
        if found:
            yield KernelInterpreter(path=found, origin=name)
    yield KernelInterpreter(path=sys.executable, origin="bayou's own Python")


def _find_venv_folder(path: str) -> str | None:
    folder = Path(path).parent.parent
    return str(folder) if (folder / "pyvenv.cfg").is_file() else None


def make_kernel_environment(interpreter: KernelInterpreter, environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment variables with which child processes of the kernel find the interpreter's programs
    first."""
    made = dict(environment)
    if interpreter.venv_folder:
        made["VIRTUAL_ENV"] = interpreter.venv_folder
        made["PATH"] = f"{interpreter.venv_folder}/bin:{made.get('PATH', os.defpath)}"
        made.pop("PYTHONHOME", None)
    return made
