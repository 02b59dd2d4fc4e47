"""Where bayou's own modules are, told to Python. It would look for each of five hundred in listings of folders, and
check and read what is compiled of it in many small steps: a tenth of what a start takes.

What is compiled counts by the rule that always holds, the time and the size of its source. Whatever is odd is left to
Python, and so are all modules of others.
"""

import marshal
import os
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import MAGIC_NUMBER

TYPE_CHECKING = False
"""As in `typing`, which is not imported: it takes as long as all of this."""
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType

_PACKAGES = ("app", "tools", "widgets")
_COMPILED = f".{sys.implementation.cache_tag}.pyc"


class OwnLoader(SourceFileLoader):
    """Reads what is compiled of a source that has this status."""

    def __init__(self, name: str, path: str, compiled: str, status: os.stat_result) -> None:
        super().__init__(name, path)
        self._compiled, self._status = compiled, status

    def get_code(self, fullname: str) -> "CodeType | None":
        source = self._status
        try:  # as the system gives it: a file object costs as much as reading
            file = os.open(self._compiled, os.O_RDONLY)
        except OSError:
            return super().get_code(fullname)
        try:
            data = os.read(file, os.fstat(file).st_size)
        finally:
            os.close(file)
        stamp = (int(source.st_mtime) & 0xFFFFFFFF).to_bytes(4, "little")
        size = (source.st_size & 0xFFFFFFFF).to_bytes(4, "little")
        if data[:16] == MAGIC_NUMBER + bytes(4) + stamp + size:
            code = marshal.loads(memoryview(data)[16:])
            if code.co_filename == self.path:
                return code
        return super().get_code(fullname)


def find_quickly() -> None:
    """From here on. Not where compiled modules lie elsewhere than usual, or are of another kind."""
    if sys.flags.optimize or sys.pycache_prefix is not None:
        return
    if not any(isinstance(finder, OwnFinder) for finder in sys.meta_path):
        here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  (as below)
        sys.meta_path.insert(0, OwnFinder(os.path.dirname(here)))  # noqa: PTH120


class OwnFinder:
    """For `sys.meta_path`."""

    def __init__(self, home: str) -> None:
        """`home`: the folder that bayou's packages lie in."""
        self._home = home
        self._folders = tuple(f"{home}{os.sep}{package}" for package in _PACKAGES)
        self._within = tuple(folder + os.sep for folder in self._folders)

    def find_spec(
        self, fullname: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> ModuleSpec | None:
        if path is None:
            if fullname not in _PACKAGES:
                return None
            folder = self._home
        else:
            folder = path[0] if len(path) == 1 else ""
            if not (folder.startswith(self._within) or folder in self._folders):
                return None
        name = fullname.rpartition(".")[2]
        own, inside = f"{folder}{os.sep}{name}.py", None
        try:
            status = os.stat(own)  # noqa: PTH116  (pathlib costs more than all of this)
        except OSError:
            inside = f"{folder}{os.sep}{name}"
            folder, own, name = inside, f"{inside}{os.sep}__init__.py", "__init__"
            try:
                status = os.stat(own)  # noqa: PTH116  (pathlib costs more than all of this)
            except OSError:
                return None
        compiled = f"{folder}{os.sep}__pycache__{os.sep}{name}{_COMPILED}"
        spec = ModuleSpec(fullname, OwnLoader(fullname, own, compiled, status), origin=own)
        spec.has_location = True
        spec.cached = compiled
        if inside is not None:
            spec.submodule_search_locations = [inside]
        return spec
