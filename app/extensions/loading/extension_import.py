"""Imports an extension's code under a private package name, fresh each time, without writing bytecode.

Two extensions may have modules of the same name, and none can shadow bayou's or a library's. Within a
package, modules import each other relatively: `from . import helper`.
"""

import importlib.util
import re
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from app.extensions.extension_registrations import Extension
from app.extensions.loading.api_version import require_api_version
from app.values.user_errors import UserError
from tools.lazy_patterns import lazy_regex

_EXTENSION_MODULE_PREFIX = "bayou_extension_"
FORMER_EXTENSION_API_MODULE = "app.extensions.public"
"""What extensions imported before there was a package `bayou`; it goes on working."""
_DECLARED_API_RANGE_PATTERN = lazy_regex(
    r"^BAYOU_API\s*(?::\s*str\s*)?=\s*['\"](.*)['\"]\s*(?:#.*)?$", re.MULTILINE
)


class ExtensionLoadError(UserError):
    """The file is not an extension that this bayou can load. `str` says why."""


class _UncachedSourceLoader(SourceFileLoader):
    """Always compiles: a file changed twice within a second must not run in its older form.

    `may_read` is called before each file, so that a late import also reads only what the user approved.
    """

    def __init__(self, fullname: str, path: str, may_read: Callable[[], bool]) -> None:
        super().__init__(fullname, path)
        self.may_read = may_read

    def get_code(self, fullname: str) -> Any:
        path = self.get_filename(fullname)
        if not self.may_read():
            raise ExtensionLoadError("the folder's files changed after it was trusted; /trust asks again")
        return self.source_to_code(self.get_data(path), path)


class _ExtensionFinder(MetaPathFinder):
    """Loads the modules of extensions, and only those, with `_UncachedSourceLoader`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(_EXTENSION_MODULE_PREFIX) or path is None:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        loader = getattr(sys.modules.get(fullname.partition(".")[0]), "__loader__", None)
        may_read = loader.may_read if isinstance(loader, _UncachedSourceLoader) else (lambda: True)
        if spec is not None and isinstance(spec.loader, SourceFileLoader) and spec.origin:
            spec.loader = _UncachedSourceLoader(fullname, spec.origin, may_read)
        return spec


_extension_finder = _ExtensionFinder()


def load_extension_function(file: Path, extension: Extension) -> Any:
    """Imports the file and returns its `extension` function. Raises `ExtensionLoadError`, or any exception of the
    code."""
    require_api_version(declared_api_range(file))
    extension.uses_former_name = _imports_former_module(file)
    module = _import_module(file, extension)
    function = getattr(module, "extension", None)
    if not callable(function):
        raise ExtensionLoadError("it defines no function extension(api)")
    return function


def declared_api_range(file: Path) -> str:
    """`BAYOU_API = ">=1,<2"` of the file, read without running it."""
    try:
        match = _DECLARED_API_RANGE_PATTERN.search(file.read_text(encoding="utf-8", errors="replace"))
    except OSError as problem:
        raise ExtensionLoadError(f"it cannot be read: {problem.strerror}") from None
    return match[1] if match else ""


def _imports_former_module(file: Path) -> bool:
    try:
        return FORMER_EXTENSION_API_MODULE in file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def _import_module(file: Path, extension: Extension) -> ModuleType:
    if _extension_finder not in sys.meta_path:
        sys.meta_path.insert(0, _extension_finder)
    slug = re.sub(r"\W", "_", extension.name)
    name = f"{_EXTENSION_MODULE_PREFIX}{extension.epoch}_{slug}"
    folder = [str(file.parent)] if file.name == "__init__.py" else None
    loader = _UncachedSourceLoader(name, str(file), extension.may_read)
    spec = importlib.util.spec_from_file_location(
        name, file, loader=loader, submodule_search_locations=folder
    )
    if spec is None or spec.loader is None:
        raise ExtensionLoadError("it is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module

    def forget() -> None:
        for other in [known for known in sys.modules if known == name or known.startswith(name + ".")]:
            del sys.modules[other]

    extension.on_close.append(forget)
    spec.loader.exec_module(module)
    return module
