"""httpcore2 without what it imports for a word that nobody reads.

When it is imported it asks `importlib.metadata` for its own version, which brings the parsers of mail, CSV and ZIP
along: some 10 ms and a megabyte of each start that speaks HTTP. While it is imported, a stand-in answers that one
question and leaves all others to the real module.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

_NAME = "importlib.metadata"
_LIBRARY = "httpcore2"


class _StandIn(ModuleType):
    """What another thread that imports it meanwhile is given answers everything, too."""

    def version(self, distribution_name: str) -> str:
        return "" if distribution_name == _LIBRARY else _real(self).version(distribution_name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what the import system asks of a module
            raise AttributeError(name)
        return getattr(_real(self), name)


def _real(stand_in: ModuleType) -> ModuleType:
    if sys.modules.get(_NAME) is stand_in:
        del sys.modules[_NAME]
    return importlib.import_module(_NAME)


@contextmanager
def version_unread() -> Iterator[None]:
    """For an import of the library. Where the real module is there already, nothing is put in its place."""
    if _NAME in sys.modules:
        yield
        return
    stand_in = _StandIn(_NAME)
    sys.modules[_NAME] = stand_in
    try:
        yield
    finally:
        if sys.modules.get(_NAME) is stand_in:
            del sys.modules[_NAME]
